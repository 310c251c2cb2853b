// What a caller of matmul() may do wrong: a user Error with the line of the call and the fix.
#include <thread>

#include "matmul_case.hpp"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Misuse : public ::testing::Test {
 protected:
  Device device = Device::sim();
  Buffer<float16> a = device.zeros<float16>({5, 16}), b = device.zeros<float16>({8, 16}),
                  c = device.zeros<float16>({5, 8});
};

TEST_F(Misuse, ShapesThatDoNotFit) {
  const auto other = device.zeros<float16>({8, 24});
  const int line = __LINE__ + 1;
  const auto wrong = [&] { matmul(a, other, c); };
  EXPECT_THAT(error_of(wrong),
              AllOf(HasSubstr("misuse_test.cpp:" + std::to_string(line)), HasSubstr("a is float16 [5, 16]"),
                    HasSubstr("b float16 [8, 24]"), HasSubstr("a is [m, k], b [n, k] and c [m, n]")));
  EXPECT_THAT(error_of([&] { matmul(a, Matrix(b).transpose(), c); }), HasSubstr("pass b.transpose()"));
  EXPECT_THAT(error_of([&] { matmul(a, b, Matrix(c).transpose()); }), HasSubstr("pass c.transpose()"));
}

TEST_F(Misuse, NullMemory) {
  const Matrix<float16> nothing(static_cast<float16*>(nullptr), 8, 16);
  EXPECT_THAT(error_of([&] { matmul(a, nothing, c); }), AllOf(HasSubstr("b, float16 [8, 16], is a null pointer"),
                                                              HasSubstr("pass a buffer"), HasSubstr("b is made here")));
  EXPECT_THAT(error_of([&] { matmul(a, b, Matrix<float16>(static_cast<float16*>(nullptr), 5, 8)); }),
              HasSubstr("c, float16 [5, 8], is a null pointer"));
  EXPECT_THAT(error_of([&] { matmul(a, b, c, {.bias = static_cast<const float16*>(nullptr)}); }),
              HasSubstr("the bias is a null pointer"));
}

TEST_F(Misuse, ElementsOfCThatShareMemory) {
  EXPECT_THAT(error_of([&] { matmul(a, b, Matrix<float16>(c, 5, 8, 4, 1)); }),
              AllOf(HasSubstr("elements of c, float16 [5, 8] with strides [4, 1], share memory"), HasSubstr("stride")));
  EXPECT_THAT(error_of([&] { matmul(a, b, Matrix<float16>(c, 5, 8, 0, 1)); }), HasSubstr("share memory"));
  EXPECT_THAT(error_of([&] { matmul(a, b, Matrix<float16>(c, 5, 8, 1, 0)); }), HasSubstr("share memory"));
}

TEST_F(Misuse, MemoryThatIsTooSmall) {
  EXPECT_THAT(error_of([&] { Matrix<float16>(c, 5, 9); }),
              AllOf(HasSubstr("extents [5, 9] and strides [9, 1] reaches 45 elements far, but its memory has 40"),
                    HasSubstr("pass more memory")));
  EXPECT_THAT(error_of([&] { Matrix<float16>(c, 5, 8, std::int64_t{1} << 62, 1); }), HasSubstr("its memory has 40"));
  EXPECT_THAT(error_of([&] { Matrix<float16>(c, -1, 8); }), HasSubstr("extents [-1, 8]"));
  EXPECT_THAT(error_of([&] { Matrix<float16>(c, 5, 8, 8, -1); }), HasSubstr("strides [8, -1]"));
  EXPECT_THAT(error_of([&] {
                Matrix<float16>(device.zeros<float16>({2, 3, 4}));
              }),
              AllOf(HasSubstr("a buffer of shape [2, 3, 4] is not a matrix"), HasSubstr("two dimensions")));
}

