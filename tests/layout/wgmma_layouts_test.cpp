// wgmma's fragments against the PTX ISA's figures, and descriptors decoded by the ISA's canonical layouts.
#include "layout/wgmma_layouts.hpp"

#include <gmock/gmock.h>

#include "tessera/core/error.hpp"

namespace tessera::layout {
namespace {

using Ints = RegisterLayout::Ints;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(WgmmaFragments, Accumulator) {
  for (const std::int64_t m : {64, 128}) {
    for (const std::int64_t n : {8, 24, 256, 512}) {
      const RegisterLayout l = wgmma_accumulator(m, n);
      EXPECT_EQ(l.shape(), (Ints{m, n}));
      ASSERT_EQ(l.spatial_size(), 128);
      ASSERT_EQ(l.local_size(), m * n / 128);
      for (std::int64_t t = 0; t < 128; ++t) {
        for (std::int64_t r = 0; r < l.local_size(); ++r) {
          const std::int64_t i = r % (n / 2), block = r / (n / 2), lane = t % 32;
          const std::int64_t row = 64 * block + 16 * (t / 32) + lane / 4 + 8 * ((i / 2) % 2);
          ASSERT_THAT(l.global_index(r, t), ElementsAre(row, 8 * (i / 4) + 2 * (lane % 4) + i % 2));
        }
      }
    }
  }
  EXPECT_THROW(wgmma_accumulator(32, 8), Error);
  EXPECT_THROW(wgmma_accumulator(64, 12), Error);
}

TEST(WgmmaFragments, OperandAInRegisters) {
  for (const std::int64_t bytes : {1, 2, 4}) {
    const std::int64_t step = 32 / bytes, word = 4 / bytes, k = 2 * step;
    const RegisterLayout l = wgmma_a_fragments(128, k, bytes);
    ASSERT_EQ(l.local_size(), 128 * k / 128);
    for (std::int64_t t = 0; t < 128; ++t) {
      for (std::int64_t r = 0; r < l.local_size(); ++r) {
        const std::int64_t each = 16 / bytes;  // elements a thread and instruction
        const std::int64_t instruction = r / each, reg = r % each / word, byte = r % word, lane = t % 32;
        const std::int64_t row = 64 * (instruction / 2) + 16 * (t / 32) + lane / 4 + 8 * (reg % 2);
        const std::int64_t column = step * (instruction % 2) + step / 2 * (reg / 2) + word * (lane % 4) + byte;
        ASSERT_THAT(l.global_index(r, t), ElementsAre(row, column));
      }
    }
  }
  EXPECT_THROW(wgmma_a_fragments(64, 24, 2), Error);
}

TEST(WgmmaFragments, An16BitOperandHasTheAccumulatorsPlaces) {
  EXPECT_TRUE(wgmma_a_fragments(64, 96, 2) == wgmma_accumulator(64, 96));
  EXPECT_FALSE(wgmma_a_fragments(64, 96, 1) == wgmma_accumulator(64, 96));
}

TEST(WgmmaColumns, AsFewAndAsEqualAsPossible) {
  EXPECT_THAT(wgmma_columns(8, false), ElementsAre(8));
  EXPECT_THAT(wgmma_columns(192, false), ElementsAre(192));
  EXPECT_THAT(wgmma_columns(256, false), ElementsAre(256));
  EXPECT_THAT(wgmma_columns(296, false), ElementsAre(152, 144));
  EXPECT_THAT(wgmma_columns(320, false), ElementsAre(160, 160));
  EXPECT_THAT(wgmma_columns(768, false), ElementsAre(256, 256, 256));
  EXPECT_THAT(wgmma_columns(320, false, 64), ElementsAre(192, 128));  // whole blocks of an MN-major tile
  EXPECT_THAT(wgmma_columns(288, false, 32), ElementsAre(160, 128));
  EXPECT_THAT(wgmma_columns(20, false), IsEmpty());
  EXPECT_THAT(wgmma_columns(24, true), ElementsAre(24));
  EXPECT_THAT(wgmma_columns(40, true), IsEmpty());
  EXPECT_THAT(wgmma_columns(48, true), ElementsAre(48));
  for (std::int64_t n = 8; n <= 1024; n += 8) {
    std::int64_t sum = 0;
    for (const std::int64_t piece : wgmma_columns(n, false)) {
      EXPECT_LE(piece, 256);
      EXPECT_EQ(piece % 8, 0);
      sum += piece;
    }
    EXPECT_EQ(sum, n);
  }
}

// The byte of element [row, k] that the hardware reads: the canonical layouts of PTX ISA 9.7.15.5.1.2 in units of 16
// bytes, with the swizzle applied to the address.
std::int64_t decode(const WgmmaOperand& o, std::int64_t start, std::int64_t row, std::int64_t k, std::int64_t bytes) {
  const std::int64_t each = 16 / bytes;  // elements of 16 bytes
  const std::int64_t width = o.swizzle == SwizzleMode::none ? 1 : swizzle_span(o.swizzle) / 16;
  std::int64_t address = start;
  if (!o.mn_major) {
    address += row % 8 * width * 16 + row / 8 * o.stride + k % each * bytes;
    const std::int64_t chunk = k / each;
    address += width == 1 ? chunk * o.leading : chunk * 16;
  } else {
    const std::int64_t block = width * each;  // contiguous rows
    address += row % block * bytes + k % 8 * width * 16;
    address += width == 1 ? row / block * o.stride + k / 8 * o.leading : row / block * o.leading + k / 8 * o.stride;
  }
  return apply_swizzle(o.swizzle, address);
}

void expect_readable(const SharedLayout& tile, std::int64_t rows, std::int64_t element_bytes) {
  std::string why;
  const auto operand = wgmma_operand(tile, rows, &why);
  ASSERT_TRUE(operand) << tile.to_string() << ": " << why;
  const std::int64_t step = 32 / element_bytes;
  for (std::int64_t first = 0; first + rows <= tile.shape()[0]; first += rows) {
    for (std::int64_t k0 = 0; k0 < tile.shape()[1]; k0 += step) {
      const std::int64_t origin[] = {first, k0};
      const std::int64_t start = tile.linear_offset(origin) * element_bytes;
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t k = 0; k < step; ++k) {
          const std::int64_t index[] = {first + row, k0 + k};
          ASSERT_EQ(decode(*operand, start, row, k, element_bytes), tile.byte_offset(index))
              << tile.to_string() << " row " << first + row << " k " << k0 + k;
        }
      }
    }
  }
}

