// The tuner against noise, drift, outliers and failures, with simulated clocks.
#include <cmath>
#include <random>
#include <set>

#include "../unit/runtime_fixture.hpp"
#include "ir/register_file.hpp"
#include "tune/estimate.hpp"
#include "tune/times.hpp"
#include "tune/tuner.hpp"

namespace tessera::tune {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Status = CandidateReport::Status;
using test::error_of;

Output output_of(float value) {
  Output output;
  output.type = DType::f32;
  output.bytes.resize(sizeof value);
  std::memcpy(output.bytes.data(), &value, sizeof value);
  return output;
}

struct Noise {
  double gaussian = 0.02;
  double drift_a_launch = 0;   // the clock sinks: every launch of the run takes so much longer than the one before
  double outlier = 0;          // share of launches that take ten times as long
  std::size_t disturbed = 99;  // this candidate takes `factor` times as long for its launches [from, to)
  int from = 0, to = 0;
  double factor = 1.4;
};

// Candidates with true times, under noise of a seeded generator.
struct NoisyExecutor : Executor {
  NoisyExecutor(std::vector<double> times, Noise n, unsigned seed)
      : truth(std::move(times)), noise(n), generator(seed), launches(truth.size()) {}
  std::vector<Output> run(std::size_t, std::vector<Output>) override {
    ++runs;
    return {output_of(1)};
  }
  double time(std::size_t i) override {
    double ms = truth[i] * (1 + noise.gaussian * normal(generator));
    ms *= 1 + noise.drift_a_launch * total++;
    if (uniform(generator) < noise.outlier) ms *= 10;
    if (i == noise.disturbed && launches[i] >= noise.from && launches[i] < noise.to) ms *= noise.factor;
    ++launches[i];
    spent += ms;
    return ms;
  }
  std::vector<double> truth;
  Noise noise;
  std::mt19937_64 generator;
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<int> launches;
  int total = 0, runs = 0;
  double spent = 0;
};

std::vector<CandidateReport> rows_for(std::size_t count) {
  std::vector<CandidateReport> rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    rows[i].config = "c=" + std::to_string(i);
    rows[i].status = Status::ranked;
  }
  return rows;
}

std::size_t tune(std::vector<CandidateReport>& rows, Executor& executor, const Options& options = {}) {
  return measure(rows, executor, "Fake", SourceLoc::here(), options);
}

// The reference: `rounds` rounds over all in the same rotating order, the least median wins.
std::size_t by_plain_median(NoisyExecutor& executor, int rounds) {
  const std::size_t n = executor.truth.size();
  std::vector<std::vector<double>> times(n);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t candidate = (i + static_cast<std::size_t>(round)) % n;
      times[candidate].push_back(executor.time(candidate));
    }
  }
  std::size_t best = 0;
  for (std::size_t i = 0; i < n; ++i) {
    std::sort(times[i].begin(), times[i].end());
    if (times[i][times[i].size() / 2] < times[best][times[best].size() / 2]) best = i;
  }
  return best;
}

struct Score {
  int right = 0, plain_right = 0;
};

// The first candidate is not the best, so that ties do not go to it by its place.
const std::vector<double> spaced = {1.03, 1.2, 1.0, 1.06, 1.45, 2.2, 1.03, 1.1};
constexpr std::size_t fastest = 2;
constexpr int seeds = 1000;

Score score(const Noise& noise, const std::vector<double>& truth = spaced) {
  const Options options;
  Score result;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    NoisyExecutor executor(truth, noise, seed), plain(truth, noise, seed);
    auto rows = rows_for(truth.size());
    result.right += tune(rows, executor, options) == fastest ? 1 : 0;
    result.plain_right += by_plain_median(plain, options.rounds) == fastest ? 1 : 0;
    const auto n = static_cast<int>(truth.size());
    EXPECT_LE(executor.total, n * (options.rounds + 1 + options.leader_rounds));
    const double longest = 10 * 2.2 * n;  // a round that was begun within the budget, of outliers only
    EXPECT_LE(executor.spent, options.budget_ms + options.leader_budget_ms + longest + n * options.least_rounds);
    EXPECT_EQ(executor.runs, n + 1);
  }
  std::printf("right in %d of %d runs, a plain median in %d\n", result.right, seeds, result.plain_right);
  return result;
}

