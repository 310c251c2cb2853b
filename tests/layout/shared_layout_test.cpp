// Shared-memory layouts: known answers, misuse, and bank conflicts.
#include "layout/shared_layout.hpp"

#include <gmock/gmock.h>

#include "tessera/core/error.hpp"

namespace tessera::layout {
namespace {

using Ints = SharedLayout::Ints;
using ::testing::ElementsAre;

std::int64_t offset(const SharedLayout& l, std::int64_t i, std::int64_t j) { return l.byte_offset(Ints{i, j}); }

TEST(SharedLayout, RowAndColumnMajor) {
  const SharedLayout row = shared_row_major({4, 6}, 2), column = shared_column_major({4, 6}, 2);
  EXPECT_EQ(offset(row, 3, 5), (3 * 6 + 5) * 2);
  EXPECT_EQ(offset(column, 3, 5), (3 + 5 * 4) * 2);
  EXPECT_EQ(row.bytes(), 48);
  EXPECT_EQ(column.bytes(), 48);
  EXPECT_EQ(row.alignment(), 128);
  EXPECT_EQ(row.permute({1, 0}).linear_offset(Ints{5, 3}), row.linear_offset(Ints{3, 5}));
  EXPECT_EQ(shared_column_major({4, 6}, 2), shared_row_major({6, 4}, 2).permute({1, 0}));
  EXPECT_EQ(shared_row_major({}, 4).bytes(), 4);
}

TEST(SharedLayout, Reshape) {
  const auto split = shared_row_major({12}, 2).reshape({3, 4});
  ASSERT_TRUE(split);
  EXPECT_EQ(*split, shared_row_major({3, 4}, 2));
  const SharedLayout turned({12}, {3, 4}, {1, 3}, SwizzleMode::none, 2);
  EXPECT_EQ(turned.reshape({3, 4}), shared_column_major({3, 4}, 2));
  EXPECT_EQ(turned.reshape({4, 3}), std::nullopt);
  EXPECT_EQ(turned.reshape({5, 3}), std::nullopt);
  EXPECT_EQ(turned.reshape({0, 12}), std::nullopt);
  EXPECT_EQ(shared_row_major({2, 6}, 2).reshape({3, 4}), shared_row_major({3, 4}, 2));
}

TEST(SharedLayout, Canonical) {
  const SharedLayout l({32, 16}, {4, 8, 2, 2, 4}, {64, 8, 256, 4, 1}, SwizzleMode::none, 2);
  const SharedLayout c = l.canonical();
  EXPECT_THAT(c.mode_shape(), ElementsAre(32, 2, 8));
  EXPECT_THAT(c.mode_strides(), ElementsAre(8, 256, 1));
  EXPECT_FALSE(l == c);
}

TEST(SharedLayout, SwizzledPanels) {
  // 128 columns of 2 bytes are two panels of 64, each 64 rows of 128 bytes.
  const auto l = shared_swizzled({64, 128}, 2, SwizzleMode::b128);
  ASSERT_TRUE(l);
  EXPECT_THAT(l->mode_shape(), ElementsAre(64, 2, 64));
  EXPECT_THAT(l->mode_strides(), ElementsAre(64, 64 * 64, 1));
  EXPECT_EQ(l->swizzle(), SwizzleMode::b128);
  EXPECT_EQ(l->bytes(), 64 * 128 * 2);
  EXPECT_EQ(l->alignment(), 1024);
  // Row 5, column 64 + 19: second panel, chunk 19 / 8 = 2 becomes 2 ^ 5.
  EXPECT_EQ(offset(*l, 5, 64 + 19), 64 * 128 + 5 * 128 + (2 ^ 5) * 16 + 3 * 2);
}

TEST(SharedLayout, LeadingDimensionsComeFirst) {
  const auto l = shared_swizzled({3, 16, 128}, 2, SwizzleMode::b128);
  ASSERT_TRUE(l);
  EXPECT_EQ(l->linear_offset(Ints{2, 0, 0}), 2 * 16 * 128);
  EXPECT_EQ(l->slice({1, 2}), shared_swizzled({16, 128}, 2, SwizzleMode::b128));
  EXPECT_EQ(l->bytes(), 3 * 16 * 128 * 2);
  const auto vector = shared_swizzled({64}, 4, SwizzleMode::b128);
  ASSERT_TRUE(vector);
  EXPECT_EQ(vector->linear_offset(Ints{63}), 63);
}

TEST(SharedLayout, NarrowRowsTakeANarrowerSwizzle) {
  EXPECT_EQ(shared_swizzled({64, 32}, 2, SwizzleMode::b128)->swizzle(), SwizzleMode::b64);
  EXPECT_EQ(shared_swizzled({64, 16}, 2, SwizzleMode::b128)->swizzle(), SwizzleMode::b32);
  EXPECT_EQ(shared_swizzled({64, 8}, 2, SwizzleMode::b128), shared_row_major({64, 8}, 2));
  EXPECT_EQ(shared_swizzled({64, 32}, 4, SwizzleMode::b64)->swizzle(), SwizzleMode::b64);
  EXPECT_EQ(shared_swizzled({8, 64}, 2, SwizzleMode::none), shared_row_major({8, 64}, 2));
  EXPECT_EQ(shared_swizzled({64, 48}, 2, SwizzleMode::b128), std::nullopt);  // 96 bytes
  EXPECT_EQ(shared_swizzled({64, 4}, 2, SwizzleMode::b128), std::nullopt);   // 8 bytes
  EXPECT_EQ(shared_swizzled({64, 7}, 4, SwizzleMode::none), std::nullopt);
  EXPECT_EQ(shared_swizzled({}, 4, SwizzleMode::b128), std::nullopt);
  EXPECT_EQ(shared_swizzled({0, 64}, 4, SwizzleMode::b128), std::nullopt);
}

TEST(SharedLayout, WidestSwizzle) {
  EXPECT_EQ(shared_widest_swizzle({64, 64}, 2).swizzle(), SwizzleMode::b128);
  EXPECT_EQ(shared_widest_swizzle({64, 96}, 2).swizzle(), SwizzleMode::b64);     // 192 bytes: three panels of 64
  EXPECT_EQ(shared_widest_swizzle({64, 48}, 2).swizzle(), SwizzleMode::b32);     // 96 bytes: three panels of 32
  EXPECT_EQ(shared_widest_swizzle({64, 24}, 2), shared_row_major({64, 24}, 2));  // 48 bytes
  EXPECT_EQ(shared_widest_swizzle({64, 5}, 2), shared_row_major({64, 5}, 2));
}

TEST(SharedLayout, MisuseIsRefused) {
  EXPECT_THROW(SharedLayout({6}, {2, 2}, {2, 1}, SwizzleMode::none, 2), Error);
  EXPECT_THROW(SharedLayout({4}, {2, 2}, {1}, SwizzleMode::none, 2), Error);
  EXPECT_THROW(SharedLayout({4}, {4}, {-1}, SwizzleMode::none, 2), Error);
  EXPECT_THROW(SharedLayout({4}, {4}, {1}, SwizzleMode::none, 0), Error);
  const SharedLayout l = shared_row_major({4, 6}, 2);
  EXPECT_THROW((void)l.linear_offset(Ints{4, 0}), Error);
  EXPECT_THROW((void)l.byte_offset(Ints{0}), Error);
  EXPECT_THROW((void)l.permute({0, 2}), Error);
  EXPECT_THROW((void)l.slice({1, 0}), Error);
  EXPECT_THROW((void)l.slice({2}), Error);
}

TEST(SharedLayout, Text) {
  EXPECT_EQ(shared_swizzled({64, 128}, 2, SwizzleMode::b128)->to_string(),
            "shared_layout([64, 128], modes [64, 2, 64], strides [64, 4096, 1], swizzle 128B, 2 B)");
  EXPECT_EQ(shared_row_major({4}, 1).to_string(), "shared_layout([4], modes [4], strides [1], swizzle none, 1 B)");
}

TEST(BankConflicts, ScalarAccesses) {
  const auto cost = [](std::int64_t stride, int bytes) {
    std::vector<std::int64_t> addresses(32);
    for (std::size_t lane = 0; lane < 32; ++lane) addresses[lane] = stride * static_cast<std::int64_t>(lane);
    return bank_conflicts(addresses, bytes);
  };
  EXPECT_EQ(cost(4, 4), 0);
  EXPECT_EQ(cost(0, 4), 0);     // broadcast
  EXPECT_EQ(cost(2, 2), 0);     // two lanes a word
  EXPECT_EQ(cost(8, 4), 1);     // two words a bank
  EXPECT_EQ(cost(128, 4), 31);  // all in one bank
  EXPECT_EQ(cost(132, 4), 0);
  EXPECT_EQ(cost(8, 8), 0);
  EXPECT_EQ(cost(16, 16), 0);
  EXPECT_EQ(cost(32, 16), 4);    // each of four phases takes two cycles
  EXPECT_EQ(cost(128, 16), 28);  // each of four phases takes eight
  EXPECT_EQ(cost(128, 8), 30);   // each of two phases takes sixteen
}

TEST(BankConflicts, LdmatrixRows) {
  const auto cost = [](const SharedLayout& l, std::int64_t column) {
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < 8; ++i) rows.push_back(l.byte_offset(Ints{i, column}));
    return bank_conflicts(rows, 16);
  };
  for (const std::int64_t width : {16, 32, 64, 128, 256}) {
    for (std::int64_t column = 0; column < width; column += 8) {
      EXPECT_EQ(cost(shared_widest_swizzle({64, width}, 2), column), 0) << width;
    }
  }
  EXPECT_EQ(cost(shared_row_major({64, 64}, 2), 0), 7);
  EXPECT_EQ(cost(shared_row_major({64, 32}, 2), 0), 3);
  EXPECT_EQ(cost(shared_row_major({64, 72}, 2), 8), 0);  // padded rows
}

TEST(BankConflicts, EmptyAndBad) {
  EXPECT_EQ(bank_conflicts({}, 4), 0);
  EXPECT_THROW(bank_conflicts(Ints{0}, 0), Error);
  EXPECT_THROW(bank_conflicts(Ints{0}, 32), Error);
  EXPECT_THROW(bank_conflicts(Ints{-4}, 4), Error);
}

}  // namespace
}  // namespace tessera::layout
