// The steps of the ladder over ragged and tiny sizes and around the length of their rings: exact under every schedule,
// and nothing for the checker to find.
#include "ladder_steps.hpp"

namespace tessera::testing {
namespace {

template <class S>
class Ladder : public ::testing::Test {
 protected:
  static constexpr std::size_t candidates = std::size(Step<S>::configs);

  static auto config(std::size_t i) { return S::space().parse(Step<S>::configs[i % candidates]); }

  void expect_exact(std::size_t candidate, std::int64_t m, std::int64_t n, std::int64_t k,
                    const std::vector<sim::Schedule>& schedules, int sms) {
    const auto lowered = build(S(config(candidate)), {0, n, k, 0, 0, 0});
    MatmulCase<float16> c(m, n, k, static_cast<unsigned>(m * 7 + n * 3 + k));
    for (const sim::Schedule& schedule : schedules) {
      sim::Options options = with(schedule);
      options.sms = sms;
      c.poison();
      sim::run(lowered.kernel, c.arguments(), options);
      ASSERT_EQ(c.wrong_elements(), 0) << m << "x" << n << "x" << k << " " << Step<S>::configs[candidate % candidates]
                                       << " " << sim::to_string(schedule);
      ASSERT_TRUE(c.guards_intact());
    }
    sim::Options options = with(schedules.front());
    options.sms = sms;
    ASSERT_EQ(findings_in(lowered.kernel, c.arguments(), options), "")
        << m << "x" << n << "x" << k << " " << Step<S>::configs[candidate % candidates];
  }
};

TYPED_TEST_SUITE(Ladder, Steps);

TYPED_TEST(Ladder, ExactOverRaggedSizes) {
  const int sizes[] = {1, 7, 63, 64, 65, 127, 128, 129, 200};
  std::size_t round = 0;
  for (const int k : {8, 16, 40, 64, 72, 136}) {
    for (const int n : sizes) {
      for (const int m : sizes) {
        const auto& schedule = all_schedules()[round % all_schedules().size()];
        ASSERT_NO_FATAL_FAILURE(this->expect_exact(round, m, n, k, {schedule}, 4));
        ++round;
      }
    }
  }
}

TYPED_TEST(Ladder, ExactAroundTheLengthOfTheRing) {
  for (std::size_t i = 0; i < this->candidates; ++i) {
    const auto config = this->config(i);
    const int stages = Step<TypeParam>::stages[i];
    for (const int blocks : {1, stages - 1, stages, stages + 1, 2 * stages + 1}) {
      if (blocks < 1) continue;
      ASSERT_NO_FATAL_FAILURE(
          this->expect_exact(i, config.block_m + 8, config.block_n + 16, blocks * config.block_k, all_schedules(), 3));
    }
  }
}

// Rings, phases and staging buffers go on from tile to tile.
TYPED_TEST(Ladder, ExactWithManyTilesABlock) {
  for (std::size_t i = 0; i < this->candidates; ++i) {
    const auto config = this->config(i);
    ASSERT_NO_FATAL_FAILURE(this->expect_exact(i, 5 * config.block_m - 8, config.block_n + 8, 3 * config.block_k + 8,
                                               all_schedules(), i % 2 == 0 ? 2 : 4));
  }
}

TYPED_TEST(Ladder, WithoutKTheResultIsZero) {
  for (std::size_t i = 0; i < this->candidates; ++i) {
    ASSERT_NO_FATAL_FAILURE(this->expect_exact(i, 65, 40, 0, {all_schedules()[i % all_schedules().size()]}, 2));
  }
}

}  // namespace
}  // namespace tessera::testing
