// Operand and accumulator layouts of dot: every element owned once, and fragments that fit together lane by lane.
#include "layout/dot_layouts.hpp"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "layout/atoms.hpp"

namespace tessera::layout {
namespace {

using Ints = RegisterLayout::Ints;

// How many threads hold each element, counted one by one.
void expect_owners(const RegisterLayout& l, std::int64_t owners) {
  std::map<Ints, std::set<std::int64_t>> threads;
  for (std::int64_t t = 0; t < l.spatial_size(); ++t) {
    for (std::int64_t r = 0; r < l.local_size(); ++r) threads[l.global_index(r, t)].insert(t);
  }
  std::int64_t size = 1;
  for (const std::int64_t extent : l.shape()) size *= extent;
  ASSERT_EQ(static_cast<std::int64_t>(threads.size()), size);
  for (const auto& [index, holders] : threads) ASSERT_EQ(static_cast<std::int64_t>(holders.size()), owners);
}

// The block of whole instruction tiles that a warp holds: the instruction's top-left corners.
std::set<std::pair<std::int64_t, std::int64_t>> corners(const RegisterLayout& l, std::int64_t warp, std::int64_t rows,
                                                        std::int64_t columns) {
  std::set<std::pair<std::int64_t, std::int64_t>> result;
  for (std::int64_t lane = 0; lane < 32; ++lane) {
    for (std::int64_t r = 0; r < l.local_size(); ++r) {
      const Ints index = l.global_index(r, warp * 32 + lane);
      result.insert({index[0] / rows * rows, index[1] / columns * columns});
    }
  }
  return result;
}

// Every warp can compute its part of d: for each of its d tiles and each k step it holds the a and the b tile, and the
// registers of each tile are those of the instruction's fragment.
void expect_consistent(const DotLayouts& dot, std::int64_t k) {
  const MmaAtom atom = mma_m16n8k16();
  const std::int64_t warps = dot.d.spatial_size() / 32;
  ASSERT_EQ(dot.a.spatial_size(), warps * 32);
  ASSERT_EQ(dot.b.spatial_size(), warps * 32);
  const auto outer_a = divide(dot.a, atom.a), outer_b = divide(dot.b, atom.b), outer_d = divide(dot.d, atom.d);
  ASSERT_TRUE(outer_a && outer_b && outer_d);
  for (std::int64_t warp = 0; warp < warps; ++warp) {
    const auto a = corners(dot.a, warp, atom.m, atom.k), b = corners(dot.b, warp, atom.k, atom.n);
    std::set<std::pair<std::int64_t, std::int64_t>> needed_a, needed_b;
    for (const auto& [row, column] : corners(dot.d, warp, atom.m, atom.n)) {
      for (std::int64_t kk = 0; kk < k; kk += atom.k) {
        needed_a.insert({row, kk});
        needed_b.insert({kk, column});
      }
    }
    EXPECT_EQ(a, needed_a);  // no more than needed, either
    EXPECT_EQ(b, needed_b);
  }
}

TEST(DotCandidates, AllGridsOfAllWarps) {
  const auto candidates = dot_candidates(128, 128, 32, 4);
  ASSERT_EQ(candidates.size(), 3u);
  const std::int64_t rows[] = {1, 2, 4};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(candidates[i].warps_m, rows[i]);
    EXPECT_EQ(candidates[i].warps_m * candidates[i].warps_n, 4);
    EXPECT_EQ(candidates[i].replicas, 1);
  }
  const DotLayouts& square = candidates[1];
  EXPECT_EQ(square.d, spatial({2, 2}).local({4, 8}) * mma_m16n8k16().d);
  EXPECT_EQ(square.a, reduce(spatial({2, 1, 2}, {1, 0, 2}), {2}, false).local({4, 2}) * mma_m16n8k16().a);
  EXPECT_EQ(square.b, reduce(spatial({1, 2, 2}, {0, 2, 1}), {2}, false).local({2, 8}) * mma_m16n8k16().b);
  // Registers: a 4 * 2 tiles of 8 halves, b 2 * 8 of 4 halves, d 4 * 8 of 4 words.
  EXPECT_EQ(square.registers(2, 4), 4 * 2 * 4 + 2 * 8 * 2 + 4 * 8 * 4);
}

TEST(DotCandidates, OnlyGridsThatDivideTheTile) {
  const auto candidates = dot_candidates(64, 8, 16, 4);
  ASSERT_EQ(candidates.size(), 1u);
  EXPECT_EQ(candidates[0].warps_m, 4);
  EXPECT_TRUE(dot_candidates(24, 8, 16, 4).empty());
  EXPECT_TRUE(dot_candidates(16, 12, 16, 4).empty());
  EXPECT_TRUE(dot_candidates(16, 8, 8, 4).empty());
  EXPECT_TRUE(dot_candidates(0, 8, 16, 4).empty());
  EXPECT_TRUE(dot_candidates(16, 8, 16, 0).empty());
}

TEST(DotCandidates, LeftOverWarpsReplicate) {
  const auto candidates = dot_candidates(16, 8, 16, 4);
  ASSERT_EQ(candidates.size(), 1u);
  EXPECT_EQ(candidates[0].replicas, 4);
  EXPECT_EQ(candidates[0].d, replicated({1, 1}, 4) * mma_m16n8k16().d);
  const auto six = dot_candidates(32, 8, 16, 6);
  ASSERT_EQ(six.size(), 1u);
  EXPECT_EQ(six[0].warps_m, 2);
  EXPECT_EQ(six[0].replicas, 3);
}

TEST(DotCandidates, FitTogetherForEveryTileAndWarpCount) {
  for (const std::int64_t m : {16, 48}) {
    for (const std::int64_t n : {8, 32}) {
      for (const std::int64_t k : {16, 32}) {
        for (const std::int64_t warps : {1, 2, 3, 4, 6, 8}) {
          const auto candidates = dot_candidates(m, n, k, warps);
          ASSERT_FALSE(candidates.empty());
          for (const DotLayouts& dot : candidates) {
            SCOPED_TRACE(dot.d.to_string());
            EXPECT_EQ(dot.a.shape(), (Ints{m, k}));
            EXPECT_EQ(dot.b.shape(), (Ints{k, n}));
            EXPECT_EQ(dot.d.shape(), (Ints{m, n}));
            EXPECT_EQ(dot.warps_m * dot.warps_n * dot.replicas, warps);
            expect_owners(dot.d, dot.replicas);
            expect_owners(dot.a, dot.replicas * dot.warps_n);
            expect_owners(dot.b, dot.replicas * dot.warps_m);
            expect_consistent(dot, k);
          }
        }
      }
    }
  }
}

TEST(DotLayoutsFor, FollowsAnyArrangementOfFragments) {
  const RegisterLayout& fragment = mma_m16n8k16().d;
  for (const RegisterLayout& d :
       {fragment, spatial({2, 2}).local({2, 3}) * fragment, local({2, 3}).spatial({2, 2}) * fragment,
        column_spatial({2, 2}).column_local({2, 3}) * fragment, spatial({2, 1}).replicate(3).local({1, 2}) * fragment,
        spatial({2, 1}).local({2, 2}).spatial({1, 2}) * fragment}) {
    SCOPED_TRACE(d.to_string());
    const auto dot = dot_layouts_for(d, 32);
    ASSERT_TRUE(dot);
    EXPECT_EQ(dot->d, d);
    EXPECT_EQ(dot->warps_m * dot->warps_n * dot->replicas * 32, d.spatial_size());
    expect_owners(dot->a, dot->replicas * dot->warps_n);
    expect_owners(dot->b, dot->replicas * dot->warps_m);
    expect_consistent(*dot, 32);
  }
  for (const DotLayouts& candidate : dot_candidates(64, 64, 32, 4)) {
    const auto again = dot_layouts_for(candidate.d, 32);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->a, candidate.a);
    EXPECT_EQ(again->b, candidate.b);
    EXPECT_EQ(again->warps_m, candidate.warps_m);
    EXPECT_EQ(again->warps_n, candidate.warps_n);
  }
}

TEST(DotLayoutsFor, RefusesOtherLayouts) {
  EXPECT_EQ(dot_layouts_for(default_layout({64, 64}, 128, 4), 32).has_value(), false);
  EXPECT_EQ(dot_layouts_for(mma_m16n8k16().d, 8).has_value(), false);
  EXPECT_EQ(dot_layouts_for(unsqueeze(mma_m16n8k16().d, 0), 16).has_value(), false);
  EXPECT_EQ(dot_layouts_for(spatial({4}), 16).has_value(), false);
}

}  // namespace
}  // namespace tessera::layout
