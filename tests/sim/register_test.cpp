// Register arrays: packing, indices that differ by lane, and reads of what nobody wrote.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel_builder.hpp"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

template <class T>
void round_trip() {
  KernelBuilder b;
  const DType type = dtype_of<T>;
  const auto in = b.pointer(type, "in");
  const auto out = b.pointer(type, "out");
  const auto* a = b.regs(type, 6, "a");
  // Elements 1 to 4 one by one, 0 and 5 through expressions.
  for (int i = 1; i < 5; ++i) {
    b.add<thread::LoadGlobalVector>(SourceLoc::here(), b.ref(a, i), 1, in, b.lane().cast(DType::i64) * 6 + i, nullptr);
  }
  b.write(a, 0, {b.reg(a, 4)});
  b.write(a, 5, {b.reg(a, 1)});
  for (int i = 0; i < 6; ++i) {
    b.add<thread::StoreGlobalVector>(SourceLoc::here(), b.ref(a, i), 1, out, b.lane().cast(DType::i64) * 6 + i,
                                     nullptr);
  }
  std::vector<T> x(192), y(192);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if constexpr (std::is_same_v<T, float16>)
      x[i] = float16::from_bits(static_cast<std::uint16_t>(0x3c00 + i));
    else
      x[i] = static_cast<T>(static_cast<std::int64_t>(i) * 1103515245 - 77777);
  }
  sim::run(b.kernel, std::vector<sim::Argument>{buffer(x), buffer(y)}, options());
  for (std::size_t lane = 0; lane < 32; ++lane) {
    for (std::size_t i = 0; i < 6; ++i) {
      const std::size_t from = 6 * lane + (i == 0 ? 4 : i == 5 ? 1 : i);
      EXPECT_EQ(std::memcmp(&y[6 * lane + i], &x[from], sizeof(T)), 0) << name_of(type) << " " << lane << " " << i;
    }
  }
}

TEST(Registers, EveryWidthKeepsItsBits) {
  round_trip<std::int8_t>();
  round_trip<std::uint8_t>();
  round_trip<std::int16_t>();
  round_trip<std::uint16_t>();
  round_trip<float16>();
  round_trip<std::int32_t>();
  round_trip<std::uint32_t>();
  round_trip<float>();
  round_trip<std::int64_t>();
  round_trip<std::uint64_t>();
}

TEST(Registers, BooleansTakeAWordEach) {
  KernelBuilder b;
  const auto out = b.pointer(DType::boolean, "out");
  const auto* a = b.regs(DType::boolean, 4, "a");
  for (int i = 0; i < 4; ++i) b.write(a, i, {b.lane() % (i + 2) == 0});
  b.add<thread::StoreGlobalVector>(SourceLoc::here(), b.ref(a), 4, out, b.lane().cast(DType::i64) * 4, nullptr);
  std::vector<std::uint8_t> r(128, 9);
  sim::run(b.kernel, std::vector<sim::Argument>{buffer(r)}, options());
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) EXPECT_EQ(r[static_cast<std::size_t>(4 * lane + i)], lane % (i + 2) == 0 ? 1 : 0);
  }
}

TEST(Registers, AllValuesAreComputedBeforeTheFirstIsWritten) {
  KernelBuilder b;
  const auto out = b.pointer(DType::i32, "out");
  const auto* a = b.regs(DType::i32, 3, "a");
  b.write(a, 0, {b.lane(), b.lane() + 100, b.lane() + 200});
  b.write(a, 0, {b.reg(a, 2), b.reg(a, 0), b.reg(a, 1)});  // a rotation
  for (int i = 0; i < 3; ++i) b.store(out, b.lane() * 3 + i, b.reg(a, i));
  std::vector<std::int32_t> r(96);
  sim::run(b.kernel, std::vector<sim::Argument>{buffer(r)}, options());
  EXPECT_EQ(r[3 * 5 + 0], 205);
  EXPECT_EQ(r[3 * 5 + 1], 5);
  EXPECT_EQ(r[3 * 5 + 2], 105);
}

TEST(Registers, AnIndexMayDifferByLane) {
  KernelBuilder b;
  const auto out = b.pointer(DType::i16, "out");
  const auto* a = b.regs(DType::i16, 5, "a");
  for (int i = 0; i < 5; ++i) b.write(a, i, {b.i32(i * 11).cast(DType::i16)});
  b.write(a, b.lane() % 5, {(b.lane() + 500).cast(DType::i16)});
  b.store(out, b.lane(), b.reg(a, b.lane() % 5) + b.reg(a, (b.lane() + 1) % 5));
  std::vector<std::int16_t> r(32);
  sim::run(b.kernel, std::vector<sim::Argument>{buffer(r)}, options());
  for (int lane = 0; lane < 32; ++lane) EXPECT_EQ(r[static_cast<std::size_t>(lane)], lane + 500 + (lane + 1) % 5 * 11);
}

