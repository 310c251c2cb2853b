// A warp-specialised matmul with a ring of stages: one producer warpgroup, consumers with wgmma, one group in flight.
// Exact under every schedule, quick, and each mistake of the ring told apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "kernel_builder.hpp"

namespace tessera::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

struct RingPlan {
  int block_n = 128, stages = 3, consumers = 2;
  int pending = 1;             // groups that stay in flight
  bool release_early = false;  // the stage of this step instead of the one before
  bool wait_full = true;       // consumers
  bool wait_empty = true;      // the producer
};

// C (m x n, float16) = A (m x k) B^T (n x k); a block has 64 rows for each consumer warpgroup.
struct Ring {
  KernelBuilder b;
  RingPlan plan;
  int block_m;
  std::uint32_t pc = 0, a_bytes, b_bytes, full, empty;
  E m, n, k;
  const ir::RegArray* acc = nullptr;

  explicit Ring(const RingPlan& p)
      : b(4 + 4 * p.consumers),
        plan(p),
        block_m(64 * p.consumers),
        a_bytes(static_cast<std::uint32_t>(block_m * 128)),
        b_bytes(static_cast<std::uint32_t>(p.block_n * 128)),
        m(b.scalar(DType::i32, "m")),
        n(b.scalar(DType::i32, "n")),
        k(b.scalar(DType::i32, "k")) {
    const auto pa = b.pointer(DType::f16, "a"), pb = b.pointer(DType::f16, "b");
    pc = b.pointer(DType::f16, "c");
    const auto stages = static_cast<std::uint32_t>(plan.stages);
    full = stages * (a_bytes + b_bytes);
    empty = full + 8 * stages;
    b.kernel.shared_bytes = empty + 8 * stages;
    b.region("sa", 0, stages * a_bytes);
    b.region("sb", stages * a_bytes, stages * b_bytes);
    b.region("full", full, 8 * stages, true);
    b.region("empty", empty, 8 * stages, true);
    b.kernel.grid = {m.cast(DType::i64) / block_m, n.cast(DType::i64) / plan.block_n, b.i64(1)};
    b.kernel.tensor_maps = {map("ga", pa, m, block_m), map("gb", pb, n, plan.block_n)};
    b.when(b.thread_idx() == 0, [&] {
      for (std::uint32_t s = 0; s < stages; ++s) {
        b.add<thread::MbarrierInit>(SourceLoc::here(), b.shared(full + 8 * s), 1U);
        b.add<thread::MbarrierInit>(SourceLoc::here(), b.shared(empty + 8 * s),
                                    static_cast<std::uint32_t>(4 * plan.consumers));
      }
    });
    b.sync();
    b.when(
        b.warp() < 4,
        [&] {
          b.add<thread::SetMaxRegisters>(SourceLoc::here(), 40, false);
          b.when((b.warp() == 0) && b.elect(), [&] { produce(); });
        },
        [&] { consume(); });
  }
  thread::TensorMap map(const char* name, std::uint32_t param, E rows, int box_rows) {
    thread::TensorMap t;
    t.name = name;
    t.param = param;
    t.dims = {k.cast(DType::i64), rows.cast(DType::i64)};
    t.strides_bytes = {k.cast(DType::i64) * 2};
    t.box = {64, static_cast<std::uint32_t>(box_rows)};
    t.swizzle = thread::Swizzle::b128;
    return t;
  }
  E stage(E step) { return step % plan.stages; }
  E parity(E step) { return (step / plan.stages % 2).cast(DType::u32); }
  E barrier(std::uint32_t base, E step) { return b.shared(base) + (stage(step) * 8).cast(DType::u32); }
  E tile(std::uint32_t base, std::uint32_t bytes, E step) {
    return b.shared(base) + (stage(step) * static_cast<int>(bytes)).cast(DType::u32);
  }
  std::uint32_t b_base() const { return static_cast<std::uint32_t>(plan.stages) * a_bytes; }

