// The model of what an order of tiles has memory deliver.
#include "kernels/tile_traffic.hpp"

#include <gtest/gtest.h>

namespace tessera::kernels {
namespace {

// Of m x n x k in float16, tiles of 128 x 192 for clusters of two.
TileRounds rounds(std::int64_t m, std::int64_t n, std::int64_t k) {
  TileRounds r;
  r.rows = (m + 255) / 256;
  r.columns = (n + 191) / 192;
  r.at_once = 66;
  r.row_bytes = 256.0 * 2 * static_cast<double>(k);
  r.column_bytes = 192.0 * 2 * static_cast<double>(k);
  r.result_bytes = 256.0 * 192 * 2;
  return r;
}
double all(const TileRounds& r) {
  return static_cast<double>(r.rows) * r.row_bytes + static_cast<double>(r.columns) * r.column_bytes;
}

TEST(TileTraffic, OperandsThatFitComeOnce) {
  const TileRounds r = rounds(2048, 2048, 2048);
  for (const std::int64_t group : {1, 2, 4, 8}) EXPECT_EQ(operand_traffic(r, group), all(r)) << group;
}

TEST(TileTraffic, AGroupThatIsTooHighFetchesColumnsAgain) {
  const TileRounds r = rounds(8192, 8192, 512);
  EXPECT_EQ(operand_traffic(r, 2), all(r));   // 17 MB pass until a column returns
  EXPECT_EQ(operand_traffic(r, 32), all(r));  // it does not return
  EXPECT_GT(operand_traffic(r, 8), 1.4 * all(r));
  // Memory that is hardly larger than a column of tiles: each of its groups fetches b again.
  const TileRounds long_k = rounds(8192, 8192, 65536);
  const double b = static_cast<double>(long_k.columns) * long_k.column_bytes;
  EXPECT_GE(operand_traffic(long_k, 8), all(long_k) + 3 * b);
}

TEST(TileTraffic, BestGroups) {
  EXPECT_EQ(best_group(rounds(4096, 32768, 512)), 16);  // all rows: a stays, b comes once
  EXPECT_EQ(best_group(rounds(4096, 24576, 1536)), 16);
  const std::int64_t square = best_group(rounds(8192, 8192, 512));
  EXPECT_TRUE(square <= 2 || square == 32) << square;  // not those between, where b would come again
  // A b of few columns stays, rows of a come once each.
  TileRounds narrow = rounds(8192, 1280, 8192);
  EXPECT_LE(best_group(narrow), 2);
  // Where nothing stays, a round needs the least if its tiles are nearly a square.
  const std::int64_t large = best_group(rounds(16384, 16384, 16384));
  EXPECT_GE(large, 4);
  EXPECT_LE(large, 16);
}

TEST(TileTraffic, AnyShapeHasAGroup) {
  for (const std::int64_t m : {0, 1, 255, 256, 257, 100000000}) {
    for (const std::int64_t n : {1, 8192, 100000000}) {
      const std::int64_t group = best_group(rounds(m, n, 64));
      EXPECT_GE(group, 1);
      EXPECT_LE(group, 256);
    }
  }
}

}  // namespace
}  // namespace tessera::kernels
