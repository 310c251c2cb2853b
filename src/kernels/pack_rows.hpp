// Copies a matrix of any strides into rows that are contiguous and begin on 16 bytes, filled up with zeros, so that the
// TMA engine can fetch it.
#pragma once

#include "kernels/forms.hpp"
#include "tessera/lang/lang.hpp"

namespace tessera::kernels {

// T is an unsigned integer as wide as the elements.
template <class T>
struct PackRows : Script {
  static constexpr auto params =
      names("rows", "columns", "order", "row_stride", "column_stride", "pitch", "from", "to");
  static constexpr int tile_rows = 32, tile_columns = 128;

  // `pitch`: of the rows of `to`, in units of 16 bytes.
  void operator()(Int32 rows, Int32 columns, OperandOrder order, Int64 row_stride, Int64 column_stride, Int64 pitch,
                  Ptr<T> from_ptr, Ptr<T> to_ptr) {
    attrs.blocks = cdiv(rows, tile_rows) * cdiv(columns, tile_columns);
    attrs.warps = 8;

    RowTiles tiles(cdiv(rows, tile_rows), cdiv(columns, tile_columns));
    const auto tile = tiles.at(blockIdx.x);
    Int32 row = tile.m * tile_rows;
    Int32 column = tile.n * tile_columns;
    constexpr int unit = 16 / sizeof(T);
    auto to = global_view(to_ptr, {rows, pitch * unit}, {pitch * unit, 1});
    auto staging = shared_tensor<T>({tile_rows, tile_columns});
    if (order == OperandOrder::by_rows) {
      auto from = global_view(from_ptr, {columns, rows}, {column_stride, 1});
      store_shared(staging, load_global(from, {column, row}, {tile_columns, tile_rows}).transpose());
    } else if (order == OperandOrder::by_k) {
      auto from = global_view(from_ptr, {rows, columns}, {row_stride, 1});
      store_shared(staging, load_global(from, {row, column}, {tile_rows, tile_columns}));
    } else {
      auto from = global_view(from_ptr, {rows, columns}, {row_stride, column_stride});
      store_shared(staging, load_global(from, {row, column}, {tile_rows, tile_columns}));
    }
    sync();
    store_global(to, load_shared(staging), {row, column});
  }
};

}  // namespace tessera::kernels
