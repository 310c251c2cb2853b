// What wgmma forbids: registers and operands that are used while it may still use them, missing fences and waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wgmma_kernel.hpp"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Misuse : WgmmaKernel {
  explicit Misuse(bool registers = false, int warps = 4) : WgmmaKernel(make(registers), warps) {}
  static WgmmaPlan make(bool registers) {
    WgmmaPlan plan;
    plan.n = 16;
    plan.registers = registers;
    return plan;
  }
  SourceLoc issue(int step = 0, SourceLoc loc = SourceLoc::here()) {
    multiply(step, loc);
    return loc;
  }
  Error error(const char* schedule) {
    std::vector<std::byte> bytes(image_bytes), as(64 * 16 * 2), cs(64 * 16 * 4);
    return error_of(b.kernel, {buffer(bytes), buffer(as), buffer(cs)}, options(schedule));
  }
  // The same report, at `loc` and with a note at `other`, under every schedule.
  template <class M>
  void expect(M matcher, SourceLoc loc, SourceLoc other) {
    for (const char* schedule : all_schedules) {
      const Error found = error(schedule);
      ASSERT_EQ(found.kind(), ErrorKind::user) << schedule << " " << found.what();
      const Diagnostic& d = found.diagnostics().at(0);
      EXPECT_THAT(d.message, matcher) << schedule;
      EXPECT_EQ(d.loc.line, loc.line);
      if (other.line == 0) continue;
      ASSERT_EQ(d.notes.size(), 1U);
      EXPECT_EQ(d.notes[0].loc.line, other.line);
    }
  }
  void correct() {
    for (const char* schedule : all_schedules) {
      const Error found = error(schedule);
      EXPECT_TRUE(found.diagnostics().empty()) << schedule << " " << found.what();
    }
  }
  static auto line(SourceLoc loc) { return HasSubstr("line " + std::to_string(loc.line)); }
};

TEST(WgmmaMisuse, AccumulatorsAreReadBeforeTheWait) {
  for (const bool committed : {false, true}) {
    Misuse k;
    k.fill();
    k.load();
    k.fence();
    const SourceLoc issued = k.issue();
    if (committed) k.commit();
    const SourceLoc read = SourceLoc::here();
    k.b.add<thread::StoreGlobalVector>(read, k.b.ref(k.d, 3), 1, k.c, k.b.i64(0), nullptr);
    k.expect(AllOf(HasSubstr("accesses element 3 of register tile acc, which the wgmma of"),
                   HasSubstr("may still write"), Misuse::line(issued), Misuse::line(read)),
             read, issued);
  }
}

TEST(WgmmaMisuse, AccumulatorsAreWrittenBeforeTheWait) {
  Misuse k;
  k.fill();
  k.load();
  k.fence();
  const SourceLoc issued = k.issue();
  k.commit();
  const SourceLoc write = SourceLoc::here();
  k.b.write(k.d, 0, {k.b.real(DType::f32, 0)}, write);
  k.expect(HasSubstr("accesses element 0 of register tile acc, which the wgmma of"), write, issued);
}

TEST(WgmmaMisuse, AWaitThatLeavesTheGroupPending) {
  for (const int pending : {0, 1}) {
    Misuse k;
    k.fill();
    k.load();
    k.fence();
    const SourceLoc issued = k.issue();
    k.commit();
    k.wait(pending);
    const SourceLoc read = SourceLoc::here();
    k.b.add<thread::StoreGlobalVector>(read, k.b.ref(k.d, 0), 1, k.c, k.b.i64(0), nullptr);
    k.wait(0);
    if (pending == 0) {
      k.correct();
    } else {
      k.expect(HasSubstr("may still write"), read, issued);
    }
  }
}

TEST(WgmmaMisuse, OperandRegistersAreUsedBeforeTheWait) {
  Misuse k(true);
  k.fill();
  k.load();
  k.fence();
  const SourceLoc issued = k.issue();
  k.commit();
  const SourceLoc write = SourceLoc::here();
  k.b.write(k.fragment, 5, {k.b.real(DType::f16, 0)}, write);
  k.expect(AllOf(HasSubstr("accesses element 5 of register tile fragment"), HasSubstr("may still read")), write,
           issued);
}

