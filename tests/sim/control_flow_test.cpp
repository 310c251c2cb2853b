// Structured control flow that differs by lane, against the same program run lane by lane.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel_builder.hpp"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

std::vector<std::int32_t> run_warps(KernelBuilder& b, std::vector<sim::Argument> scalars = {}) {
  std::vector<std::int32_t> r(static_cast<std::size_t>(32 * b.kernel.warps));
  scalars.insert(scalars.begin(), buffer(r));
  sim::run(b.kernel, scalars, options());
  return r;
}

TEST(ControlFlow, BothSidesOfADivergentIf) {
  KernelBuilder b;
  const auto out = b.pointer(DType::i32, "out");
  const auto* x = b.declare(b.i32(0));
  b.when(
      b.lane() % 3 == 0, [&] { b.assign(x, b.i32(1)); },
      [&] {
        b.when(
            b.lane() < 10, [&] { b.assign(x, b.i32(2)); }, [&] { b.assign(x, b.var(x) + 3); });
      });
  b.store(out, b.lane(), b.var(x));
  const auto r = run_warps(b);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(r[static_cast<std::size_t>(i)], i % 3 == 0 ? 1 : i < 10 ? 2 : 3) << i;
}

TEST(ControlFlow, AConditionIsReadOnce) {
  KernelBuilder b;
  const auto out = b.pointer(DType::i32, "out");
  const auto* x = b.declare(b.lane());
  b.when(
      b.var(x) < 16, [&] { b.assign(x, b.i32(100)); }, [&] { b.assign(x, b.i32(200)); });
  b.store(out, b.lane(), b.var(x));
  const auto r = run_warps(b);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(r[static_cast<std::size_t>(i)], i < 16 ? 100 : 200);
}

TEST(ControlFlow, LoopBoundsThatDifferByLane) {
  KernelBuilder b;
  const auto out = b.pointer(DType::i32, "out");
  const auto* sum = b.declare(b.i32(0));
  b.loop(b.lane() / 4, b.lane(), b.lane() % 3 + 1, [&](E i) { b.assign(sum, b.var(sum) + i * 2 + 1); });
  b.store(out, b.lane(), b.var(sum));
  const auto r = run_warps(b);
  for (int lane = 0; lane < 32; ++lane) {
    int expected = 0;
    for (int i = lane / 4; i < lane; i += lane % 3 + 1) expected += 2 * i + 1;
    EXPECT_EQ(r[static_cast<std::size_t>(lane)], expected) << lane;
  }
}

TEST(ControlFlow, BreakAndContinueByLane) {
  KernelBuilder b;
  const auto out = b.pointer(DType::i32, "out");
  const auto* sum = b.declare(b.i32(0));
  b.loop(b.i32(0), b.i32(20), b.i32(1), [&](E i) {
    b.when((i + b.lane()) % 4 == 0, [&] { b.next(); });
    b.assign(sum, b.var(sum) + i);
    b.when(b.var(sum) >= b.lane() * 3, [&] {
      b.when(b.lane() % 2 == 0, [&] { b.leave(); });
      b.assign(sum, b.var(sum) + 1000);
    });
    b.assign(sum, b.var(sum) + 1);
  });
  b.store(out, b.lane(), b.var(sum));
  const auto r = run_warps(b);
  for (int lane = 0; lane < 32; ++lane) {
    int expected = 0;
    for (int i = 0; i < 20; ++i) {
      if ((i + lane) % 4 == 0) continue;
      expected += i;
      if (expected >= lane * 3) {
        if (lane % 2 == 0) break;
        expected += 1000;
      }
      expected += 1;
    }
    EXPECT_EQ(r[static_cast<std::size_t>(lane)], expected) << lane;
  }
}

TEST(ControlFlow, AnEndlessLoopLeftLaneByLane) {
  KernelBuilder b;
  const auto out = b.pointer(DType::i32, "out");
  const auto* x = b.declare(b.lane() + 1);
  const auto* steps = b.declare(b.i32(0));
  b.endless([&] {  // the Collatz sequence
    b.when(b.var(x) == 1, [&] { b.leave(); });
    b.when(
        b.var(x) % 2 == 0, [&] { b.assign(x, b.var(x) / 2); }, [&] { b.assign(x, b.var(x) * 3 + 1); });
    b.assign(steps, b.var(steps) + 1);
  });
  b.store(out, b.lane(), b.var(steps));
  const auto r = run_warps(b);
  for (int lane = 0; lane < 32; ++lane) {
    int expected = 0;
    for (int v = lane + 1; v != 1; v = v % 2 == 0 ? v / 2 : 3 * v + 1) ++expected;
    EXPECT_EQ(r[static_cast<std::size_t>(lane)], expected) << lane;
  }
}

