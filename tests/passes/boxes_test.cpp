// How a tile is cut into TMA boxes.
#include <gtest/gtest.h>

#include "passes/shared_layouts.hpp"

namespace tessera::passes {
namespace {

using Origins = std::vector<ir::tile::Shape>;

TEST(Boxes, LargestExtentThatDivides) {
  EXPECT_EQ(box_extent(1), 1);
  EXPECT_EQ(box_extent(200), 200);
  EXPECT_EQ(box_extent(256), 256);
  EXPECT_EQ(box_extent(384), 192);
  EXPECT_EQ(box_extent(1024), 256);
  EXPECT_EQ(box_extent(257), 1);  // a prime
}

TEST(Boxes, OriginsWithTheLastDimensionFastest) {
  EXPECT_EQ(box_origins({4, 6}, {2, 3}), (Origins{{0, 0}, {0, 3}, {2, 0}, {2, 3}}));
  EXPECT_EQ(box_origins({2, 1, 4}, {1, 1, 2}), (Origins{{0, 0, 0}, {0, 0, 2}, {1, 0, 0}, {1, 0, 2}}));
  EXPECT_EQ(box_origins({512}, {256}), (Origins{{0}, {256}}));
}

TEST(Boxes, ABoxOfTheWholeTileIsOne) { EXPECT_EQ(box_origins({64, 32, 8}, {64, 32, 8}), (Origins{{0, 0, 0}})); }

}  // namespace
}  // namespace tessera::passes
