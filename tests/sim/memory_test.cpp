// Ordinary loads and stores: widths, masks, bounds, alignment, and shared memory that nobody wrote.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel_builder.hpp"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Global, VectorsOfEveryWidth) {
  for (const int count : {1, 2, 4, 8}) {
    KernelBuilder b;
    const auto in = b.pointer(DType::f16, "in");
    const auto out = b.pointer(DType::f16, "out");
    const auto* a = b.regs(DType::f16, 8, "a");
    const E offset = b.lane().cast(DType::i64) * count;
    b.add<thread::LoadGlobalVector>(SourceLoc::here(), b.ref(a), count, in, offset, nullptr);
    b.add<thread::StoreGlobalVector>(SourceLoc::here(), b.ref(a), count, out, offset, nullptr);
    std::vector<std::uint16_t> x(static_cast<std::size_t>(32 * count)), y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint16_t>(i * 257);
    sim::run(b.kernel, std::vector<sim::Argument>{buffer(x), buffer(y)}, options());
    EXPECT_EQ(x, y) << count;
  }
}

TEST(Global, AMaskedOffLaneReadsZeroAndStoresNothing) {
  KernelBuilder b;
  const auto in = b.pointer(DType::i32, "in");
  const auto out = b.pointer(DType::i32, "out");
  const auto* a = b.regs(DType::i32, 2, "a");
  const E offset = b.lane().cast(DType::i64) * 2;
  b.add<thread::LoadGlobalVector>(SourceLoc::here(), b.ref(a), 2, in, offset, b.lane() < 5);  // the buffer ends there
  b.add<thread::StoreGlobalVector>(SourceLoc::here(), b.ref(a), 2, out, offset, b.lane() < 7);
  std::vector<std::int32_t> x(10, 3), y(64, -1);
  sim::run(b.kernel, std::vector<sim::Argument>{buffer(x), buffer(y)}, options());
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(y[i], i < 10 ? 3 : i < 14 ? 0 : -1) << i;
}

Error out_of_bounds(std::int64_t first, std::size_t elements, bool store, bool null = false) {
  KernelBuilder b;
  const auto p = b.pointer(DType::f32, "c_ptr");
  const auto* a = b.regs(DType::f32, 2, "a");
  b.write(a, 0, {b.real(DType::f32, 1), b.real(DType::f32, 1)});
  const E offset = b.lane().cast(DType::i64) * 2 + first;
  if (store) {
    b.add<thread::StoreGlobalVector>(SourceLoc::here(), b.ref(a), 2, p, offset, nullptr);
  } else {
    b.add<thread::LoadGlobalVector>(SourceLoc::here(), b.ref(a), 2, p, offset, nullptr);
  }
  std::vector<float> x(elements);
  sim::Argument argument = buffer(x);
  if (null) argument.data = nullptr;
  return error_of(b.kernel, {argument}, options());
}

TEST(Global, BoundsAreChecked) {
  EXPECT_TRUE(out_of_bounds(0, 64, true).diagnostics().empty());
  EXPECT_TRUE(out_of_bounds(0, 64, false).diagnostics().empty());
  const Error high = out_of_bounds(0, 62, true);
  EXPECT_EQ(high.kind(), ErrorKind::user);
  EXPECT_THAT(
      high.what(),
      AllOf(HasSubstr(
                "out-of-bounds store of elements 62 to 63 of parameter c_ptr, whose buffer has 62 elements of float32"),
            HasSubstr("lane 31")));
  EXPECT_THAT(out_of_bounds(0, 63, false).what(), HasSubstr("out-of-bounds load of elements 62 to 63"));
  EXPECT_THAT(out_of_bounds(-2, 64, false).what(), HasSubstr("elements -2 to -1"));
  EXPECT_THAT(out_of_bounds(INT64_MAX - 100, 64, false).what(), HasSubstr("out-of-bounds"));
  EXPECT_THAT(out_of_bounds(0, 64, false, true).what(), HasSubstr("null pointer"));
}

TEST(Global, AlignmentIsChecked) {
  const Error error = out_of_bounds(1, 66, true);
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(), HasSubstr("misaligned access: 8 bytes from element 1 of parameter c_ptr"));
}

// Every thread stores its number and reads its neighbour's.
TEST(Shared, ThreadsExchangeThroughSharedMemory) {
  for (const char* schedule : all_schedules) {
    KernelBuilder b(4, 512);
    const auto out = b.pointer(DType::i32, "out");
    const auto* a = b.regs(DType::i32, 1, "a");
    b.write(a, 0, {b.thread_idx() * 7});
    b.add<thread::StoreSharedVector>(SourceLoc::here(), b.ref(a), 1,
                                     b.shared(0) + (b.thread_idx() * 4).cast(DType::u32));
    b.sync();
    b.add<thread::LoadSharedVector>(SourceLoc::here(), b.ref(a), 1,
                                    b.shared(0) + ((b.thread_idx() + 33) % 128 * 4).cast(DType::u32));
    b.store(out, b.thread_idx(), b.reg(a, 0));
    std::vector<std::int32_t> r(128);
    sim::run(b.kernel, std::vector<sim::Argument>{buffer(r)}, options(schedule));
    for (int t = 0; t < 128; ++t) EXPECT_EQ(r[static_cast<std::size_t>(t)], (t + 33) % 128 * 7) << schedule;
  }
}

