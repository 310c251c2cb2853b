// Clusters: ranks, multicast, remote arrivals, the cluster barrier, and blocks that end too early.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel_builder.hpp"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct ClusterKernel : KernelBuilder {
  explicit ClusterKernel(std::array<int, 3> cluster, int warps = 1) : KernelBuilder(warps, 4096) {
    kernel.cluster = cluster;
    for (std::size_t i = 0; i < 3; ++i) kernel.grid[i] = pool().i64(cluster[i]);
    region("sa", 0, 2048);
    region("bar", 2048, 16, true);
  }
  E rank() { return leaf(ExprKind::cluster_rank); }
  void arrive(SourceLoc loc = SourceLoc::here()) { add<thread::ClusterArrive>(loc); }
  void wait(SourceLoc loc = SourceLoc::here()) { add<thread::ClusterWait>(loc); }
  void synchronise(SourceLoc loc = SourceLoc::here()) {
    arrive(loc);
    wait(loc);
  }
  void init(std::uint32_t count = 1) {
    when(thread_idx() == 0, [&] {
      add<thread::MbarrierInit>(SourceLoc::here(), shared(2048), count);
      add<thread::Fence>(SourceLoc::here(), thread::FenceKind::mbarrier_init, std::string());
    });
    synchronise();
  }
};

TEST(Cluster, RanksTileTheGrid) {
  ClusterKernel b({2, 3, 2});
  const auto out = b.pointer(DType::i32, "out");
  b.kernel.grid = {b.i64(4), b.i64(6), b.i64(2)};
  const E index = b.block_idx(0) + b.block_idx(1) * 4 + b.block_idx(2) * 24;
  b.when(b.lane() == 0, [&] { b.store(out, index, b.rank()); });
  for (const char* schedule : all_schedules) {
    std::vector<std::int32_t> r(48, -1);
    const auto statistics = sim::run(b.kernel, std::vector<sim::Argument>{buffer(r)}, options(schedule, 2));
    EXPECT_EQ(statistics.ctas, 48U);
    for (int i = 0; i < 48; ++i) {
      const int x = i % 4, y = i / 4 % 6, z = i / 24;
      EXPECT_EQ(r[static_cast<std::size_t>(i)], x % 2 + 2 * (y % 3) + 6 * (z % 2)) << i;
    }
  }
}

TEST(Cluster, TheGridIsWholeClusters) {
  ClusterKernel b({2, 1, 1});
  b.kernel.grid[0] = b.i64(3);
  const Error error = error_of(b.kernel, {}, options());
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(), HasSubstr("the grid of test has 3 blocks along x, which are not whole clusters of 2"));
}

TEST(Cluster, TheGridMayAskForTheMultiprocessors) {
  KernelBuilder b(1);
  b.kernel.grid[0] = b.leaf(ExprKind::sm_count).cast(DType::i64);
  EXPECT_EQ(sim::run(b.kernel, {}, options()).ctas, 4U);
  sim::Options o = options();
  o.sms = 132;
  EXPECT_EQ(sim::run(b.kernel, {}, o).ctas, 132U);
}

// Every block loads its quarter of a tile for all, and reads the whole.
struct Multicast : ClusterKernel {
  std::vector<float> in = std::vector<float>(1024), out = std::vector<float>(4 * 512);
  explicit Multicast(bool expect_all = true, std::uint32_t mask = 15, bool last_barrier = true, int clusters = 1)
      : ClusterKernel({4, 1, 1}) {
    kernel.grid[0] = i64(4 * clusters);
    const auto pin = pointer(DType::f32, "in"), pout = pointer(DType::f32, "out");
    thread::TensorMap m;
    m.name = "ga";
    m.param = pin;
    m.type = DType::f32;
    m.dims = {i64(32), i64(32)};
    m.strides_bytes = {i64(128)};
    m.box = {32, 4};
    kernel.tensor_maps.push_back(m);
    init();
    when(thread_idx() == 0, [&] {
      add<thread::MbarrierArriveExpectTx>(SourceLoc::here(), shared(2048), u32(expect_all ? 2048 : 512));
      auto* load = add<thread::TmaLoadBox>(SourceLoc::here(), 0U, shared(0) + (rank() * 512).cast(DType::u32),
                                           std::vector<const Expr*>{i32(0), rank() * 4}, shared(2048));
      load->multicast = u32(mask);
    });
    const auto* value = regs(DType::f32, 1, "value");
    add<thread::MbarrierWait>(SourceLoc::here(), shared(2048), u32(0))->cluster = true;
    for (int i = 0; i < 16; ++i) {
      add<thread::LoadSharedVector>(SourceLoc::here(), ref(value), 1, shared(128 * i) + (lane() * 4).cast(DType::u32));
      add<thread::StoreGlobalVector>(SourceLoc::here(), ref(value), 1, pout,
                                     (rank() * 512 + (lane() + 32 * i)).cast(DType::i64), nullptr);
    }
    if (last_barrier) synchronise();
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  }
  Error error(const char* schedule) { return error_of(kernel, {buffer(in), buffer(out)}, options(schedule)); }
};

