// Expressions through whole kernels: what each thread stores, and the mistakes that are reported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernel_builder.hpp"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

// Runs one warp that stores `expression` in each lane.
template <class T>
std::vector<T> evaluate(const std::function<E(KernelBuilder&)>& expression) {
  KernelBuilder b;
  const auto out = b.pointer(dtype_of<T>, "out");
  b.store(out, b.lane(), expression(b));
  std::vector<T> result(32);
  sim::run(b.kernel, std::vector<sim::Argument>{buffer(result)}, options());
  return result;
}

TEST(Expression, LanesThreadsAndScalarsMix) {
  const auto r = evaluate<std::int32_t>(
      [](KernelBuilder& b) { return b.lane() * 3 + b.thread_idx() % 5 - b.warp() + b.leaf(ExprKind::grid_dim); });
  for (int i = 0; i < 32; ++i) EXPECT_EQ(r[static_cast<std::size_t>(i)], 3 * i + i % 5 + 1);
}

TEST(Expression, DivisionTruncatesTowardsZero) {
  const auto r =
      evaluate<std::int32_t>([](KernelBuilder& b) { return (b.lane() - 16) / 4 * 100 + (b.lane() - 16) % 4; });
  for (int i = 0; i < 32; ++i) EXPECT_EQ(r[static_cast<std::size_t>(i)], (i - 16) / 4 * 100 + (i - 16) % 4);
}

TEST(Expression, SmallIntegersWrap) {
  const auto r = evaluate<std::int8_t>([](KernelBuilder& b) { return (b.lane().cast(DType::i8) * 9); });
  for (int i = 0; i < 32; ++i) EXPECT_EQ(r[static_cast<std::size_t>(i)], static_cast<std::int8_t>(9 * i));
  const auto u = evaluate<std::uint64_t>([](KernelBuilder& b) { return b.lane().cast(DType::u64) - 5; });
  for (int i = 0; i < 32; ++i) EXPECT_EQ(u[static_cast<std::size_t>(i)], static_cast<std::uint64_t>(i) - 5);
}

TEST(Expression, HalfArithmeticRoundsToTheType) {
  const auto r = evaluate<float>([](KernelBuilder& b) {
    const E x = b.lane().cast(DType::f32) + b.real(DType::f32, 2048);  // odd ones are not float16 numbers
    return x.cast(DType::f16).cast(DType::f32);
  });
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(r[static_cast<std::size_t>(i)], static_cast<float>(float16(2048.0F + static_cast<float>(i))));
}

TEST(Expression, SelectAndComparisons) {
  const auto r = evaluate<std::int32_t>([](KernelBuilder& b) { return b.select(b.lane() < 7, b.lane(), b.i32(-1)); });
  for (int i = 0; i < 32; ++i) EXPECT_EQ(r[static_cast<std::size_t>(i)], i < 7 ? i : -1);
}

TEST(Expression, ParametersArriveWithTheirType) {
  KernelBuilder b;
  const E f = b.scalar(DType::f32, "f");
  const E n = b.scalar(DType::i32, "n");
  const E w = b.scalar(DType::i64, "w");
  const auto pf = b.pointer(DType::f32, "pf");
  const auto pn = b.pointer(DType::i64, "pn");
  b.store(pf, b.i32(0), f * f);
  b.store(pn, b.i32(0), n.cast(DType::i64) + w);
  std::vector<float> rf(1);
  std::vector<std::int64_t> rn(1);
  const std::int64_t bits = std::bit_cast<std::uint32_t>(1.5F);
  sim::run(b.kernel, std::vector<sim::Argument>{scalar(bits), scalar(-7), scalar(1LL << 40), buffer(rf), buffer(rn)},
           options());
  EXPECT_EQ(rf[0], 2.25F);
  EXPECT_EQ(rn[0], (1LL << 40) - 7);
}

TEST(Expression, AVariableReadByItsOwnAssignment) {
  KernelBuilder b;
  const auto out = b.pointer(DType::i32, "out");
  const auto* x = b.declare(b.lane());
  const auto* y = b.declare(b.i32(1));
  b.loop(b.i32(0), b.i32(5), b.i32(1), [&](E i) {
    b.assign(x, b.var(x) + b.var(y) * i);
    b.assign(y, b.var(y) + b.var(y));
  });
  b.store(out, b.lane(), b.var(x));
  std::vector<std::int32_t> r(32);
  sim::run(b.kernel, std::vector<sim::Argument>{buffer(r)}, options());
  for (int i = 0; i < 32; ++i) EXPECT_EQ(r[static_cast<std::size_t>(i)], i + 2 * 1 + 4 * 2 + 8 * 3 + 16 * 4);
}

