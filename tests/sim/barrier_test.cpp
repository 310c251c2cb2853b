// Named barriers and how a block that waits at one can die.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel_builder.hpp"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Two groups of two warps, each with a barrier of its own, exchange numbers a different number of times.
TEST(NamedBarrier, GroupsAreIndependent) {
  for (const char* schedule : all_schedules) {
    KernelBuilder b(4, 512);
    const auto out = b.pointer(DType::i32, "out");
    const auto* a = b.regs(DType::i32, 1, "a");
    const E own = b.shared(0) + (b.thread_idx() * 4).cast(DType::u32);
    const E other = b.shared(0) + ((b.thread_idx() ^ 32) * 4).cast(DType::u32);
    b.write(a, 0, {b.thread_idx()});
    const auto exchange = [&](int id, int rounds) {
      for (int i = 0; i < rounds; ++i) {
        b.add<thread::StoreSharedVector>(SourceLoc::here(), b.ref(a), 1, own);
        b.add<thread::BarrierSync>(SourceLoc::here(), id, 64);
        b.add<thread::LoadSharedVector>(SourceLoc::here(), b.ref(a), 1, other);
        b.write(a, 0, {b.reg(a, 0) + 1000});
        b.add<thread::BarrierSync>(SourceLoc::here(), id, 64);
      }
    };
    b.when(
        b.warp() < 2, [&] { exchange(1, 3); }, [&] { exchange(2, 2); });
    b.store(out, b.thread_idx(), b.reg(a, 0));
    std::vector<std::int32_t> r(128);
    sim::run(b.kernel, std::vector<sim::Argument>{buffer(r)}, options(schedule));
    for (int t = 0; t < 128; ++t)
      EXPECT_EQ(r[static_cast<std::size_t>(t)], t < 64 ? 3000 + (t ^ 32) : 2000 + t) << schedule;
  }
}

TEST(NamedBarrier, DifferentCountsAtOneBarrier) {
  KernelBuilder b(4);
  SourceLoc first, second;
  b.when(
      b.warp() == 0,
      [&] {
        first = SourceLoc::here();
        b.add<thread::BarrierSync>(first, 3, 64);
      },
      [&] {
        second = SourceLoc::here();
        b.add<thread::BarrierSync>(second, 3, 96);
      });
  const Error error = error_of(b.kernel, {}, options());
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(),
              HasSubstr("barrier 3 is used for 96 threads here, while warp 0 waits at it for 64 threads"));
  EXPECT_EQ(error.diagnostics()[0].loc.line, second.line);
  ASSERT_EQ(error.diagnostics()[0].notes.size(), 1U);
  EXPECT_EQ(error.diagnostics()[0].notes[0].loc.line, first.line);
}

TEST(NamedBarrier, IdsAndCountsOutOfRange) {
  for (const auto& [id, threads] : {std::pair{16, 32}, {-1, 32}, {0, 0}, {0, 33}, {0, 96}}) {
    KernelBuilder b(2);
    b.add<thread::BarrierSync>(SourceLoc::here(), id, threads);
    EXPECT_THAT(
        error_of(b.kernel, {}, options()).what(),
        HasSubstr("barrier " + std::to_string(id) + " for " + std::to_string(threads) + " threads in a block of 64"));
  }
}

TEST(NamedBarrier, AWarpThatHasEndedIsMissed) {
  KernelBuilder b(3);
  b.when(b.warp() != 1, [&] { b.sync(); });
  for (const char* schedule : all_schedules) {
    const Error error = error_of(b.kernel, {}, options(schedule));
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_THAT(
        error.diagnostics().at(0).message,
        AllOf(HasSubstr("deadlock"),
              HasSubstr("warp 0 waits at barrier 0 for 96 threads, of which 64 have come: 32 threads missing")));
    ASSERT_EQ(error.diagnostics()[0].notes.size(), 2U);
    EXPECT_EQ(error.diagnostics()[0].notes[0].message, "warp 1 has ended");
  }
}

}  // namespace
}  // namespace tessera::testing
