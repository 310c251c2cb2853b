// Shared memory of other blocks of a cluster, from the language down to the simulated machine and to sm_90a: results
// against plain loops, what shares bytes with a tile that peers use, and misuse at run time. The checker's view of
// missing synchronisation is in tests/check/twins.
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "cuda/printer.hpp"
#include "jit/compiler.hpp"
#include "sim_runner.hpp"

namespace tessera::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr int rows = 16, columns = 32;

// Each block of a cluster of `size` adds up its share of the tiles of all blocks.
template <class T>
struct SumOfPeers : Script {
  int size;
  explicit SumOfPeers(int s) : size(s) {}

  void operator()(Int32 clusters, Ptr<T> x_ptr, Ptr<T> y_ptr) {
    attrs.cluster = {size};
    attrs.blocks = {clusters * size};
    attrs.warps = 4;
    auto x = global_view(x_ptr, {clusters * size * rows, columns});
    auto y = global_view(y_ptr, {clusters * rows, columns});
    auto tile = shared_tensor<T>({rows, columns});
    store_shared(tile, load_global(x, {blockIdx.x * rows, 0}, {rows, columns}));
    cluster.sync();
    Int32 rank = cluster.rank();
    const SharedTensor share = tile.split(0, size)[rank];
    auto sum = register_tensor<T>({rows / size, columns}, T(0));
    for (int i = 0; i < size; ++i) sum += load_shared(cluster.map_shared_rank(share, (rank + i) % size));
    store_global(y, sum, {blockIdx.x / size * rows + rank * (rows / size), 0});
    cluster.sync();
  }
};

template <class T>
void expect_sums(int size, int clusters) {
  const auto lowered = build(SumOfPeers<T>(size), {0, 0, 0});
  const std::size_t tile = rows * columns;
  std::vector<T> x(static_cast<std::size_t>(clusters * size) * tile);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = T(static_cast<float>(i * 5 % 13));
  for (const auto& schedule : all_schedules()) {
    std::vector<T> y(static_cast<std::size_t>(clusters) * tile, T(-1.0F));
    const std::vector<sim::Argument> arguments{argument(std::int64_t{clusters}), argument(x), argument(y)};
    EXPECT_EQ(findings_in(lowered.kernel, arguments, with(schedule)), "");
    for (std::size_t i = 0; i < y.size(); ++i) {
      float expected = 0;
      for (int block = 0; block < size; ++block) {
        expected += static_cast<float>(
            x[(i / tile * static_cast<std::size_t>(size) + static_cast<std::size_t>(block)) * tile + i % tile]);
      }
      ASSERT_EQ(static_cast<float>(y[i]), expected) << "size " << size << " element " << i << schedule.to_string();
    }
  }
}

TEST(PeerMemory, SumsOfFloat32) {
  for (const int size : {1, 2, 4, 8}) expect_sums<float>(size, 3);
}
TEST(PeerMemory, SumsOfFloat16) {
  for (const int size : {2, 4}) expect_sums<float16>(size, 2);
}

// Each block sends the transpose of its tile to the next one, through a layout of its own.
struct SendOn : Script {
  int size;
  bool swizzled;
  SendOn(int s, bool z) : size(s), swizzled(z) {}

  void operator()(Ptr<float16> x_ptr, Ptr<float16> y_ptr) {
    attrs.cluster = {1, size};
    attrs.blocks = {1, size};
    attrs.warps = 2;
    auto x = global_view(x_ptr, {size * 32, 64});
    auto y = global_view(y_ptr, {size * 64, 32});
    auto tile = shared_tensor<float16>({64, 32});
    if (swizzled) annotate_layout(tile, layouts::swizzled(Swizzle::b64));
    cluster.sync();
    const auto next = cluster.map_shared_rank(tile, (cluster.rank() + 1) % size);
    EXPECT_EQ(next.dtype(), DType::f16);
    EXPECT_EQ(next.shape(), (std::vector<std::int64_t>{64, 32}));
    store_shared(next, load_global(x, {blockIdx.y * 32, 0}, {32, 64}).transpose());
    fence.proxy_async();
    cluster.sync();
    if (auto _ = single_thread()) {
      tma.shared_to_global({.src = tile, .dst = y, .offsets = {blockIdx.y * 64, 0}});
      tma.commit_group();
      tma.wait_group(0, {.read = true});
    }
  }
};

