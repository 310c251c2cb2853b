// mbarriers by PTX's rules, and the reports of what a phase lacks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel_builder.hpp"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Kernel : KernelBuilder {
  explicit Kernel(int warps = 2, std::uint32_t count = 1, bool init = true) : KernelBuilder(warps, 64) {
    region("bars", 16, 16, true);
    if (!init) return;
    when(thread_idx() == 0, [&] { add<thread::MbarrierInit>(SourceLoc::here(), shared(16), count); });
    sync();
  }
  void arrive(std::uint32_t n = 1, std::uint32_t offset = 16, SourceLoc loc = SourceLoc::here()) {
    add<thread::MbarrierArrive>(loc, shared(offset), n);
  }
  void expect(std::int64_t bytes, SourceLoc loc = SourceLoc::here()) {
    add<thread::MbarrierArriveExpectTx>(loc, shared(16), u32(bytes));
  }
  void wait(E parity, SourceLoc loc = SourceLoc::here()) { add<thread::MbarrierWait>(loc, shared(16), parity); }
  void wait(int parity, SourceLoc loc = SourceLoc::here()) { wait(u32(parity), loc); }
  Error error(const char* schedule = "eager") { return error_of(kernel, {}, options(schedule)); }
};

// Warp 0 produces numbers through a full and an empty barrier, warp 1 adds them up.
TEST(Mbarrier, PhasesHandDataBackAndForth) {
  for (const char* schedule : all_schedules) {
    KernelBuilder b(2, 256);
    const auto out = b.pointer(DType::i32, "out");
    b.when(b.thread_idx() == 0, [&] {
      b.add<thread::MbarrierInit>(SourceLoc::here(), b.shared(128), 32U);  // full
      b.add<thread::MbarrierInit>(SourceLoc::here(), b.shared(136), 1U);   // empty
    });
    b.sync();
    const auto* phase = b.declare(b.u32(0));
    const auto* a = b.regs(DType::i32, 1, "a");
    const auto* sum = b.declare(b.i32(0));
    const E slot = b.shared(0) + (b.lane() * 4).cast(DType::u32);
    b.loop(b.i32(0), b.i32(7), b.i32(1), [&](E i) {
      b.when(
          b.warp() == 0,
          [&] {
            b.add<thread::MbarrierWait>(SourceLoc::here(), b.shared(136), b.var(phase) ^ 1);
            b.write(a, 0, {i * 100 + b.lane()});
            b.add<thread::StoreSharedVector>(SourceLoc::here(), b.ref(a), 1, slot);
            b.add<thread::MbarrierArrive>(SourceLoc::here(), b.shared(128), 1U);
          },
          [&] {
            b.add<thread::MbarrierWait>(SourceLoc::here(), b.shared(128), b.var(phase));
            b.add<thread::LoadSharedVector>(SourceLoc::here(), b.ref(a), 1, slot);
            b.assign(sum, b.var(sum) + b.reg(a, 0));
            b.when(b.elect(), [&] { b.add<thread::MbarrierArrive>(SourceLoc::here(), b.shared(136), 1U); });
          });
      b.assign(phase, b.var(phase) ^ 1);
    });
    b.when(b.warp() == 1, [&] { b.store(out, b.lane(), b.var(sum)); });
    std::vector<std::int32_t> r(32);
    sim::run(b.kernel, std::vector<sim::Argument>{buffer(r)}, options(schedule));
    for (int lane = 0; lane < 32; ++lane) EXPECT_EQ(r[static_cast<std::size_t>(lane)], 2100 + 7 * lane) << schedule;
  }
}

TEST(Mbarrier, AFreshBarrierLetsParityOnePass) {
  Kernel k;
  k.wait(1);
  EXPECT_TRUE(k.error().diagnostics().empty());
}

TEST(Mbarrier, ArrivalsCountAsOftenAsTheySay) {
  Kernel k(2, 6);
  k.when(k.thread_idx() < 2, [&] { k.arrive(3); });
  k.wait(0);
  EXPECT_TRUE(k.error().diagnostics().empty()) << k.error().what();
}

TEST(Mbarrier, UseBeforeInitialisation) {
  Kernel k(1, 1, false);
  const auto line = static_cast<std::uint32_t>(__LINE__ + 1);
  k.when(k.lane() == 0, [&] { k.arrive(); });
  const Error error = k.error();
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(), HasSubstr("arrive on mbarrier bars[0] before it is initialised"));
  EXPECT_EQ(error.diagnostics()[0].loc.line, line);
  Kernel w(1, 1, false);
  w.wait(0);
  EXPECT_THAT(w.error().what(), HasSubstr("wait on mbarrier bars[0] before it is initialised"));
  Kernel other;
  other.arrive(1, 24);
  EXPECT_THAT(other.error().what(), HasSubstr("arrive on mbarrier bars[1] before"));
  Kernel outside;
  outside.arrive(1, 64);
  EXPECT_THAT(outside.error().what(), HasSubstr("arrive at shared offset 64, which is not 8 aligned bytes"));
}

TEST(Mbarrier, InitialisedTwice) {
  Kernel k;
  k.when(k.thread_idx() == 0, [&] { k.add<thread::MbarrierInit>(SourceLoc::here(), k.shared(16), 1U); });
  const Error error = k.error();
  EXPECT_THAT(error.what(), HasSubstr("mbarrier bars[0] is initialised twice"));
  EXPECT_EQ(error.diagnostics()[0].notes.size(), 1U);
  Kernel all(1, 1, false);  // every lane
  all.add<thread::MbarrierInit>(SourceLoc::here(), all.shared(16), 1U);
  EXPECT_THAT(all.error().what(), HasSubstr("initialised twice"));
}