TEST(TunerUnderNoise, GaussianNoise) {
  const Score s = score({});
  EXPECT_GE(s.right, 990);
  EXPECT_GE(s.right, s.plain_right);
}

TEST(TunerUnderNoise, AClockThatDrifts) {
  const Score s = score({.drift_a_launch = 0.002});  // 15 rounds of 8 take a quarter longer at their end
  EXPECT_GE(s.right, 990);
  EXPECT_GE(s.right, s.plain_right);
}

TEST(TunerUnderNoise, SporadicOutliers) {
  const Score s = score({.outlier = 0.05});
  EXPECT_GE(s.right, 990);
  EXPECT_GE(s.right, s.plain_right);
}

TEST(TunerUnderNoise, TheBestIsSlowForAWhile) {
  const Score s = score({.disturbed = fastest, .from = 3, .to = 9});
  EXPECT_GE(s.right, 990);
  EXPECT_GE(s.right, s.plain_right);
}

TEST(TunerUnderNoise, TheBestIsHopelesslySlowAtTheBeginning) {
  const Score s = score({.disturbed = fastest, .from = 0, .to = 2, .factor = 3});
  EXPECT_GE(s.right, 990) << "it is dropped, and has a second chance";
}

TEST(TunerUnderNoise, EverythingAtOnce) {
  const Score s = score({.drift_a_launch = 0.001, .outlier = 0.03, .disturbed = fastest, .from = 4, .to = 8});
  EXPECT_GE(s.right, 990);
  EXPECT_GE(s.right, s.plain_right);
}

TEST(TunerUnderNoise, TwentyCandidatesOfWhichOneIsBetter) {
  std::vector<double> truth(20, 1.03);
  truth[fastest] = 1;
  EXPECT_GE(score({}, truth).right, 990);
}

TEST(TunerUnderNoise, WhatIsClearTakesNoFurtherRounds) {
  NoisyExecutor executor({1.0, 1.3, 1.35}, {.gaussian = 0.005}, 1);
  auto rows = rows_for(3);
  EXPECT_EQ(tune(rows, executor), 0U);
  EXPECT_EQ(executor.total, 3 * Options{}.rounds);
  EXPECT_EQ(rows[0].rounds, Options{}.rounds);
  EXPECT_NEAR(rows[0].spread_us, 5, 4);
}

TEST(TunerUnderNoise, OnlyLeadersGetASecondLook) {
  int looked_again = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    NoisyExecutor executor({1.0, 1.3, 1.01}, {.gaussian = 0.02}, seed);
    auto rows = rows_for(3);
    tune(rows, executor);
    EXPECT_EQ(executor.launches[1], Options{}.rounds);
    EXPECT_EQ(executor.launches[0], executor.launches[2]) << "in the same rounds";
    looked_again += executor.launches[0] > Options{}.rounds ? 1 : 0;
  }
  EXPECT_GE(looked_again, 15);
}

TEST(TunerUnderNoise, TheSecondLookKeepsItsBudget) {
  NoisyExecutor executor({100, 100}, {.gaussian = 0.05}, 1);
  auto rows = rows_for(2);
  tune(rows, executor);
  EXPECT_LT(executor.spent, 800 + 800 + 4 * 130);
}

TEST(TunerTies, GoToTheEarlierOneInTheAnalyticOrder) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    NoisyExecutor executor({1.0, 1.0, 1.0, 1.2}, {.gaussian = 0.001}, seed);
    auto rows = rows_for(4);
    Options options;
    options.order = {3, 1, 2, 0};
    EXPECT_EQ(tune(rows, executor, options), 1U);
    EXPECT_THAT(rows[2].reason, HasSubstr("as fast as c=1, which comes first in the analytic order"));
    EXPECT_EQ(rows[3].reason, "");
  }
}