TEST(WgmmaOperand, KMajorTilesOfEveryWidth) {
  for (const std::int64_t bytes : {1, 2, 4}) {
    for (const std::int64_t row_bytes : {32, 64, 96, 128, 192, 256, 384}) {
      for (const std::int64_t rows : {8, 64, 192}) {
        const SharedLayout tile = shared_widest_swizzle({rows, row_bytes / bytes}, bytes);
        expect_readable(tile, rows == 192 ? 64 : rows, bytes);
        expect_readable(tile, rows, bytes);
      }
    }
  }
}

TEST(WgmmaOperand, MnMajorTilesOfEveryWidth) {
  for (const std::int64_t rows : {16, 32, 64, 96, 128, 256}) {
    for (const std::int64_t k : {16, 32, 64}) {
      const SharedLayout tile = shared_widest_swizzle({k, rows}, 2).permute({1, 0});
      expect_readable(tile, rows, 2);
      if (rows % 64 == 0) expect_readable(tile, 64, 2);
    }
  }
}

TEST(WgmmaOperand, WithoutSwizzle) {
  // Core matrices of 8 x 16 bytes, one beside the other: [rows, (k / 8, 8)].
  const SharedLayout k_major({64, 32}, {8, 8, 4, 8}, {64, 8, 512, 1}, SwizzleMode::none, 2);
  expect_readable(k_major, 64, 2);
  const SharedLayout mn_major({64, 32}, {8, 8, 4, 8}, {64, 1, 512, 8}, SwizzleMode::none, 2);
  expect_readable(mn_major, 64, 2);
}