TEST(WgmmaMisuse, NoFenceAtAll) {
  Misuse k;
  k.fill();
  k.load();
  const SourceLoc issued = k.issue();
  k.expect(HasSubstr("executes a wgmma before any wgmma.fence"), issued, SourceLoc{});
}

TEST(WgmmaMisuse, NoFenceSinceARegisterWasWritten) {
  for (const bool operand : {false, true}) {
    Misuse k(true);
    k.fill();
    k.load();
    k.fence();
    const SourceLoc write = SourceLoc::here();
    k.b.write(operand ? k.fragment : k.d, 1, {k.b.real(operand ? DType::f16 : DType::f32, 0)}, write);
    const SourceLoc issued = k.issue();
    k.commit();
    k.wait(0);
    k.expect(AllOf(HasSubstr(operand ? "element 1 of register tile fragment (its first operand)"
                                     : "element 1 of register tile acc (the accumulator)"),
                   HasSubstr("without a wgmma.fence since")),
             issued, write);
  }
}

// Instructions that accumulate into the same registers need no fence between them, whatever the waits.
TEST(WgmmaMisuse, AccumulationNeedsNoFence) {
  Misuse k;
  k.fill();
  k.load();
  k.fence();
  for (int i = 0; i < 3; ++i) {
    k.issue();
    k.commit();
    k.wait(1);
  }
  k.wait(0);
  k.correct();
}

TEST(WgmmaMisuse, UninitialisedAccumulators) {
  Misuse k;
  k.fill();
  k.plan.accumulate = false;
  k.load();
  k.plan.accumulate = true;
  k.fence();
  const SourceLoc issued = k.issue();
  k.expect(HasSubstr("read of an uninitialised register: element 0 of register tile acc"), issued, SourceLoc{});
}

TEST(WgmmaMisuse, OperandsWrittenWithoutAProxyFence) {
  Misuse k;
  k.fill(false);
  k.load();
  k.fence();
  const SourceLoc issued = k.issue();
  for (const char* schedule : all_schedules) {
    const Error found = k.error(schedule);
    EXPECT_THAT(found.what(), AllOf(HasSubstr("unfenced hand-over to wgmma: the wgmma of"), Misuse::line(issued),
                                    HasSubstr("of tile sa")));
    ASSERT_EQ(found.diagnostics().at(0).notes.size(), 1U);
  }
  Misuse off;
  off.fill(false);
  off.load();
  off.fence();
  off.issue();
  off.commit();
  off.wait(0);
  sim::Options o = options();
  o.check_proxy_handover = false;
  std::vector<std::byte> bytes(off.image_bytes), as(2048), cs(4096);
  EXPECT_TRUE(error_of(off.b.kernel, {buffer(bytes), buffer(as), buffer(cs)}, o).diagnostics().empty());
}

TEST(WgmmaMisuse, OperandsWrittenWhileInFlight) {
  Misuse k;
  k.fill();
  k.load();
  k.fence();
  const SourceLoc issued = k.issue();
  k.commit();
  const auto* zero = k.b.regs(DType::u32, 1, "zero");
  k.b.write(zero, 0, {k.b.u32(0)});
  const SourceLoc write = SourceLoc::here();
  k.b.add<thread::StoreSharedVector>(write, k.b.ref(zero), 1, k.b.shared(k.plan.b.offset));
  k.wait(0);
  k.expect(AllOf(HasSubstr("overwrites what the wgmma of"), HasSubstr("may still read: byte 0 of tile sb"),
                 Misuse::line(issued), Misuse::line(write)),
           write, issued);
}