TEST(TunerTies, ADifferenceThatIsSeenIsNoTie) {
  NoisyExecutor executor({1.01, 1.0}, {.gaussian = 0}, 1);
  auto rows = rows_for(2);
  EXPECT_EQ(tune(rows, executor), 1U);
}

// Fails where the test says: `at(candidate, number of the call)`; runs and launches count alike.
struct FailingExecutor : Executor {
  std::vector<double> ms;
  std::function<std::optional<Error>(std::size_t, int)> at;
  std::vector<int> runs, times;
  bool is_isolated = false;
  FailingExecutor(std::vector<double> t, std::function<std::optional<Error>(std::size_t, int)> f)
      : ms(std::move(t)), at(std::move(f)), runs(ms.size()), times(ms.size()) {}
  void maybe_fail(std::size_t i) const {
    if (auto error = at(i, runs[i] + times[i])) throw Error(*error);
  }
  std::vector<Output> run(std::size_t i, std::vector<Output>) override {
    maybe_fail(i);
    ++runs[i];
    return {output_of(1)};
  }
  double time(std::size_t i) override {
    maybe_fail(i);
    ++times[i];
    return ms[i];
  }
  bool isolated() const override { return is_isolated; }
};

Error device_error(const std::string& text) { return {ErrorKind::device, {}, text}; }

TEST(TunerFailures, AtAnyMomentOnlyTheCandidateIsLost) {
  // Of the best one the n-th call fails: its run, every round, the final check.
  const int last = Options{}.rounds + 1;
  for (int n = 0; n <= last; ++n) {
    FailingExecutor executor({1.2, 1.0, 1.4}, [n](std::size_t i, int call) {
      return i == 1 && call == n ? std::optional(device_error("fault")) : std::nullopt;
    });
    auto rows = rows_for(3);
    EXPECT_EQ(tune(rows, executor), 0U) << n;
    EXPECT_EQ(rows[1].status, Status::failed) << n;
    EXPECT_EQ(rows[1].reason, "fault");
  }
  FailingExecutor executor({1.2, 1.0, 1.4}, [last](std::size_t i, int call) {
    return i == 1 && call == last + 1 ? std::optional(device_error("fault")) : std::nullopt;
  });
  auto rows = rows_for(3);
  EXPECT_EQ(tune(rows, executor), 1U) << "after the final check nothing runs any more";
}

TEST(TunerFailures, AllBadIsOneErrorWithAllReasons) {
  for (const int n : {0, 1, 3, Options{}.rounds + 1}) {
    FailingExecutor executor({1, 1.1}, [n](std::size_t i, int call) {
      return call >= n ? std::optional(device_error("fault of " + std::to_string(i))) : std::nullopt;
    });
    auto rows = rows_for(2);
    const Error error = error_of([&] { tune(rows, executor); });
    EXPECT_THAT(error.what(), HasSubstr("none of its 2 candidates can be used"));
    EXPECT_THAT(error.what(), HasSubstr("c=0: fault of 0"));
    EXPECT_THAT(error.what(), HasSubstr("c=1: fault of 1"));
  }
}

TEST(TunerFailures, ASlowOneIsBetterThanNone) {
  FailingExecutor executor({1, 5}, [](std::size_t i, int call) {
    return i == 0 && call > 1 ? std::optional(device_error("fault")) : std::nullopt;
  });
  auto rows = rows_for(2);
  EXPECT_EQ(tune(rows, executor), 1U);
  EXPECT_EQ(rows[1].status, Status::chosen);
}

