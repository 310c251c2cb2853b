// What warps of different roles share: barriers that some only arrive at, and the block's registers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel_builder.hpp"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Warp 0 produces and only arrives at "full"; warp 1 consumes and only arrives at "empty".
TEST(NamedBarrier, ArriveAndSync) {
  for (const char* schedule : all_schedules) {
    KernelBuilder b(2, 256);
    const auto out = b.pointer(DType::i32, "out");
    const auto* a = b.regs(DType::i32, 1, "a");
    const E own = b.shared(0) + (b.lane() * 4).cast(DType::u32);
    const auto* sum = b.declare(b.i32(0));
    b.loop(b.i32(0), b.i32(6), b.i32(1), [&](E i) {
      b.when(
          b.warp() == 0,
          [&] {
            b.when(i >= 1, [&] { b.add<thread::BarrierSync>(SourceLoc::here(), 2, 64); });
            b.write(a, 0, {i * 10});
            b.add<thread::StoreSharedVector>(SourceLoc::here(), b.ref(a), 1, own);
            b.add<thread::BarrierArrive>(SourceLoc::here(), 1, 64);
          },
          [&] {
            b.add<thread::BarrierSync>(SourceLoc::here(), 1, 64);
            b.add<thread::LoadSharedVector>(SourceLoc::here(), b.ref(a), 1, own);
            b.assign(sum, b.var(sum) + b.reg(a, 0));
            b.when(i < 5, [&] { b.add<thread::BarrierArrive>(SourceLoc::here(), 2, 64); });
          });
    });
    b.when(b.warp() == 1, [&] { b.store(out, b.lane(), b.var(sum)); });
    std::vector<std::int32_t> r(32);
    sim::run(b.kernel, std::vector<sim::Argument>{buffer(r)}, options(schedule));
    for (const std::int32_t v : r) EXPECT_EQ(v, 150) << schedule;
  }
}

TEST(NamedBarrier, AnArrivalIsCountedInTheReport) {
  KernelBuilder b(4);
  b.when(
      b.warp() == 0, [&] { b.add<thread::BarrierArrive>(SourceLoc::here(), 4, 96); },
      [&] { b.when(b.warp() == 1, [&] { b.add<thread::BarrierSync>(SourceLoc::here(), 4, 96); }); });
  for (const char* schedule : all_schedules) {
    EXPECT_THAT(error_of(b.kernel, {}, options(schedule)).what(),
                HasSubstr("warp 1 waits at barrier 4 for 96 threads, of which 64 have come: 32 threads missing"));
  }
}

TEST(NamedBarrier, ArrivalsOfDifferentCounts) {
  KernelBuilder b(4);
  SourceLoc first;
  b.when(
      b.warp() == 0,
      [&] {
        first = SourceLoc::here();
        b.add<thread::BarrierArrive>(first, 3, 64);
      },
      [&] { b.add<thread::BarrierArrive>(SourceLoc::here(), 3, 96); });
  const Error error = error_of(b.kernel, {}, options());
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(),
              HasSubstr("barrier 3 is used for 96 threads here, while warp 0 arrived at it for 64 threads"));
  EXPECT_EQ(error.diagnostics()[0].notes.at(0).loc.line, first.line);
}

struct Roles : KernelBuilder {
  explicit Roles(int warps = 12) : KernelBuilder(warps) {}
  void set(int count, bool increase, SourceLoc loc = SourceLoc::here()) {
    add<thread::SetMaxRegisters>(loc, count, increase);
  }
};

TEST(Registers, OneRoleGivesWhatOthersTake) {
  for (const auto& pair : {std::pair{40, 232}, {24, 240}}) {
    const int producer = pair.first, consumer = pair.second;
    for (const char* schedule : all_schedules) {
      Roles b;
      b.when(
          b.warp() < 8, [&] { b.set(consumer, true); }, [&] { b.set(producer, false); });
      const Error error = error_of(b.kernel, {}, options(schedule));
      EXPECT_TRUE(error.diagnostics().empty()) << error.what();
    }
  }
}

TEST(Registers, MoreThanTheBlockHas) {
  for (const char* schedule : all_schedules) {
    Roles b;
    SourceLoc loc;
    b.when(
        b.warp() >= 4,
        [&] {
          loc = SourceLoc::here();
          b.set(240, true, loc);
        },
        [&] { b.set(40, false); });
    const Error error = error_of(b.kernel, {}, options(schedule));
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_THAT(
        error.what(),
        AllOf(HasSubstr("deadlock in block (0, 0, 0)"),
              HasSubstr("waits for registers, from 168 to 240 a thread, which takes 2304 registers"),
              HasSubstr("are free of the 64512 that the block was launched with, and its warps together ask for "
                        "66560")));
    EXPECT_EQ(error.diagnostics()[0].loc.line, loc.line);
    EXPECT_THAT(error.diagnostics()[0].help, HasSubstr("setmaxnreg.dec"));
  }
}

TEST(Registers, TwoBlocksAMultiprocessor) {
  Roles b;
  b.kernel.ctas_per_sm = 2;  // 80 a thread
  b.when(
      b.warp() < 8, [&] { b.set(104, true); }, [&] { b.set(32, false); });
  EXPECT_TRUE(error_of(b.kernel, {}, options()).diagnostics().empty());
  b.kernel.ctas_per_sm = 1;  // 168 a thread
  EXPECT_THAT(error_of(b.kernel, {}, options()).what(),
              HasSubstr("setmaxnreg.inc to 104 registers in warp 0, which has 168"));
}

// A partition of the register file holds whole warps: nine are launched with what twelve get, not 65536 / 288.
TEST(Registers, WarpsThatAreNoMultipleOfFour) {
  Roles b(9);
  b.when(b.warp() < 4, [&] { b.set(176, false); });
  EXPECT_THAT(error_of(b.kernel, {}, options()).what(),
              HasSubstr("setmaxnreg.dec to 176 registers in warp 0, which has 168"));
}

TEST(Registers, CountsAndDirections) {
  for (const int count : {16, 264, 100}) {
    Roles b;
    b.set(count, false);
    EXPECT_THAT(error_of(b.kernel, {}, options()).what(), HasSubstr("multiples of 8 from 24 to 256 are possible"));
  }
  Roles b;
  b.set(176, false);
  EXPECT_THAT(error_of(b.kernel, {}, options()).what(),
              HasSubstr("setmaxnreg.dec to 176 registers in warp 0, which has 168"));
}

}  // namespace
}  // namespace tessera::testing