TEST(WgmmaMisuse, UninitialisedOperands) {
  Misuse k;
  k.load();
  k.fence();
  const SourceLoc issued = k.issue();
  k.commit();
  k.wait(0);
  k.expect(AllOf(HasSubstr("read of uninitialised shared memory"), HasSubstr("of tile sa")), issued, SourceLoc{});
}

TEST(WgmmaMisuse, OperandsOutsideSharedMemory) {
  Misuse k;
  k.fill();
  k.load();
  k.fence();
  thread::Wgmma* s = k.multiply(0);
  s->b.high = 0xffffU / 16;
  for (const char* schedule : all_schedules) {
    EXPECT_THAT(k.error(schedule).what(), HasSubstr("the wgmma reads shared offset"));
  }
}

TEST(WgmmaMisuse, DescriptorsThatDiffer) {
  Misuse k;
  k.fill();
  k.load();
  k.fence();
  thread::Wgmma* s = k.multiply(0);
  s->b.low = k.b.e(s->b.low) + k.b.lane().cast(DType::u32);
  EXPECT_THAT(k.error("eager").what(), HasSubstr("the second operand of a wgmma differs between threads"));
}

TEST(WgmmaMisuse, TheWarpEndsWithoutAWait) {
  for (const bool committed : {false, true}) {
    Misuse k;
    k.fill();
    k.load();
    k.fence();
    const SourceLoc issued = k.issue();
    if (committed) k.commit();
    if (!committed) k.wait(0);  // covers committed groups only
    k.expect(HasSubstr(committed ? "ends without waiting for this wgmma" : "ends without committing this wgmma"),
             issued, SourceLoc{});
  }
}

TEST(WgmmaMisuse, IncompleteWarpgroups) {
  Misuse k(false, 6);
  k.fill();
  k.load();
  k.fence();
  const SourceLoc issued = k.issue();
  k.commit();
  k.wait(0);
  for (const char* schedule : all_schedules) {
    const Error found = k.error(schedule);
    EXPECT_EQ(found.kind(), ErrorKind::user);
    EXPECT_THAT(found.what(), HasSubstr("whose warpgroup has 2 of 4 warps: the block has 6 warps"));
    EXPECT_EQ(found.diagnostics()[0].loc.line, issued.line);
  }
}

TEST(WgmmaMisuse, OneWarpAlone) {
  Misuse k;
  k.fill();
  k.load();
  k.fence();
  k.b.when(k.b.lane() < 16, [&] { k.multiply(0); });
  EXPECT_THAT(k.error("eager").what(), HasSubstr("wgmma must be executed by a whole warp; here only 16 of 32 lanes"));
}

TEST(WgmmaMisuse, WarpsThatStayAway) {
  Misuse k;
  k.fill();
  k.load();
  k.fence();
  const SourceLoc issued = SourceLoc::here();
  k.b.when(k.b.warp() != 2, [&] {
    k.multiply(0, issued);
    k.commit();
    k.wait(0);
  });
  k.expect(HasSubstr("executed a wgmma that warp 2 of its warpgroup never came to"), issued, SourceLoc{});
}

TEST(WgmmaMisuse, WarpsWithOtherOperands) {
  Misuse k;
  k.fill();
  k.load();
  k.fence();
  const SourceLoc issued = SourceLoc::here();
  thread::Wgmma* s = k.multiply(0, issued);
  s->b.low = k.b.e(s->b.low) + k.b.select(k.b.warp() == 1, k.b.u32(8), k.b.u32(0));
  k.commit();
  k.wait(0);
  k.expect(HasSubstr("of its warpgroup executed it with other operands"), issued, issued);
}

// Another shape into registers in flight.
TEST(WgmmaMisuse, AnotherShapeInFlight) {
  Misuse k;
  k.fill();
  k.load();
  k.fence();
  const SourceLoc first = k.issue();
  const SourceLoc second = SourceLoc::here();
  k.multiply(0, second)->n = 8;
  k.commit();
  k.wait(0);
  k.expect(HasSubstr("uses registers that the wgmma of"), second, first);
}

}  // namespace
}  // namespace tessera::testing