TEST(PeerMemory, StoresThatTheCopyEngineSendsOn) {
  for (const bool swizzled : {false, true}) {
    const int size = 4;
    const auto lowered = build(SendOn(size, swizzled), {0, 0});
    auto x = normal<float16>(std::size_t{size} * 32 * 64, 3);
    for (const auto& schedule : all_schedules()) {
      std::vector<float16> y(x.size());
      const std::vector<sim::Argument> arguments{argument(x), argument(y)};
      EXPECT_EQ(findings_in(lowered.kernel, arguments, with(schedule)), "");
      for (std::size_t i = 0; i < y.size(); ++i) {
        const std::size_t block = i / 2048, row = i % 2048 / 32, column = i % 32;
        ASSERT_EQ(y[i].bits, x[(block + size - 1) % size * 2048 + column * 64 + row].bits) << i;
      }
    }
  }
}

// The fence of a kernel that stores in other blocks covers their memory, and says so in PTX.
TEST(PeerMemory, TheFenceCoversTheCluster) {
  EXPECT_THAT(cuda::print(build(SendOn(2, false), {0, 0}).kernel), HasSubstr("fence.proxy.async.shared::cluster"));
}

// The barrier in two halves: each block's memory is read, and the results are stored while others still read.
struct InHalves : Script {
  bool waits;
  explicit InHalves(bool w) : waits(w) {}
  void operator()(Ptr<float> x_ptr, Ptr<float> y_ptr) {
    attrs.cluster = {4};
    attrs.blocks = {4};
    attrs.warps = 5;
    auto x = global_view(x_ptr, {4 * rows, columns});
    auto y = global_view(y_ptr, {4 * rows, columns});
    auto tile = shared_tensor<float>({rows, columns});
    if (auto _ = warp_group(0, 4)) store_shared(tile, load_global(x, {blockIdx.x * rows, 0}, {rows, columns}));
    cluster.sync();
    if (auto _ = warp_group(0, 4)) {
      auto theirs = load_shared(cluster.map_shared_rank(tile, 3 - cluster.rank()));
      cluster.arrive();
      store_global(y, theirs, {blockIdx.x * rows, 0});
    }
    if (auto _ = single_warp(4)) cluster.arrive();
    if (waits) cluster.wait();
  }
};

TEST(PeerMemory, TheBarrierInTwoHalves) {
  auto x = normal<float>(4 * rows * columns, 5);
  for (const bool waits : {true, false}) {
    const auto lowered = build(InHalves(waits), {0, 0});
    for (const auto& schedule : all_schedules()) {
      std::vector<float> y(x.size());
      const std::vector<sim::Argument> arguments{argument(x), argument(y)};
      const std::string found = findings_in(lowered.kernel, arguments, with(schedule));
      if (!waits) {
        EXPECT_THAT(found,
                    ContainsRegex("a load from block .* has ended|loads from shared memory of .* may have ended"));
        continue;
      }
      EXPECT_EQ(found, "");
      for (std::size_t i = 0; i < y.size(); ++i) {
        const std::size_t tile = rows * columns;
        ASSERT_EQ(y[i], x[(3 - i / tile) * tile + i % tile]) << i;
      }
    }
  }
}

enum class Between { cluster_sync, sync };

// A tile of this block, and then one that other blocks read.
struct OneAfterTheOther : Script {
  Between first, second;
  OneAfterTheOther(Between f, Between s) : first(f), second(s) {}
  void pass(Between b) const { b == Between::sync ? sync() : cluster.sync(); }

  void operator()(Ptr<float> x_ptr, Ptr<float> y_ptr) {
    attrs.cluster = {2};
    attrs.blocks = {2};
    attrs.warps = 4;
    auto x = global_view(x_ptr, {2 * 32, 32});
    auto y = global_view(y_ptr, {2 * 32, 32});
    auto own = shared_tensor<float>({32, 32});
    auto sum = register_tensor<float>({32, 32}, 0.0f);
    store_shared(own, load_global(x, {blockIdx.x * 32, 0}, {32, 32}));
    sync();
    sum += load_shared(own).transpose();
    pass(first);
    auto read = shared_tensor<float>({32, 32});
    store_shared(read, sum);
    cluster.sync();
    sum += load_shared(cluster.map_shared_rank(read, 1 - cluster.rank()));
    pass(second);
    auto last = shared_tensor<float>({32, 32});
    store_shared(last, sum);
    sync();
    store_global(y, load_shared(last), {blockIdx.x * 32, 0});
    cluster.sync();
  }
};