  void produce() {
    b.loop(b.i32(0), k / 64, b.i32(1), [&](E step) {
      if (plan.wait_empty) {
        b.add<thread::MbarrierWait>(SourceLoc::here(), barrier(empty, step), parity(step) ^ 1);
      }
      b.add<thread::MbarrierArriveExpectTx>(SourceLoc::here(), barrier(full, step), b.u32(a_bytes + b_bytes));
      b.add<thread::TmaLoadBox>(SourceLoc::here(), 0U, tile(0, a_bytes, step),
                                std::vector<const Expr*>{step * 64, b.block_idx(0) * block_m}, barrier(full, step));
      b.add<thread::TmaLoadBox>(SourceLoc::here(), 1U, tile(b_base(), b_bytes, step),
                                std::vector<const Expr*>{step * 64, b.block_idx(1) * plan.block_n},
                                barrier(full, step));
    });
  }
  void release(E step) {
    b.when(b.lane() == 0, [&] { b.add<thread::MbarrierArrive>(SourceLoc::here(), barrier(empty, step), 1U); });
  }
  void multiply(E step) {
    for (int i = 0; i < 4; ++i) {
      auto* s = b.add<thread::Wgmma>(SourceLoc::here(), DType::f16, DType::f16, DType::f32, plan.block_n, b.ref(acc));
      const E group = (b.warp() / 4 - 1) * 8192;
      s->a.low = (tile(0, a_bytes, step) + group.cast(DType::u32) + 32 * i) / 16;
      s->b.low = (tile(b_base(), b_bytes, step) + 32 * i) / 16;
      s->a.high = s->b.high = 64U | 1U << 30;
      s->accumulate = (step != 0).binary(ExprKind::logical_or, b.e(b.pool().boolean(i != 0)));
    }
  }
  void consume() {
    b.add<thread::SetMaxRegisters>(SourceLoc::here(), plan.consumers == 1 ? 256 : 232, true);
    acc = b.regs(DType::f32, static_cast<std::uint32_t>(plan.block_n / 2), "acc");
    b.add<thread::WgmmaFence>(SourceLoc::here());
    b.loop(b.i32(0), k / 64, b.i32(1), [&](E step) {
      if (plan.wait_full) b.add<thread::MbarrierWait>(SourceLoc::here(), barrier(full, step), parity(step));
      multiply(step);
      b.add<thread::WgmmaCommit>(SourceLoc::here());
      b.add<thread::WgmmaWait>(SourceLoc::here(), plan.pending, std::vector<const ir::RegArray*>{acc});
      if (plan.pending == 0 || plan.release_early) {
        release(step);
      } else {
        b.when(step >= 1, [&] { release(step - 1); });
      }
    });
    b.add<thread::WgmmaWait>(SourceLoc::here(), 0, std::vector<const ir::RegArray*>{acc});
    const auto* out = b.regs(DType::f16, 2, "out");
    for (int i = 0; i < plan.block_n / 2; i += 2) {
      b.write(out, 0, {b.reg(acc, i).cast(DType::f16), b.reg(acc, i + 1).cast(DType::f16)});
      const E row = b.block_idx(0) * block_m + ((b.warp() - 4) * 16 + (b.lane() / 4 + 8 * (i / 2 % 2)));
      const E column = b.block_idx(1) * plan.block_n + (b.lane() % 4 * 2 + 8 * (i / 4));
      b.add<thread::StoreGlobalVector>(SourceLoc::here(), b.ref(out), 2, pc,
                                       row.cast(DType::i64) * n.cast(DType::i64) + column.cast(DType::i64), nullptr);
    }
  }
};