TEST(Shared, MaskedStoresAndSmallElements) {
  KernelBuilder b(1, 64);
  const auto out = b.pointer(DType::u8, "out");
  const auto* a = b.regs(DType::u8, 3, "a");
  b.write(a, 1, {b.lane().cast(DType::u8)});
  b.write(a, 2, {(b.lane() + 100).cast(DType::u8)});
  const E address = b.shared(0) + (b.lane() * 2).cast(DType::u32);
  b.add<thread::StoreSharedVector>(SourceLoc::here(), b.ref(a, 1), 1, address);
  b.add<thread::StoreSharedVector>(SourceLoc::here(), b.ref(a, 2), 1, address + 1);
  b.write(a, 0, {b.lane().cast(DType::u8) * 0});
  b.add<thread::StoreSharedVector>(SourceLoc::here(), b.ref(a, 0), 1, address, b.lane() % 2 == 0);
  const auto* both = b.regs(DType::u8, 2, "both");
  b.add<thread::LoadSharedVector>(SourceLoc::here(), b.ref(both), 2, address);
  b.add<thread::StoreGlobalVector>(SourceLoc::here(), b.ref(both), 2, out, b.lane().cast(DType::i64) * 2, nullptr);
  std::vector<std::uint8_t> r(64);
  sim::run(b.kernel, std::vector<sim::Argument>{buffer(r)}, options());
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(r[static_cast<std::size_t>(2 * lane)], lane % 2 == 0 ? 0 : lane);
    EXPECT_EQ(r[static_cast<std::size_t>(2 * lane + 1)], lane + 100);
  }
}

struct SharedAccess {
  std::uint32_t offset = 0;
  int count = 1;
  bool load = false;
};

Error shared_access(const SharedAccess& access) {
  KernelBuilder b(1, 64);
  b.region("sa", 16, 32);
  b.region("bar", 48, 8, true);
  const auto* a = b.regs(DType::u16, 8, "a");
  const auto at = [&](std::uint32_t offset) { return b.shared(offset); };
  b.write(a, 0, std::vector<const Expr*>(8, b.e(b.pool().constant(DType::u16, 1))));
  b.add<thread::StoreSharedVector>(SourceLoc::here(), b.ref(a), 5 - 1, at(16), nullptr);  // bytes 16 to 23
  if (access.load) {
    b.add<thread::LoadSharedVector>(SourceLoc::here(), b.ref(a), access.count, at(access.offset));
  } else {
    b.add<thread::StoreSharedVector>(SourceLoc::here(), b.ref(a), access.count, at(access.offset));
  }
  return error_of(b.kernel, {}, options());
}

TEST(Shared, UninitialisedBytesAreReported) {
  EXPECT_TRUE(shared_access({16, 4, true}).diagnostics().empty());
  const Error error = shared_access({16, 8, true});
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("read of uninitialised shared memory: byte 8 of tile sa (shared offset 24)"),
                    HasSubstr("lane 0")));
  EXPECT_THAT(shared_access({0, 1, true}).what(), HasSubstr("shared offset 0, which belongs to no tile"));
}

TEST(Shared, BoundsAndAlignmentAreChecked) {
  EXPECT_THAT(shared_access({64, 1, true}).what(),
              HasSubstr("read of 2 bytes at shared offset 64 is outside the block's 64 bytes"));
  EXPECT_THAT(shared_access({static_cast<std::uint32_t>(-4), 1, false}).what(),
              HasSubstr("shared offset -4 is outside"));
  EXPECT_THAT(shared_access({20, 4, true}).what(),
              HasSubstr("read of 8 bytes at byte 4 of tile sa (shared offset 20) is not aligned"));
  EXPECT_THAT(shared_access({36, 8, false}).what(), HasSubstr("must be a multiple of 16"));
}

TEST(Shared, BarrierStorageIsNotData) {
  EXPECT_THAT(shared_access({48, 4, false}).what(),
              HasSubstr("a store touches the storage of an mbarrier: byte 0 of the barriers bar"));
  EXPECT_THAT(shared_access({50, 1, true}).what(), HasSubstr("a load touches the storage of an mbarrier"));
  EXPECT_TRUE(shared_access({56, 4, false}).diagnostics().empty());
}

// Also where no region says that a barrier lies there.
TEST(Shared, AnInitialisedBarrierIsNotData) {
  KernelBuilder b(1, 64);
  const auto* a = b.regs(DType::u32, 1, "a");
  b.write(a, 0, {b.u32(0)});
  b.when(b.lane() == 0, [&] {
    b.add<thread::MbarrierInit>(SourceLoc::here(), b.shared(8), 1U);
    b.add<thread::StoreSharedVector>(SourceLoc::here(), b.ref(a), 1, b.shared(12));
  });
  EXPECT_THAT(error_of(b.kernel, {}, options()).what(), HasSubstr("a store touches the storage of an mbarrier"));
}

// What one block leaves behind is not there for the next one on the same host thread.
TEST(Shared, ABlockStartsWithUninitialisedMemory) {
  KernelBuilder b(1, 128);
  b.kernel.grid[0] = b.i64(2);
  const auto* a = b.regs(DType::i32, 1, "a");
  const E address = b.shared(0) + (b.lane() * 4).cast(DType::u32);
  b.when(b.block_idx(0) == 0, [&] {
    b.write(a, 0, {b.lane()});
    b.add<thread::StoreSharedVector>(SourceLoc::here(), b.ref(a), 1, address);
  });
  b.add<thread::LoadSharedVector>(SourceLoc::here(), b.ref(a), 1, address);
  EXPECT_THAT(error_of(b.kernel, {}, options()).what(),
              AllOf(HasSubstr("uninitialised shared memory"), HasSubstr("block (1, 0, 0)")));
}

}  // namespace
}  // namespace tessera::testing