// A peer may read a tile until the next barrier of the cluster: no other one takes its bytes before.
TEST(PeerMemory, SharesBytesOnlyAcrossABarrierOfTheCluster) {
  const auto bytes = [](Between first, Between second) {
    return build(OneAfterTheOther(first, second), {0, 0}).kernel.shared_bytes;
  };
  EXPECT_EQ(bytes(Between::sync, Between::cluster_sync), 4096);
  EXPECT_EQ(bytes(Between::cluster_sync, Between::cluster_sync), 4096);
  EXPECT_EQ(bytes(Between::sync, Between::sync), 8192);  // the last one lies where the first one was
  for (const Between second : {Between::sync, Between::cluster_sync}) {
    const auto lowered = build(OneAfterTheOther(Between::sync, second), {0, 0});
    auto x = normal<float>(2048, 4);
    for (const auto& schedule : all_schedules()) {
      std::vector<float> y(x.size());
      const std::vector<sim::Argument> arguments{argument(x), argument(y)};
      EXPECT_EQ(findings_in(lowered.kernel, arguments, with(schedule)), "");
      for (std::size_t i = 0; i < y.size(); ++i) {
        const std::size_t block = i / 1024, turned = i % 32 * 32 + i % 1024 / 32;
        ASSERT_EQ(y[i], x[block * 1024 + turned] + x[(1 - block) * 1024 + turned]) << i;
      }
    }
  }
}

// The rank comes from memory, so that only the run can tell.
struct RankFromMemory : Script {
  bool stores;
  explicit RankFromMemory(bool s) : stores(s) {}
  void operator()(Int32 rank, Ptr<float> y_ptr) {
    attrs.cluster = {2};
    attrs.blocks = {2};
    attrs.warps = 1;
    auto y = global_view(y_ptr, {2, 32});
    auto tile = shared_tensor<float>({1, 32});
    auto zeros = register_tensor<float>({1, 32}, 0.0f);
    store_shared(tile, zeros);
    cluster.sync();
    auto theirs = cluster.map_shared_rank(tile, rank);
    if (stores) {
      if (auto _ = when(blockIdx.x == 0)) store_shared(theirs, zeros);
      cluster.sync();
    }
    store_global(y, stores ? load_shared(tile) : load_shared(theirs), {blockIdx.x, 0});
    cluster.sync();
  }
};

TEST(PeerMemory, ARankOutsideTheCluster) {
  for (const bool stores : {false, true}) {
    const auto lowered = build(RankFromMemory(stores), {0, 0});
    const auto run = [&](std::int64_t rank) {
      std::vector<float> y(64, 1.0F);
      sim::run(lowered.kernel, std::vector<sim::Argument>{argument(rank), argument(y)}, with(all_schedules().front()));
      EXPECT_EQ(std::accumulate(y.begin(), y.end(), 0.0F), 0.0F);
    };
    run(1);
    const std::string text = error_of([&] { run(2); });
    EXPECT_THAT(text,
                HasSubstr(stores ? "a store in block 2 of a cluster of 2" : "a load from block 2 of a cluster of 2"));
    EXPECT_THAT(text, HasSubstr("peer_memory_test.cpp"));
    EXPECT_THAT(text, HasSubstr("help: ranks count from 0 within the cluster"));
  }
}

TEST(PeerMemory, CompilesForTheDevice) {
  std::string reason;
  if (!jit::available(&reason)) GTEST_SKIP() << reason;
  const auto compile = [](const passes::Lowered& lowered) {
    const jit::CubinFacts facts = jit::compile(cuda::print(lowered.kernel), cuda::function_name(lowered.kernel)).facts;
    EXPECT_EQ(facts.spill_store_bytes + facts.spill_load_bytes, 0);
    EXPECT_THAT(facts.remarks, ::testing::IsEmpty());
  };
  for (const int size : {1, 2, 4, 8}) compile(build(SumOfPeers<float>(size), {0, 0, 0}));
  compile(build(SumOfPeers<float16>(2), {0, 0, 0}));
  for (const bool swizzled : {false, true}) compile(build(SendOn(4, swizzled), {0, 0}));
}

}  // namespace
}  // namespace tessera::testing