struct Problem {
  int m, n, k;
  std::vector<float16> a, b, c;
  Problem(int m_, int n_, int k_) : m(m_), n(n_), k(k_), c(static_cast<std::size_t>(m_ * n_)) {
    std::mt19937 random(4);
    std::uniform_int_distribution<int> numbers(-2, 2);
    for (int i = 0; i < m * k; ++i) a.emplace_back(static_cast<float>(numbers(random)));
    for (int i = 0; i < n * k; ++i) b.emplace_back(static_cast<float>(numbers(random)));
  }
  std::vector<sim::Argument> arguments() { return {scalar(m), scalar(n), scalar(k), buffer(a), buffer(b), buffer(c)}; }
  int wrong() const {
    std::vector<float> wide_a(a.size()), wide_b(b.size());
    for (std::size_t i = 0; i < a.size(); ++i) wide_a[i] = static_cast<float>(a[i]);
    for (std::size_t i = 0; i < b.size(); ++i) wide_b[i] = static_cast<float>(b[i]);
    int count = 0;
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        float sum = 0;  // small integers: exact
        for (int x = 0; x < k; ++x) {
          sum += wide_a[static_cast<std::size_t>(i * k + x)] * wide_b[static_cast<std::size_t>(j * k + x)];
        }
        if (float16(sum).bits != c[static_cast<std::size_t>(i * n + j)].bits) ++count;
      }
    }
    return count;
  }
};

TEST(WgmmaRing, ExactUnderEverySchedule) {
  for (const int pending : {0, 1}) {
    for (const char* schedule : {"eager", "lazy", "random:1", "random:2", "random:3", "random:4"}) {
      RingPlan plan;
      plan.pending = pending;
      Ring ring(plan);
      Problem p(256, 256, 64 * 7);
      sim::run(ring.b.kernel, p.arguments(), options(schedule, 2));
      EXPECT_EQ(p.wrong(), 0) << schedule;
    }
  }
}

TEST(WgmmaRing, Quick) {
  RingPlan plan;
  plan.block_n = 256;
  Ring ring(plan);
  Problem p(512, 512, 512);
  const auto start = std::chrono::steady_clock::now();
  sim::run(ring.b.kernel, p.arguments(), options("lazy", 1));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(p.wrong(), 0);
  RecordProperty("milliseconds", static_cast<int>(1000 * seconds.count()));
  EXPECT_LT(seconds.count(), 10) << "one core should take well under half a second";
}

// Each of the mistakes is an error of the user's under the schedules that show it, and never a wrong result.
void expect_found(const RingPlan& plan, const ::testing::Matcher<std::string>& matcher, int at_least) {
  int found = 0;
  for (const char* schedule :
       {"eager", "lazy", "random:1", "random:2", "random:3", "random:4", "random:5", "random:6"}) {
    Ring ring(plan);
    Problem p(128, 128, 64 * 9);
    const Error error = error_of(ring.b.kernel, p.arguments(), options(schedule));
    if (error.diagnostics().empty()) {
      EXPECT_EQ(p.wrong(), 0) << schedule;
      continue;
    }
    ++found;
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_THAT(error.diagnostics()[0].message, matcher) << schedule;
  }
  EXPECT_GE(found, at_least);
}

TEST(WgmmaRing, AStageReleasedWhileAWgmmaReadsIt) {
  RingPlan plan;
  plan.release_early = true;
  expect_found(plan, HasSubstr("the TMA copy of"), 3);
}

TEST(WgmmaRing, ConsumersThatDoNotWaitForTheCopies) {
  RingPlan plan;
  plan.wait_full = false;
  expect_found(
      plan,
      AnyOf(HasSubstr("read of uninitialised shared memory"), HasSubstr("is still writing"), HasSubstr("deadlock")), 5);
}

TEST(WgmmaRing, AProducerThatDoesNotWaitForTheConsumers) {
  RingPlan plan;
  plan.wait_empty = false;
  expect_found(plan,
               AnyOf(HasSubstr("overwrites what the wgmma of"), HasSubstr("arriving on mbarrier full"),
                     HasSubstr("would expect"), HasSubstr("deadlock")),
               5);
}

}  // namespace
}  // namespace tessera::testing