TEST(ControlFlow, NestedLoopsLeaveTheInnermost) {
  KernelBuilder b(2);
  const auto out = b.pointer(DType::i32, "out");
  const E n = b.scalar(DType::i32, "n");
  const auto* sum = b.declare(b.i32(0));
  b.loop(b.i32(0), n, b.i32(1), [&](E i) {
    b.loop(b.i32(0), b.i32(10), b.i32(1), [&](E j) {
      b.when(j >= b.thread_idx() % 7, [&] { b.leave(); });
      b.when(i == 2, [&] { b.next(); });  // the same for all lanes
      b.assign(sum, b.var(sum) + i * 10 + j);
    });
    b.when(i == 4, [&] { b.leave(); });
  });
  b.store(out, b.thread_idx(), b.var(sum));
  const auto r = run_warps(b, {scalar(9)});
  for (int t = 0; t < 64; ++t) {
    int expected = 0;
    for (int i = 0; i < 9; ++i) {
      for (int j = 0; j < 10; ++j) {
        if (j >= t % 7) break;
        if (i == 2) continue;
        expected += i * 10 + j;
      }
      if (i == 4) break;
    }
    EXPECT_EQ(r[static_cast<std::size_t>(t)], expected) << t;
  }
}

// After every lane has left the loop in a branch, nothing more of the body may run.
TEST(ControlFlow, StatementsAfterAWholeWarpLeftAreSkipped) {
  KernelBuilder b;
  const auto out = b.pointer(DType::i32, "out");
  const auto* a = b.regs(DType::f16, 8, "a");  // never written: executing the mma would be an error
  const auto* d = b.regs(DType::f32, 4, "d");
  b.loop(b.i32(0), b.i32(3), b.i32(1), [&](E) {
    b.when(
        b.lane() < 16, [&] { b.leave(); }, [&] { b.leave(); });
    b.add<thread::MmaSync>(SourceLoc::here(), DType::f16, DType::f32, b.ref(d), b.ref(a), b.ref(a));
  });
  b.store(out, b.lane(), b.lane());
  EXPECT_EQ(run_warps(b)[31], 31);
}

TEST(ControlFlow, LoopsCountUnsignedAndWideRanges) {
  KernelBuilder b;
  const auto out = b.pointer(DType::i32, "out");
  const auto* n = b.declare(b.i32(0));
  const auto count = [&] { b.assign(n, b.var(n) + 1); };
  b.loop(b.i32(2147483600), b.i32(2147483647), b.i32(40), [&](E) { count(); });      // 2: the next would wrap
  b.loop(b.u32(4294967290), b.u32(4294967295), b.u32(3), [&](E) { count(); });       // 2
  b.loop(b.i64(-3), b.i64(4000000000LL), b.i64(2000000000LL), [&](E) { count(); });  // 3
  b.loop(b.i32(5), b.i32(5), b.i32(1), [&](E) { count(); });
  b.loop(b.i32(5), b.i32(-5), b.i32(1), [&](E) { count(); });
  b.store(out, b.lane(), b.var(n));
  EXPECT_EQ(run_warps(b)[0], 7);
}

TEST(ControlFlow, AStepThatIsNotPositiveIsReported) {
  KernelBuilder b;
  const E step = b.scalar(DType::i32, "step");
  b.loop(b.i32(0), b.i32(4), step, [](E) {});
  const Error error = error_of(b.kernel, {scalar(0)}, options());
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(), HasSubstr("step is 0; it must be positive"));
}

TEST(ControlFlow, CollectivesInDivergentCodeAreReported) {
  {
    KernelBuilder b;
    b.when(b.lane() < 5, [&] { b.sync(); });
    const Error error = error_of(b.kernel, {}, options());
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_THAT(error.what(), HasSubstr("a block barrier must be executed by a whole warp; here only 5 of 32 lanes"));
  }
  {
    KernelBuilder b;
    b.when(b.lane() < 5, [&] { b.add<thread::WarpSync>(SourceLoc::here(), 0xffffffffU); });
    EXPECT_THAT(error_of(b.kernel, {}, options()).what(),
                HasSubstr("a warp barrier for lanes 0xffffffff is executed by lanes 0x0000001f"));
  }
  {
    KernelBuilder b;
    b.when(b.lane() < 5, [&] { b.add<thread::WarpSync>(SourceLoc::here(), 0x1fU); });
    sim::run(b.kernel, {}, options());
  }
}

TEST(ControlFlow, OneLaneIsElectedAndItIsAlwaysTheSame) {
  for (const char* schedule : all_schedules) {
    KernelBuilder b;
    const auto out = b.pointer(DType::i32, "out");
    const auto* n = b.declare(b.i32(0));
    for (int i = 0; i < 2; ++i) b.when(b.elect(), [&] { b.assign(n, b.var(n) + 1); });
    b.store(out, b.lane(), b.var(n));
    std::vector<std::int32_t> r(32);
    sim::run(b.kernel, std::vector<sim::Argument>{buffer(r)}, options(schedule));
    EXPECT_EQ(std::count(r.begin(), r.end(), 2), 1) << schedule;
    EXPECT_EQ(std::count(r.begin(), r.end(), 0), 31) << schedule;
    if (std::string_view(schedule) == "eager") {
      EXPECT_EQ(r[0], 2);
    } else if (std::string_view(schedule) == "lazy") {
      EXPECT_NE(r[0], 2);
    }
  }
}

}  // namespace
}  // namespace tessera::testing