TEST(Registers, AnIndexMayComeFromALoop) {
  KernelBuilder b;
  const auto out = b.pointer(DType::f32, "out");
  const auto* a = b.regs(DType::f32, 8, "a");
  b.loop(b.i32(0), b.i32(8), b.i32(1), [&](E i) { b.write(a, i, {(i * b.lane()).cast(DType::f32)}); });
  const auto* sum = b.declare(b.real(DType::f32, 0));
  b.loop(b.i32(0), b.i32(8), b.i32(1), [&](E i) { b.assign(sum, b.var(sum) + b.reg(a, i)); });
  b.store(out, b.lane(), b.var(sum));
  std::vector<float> r(32);
  sim::run(b.kernel, std::vector<sim::Argument>{buffer(r)}, options());
  for (int lane = 0; lane < 32; ++lane) EXPECT_EQ(r[static_cast<std::size_t>(lane)], 28.0F * static_cast<float>(lane));
}

TEST(Registers, ReadingWhatNobodyWroteIsReported) {
  KernelBuilder b;
  const auto out = b.pointer(DType::f16, "out");
  const auto* a = b.regs(DType::f16, 4, "acc");
  b.when(b.lane() != 13, [&] { b.write(a, 2, {b.real(DType::f16, 1), b.real(DType::f16, 2)}); });
  const E value = b.reg(a, 3);
  const auto line = static_cast<std::uint32_t>(__LINE__ + 1);
  b.store(out, b.lane(), value);
  std::vector<float16> r(32);
  const Error error = error_of(b.kernel, {buffer(r)}, options());
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(), HasSubstr("read of an uninitialised register: element 3 of register tile acc"));
  EXPECT_THAT(error.what(), HasSubstr("lane 13"));
  EXPECT_EQ(error.diagnostics()[0].loc.line, line);
}

TEST(Registers, AMaskedOffLaneReadsNothing) {
  KernelBuilder b;
  const auto out = b.pointer(DType::f32, "out");
  const auto* a = b.regs(DType::f32, 1, "a");
  b.when(b.lane() < 4, [&] { b.write(a, 0, {b.real(DType::f32, 5)}); });
  b.when(b.lane() < 4, [&] { b.store(out, b.lane(), b.reg(a, 0) + b.real(DType::f32, 1)); });
  b.add<thread::StoreGlobalVector>(SourceLoc::here(), b.ref(a), 1, out, b.lane().cast(DType::i64) + 4, b.lane() < 2);
  std::vector<float> r(8);
  sim::run(b.kernel, std::vector<sim::Argument>{buffer(r)}, options());
  EXPECT_EQ(r[3], 6.0F);
  EXPECT_EQ(r[5], 5.0F);
  EXPECT_EQ(r[6], 0.0F);
}

TEST(Registers, ADeclarationInALoopForgetsTheLastIteration) {
  KernelBuilder b;
  b.loop(b.i32(0), b.i32(2), b.i32(1), [&](E i) {
    const auto* a = b.regs(DType::i32, 1, "a");
    b.when(i == 0, [&] { b.write(a, 0, {b.lane()}); });
    b.let(b.reg(a, 0));
  });
  EXPECT_THAT(error_of(b.kernel, {}, options()).what(),
              HasSubstr("uninitialised register: element 0 of register tile a"));
}

TEST(Registers, OperandsOfAnMmaMustBeWritten) {
  const auto build = [](KernelBuilder& b, bool with_a, bool with_b, bool with_d) {
    const auto* a = b.regs(DType::f16, 8, "a");
    const auto* bb = b.regs(DType::f16, 4, "b");
    const auto* d = b.regs(DType::f32, 4, "d");
    const E one = b.real(DType::f16, 1);
    if (with_a) b.write(a, 0, std::vector<const Expr*>(8, one));
    if (with_b) b.write(bb, 0, std::vector<const Expr*>(4, one));
    if (with_d) b.write(d, 0, std::vector<const Expr*>(4, b.real(DType::f32, 0)));
    b.add<thread::MmaSync>(SourceLoc::here(), DType::f16, DType::f32, b.ref(d), b.ref(a), b.ref(bb));
  };
  for (int missing = 0; missing < 4; ++missing) {
    KernelBuilder b;
    build(b, missing != 0, missing != 1, missing != 2);
    const Error error = error_of(b.kernel, {}, options());
    const char* names[] = {"register tile a ", "register tile b ", "register tile d "};
    if (missing == 3) {
      EXPECT_TRUE(error.diagnostics().empty()) << error.what();
    } else {
      EXPECT_THAT(error.what(), HasSubstr(names[missing]));
    }
  }
}

}  // namespace
}  // namespace tessera::testing