TEST(Cluster, AMulticastReachesEveryBlock) {
  for (const char* schedule : all_schedules) {
    Multicast b(true, 15, true, 3);
    EXPECT_TRUE(b.error(schedule).diagnostics().empty()) << b.error(schedule).what();
    for (std::size_t i = 0; i < b.out.size(); ++i) ASSERT_EQ(b.out[i], static_cast<float>(i % 512)) << schedule << i;
  }
}

TEST(Cluster, MulticastMasks) {
  for (const std::uint32_t mask : {0U, 16U, 31U}) {
    Multicast b(true, mask);
    const Error error = b.error("eager");
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_THAT(error.what(), HasSubstr("in a cluster of 4"));
  }
}

TEST(Cluster, BytesThatPeersDoNotSend) {
  Multicast b(true, 1);  // only block 0 gets anything
  for (const char* schedule : all_schedules) {
    const Error error = b.error(schedule);
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("deadlock in the cluster of block"), HasSubstr("never delivered")));
    EXPECT_EQ(error.diagnostics()[0].notes.size(), 3U);
  }
}

// Block 0 does not need what block 1 sends, and ends.
TEST(Cluster, ACopyIntoABlockThatHasEnded) {
  for (const char* schedule : {"eager", "lazy"}) {
    ClusterKernel b({2, 1, 1});
    const auto pin = b.pointer(DType::f32, "in");
    thread::TensorMap m;
    m.name = "ga";
    m.param = pin;
    m.type = DType::f32;
    m.dims = {b.i64(32)};
    m.box = {32};
    b.kernel.tensor_maps.push_back(m);
    b.init();
    SourceLoc copy;
    b.when((b.rank() == 1) && (b.lane() == 0), [&] {
      b.add<thread::MbarrierArriveExpectTx>(SourceLoc::here(), b.shared(2048), b.u32(128));
      copy = SourceLoc::here();
      b.add<thread::TmaLoadBox>(copy, 0U, b.shared(0), std::vector<const Expr*>{b.i32(0)}, b.shared(2048))->multicast =
          b.u32(3);
    });
    b.when(b.rank() == 1, [&] { b.add<thread::MbarrierWait>(SourceLoc::here(), b.shared(2048), b.u32(0)); });
    std::vector<float> in(32);
    const Error error = error_of(b.kernel, {buffer(in)}, options(schedule));
    if (std::string(schedule) == "eager") {
      EXPECT_TRUE(error.diagnostics().empty()) << error.what();
      continue;
    }
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_THAT(error.what(), HasSubstr("lands in block (0, 0, 0), which has ended"));
    EXPECT_EQ(error.diagnostics()[0].loc.line, copy.line);
  }
}

// A ring of one slot over two blocks: each consumer frees the slot in both.
TEST(Cluster, RemoteArrivals) {
  for (const char* schedule : all_schedules) {
    ClusterKernel b({2, 1, 1}, 2);
    const auto out = b.pointer(DType::i32, "out");
    b.init(2);
    const auto* total = b.declare(b.i32(0));
    const auto* phase = b.declare(b.u32(0));
    b.loop(b.i32(0), b.i32(5), b.i32(1), [&](E i) {
      b.when(
          b.warp() == 0,
          [&] {
            b.when(b.lane() < 2, [&] {
              b.add<thread::MbarrierArrive>(SourceLoc::here(), b.shared(2048), 1U, b.lane().cast(DType::u32));
            });
          },
          [&] {});
      b.add<thread::MbarrierWait>(SourceLoc::here(), b.shared(2048), b.var(phase))->cluster = true;
      b.assign(total, b.var(total) + i);
      b.assign(phase, b.var(phase) ^ 1);
      b.synchronise();
    });
    b.when(b.thread_idx() == 0, [&] { b.store(out, b.rank(), b.var(total)); });
    std::vector<std::int32_t> r(2);
    sim::run(b.kernel, std::vector<sim::Argument>{buffer(r)}, options(schedule));
    EXPECT_THAT(r, ::testing::ElementsAre(10, 10)) << schedule;
  }
}