// Loop-invariant code is moved; what depends on the loop or on variables must not be.
TEST(Expression, HoistingRespectsDependencies) {
  KernelBuilder b;
  const E n = b.scalar(DType::i32, "n");
  const auto out = b.pointer(DType::i32, "out");
  const auto* total = b.declare(b.lane() * 0);
  b.loop(b.i32(0), n, b.i32(1), [&](E i) {
    const E square = b.let(i * i + b.lane());
    b.loop(b.i32(0), i, b.i32(2),
           [&](E j) { b.assign(total, b.var(total) + (square * 2 + j) % 17 + (b.lane() * 3 + n)); });
  });
  b.store(out, b.lane(), b.var(total));
  std::vector<std::int32_t> r(32);
  sim::run(b.kernel, std::vector<sim::Argument>{scalar(9), buffer(r)}, options());
  for (int lane = 0; lane < 32; ++lane) {
    int expected = 0;
    for (int i = 0; i < 9; ++i) {
      for (int j = 0; j < i; j += 2) expected += ((i * i + lane) * 2 + j) % 17 + lane * 3 + 9;
    }
    EXPECT_EQ(r[static_cast<std::size_t>(lane)], expected);
  }
}

TEST(Expression, DivisionByZeroNamesTheLineAndTheLane) {
  KernelBuilder b;
  const auto out = b.pointer(DType::i32, "out");
  const E quotient = b.i32(100) / (b.lane() - 9);
  const auto line = static_cast<std::uint32_t>(__LINE__ + 1);
  b.store(out, b.lane(), quotient);
  std::vector<std::int32_t> r(32);
  const Error error = error_of(b.kernel, {buffer(r)}, options());
  EXPECT_EQ(error.kind(), ErrorKind::user);
  ASSERT_EQ(error.diagnostics().size(), 1U);
  EXPECT_THAT(error.diagnostics()[0].message, HasSubstr("division by zero"));
  EXPECT_THAT(error.diagnostics()[0].message, HasSubstr("lane 9"));
  EXPECT_EQ(error.diagnostics()[0].loc.line, line);
}

TEST(Expression, ScalarDivisionByZeroIsReportedToo) {
  KernelBuilder b;
  const E n = b.scalar(DType::i32, "n");
  const auto out = b.pointer(DType::i32, "out");
  b.store(out, b.i32(0), b.i32(7) % n);
  std::vector<std::int32_t> r(1);
  EXPECT_THAT(error_of(b.kernel, {scalar(0), buffer(r)}, options()).what(), HasSubstr("division by zero"));
  sim::run(b.kernel, std::vector<sim::Argument>{scalar(4), buffer(r)}, options());
  EXPECT_EQ(r[0], 3);
}

// Lanes that the condition excludes do not divide.
TEST(Expression, AMaskedOffLaneMayDivideByZero) {
  KernelBuilder b;
  const auto out = b.pointer(DType::i32, "out");
  b.when(b.lane() != 0, [&] { b.store(out, b.lane(), b.i32(100) / b.lane()); });
  std::vector<std::int32_t> r(32);
  sim::run(b.kernel, std::vector<sim::Argument>{buffer(r)}, options());
  EXPECT_EQ(r[3], 33);
}

// Nor is a division moved in front of a loop that does not run.
TEST(Expression, ADivisionInALoopThatDoesNotRunIsNotExecuted) {
  KernelBuilder b;
  const E n = b.scalar(DType::i32, "n");
  const auto out = b.pointer(DType::i32, "out");
  b.loop(b.i32(0), n, b.i32(1), [&](E) { b.store(out, b.lane(), b.lane() / n); });
  std::vector<std::int32_t> r(32, -1);
  sim::run(b.kernel, std::vector<sim::Argument>{scalar(0), buffer(r)}, options());
  EXPECT_EQ(r[5], -1);
}

TEST(Expression, ShiftOutOfRangeIsReported) {
  KernelBuilder b;
  const E n = b.scalar(DType::i32, "n");
  const auto out = b.pointer(DType::i32, "out");
  b.store(out, b.lane(), b.i32(1) << (b.lane() + n));
  std::vector<std::int32_t> r(32);
  sim::run(b.kernel, std::vector<sim::Argument>{scalar(0), buffer(r)}, options());
  EXPECT_EQ(r[31], std::numeric_limits<std::int32_t>::min());
  const Error error = error_of(b.kernel, {scalar(1), buffer(r)}, options());
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(), HasSubstr("shift of a int32 by 32; 0 to 31 are possible"));
}

}  // namespace
}  // namespace tessera::testing