TEST(Mbarrier, CountsOutOfRange) {
  for (const std::uint32_t count : {0U, 1U << 20}) {
    Kernel k(1, count);
    EXPECT_THAT(k.error().what(),
                HasSubstr("is initialised with a count of " + std::to_string(count) + "; 1 to 1048575 are possible"));
  }
  Kernel k(1, (1U << 20) - 1);
  EXPECT_TRUE(k.error().diagnostics().empty());
}

TEST(Mbarrier, MoreArrivalsThanTheCount) {
  Kernel k(1, 3);
  k.when(k.lane() < 2, [&] { k.arrive(2); });
  const Error error = k.error();
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("2 threads arriving on mbarrier bars[0], whose phase 0 needs 1 more (its count is 3)"),
                    HasSubstr("lane 1")));
}

TEST(Mbarrier, ArrivingAgainBeforeTheBytesCame) {
  Kernel k(1);
  k.when(k.lane() == 0, [&] {
    k.expect(100);
    k.expect(100);
  });
  EXPECT_THAT(k.error().what(),
              HasSubstr("the phase waits for 200 more of the 200 bytes declared, so this thread did not wait for it"));
}

TEST(Mbarrier, TransactionCountOutOfRange) {
  Kernel k(1, 2);
  k.when(k.lane() < 2, [&] { k.expect(600000); });
  EXPECT_THAT(k.error().what(),
              HasSubstr("mbarrier bars[0] would expect 1200000 bytes; a phase holds at most 1048575"));
}

TEST(Mbarrier, AParityIsOneBit) {
  Kernel k(1);
  k.wait(2);
  EXPECT_THAT(k.error().what(), HasSubstr("wait for phase parity 2; a parity is 0 or 1"));
}

TEST(Deadlock, NobodyArrived) {
  Kernel k(2);
  const auto line = static_cast<std::uint32_t>(__LINE__ + 1);
  k.when(k.thread_idx() == 0, [&] { k.wait(0); });
  k.sync();
  for (const char* schedule : all_schedules) {
    const Error error = k.error(schedule);
    EXPECT_EQ(error.kind(), ErrorKind::user);
    const Diagnostic& d = error.diagnostics().at(0);
    EXPECT_THAT(d.message, AllOf(HasSubstr("deadlock in block (0, 0, 0)"),
                                 HasSubstr("warp 0 (lane 0) waits on mbarrier bars[0] for phase parity 0"),
                                 HasSubstr("1 arrival missing of 1: nobody has arrived since it was initialised")));
    EXPECT_EQ(d.loc.line, line);
    ASSERT_EQ(d.notes.size(), 1U);
    EXPECT_THAT(d.notes[0].message,
                HasSubstr("warp 1 waits at barrier 0 for 64 threads, of which 32 have come: 32 threads missing"));
    EXPECT_EQ(d.notes[0].loc.line, line + 1);
  }
}

TEST(Deadlock, SomeArrivalsMissing) {
  Kernel k(1, 4);
  k.when(k.lane() < 3, [&] { k.arrive(); });
  k.wait(0);
  EXPECT_THAT(k.error().what(), HasSubstr("1 arrival missing of 4 in phase 0; the last arrival was at line"));
}

TEST(Deadlock, WrongPhase) {
  Kernel k(1);
  k.when(k.lane() == 0, [&] { k.arrive(); });
  k.wait(0);
  k.wait(1);  // nobody arrives in phase 1
  const Error error = k.error();
  EXPECT_THAT(error.what(), AllOf(HasSubstr("waits on mbarrier bars[0] for phase parity 1"),
                                  HasSubstr("phase 0 (parity 0) was the last to complete"),
                                  HasSubstr("nobody has arrived in phase 1 (parity 1)"),
                                  HasSubstr("a wait for parity 0 would not have waited")));
}

TEST(Deadlock, BytesThatNeverCame) {
  Kernel k(1);
  const auto line = __LINE__ + 1;
  k.when(k.lane() == 0, [&] { k.expect(512); });
  k.wait(0);
  EXPECT_THAT(k.error().what(), HasSubstr("512 bytes of the 512 declared by arrive_and_expect_tx at line " +
                                          std::to_string(line) + " were never delivered"));
}

TEST(Deadlock, AWarpThatLookedTooLate) {
  // Warp 1 waits for phase 0 while warp 0 completes two phases.
  Kernel k(2);
  const auto* done = k.declare(k.i32(0));
  k.when(
      k.warp() == 0,
      [&] {
        k.add<thread::BarrierSync>(SourceLoc::here(), 1, 64);
        k.when(k.lane() == 0, [&] {
          k.arrive();
          k.arrive();
        });
      },
      [&] {
        k.assign(done, k.i32(1));
        k.when(k.elect(), [&] { k.assign(done, k.i32(2)); });
        k.add<thread::BarrierSync>(SourceLoc::here(), 1, 64);
        k.wait(0);
      });
  bool lagged = false;
  for (int seed = 0; seed < 40; ++seed) {
    const Error error = k.error(("random:" + std::to_string(seed)).c_str());
    if (error.diagnostics().empty()) continue;
    lagged = true;
    EXPECT_THAT(error.what(),
                ::testing::AnyOf(HasSubstr("the barrier passed from phase 0 to phase 2 before this warp looked again"),
                                 HasSubstr("phase 1 (parity 1) was the last to complete")));
  }
  EXPECT_TRUE(lagged);
}

}  // namespace
}  // namespace tessera::testing