// After the barrier that block 1 completed, it runs on first, and ends.
TEST(Cluster, AnArrivalAtABlockThatHasEnded) {
  ClusterKernel b({2, 1, 1});
  b.init();
  const SourceLoc loc = SourceLoc::here();
  b.when((b.rank() == 0) && (b.lane() == 0), [&] { b.add<thread::MbarrierArrive>(loc, b.shared(2048), 1U, b.u32(1)); });
  for (const char* schedule : {"eager", "lazy"}) {
    const Error error = error_of(b.kernel, {}, options(schedule));
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_THAT(error.what(), HasSubstr("an arrival at block (1, 0, 0) (rank 1 of the cluster), which has ended"));
    EXPECT_EQ(error.diagnostics()[0].loc.line, loc.line);
  }
  bool seen = false;
  for (int seed = 0; seed < 20; ++seed) {
    const Error error = error_of(b.kernel, {}, options(("random:" + std::to_string(seed)).c_str()));
    seen = seen || !error.diagnostics().empty();
  }
  EXPECT_TRUE(seen);
}

TEST(Cluster, RanksAndBarriersOfPeers) {
  ClusterKernel far({2, 1, 1});
  far.init();
  far.when(far.lane() == 0,
           [&] { far.add<thread::MbarrierArrive>(SourceLoc::here(), far.shared(2048), 1U, far.u32(2)); });
  EXPECT_THAT(error_of(far.kernel, {}, options()).what(), HasSubstr("an arrival at block 2 of a cluster of 2"));
  ClusterKernel early({2, 1, 1});  // no cluster barrier after the initialisation
  early.when(early.lane() == 0, [&] {
    early.add<thread::MbarrierInit>(SourceLoc::here(), early.shared(2048), 1U);
    early.add<thread::MbarrierArrive>(SourceLoc::here(), early.shared(2048), 1U,
                                      early.u32(1) - early.rank().cast(DType::u32));
  });
  EXPECT_THAT(error_of(early.kernel, {}, options()).what(),
              HasSubstr("arrive on mbarrier bar[0] of block (1, 0, 0) before it is initialised"));
}

TEST(Cluster, TheBarrierWaitsForEveryWarp) {
  ClusterKernel b({2, 1, 1}, 2);
  SourceLoc loc;
  b.when((b.rank() == 0) && (b.warp() == 0), [&] { b.sync(); },
         [&] {
           loc = SourceLoc::here();
           b.synchronise(loc);
         });
  for (const char* schedule : all_schedules) {
    const Error error = error_of(b.kernel, {}, options(schedule));
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_THAT(error.what(), HasSubstr("deadlock in the cluster of block (0, 0, 0)"));
    ASSERT_EQ(error.diagnostics()[0].notes.size(), 3U);
    EXPECT_THAT(error.diagnostics()[0].notes[0].message,
                HasSubstr("waits at the cluster barrier: 3 of 4 warps have arrived, block (0, 0, 0), warp 0 has not"));
    EXPECT_EQ(error.diagnostics()[0].notes[0].loc.line, loc.line);
  }
}

TEST(Cluster, WarpsThatHaveEndedAreNotWaitedFor) {
  ClusterKernel b({2, 1, 1}, 2);
  b.when(b.warp() == 0, [&] { b.synchronise(); });
  for (const char* schedule : all_schedules) {
    EXPECT_TRUE(error_of(b.kernel, {}, options(schedule)).diagnostics().empty());
  }
}

TEST(Cluster, ArrivalsAndWaitsAlternate) {
  ClusterKernel twice({2, 1, 1});
  twice.arrive();
  twice.arrive();
  EXPECT_THAT(error_of(twice.kernel, {}, options()).what(), HasSubstr("arrives at the cluster barrier again"));
  ClusterKernel never({2, 1, 1});
  never.wait();
  EXPECT_THAT(error_of(never.kernel, {}, options()).what(), HasSubstr("without having arrived"));
  ClusterKernel partly({2, 1, 1});
  partly.when(partly.lane() < 8, [&] { partly.arrive(); });
  EXPECT_THAT(error_of(partly.kernel, {}, options()).what(), HasSubstr("must be executed by a whole warp"));
}

// A seed determines the run of a cluster, too.
TEST(Cluster, PrintsComeInOrder) {
  ClusterKernel b({2, 2, 1});
  b.kernel.grid = {b.i64(4), b.i64(2), b.i64(1)};
  b.when(b.lane() == 0, [&] {
    b.add<thread::PrintThread>(SourceLoc::here(), std::vector<std::string>{"", " ", ""},
                               std::vector<const Expr*>{b.block_idx(0), b.block_idx(1)});
  });
  for (const int threads : {1, 3}) {
    std::string text;
    sim::Options o = options("random:3", threads);
    o.print = [&](std::string_view s) { text += std::string(s) + ";"; };
    sim::run(b.kernel, {}, o);
    EXPECT_EQ(text, "0 0;1 0;0 1;1 1;2 0;3 0;2 1;3 1;");
  }
}

}  // namespace
}  // namespace tessera::testing
