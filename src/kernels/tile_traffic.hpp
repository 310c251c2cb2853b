// What the order in which a persistent kernel goes through its tiles has memory deliver.
//
// The model. The CTAs work on tiles in rounds, one tile each, all of them at about the same k. So the parts of the
// operands that a round needs (of a those of the rows of tiles in it, of b those of the columns) come to L2 once, and
// are still there for a later round if what went through L2 in between, results included, is no more than it holds.
#pragma once

#include <cstdint>

namespace tessera::kernels {

struct TileRounds {
  std::int64_t rows = 0, columns = 0;  // of tiles, or of a cluster's tiles, which stand below each other
  std::int64_t at_once = 0;            // of these
  double row_bytes = 0, column_bytes = 0, result_bytes = 0;  // what one needs of a and of b, and what it stores
};

// Bytes of the operands that memory delivers, for the first 256 rounds at most, if the tiles are worked on in groups of
// `group` rows, column by column within a group (GroupedTiles).
double operand_traffic(const TileRounds& rounds, std::int64_t group);

// The group, a power of two, with the least traffic; of those that differ by less than 2 % the one with which a round
// needs the least.
std::int64_t best_group(const TileRounds& rounds);

}  // namespace tessera::kernels
