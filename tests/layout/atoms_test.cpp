// The instruction fragments against the PTX ISA's figures, written out per lane and register.
#include "layout/atoms.hpp"

#include <gmock/gmock.h>

#include "tessera/core/error.hpp"

namespace tessera::layout {
namespace {

using Ints = RegisterLayout::Ints;
using ::testing::ElementsAre;

// Figures give rows by the group of four lanes, columns by the lane's place in its group.
std::int64_t group(std::int64_t lane) { return lane >> 2; }
std::int64_t place(std::int64_t lane) { return lane & 3; }

template <typename Figure>
void expect_fragment(const RegisterLayout& l, const Ints& shape, std::int64_t registers, const Figure& figure) {
  EXPECT_EQ(l.shape(), shape);
  ASSERT_EQ(l.spatial_size(), 32);
  ASSERT_EQ(l.local_size(), registers);
  for (std::int64_t lane = 0; lane < 32; ++lane) {
    for (std::int64_t r = 0; r < registers; ++r) {
      const std::pair<std::int64_t, std::int64_t> element = figure(lane, r);
      EXPECT_THAT(l.global_index(r, lane), ElementsAre(element.first, element.second)) << "lane " << lane << " r " << r;
    }
  }
}

TEST(Atoms, Ldmatrix) {
  for (const int bytes : {1, 2, 4}) {
    const int each = 4 / bytes;
    expect_fragment(ldmatrix_atom(bytes), {8, 16 / bytes}, each, [&](std::int64_t lane, std::int64_t r) {
      return std::pair{lane / 4, lane % 4 * each + r};
    });
  }
  EXPECT_THROW(ldmatrix_atom(8), Error);
  EXPECT_THROW(ldmatrix_atom(0), Error);
}

TEST(Atoms, LdmatrixTransposed) {
  expect_fragment(ldmatrix_trans_atom(), {8, 8}, 2, [](std::int64_t lane, std::int64_t r) {
    return std::pair{lane % 4 * 2 + r, lane / 4};
  });
}

TEST(Atoms, MmaOperandA) {
  const MmaAtom atom = mma_m16n8k16();
  EXPECT_THAT((Ints{atom.m, atom.n, atom.k}), ElementsAre(16, 8, 16));
  expect_fragment(atom.a, {16, 16}, 8, [](std::int64_t lane, std::int64_t i) {
    const bool lower = (i >= 2 && i < 4) || i >= 6;  // a2 a3 and a6 a7 are in the lower eight rows
    const std::int64_t row = group(lane) + (lower ? 8 : 0);
    const std::int64_t column = place(lane) * 2 + (i & 1) + (i >= 4 ? 8 : 0);
    return std::pair{row, column};
  });
}

TEST(Atoms, MmaOperandB) {
  expect_fragment(mma_m16n8k16().b, {16, 8}, 4, [](std::int64_t lane, std::int64_t i) {
    const std::int64_t row = place(lane) * 2 + (i & 1) + (i >= 2 ? 8 : 0);
    return std::pair{row, group(lane)};
  });
}

TEST(Atoms, MmaAccumulator) {
  expect_fragment(mma_m16n8k16().d, {16, 8}, 4, [](std::int64_t lane, std::int64_t i) {
    const std::int64_t row = group(lane) + (i >= 2 ? 8 : 0);
    return std::pair{row, place(lane) * 2 + (i & 1)};
  });
}

TEST(Atoms, OperandsAreMadeOfLdmatrixMatrices) {
  // a: four matrices, in the order top left, bottom left, top right, bottom right.
  EXPECT_EQ(divide(mma_m16n8k16().a, ldmatrix_atom(2)), column_local({2, 2}));
  EXPECT_EQ(divide(mma_m16n8k16().b, ldmatrix_trans_atom()), local({2, 1}));
  EXPECT_EQ(divide(permute(mma_m16n8k16().b, {1, 0}), ldmatrix_atom(2)), local({1, 2}));
}

}  // namespace
}  // namespace tessera::layout