TEST(TunerFailures, ABrokenClockIsAFailure) {
  FailingExecutor executor({std::nan(""), 5, -1, HUGE_VAL}, [](std::size_t, int) { return std::nullopt; });
  auto rows = rows_for(4);
  EXPECT_EQ(tune(rows, executor), 1U);
  EXPECT_EQ(rows[0].reason, "the clock said nan ms");
  EXPECT_EQ(rows[2].status, Status::failed);
  EXPECT_EQ(rows[3].status, Status::failed);
}

TEST(TunerFailures, ALateInternalErrorIsNotHidden) {
  FailingExecutor executor({1, 1.1}, [](std::size_t i, int call) {
    return i == 1 && call == 7 ? std::optional(Error(ErrorKind::internal, {}, "bug")) : std::nullopt;
  });
  auto rows = rows_for(2);
  EXPECT_EQ(error_of([&] { tune(rows, executor); }).kind(), ErrorKind::internal);
}

// Only after another candidate has run is it certain that the first one's failure was its own.
TEST(TunerFailures, AreSavedWhenTheyAreKnownToBeTheCandidatesOwn) {
  for (const bool isolated : {false, true}) {
    FailingExecutor executor(
        {1, 1, 1}, [](std::size_t i, int) { return i != 1 ? std::optional(device_error("fault")) : std::nullopt; });
    executor.is_isolated = isolated;
    auto rows = rows_for(3);
    std::vector<std::set<std::size_t>> saved;
    Options options;
    options.save = [&] {
      saved.emplace_back();
      for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i].status == Status::failed) saved.back().insert(i);
    };
    tune(rows, executor, options);
    EXPECT_THAT(saved[0], ElementsAre(0U));
    EXPECT_EQ(saved.size(), isolated ? 4U : 2U) << "the last failure has nothing after it that ran";
  }
}

TEST(TunerBudget, ACutLeavesTheEndOfTheOrderUnused) {
  FailingExecutor executor({1, 2, 3, 4}, [](std::size_t, int) { return std::nullopt; });
  auto rows = rows_for(4);
  Options options;
  options.order = {2, 3, 0, 1};
  options.enough = [&] { return executor.runs[3] > 0; };
  options.enough_reason = "the budget of 5 s was spent";
  EXPECT_EQ(tune(rows, executor, options), 2U) << "the first guess, for nothing was timed";
  EXPECT_THAT(executor.times, ::testing::Each(0));
  EXPECT_EQ(rows[0].status, Status::unused);
  EXPECT_EQ(rows[0].reason, "the budget of 5 s was spent");
  EXPECT_EQ(rows[1].status, Status::unused);
  EXPECT_EQ(rows[3].status, Status::unused) << "it ran and was not timed";
  EXPECT_FALSE(complete(rows));
}

TEST(TunerBudget, ACutAmidTheRoundsChoosesByWhatThereIs) {
  FailingExecutor executor({2, 1}, [](std::size_t, int) { return std::nullopt; });
  auto rows = rows_for(2);
  Options options;
  options.enough = [&] { return executor.times[1] >= 2; };
  EXPECT_EQ(tune(rows, executor, options), 1U);
  EXPECT_FALSE(complete(rows));
  options.enough = [&] { return executor.times[1] >= 12; };
  rows = rows_for(2);
  EXPECT_EQ(tune(rows, executor, options), 1U);
  EXPECT_TRUE(complete(rows));
}

TEST(TunerBudget, NoCutBeforeAMajorityHasDecided) {
  struct Disagreeing : FailingExecutor {
    using FailingExecutor::FailingExecutor;
    std::vector<Output> run(std::size_t i, std::vector<Output>) override {
      ++runs[i];
      return {output_of(i == 0 ? 7.0F : 1.0F)};
    }
  } executor({1, 1, 1, 1}, [](std::size_t, int) { return std::nullopt; });
  auto rows = rows_for(4);
  Options options;
  options.enough = [&] { return executor.runs[1] > 0; };
  EXPECT_EQ(tune(rows, executor, options), 1U);
  EXPECT_EQ(rows[0].status, Status::rejected);
  EXPECT_EQ(executor.runs[2], 1);
  EXPECT_EQ(executor.runs[3], 0);
}