TEST(WgmmaOperand, DescriptorBits) {
  std::string why;
  const auto wide = wgmma_operand(shared_widest_swizzle({128, 64}, 2), 64, &why);
  ASSERT_TRUE(wide) << why;
  EXPECT_EQ(wide->high_bits(), (1024U >> 4) | 1U << 30);
  EXPECT_EQ(wide->low_bits(), 1U << 16);
  const auto half = wgmma_operand(shared_widest_swizzle({128, 32}, 2), 64, &why);
  ASSERT_TRUE(half) << why;
  EXPECT_EQ(half->high_bits(), (512U >> 4) | 2U << 30);
  const auto quarter = wgmma_operand(shared_widest_swizzle({128, 16}, 2), 64, &why);
  ASSERT_TRUE(quarter) << why;
  EXPECT_EQ(quarter->high_bits(), (256U >> 4) | 3U << 30);
  const auto turned = wgmma_operand(shared_widest_swizzle({64, 256}, 2).permute({1, 0}), 256, &why);
  ASSERT_TRUE(turned) << why;
  EXPECT_TRUE(turned->mn_major);
  EXPECT_EQ(turned->low_bits(), (8192U >> 4) << 16);  // the next 64 rows lie 64 k of 128 bytes further on
  EXPECT_EQ(turned->high_bits(), (1024U >> 4) | 1U << 30);
}

TEST(WgmmaOperand, RefusesWhatNoDescriptorDescribes) {
  std::string why;
  EXPECT_FALSE(wgmma_operand(shared_row_major({64, 64}, 2), 64, &why));
  EXPECT_THAT(why, HasSubstr("eight rows of 16 bytes must lie together"));
  EXPECT_FALSE(wgmma_operand(shared_widest_swizzle({32, 64}, 1).permute({1, 0}), 64, &why));
  EXPECT_THAT(why, HasSubstr("16-bit"));
  EXPECT_FALSE(wgmma_operand(SharedLayout({64, 64}, {64, 64}, {130, 2}, SwizzleMode::none, 2), 64, &why));
  EXPECT_THAT(why, HasSubstr("contiguous"));
}

// A box at any index that box_step allows lies as the one at 0 does.
TEST(SharedBox, LiesAsTheOneAtTheOrigin) {
  int boxes = 0;
  for (const Ints& shape : {Ints{4, 16, 64}, Ints{2, 8, 128}, Ints{3, 24, 96}, Ints{16, 256}}) {
    const SharedLayout l = shared_widest_swizzle(shape, 2);
    Ints extents(shape.size(), 1);
    const std::size_t last = shape.size() - 1;
    for (extents[last] = 8; extents[last] <= shape[last]; extents[last] += 8) {
      for (extents[last - 1] = 1; extents[last - 1] <= shape[last - 1]; ++extents[last - 1]) {
        const auto box = l.box(extents);
        if (!box) continue;
        const std::int64_t step_row = l.box_step(last - 1, extents[last - 1]);
        const std::int64_t step_column = l.box_step(last, extents[last]);
        for (std::int64_t row = 0; row + extents[last - 1] <= shape[last - 1]; row += step_row) {
          for (std::int64_t column = 0; column + extents[last] <= shape[last]; column += step_column) {
            Ints origin(shape.size(), 0);
            origin[0] = last == 1 ? row : shape[0] - 1;
            origin[last - 1] = row;
            origin[last] = column;
            ++boxes;
            for (const std::int64_t i : {std::int64_t{0}, extents[last - 1] / 2, extents[last - 1] - 1}) {
              for (std::int64_t j = 0; j < extents[last]; ++j) {
                Ints inside(shape.size(), 0), whole = origin;
                inside[last - 1] = i;
                inside[last] = j;
                whole[last - 1] += i;
                whole[last] += j;
                ASSERT_EQ(l.linear_offset(whole), l.linear_offset(origin) + box->linear_offset(inside));
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(boxes, 1000);
  EXPECT_FALSE(shared_widest_swizzle({16, 128}, 2).box({16, 96}));  // one panel and a half
}

}  // namespace
}  // namespace tessera::layout