TEST_F(Misuse, BlocksThatLeaveTheirMatrix) {
  EXPECT_THAT(error_of([&] { Matrix(a).block(3, 0, 3, 16); }),
              AllOf(HasSubstr("a block of extents [3, 16] at [3, 0] is not inside a matrix of extents [5, 16]"),
                    HasSubstr("the matrix is made here")));
  EXPECT_THAT(error_of([&] { Matrix(a).block(0, -1, 1, 1); }), HasSubstr("at [0, -1]"));
  EXPECT_THAT(error_of([&] { Matrix(a).block(0, 9, 1, INT64_MAX); }), HasSubstr("not inside"));
  EXPECT_EQ(Matrix(a).block(5, 16, 0, 0).rows(), 0);
}

TEST_F(Misuse, ABiasOfAnotherTypeOrLength) {
  const auto wrong_type = device.zeros<float>({8});
  EXPECT_THAT(error_of([&] { matmul(a, b, c, {.bias = wrong_type}); }),
              AllOf(HasSubstr("the bias is float32, c is float16 [5, 8]"), HasSubstr("c's element type")));
  const auto too_short = device.zeros<float16>({7});
  EXPECT_THAT(error_of([&] { matmul(a, b, c, {.bias = too_short}); }), HasSubstr("the bias has 7 elements"));
}

TEST_F(Misuse, SeveralDevices) {
  const Device other = Device::sim();
  const auto elsewhere = other.zeros<float16>({8, 16});
  EXPECT_THAT(error_of([&] { matmul(a, elsewhere, c); }),
              AllOf(HasSubstr("b lies on simulated Hopper"), HasSubstr("another device of the same name"),
                    HasSubstr("use buffers of one device")));
  EXPECT_THAT(error_of([&] { matmul(a, b, c, {.device = other}); }), HasSubstr("a lies on"));
}

TEST_F(Misuse, ReadOnlyMemoryForC) {
  const std::vector<float16> constant(40);
  EXPECT_THAT(error_of([&] { matmul(a, b, Matrix<float16>(constant, 5, 8)); }), HasSubstr("read-only"));
}

TEST(Report, IsEmptyBeforeTheFirstCallAndNamesTheChoiceAfterIt) {
  const Device device = Device::sim();
  MatmulReport report = last_matmul_report();
  const auto a = device.randn<float16>({256, 64}), b = device.randn<float16>({512, 64});
  auto c = device.empty<float16>({256, 512});
  matmul(a, b, c);
  report = last_matmul_report();
  EXPECT_FALSE(report.kernel.empty());
  EXPECT_EQ(report.config, report.report.config);
  EXPECT_GE(report.choices.size(), 2U);
  EXPECT_EQ(report.choices.front().kernel, report.kernel);
  EXPECT_THAT(report.reason, HasSubstr("no clock"));
  EXPECT_THAT(report.to_string(), AllOf(HasSubstr(report.kernel), HasSubstr("estimate")));
}

TEST(Calls, AfterOneThatFailedAreLikeTheFirst) {
  const Device device = Device::sim();
  const auto a = device.randn<float16>({3, 24}), b = device.randn<float16>({88, 24});
  const std::vector<float16> constant(3 * 88);
  error_of([&] { matmul(a, b, Matrix<float16>(constant, 3, 88)); });
  MatmulCase<float16, float16>(3, 88, 24).run(device);
}

TEST(Calls, WithAnotherMOfTheSamePowerOfTwoTraceNothing) {
  const Device device = Device::sim();
  MatmulCase<float16, float16>(100, 56, 48).run(device);
  const auto traced = last_matmul_report().report.counters.traced;
  EXPECT_GE(traced, 1U);
  MatmulCase<float16, float16>(101, 56, 48).run(device, {.alpha = 1});
  MatmulCase<float16, float16>(128, 56, 48).run(device);
  EXPECT_EQ(last_matmul_report().report.counters.traced, traced);
}

TEST(Calls, FromSeveralThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      const Device device = Device::sim();
      for (int j = 0; j < 6; ++j) {
        MatmulCase<bfloat16, float> test(20 + 30 * ((i + j) % 3), 72, 96 + 1024 * (j % 2));
        test.run(device, {.alpha = 0.5f}, true);
        EXPECT_FALSE(last_matmul_report().kernel.empty());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tessera::testing
