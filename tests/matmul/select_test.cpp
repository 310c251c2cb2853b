// What the model chooses, and that its candidates fit the machine.
#include <set>
#include <tuple>

#include "kernels/candidates.hpp"
#include "matmul_case.hpp"

namespace tessera::testing {
namespace {

using namespace kernels;  // NOLINT(google-build-using-namespace)

Extents problem(std::int64_t m, std::int64_t n, std::int64_t k) {
  Extents e;
  e.m = m;
  e.n = n;
  e.k = k;
  return e;
}

constexpr std::int64_t shared_limit = 232448;

TEST(Model, PersistentCandidatesFitAndTheBestComesFirst) {
  for (const int in_bytes : {1, 2}) {
    for (const int out_bytes : {2, 4}) {
      Extents e = problem(4096, 4096, 4096);
      e.in_bytes = in_bytes;
      e.out_bytes = out_bytes;
      const auto candidates = persistent_candidates(e);
      std::set<std::tuple<Consumers, int, int>> kinds;
      for (const auto& [c, us] : candidates) {
        EXPECT_GE(us, candidates.front().us);
        kinds.insert({c.consumers, c.block_m, c.cluster});
        const std::int64_t ring = std::int64_t{c.stages} * (c.block_m + c.block_n) * c.block_k * in_bytes;
        const int rows = c.consumers == Consumers::ping_pong ? 2 * c.block_m : c.block_m;
        const int staged = c.buffers * c.store_n + c.block_n % c.store_n;
        EXPECT_EQ(c.consumer_rows() % 64, 0);
        EXPECT_LE(ring + rows * staged * out_bytes, shared_limit);
        EXPECT_EQ(c.block_k * in_bytes, 128);
        EXPECT_EQ(c.store_n % 8, 0);
        EXPECT_EQ(c.block_n % c.store_n % 8, 0);
        EXPECT_LE(c.store_n * out_bytes, 128);
        EXPECT_EQ(c.group % c.cluster, 0);
        EXPECT_GE(c.stages, 2);
      }
      // Every kind of tile is among those that are measured.
      std::set<std::tuple<Consumers, int, int>> first;
      for (std::size_t i = 0; i < 20 && i < candidates.size(); ++i) {
        const PersistentConfig& c = candidates[i].config;
        first.insert({c.consumers, c.block_m, c.cluster});
      }
      EXPECT_EQ(first, kinds);
    }
  }
}

TEST(Model, SplitCandidatesFitAndCoverFewRowsWithFewColumnsOfTheTensorCores) {
  for (const int m : {1, 8, 9, 40, 128, 300}) {
    for (const SplitChoice& choice : split_candidates(problem(m, 4096, 4096))) {
      for (const auto& [c, us] : choice.candidates) {
        EXPECT_LE(std::int64_t{c.stages} * (c.block_m + c.block_n) * c.block_k * 2, shared_limit);
        EXPECT_GE(c.stages, 2);
        EXPECT_LE(c.block_m, m + 32);
      }
    }
  }
}

// 2 FLOP for each of m n k at no more than the tensor cores' rate, and no faster than memory.
TEST(Model, NeverBeatsTheMachine) {
  for (const std::int64_t m : {1, 128, 1000, 4096, 16384}) {
    const Extents e = problem(m, 4096, 7168);
    const double flops = 2.0 * 4096 * 7168 * static_cast<double>(m) / (132 * 4096 * 1700.0);
    const double bytes = 2.0 * (4096.0 * 7168 + static_cast<double>(m) * 7168) / 4.8e6;
    for (const auto& [c, us] : persistent_candidates(e)) EXPECT_GE(us, std::max(flops, bytes));
    for (const SplitChoice& choice : split_candidates(e)) EXPECT_GE(choice.us(), std::max(flops, bytes));
  }
}

std::string chosen(std::int64_t m, std::int64_t n, std::int64_t k) {
  const Extents e = problem(m, n, k);
  return split_candidates(e).front().us() <= persistent_candidates(e).front().us ? "split" : "persistent";
}

TEST(Model, SendsFewRowsToSplitMatmulAndLargeResultsToPersistentMatmul) {
  EXPECT_EQ(chosen(1, 4096, 4096), "split");
  EXPECT_EQ(chosen(16, 7168, 16384), "split");
  EXPECT_EQ(chosen(64, 4096, 7168), "split");
  EXPECT_EQ(chosen(8192, 8192, 8192), "persistent");
  EXPECT_EQ(chosen(4096, 7168, 2048), "persistent");
}

TEST(Model, SharesALongKAmongTheSMsThatTilesLeaveIdle) {
  const auto parts = [](const Extents& e) {
    const SplitChoice choice = split_candidates(e).front();
    return choice.splits * choice.candidates.front().config.cluster_k;
  };
  EXPECT_GT(parts(problem(16, 512, 16384)), 4);
  EXPECT_GT(parts(problem(1, 2112, 7168)), 2);
  EXPECT_EQ(split_candidates(problem(16, 132 * 128, 512)).front().splits, 1);
}

TEST(Model, LargeSquaresGetLargeTiles) {
  const PersistentConfig best = persistent_candidates(problem(8192, 8192, 8192)).front().config;
  EXPECT_GE(best.block_m * best.block_n, 128 * 160);
}

// The SMs' rounds of tiles are what counts: some width leaves the last one nearly full.
TEST(Model, WidthsFollowTheProblem) {
  for (const auto& [m, n] : {std::pair{4096, 2112}, std::pair{8192, 1280}, std::pair{4096, 7168}}) {
    const PersistentConfig best = persistent_candidates(problem(m, n, 8192)).front().config;
    const auto rounds_up = [](double a, double b) { return std::ceil(a / b); };
    const double tiles = rounds_up(m, best.block_m) * rounds_up(n, best.block_n);
    const double computed = rounds_up(tiles, 132) * 132 * best.block_m * best.block_n;
    EXPECT_LT(computed, 1.06 * m * n) << best.block_m << "x" << best.block_n;
  }
}

}  // namespace
}  // namespace tessera::testing
