// The kernels of the ladder have no finding, over ragged sizes and around the length of their rings.
#include "hopper_matmul/matmul_v0.hpp"
#include "ladder_steps.hpp"

namespace tessera::testing {
namespace {

template <class S>
void expect_clean(const S& script, const std::string& name, std::int64_t m, std::int64_t n, std::int64_t k,
                  const std::vector<sim::Schedule>& schedules, int sms) {
  const auto lowered = build(script, {0, n, k, 0, 0, 0});
  MatmulCase<float16> c(m, n, k, static_cast<unsigned>(m * 7 + n * 3 + k));
  for (const sim::Schedule& schedule : schedules) {
    sim::Options options = with(schedule);
    options.sms = sms;
    c.poison();
    ASSERT_EQ(findings_in(lowered.kernel, c.arguments(), options), "")
        << name << " " << m << "x" << n << "x" << k << " " << sim::to_string(schedule);
    ASSERT_EQ(c.wrong_elements(), 0);
  }
}

TEST(CheckV0, HasNoFinding) {
  using S = MatmulTma<float16>;
  for (const char* text : {"block_m=64,block_n=128,block_k=32", "block_m=128,block_n=128,block_k=64"}) {
    const auto config = S::space().parse(text);
    for (const int m : {1, 64, 129}) expect_clean(S(config), text, m, 200, 136, all_schedules(), 4);
  }
}

template <class S>
class CheckLadder : public ::testing::Test {
 protected:
  static constexpr std::size_t candidates = std::size(Step<S>::configs);
  static auto config(std::size_t i) { return S::space().parse(Step<S>::configs[i]); }
  static std::vector<sim::Schedule> some(std::size_t round) {
    return {all_schedules()[round % all_schedules().size()]};
  }
};
TYPED_TEST_SUITE(CheckLadder, Steps);

TYPED_TEST(CheckLadder, HasNoFindingOverRaggedSizes) {
  std::size_t round = 0;
  for (const int k : {8, 64, 136}) {
    for (const int n : {1, 64, 129, 200}) {
      for (const int m : {1, 63, 129}) {
        const std::size_t i = round % this->candidates;
        ASSERT_NO_FATAL_FAILURE(
            expect_clean(TypeParam(this->config(i)), Step<TypeParam>::configs[i], m, n, k, this->some(round), 4));
        ++round;
      }
    }
  }
}

TYPED_TEST(CheckLadder, HasNoFindingAroundTheLengthOfTheRing) {
  for (std::size_t i = 0; i < this->candidates; ++i) {
    const auto config = this->config(i);
    const int stages = Step<TypeParam>::stages[i];
    for (const int blocks : {1, stages - 1, stages, stages + 1, 2 * stages + 1}) {
      if (blocks < 1) continue;
      ASSERT_NO_FATAL_FAILURE(expect_clean(TypeParam(config), Step<TypeParam>::configs[i], config.block_m + 8,
                                           config.block_n + 16, blocks * config.block_k,
                                           this->some(static_cast<std::size_t>(blocks)), 3));
    }
  }
}

TYPED_TEST(CheckLadder, HasNoFindingWithManyTilesABlock) {
  for (std::size_t i = 0; i < this->candidates; ++i) {
    const auto config = this->config(i);
    ASSERT_NO_FATAL_FAILURE(expect_clean(TypeParam(config), Step<TypeParam>::configs[i], 5 * config.block_m - 8,
                                         config.block_n + 8, 3 * config.block_k + 8, this->some(i), 2));
  }
}

}  // namespace
}  // namespace tessera::testing