TEST(TunerResume, KnownResultsAreNotComputedAgain) {
  FailingExecutor executor({1, 2, 3, 4, 0.5}, [](std::size_t, int) { return std::nullopt; });
  auto rows = rows_for(5);
  rows[0].result_class = rows[1].result_class = rows[2].result_class = 3;
  rows[3].status = Status::failed;
  rows[3].reason = "earlier";
  EXPECT_EQ(tune(rows, executor), 4U);
  EXPECT_THAT(executor.runs, ElementsAre(1, 0, 0, 0, 2)) << "one for its class, the new one, the final check";
  EXPECT_EQ(executor.times[3], 0);
  EXPECT_EQ(rows[3].reason, "earlier");
}

TEST(TunerResume, AClassWhoseFirstMemberFailsIsRepresentedByAnother) {
  FailingExecutor executor(
      {1, 2, 3}, [](std::size_t i, int) { return i == 0 ? std::optional(device_error("gone")) : std::nullopt; });
  auto rows = rows_for(3);
  for (auto& row : rows) row.result_class = 0;
  EXPECT_EQ(tune(rows, executor), 1U);
  EXPECT_EQ(rows[0].status, Status::failed);
  EXPECT_THAT(executor.runs, ElementsAre(0, 2, 0));
}

TEST(Spread, IsThatOfTheBulk) {
  EXPECT_DOUBLE_EQ(spread({5, 5, 5}), 0);
  EXPECT_NEAR(spread({1, 2, 3, 4, 5000}), 1.4826, 1e-9);
}

TEST(Gap, OnlyRoundsInWhichBothRanCount) {
  Times times(2);
  for (int round = 0; round < 20; ++round) {
    times.add(0, round, 1.0 + round);  // a clock that sinks
    if (round >= 10) times.add(1, round, (1.0 + round) * 1.1);
  }
  const Gap gap = times.gap(1, 0);
  EXPECT_EQ(gap.pairs, 10);
  EXPECT_NEAR(gap.share, 0.1, 1e-9);
  EXPECT_TRUE(gap.separated());
  EXPECT_FALSE(times.gap(0, 1).separated());
  EXPECT_EQ(times.leader({1, 0}), 0U);
}

// One place divides the register file. The figures are those of the CUDA occupancy calculator for 9.0.
TEST(RegisterFile, BlocksAndThreads) {
  EXPECT_EQ(ir::blocks_by_registers(4, 128), 4);
  EXPECT_EQ(ir::blocks_by_registers(8, 32), 8);
  EXPECT_EQ(ir::blocks_by_registers(12, 168), 1);
  EXPECT_EQ(ir::blocks_by_registers(4, 255), 2);
  EXPECT_EQ(ir::blocks_by_registers(4, 65), 7) << "72 by the unit of 256 a warp";
  EXPECT_EQ(ir::blocks_by_registers(1, 104), 16) << "four warps in each of four partitions, not 19 in all";
  EXPECT_EQ(ir::blocks_by_registers(16, 255), 0);
  EXPECT_EQ(ir::launch_registers(512), 128);
  EXPECT_EQ(ir::launch_registers(384), 168);
  EXPECT_EQ(ir::launch_registers(288), ir::launch_registers(384)) << "a partition holds whole warps";
  for (int warps = 1; warps <= 32; ++warps) {
    const int registers = ir::launch_registers(32 * warps);
    EXPECT_EQ(std::min(2, resident_blocks(warps, registers, 0)), warps <= 4 ? 2 : resident_blocks(warps, registers, 0));
    EXPECT_GE(ir::blocks_by_registers(warps, registers), 1) << warps << " warps fit with what a launch gives them";
  }
}

}  // namespace
}  // namespace tessera::tune
