// V0 over ragged and tiny sizes, for every candidate that survives, exact under every schedule.
#include <limits>

#include "matmul.hpp"

namespace tessera::testing {
namespace {

TEST(MatmulSweep, MoreThanFiveOfFifteenCandidatesFit) {
  EXPECT_EQ(MatmulTma<float16>::space().configs().size(), 15U);
  EXPECT_GT(surviving_candidates<float16>().size(), 5U);
}

class MatmulSizes : public ::testing::TestWithParam<int> {};

TEST_P(MatmulSizes, EveryCandidateIsExact) {
  const int k = GetParam();
  const int sizes[] = {1, 7, 63, 64, 65, 127, 128, 129, 200};
  const auto candidates = surviving_candidates<float16>();
  std::size_t round = 0;
  for (const int n : sizes) {
    for (const MatmulConfig& config : candidates) {
      const auto lowered = build(MatmulTma<float16>(config), {0, n, k, 0, 0, 0});
      for (const int m : sizes) {
        MatmulCase<float16> c(m, n, k, static_cast<unsigned>(round));
        const auto& schedule = all_schedules()[round++ % all_schedules().size()];
        sim::run(lowered.kernel, c.arguments(), with(schedule));
        ASSERT_EQ(c.wrong_elements(), 0) << m << "x" << n << "x" << k << " block " << config.block_m << ","
                                         << config.block_n << "," << config.block_k << " " << sim::to_string(schedule);
        ASSERT_TRUE(c.guards_intact());
        if (round % 4 == 0) {
          ASSERT_EQ(findings_in(lowered.kernel, c.arguments(), with(schedule)), "");
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(K, MatmulSizes, ::testing::Values(8, 16, 40, 64, 72, 136));

TEST(Matmul, Bfloat16IsExact) {
  for (const MatmulConfig& config : surviving_candidates<bfloat16>()) {
    const auto lowered = build(MatmulTma<bfloat16>(config), {0, 136, 200, 0, 0, 0});
    for (const auto& schedule : all_schedules()) {
      MatmulCase<bfloat16> c(129, 136, 200);
      sim::run(lowered.kernel, c.arguments(), with(schedule));
      EXPECT_EQ(c.wrong_elements(), 0);
    }
  }
}

TEST(Matmul, NanAndInfInsideReachTheResult) {
  MatmulCase<float16> c(130, 72, 48);
  c.a[3 * 48 + 5] = float16(std::numeric_limits<float>::quiet_NaN());
  c.a[129 * 48 + 47] = float16(std::numeric_limits<float>::infinity());
  c.b[71 * 48 + 1] = float16(-std::numeric_limits<float>::infinity());
  const auto lowered = build(MatmulTma<float16>(MatmulConfig{64, 128, 32}), {0, 72, 48, 0, 0, 0});
  sim::run(lowered.kernel, c.arguments(), with(all_schedules()[2]));
  EXPECT_EQ(c.wrong_elements(), 0);
  EXPECT_TRUE(std::isnan(static_cast<float>(c.c[3 * 72])));
  EXPECT_TRUE(std::isinf(static_cast<float>(c.c[71])));
  EXPECT_FALSE(std::isnan(static_cast<float>(c.c[2 * 72])));
}

TEST(Matmul, WithoutKTheResultIsZero) {
  MatmulCase<float16> c(65, 40, 0);
  const auto lowered = build(MatmulTma<float16>(MatmulConfig{64, 128, 16}), {0, 40, 0, 0, 0, 0});
  sim::run(lowered.kernel, c.arguments(), with(all_schedules()[0]));
  EXPECT_EQ(c.wrong_elements(), 0);
}

TEST(Matmul, TheSameSeedGivesTheSameRunOnAnyNumberOfThreads) {
  const auto lowered = build(MatmulTma<float16>(MatmulConfig{64, 128, 32}), {0, 264, 96, 0, 0, 0});
  MatmulCase<float16> one(200, 264, 96);
  MatmulCase<float16> two(200, 264, 96);
  sim::Options options = with({sim::Schedule::Kind::random, 42});
  sim::run(lowered.kernel, one.arguments(), options);
  options.threads = 2;
  sim::run(lowered.kernel, two.arguments(), options);
  for (std::size_t i = 0; i < one.c.size; ++i) ASSERT_EQ(one.c[i].bits, two.c[i].bits);
}

}  // namespace
}  // namespace tessera::testing
