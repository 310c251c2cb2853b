// merge_overlapping against sets of bytes.
#include "support/byte_ranges.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

namespace tessera {
namespace {

bool share_a_byte(const ByteRange& a, const ByteRange& b) {
  for (std::uintptr_t x = a.begin; x < a.end(); ++x) {
    if (x >= b.begin && x < b.end()) return true;
  }
  return false;
}

// For each piece the smallest number of a piece that it is connected with.
std::vector<std::size_t> connected(const std::vector<ByteRange>& pieces) {
  std::vector<std::size_t> group(pieces.size());
  std::iota(group.begin(), group.end(), std::size_t{0});
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      for (std::size_t j = 0; j < pieces.size(); ++j) {
        if (group[i] <= group[j] || !share_a_byte(pieces[i], pieces[j])) continue;
        group[i] = group[j];
        changed = true;
      }
    }
  }
  return group;
}

TEST(ByteRanges, AreMergedExactlyWhereBytesAreShared) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::vector<ByteRange> pieces(random() % 7);
    for (ByteRange& piece : pieces) piece = {100 + random() % 40, random() % 4 == 0 ? 0 : random() % 12};
    const MergedRanges merged = merge_overlapping(pieces);
    const std::vector<std::size_t> expected = connected(pieces);
    ASSERT_EQ(merged.of.size(), pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].bytes == 0) {
        EXPECT_EQ(merged.of[i], MergedRanges::none);
        continue;
      }
      const ByteRange& range = merged.ranges.at(merged.of[i]);
      EXPECT_EQ(range.begin + merged.offset[i], pieces[i].begin);
      EXPECT_LE(pieces[i].end(), range.end());
      bool begins = false, ends = false;
      for (std::size_t j = 0; j < pieces.size(); ++j) {
        if (pieces[j].bytes == 0) continue;
        EXPECT_EQ(merged.of[i] == merged.of[j], expected[i] == expected[j]);
        begins = begins || pieces[j].begin == range.begin;
        ends = ends || pieces[j].end() == range.end();
      }
      EXPECT_TRUE(begins && ends);
    }
    for (std::size_t r = 1; r < merged.ranges.size(); ++r)
      EXPECT_LE(merged.ranges[r - 1].end(), merged.ranges[r].begin);
  }
}

TEST(ByteRanges, ThatOnlyTouchStayApart) {
  const std::vector<ByteRange> pieces = {{20, 10}, {10, 10}};
  const MergedRanges merged = merge_overlapping(pieces);
  EXPECT_EQ(merged.ranges.size(), 2U);
  EXPECT_EQ(merged.of, (std::vector<std::size_t>{1, 0}));
}

}  // namespace
}  // namespace tessera
