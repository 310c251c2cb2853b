#pragma once

namespace hopper_matmul {

// Columns of a tile that leave through shared memory together: the most of at most 64 that divide the tile. 64 are rows
// of 128 swizzled bytes; other multiples of 8 lie row by row, free of bank conflicts where they are odd multiples.
constexpr int store_columns(int block_n) {
  int columns = 64;
  while (block_n % columns != 0) columns -= 8;
  return columns;
}

}  // namespace hopper_matmul
