// The matmul for operands that the TMA engine cannot fetch: a pitch or an address that is not a multiple of 16 bytes,
// no contiguous dimension, or 8-bit operands whose rows are contiguous. Two warpgroups copy by ordinary loads and
// stores, each every other block of k; two multiply.
#pragma once

#include "kernels/configs.hpp"
#include "kernels/epilogue.hpp"

namespace tessera::kernels {

template <class In, class Out>
struct PitchMatmul : Script {
  using Config = PitchConfig;

  Config config;
  explicit PitchMatmul(Config c) : config(c) {}

  static constexpr auto params =
      names("m_size", "n_size", "k_size", "a_order", "b_order", "form", "steps", "a_rows", "a_columns", "b_rows",
            "b_columns", "c_rows", "c_columns", "alpha", "beta", "a", "b", "c", "bias");

  void operator()(Int32 m_size, int n_size, int k_size, OperandOrder a_order, OperandOrder b_order, OutputForm form,
                  int steps, Int64 a_rows, Int64 a_columns, Int64 b_rows, Int64 b_columns, Int64 c_rows,
                  Int64 c_columns, Float32 alpha, Float32 beta, Ptr<In> a_ptr, Ptr<In> b_ptr, Ptr<Out> c_ptr,
                  Ptr<Out> bias_ptr) {
    const auto [block_m, block_n, block_k, stages, group] = config;
    const int blocks_k = cdiv(k_size, block_k);
    attrs.blocks = cdiv(m_size, block_m) * cdiv(n_size, block_n);
    attrs.warps = 16;  // two warpgroups that copy and two that multiply

    GroupedTiles tiles(cdiv(m_size, block_m), cdiv(n_size, block_n), group);
    const auto tile = tiles.at(blockIdx.x);
    Int32 row = tile.m * block_m;
    Int32 column = tile.n * block_n;

    const Source a(a_ptr, m_size, k_size, a_order, a_rows, a_columns);
    const Source b(b_ptr, n_size, k_size, b_order, b_rows, b_columns);
    const Epilogue<Out> epilogue(m_size, n_size, form, steps, c_rows, c_columns, alpha, beta, c_ptr, bias_ptr);
    auto sa = shared_tensor<In>({stages, block_m, block_k});
    auto sb = shared_tensor<In>({stages, block_n, block_k});
    Pipeline ring(stages, {.consumer_warps = 8});

    for (int me : {0, 1}) {
      if (auto _ = warp_group(4 * me, 4)) {
        registers(120);
        if (me == 1) ring.advance_producer();
        for (auto block : range(me, blocks_k, 2)) {
          const auto part = a.load(row, block * block_k, block_m, block_k);  // on its way while the slot is waited for
          const auto slot = ring.acquire_for_producer();
          sync();  // the first warp has waited
          store_shared(sa[slot], part);
          store_shared(sb[slot], b.load(column, block * block_k, block_n, block_k));
          fence.proxy_async();
          sync();
          if (auto _ = single_thread()) mbarrier.arrive(slot.full);
          ring.advance_producer();
          ring.advance_producer();
        }
      }
    }
    const int rows = block_m / 2;
    for (int me : {0, 1}) {
      if (auto _ = warp_group(8 + 4 * me, 4)) {
        registers(136);
        auto acc = register_tensor<float>({rows, block_n}, 0.0f);
        for (auto block : range(blocks_k)) {
          const auto slot = ring.acquire_for_consumer();
          wgmma.fence();
          wgmma.mma(sa[slot].split(0, 2)[me], sb[slot].transpose(), acc, {.accumulate = block > 0});
          wgmma.commit_group();
          wgmma.wait_group(0);
          ring.release_consumer();
          ring.advance_consumer();
        }
        epilogue.send_directly(acc, row + me * rows, column);
      }
    }
  }

 private:
  // An operand [size, k] in global memory.
  struct Source {
    OperandOrder order;
    GlobalView view;
    Source(const Ptr<In>& ptr, const Int32& size, int k_size, OperandOrder order_, const Int64& row_stride,
           const Int64& column_stride)
        : order(order_), view(view_of(ptr, size, k_size, order_, row_stride, column_stride)) {}
    static GlobalView view_of(const Ptr<In>& ptr, const Int32& size, int k_size, OperandOrder order,
                              const Int64& row_stride, const Int64& column_stride) {
      if (order == OperandOrder::by_k) return global_view(ptr, {size, k_size}, {row_stride, 1});
      if (order == OperandOrder::by_rows) return global_view(ptr, {k_size, size}, {column_stride, 1});
      return global_view(ptr, {size, k_size}, {row_stride, column_stride});
    }
    RegisterTensor load(const Int32& row, const Int32& k, int rows, int columns) const {
      if (order == OperandOrder::by_rows) return load_global(view, {k, row}, {columns, rows}).transpose();
      return load_global(view, {row, k}, {rows, columns});
    }
  };
};

}  // namespace tessera::kernels
