// The matmul for few rows or few tiles: operands change places, so that rows of b fill the tensor cores' 64 and the
// rows of a are their columns, as few as eight; and several CTAs share the k of a tile.
#pragma once

#include "kernels/configs.hpp"
#include "kernels/epilogue.hpp"
#include "kernels/operand.hpp"

namespace tessera::kernels {

// Float32 elements between the rows of the partial sums of n columns: rows begin on 16 bytes.
constexpr int partial_pitch(int n_size) { return (n_size + 3) / 4 * 4; }

// With splits > 1 the CTAs write float32 sums to partials [splits, m, partial_pitch(n)], which ReduceSplits adds up and
// finishes; with one they finish the result themselves, and partials is not used.
template <class In, class Out>
struct SplitMatmul : Script {
  using Config = SplitConfig;

  Config config;
  explicit SplitMatmul(Config c) : config(c) {}

  static constexpr auto params =
      names("m_size", "n_size", "k_size", "a_by_k", "b_by_k", "form", "steps", "splits", "a_pitch", "b_pitch", "c_rows",
            "c_columns", "alpha", "beta", "a", "b", "c", "bias", "partials");

  void operator()(Int32 m_size, int n_size, int k_size, bool a_by_k, bool b_by_k, OutputForm form, int steps,
                  int splits, Int64 a_pitch, Int64 b_pitch, Int64 c_rows, Int64 c_columns, Float32 alpha, Float32 beta,
                  Ptr<In> a_ptr, Ptr<In> b_ptr, Ptr<Out> c_ptr, Ptr<Out> bias_ptr, Ptr<float> partials_ptr) {
    const auto [block_m, block_n, block_k, stages, warpgroups, cluster_n] = config;
    const int blocks_k = cdiv(k_size, block_k);
    attrs.cluster = {cluster_n};
    attrs.blocks = {cdiv(n_size, block_n * cluster_n) * cluster_n, cdiv(m_size, block_m), splits};
    attrs.warps = 4 * warpgroups + 1;
    attrs.dependent_launch = true;

    const Operand<In> a(a_ptr, m_size, k_size, a_pitch, a_by_k, stages, block_m, block_k);
    const Operand<In> b(b_ptr, n_size, k_size, b_pitch, b_by_k, stages, block_n, block_k);
    const Epilogue<Out> epilogue(m_size, n_size, form, steps, c_rows, c_columns, alpha, beta, c_ptr, bias_ptr);
    const int pitch = partial_pitch(n_size);
    auto partials =
        global_view(partials_ptr + cast<Int64>(blockIdx.z) * cast<Int64>(m_size) * pitch, {m_size, n_size}, {pitch, 1});
    Pipeline ring(stages, {.consumer_warps = 4 * warpgroups, .cluster = cluster_n > 1});
    Int32 row = blockIdx.y * block_m;
    Int32 column = blockIdx.x * block_n;
    Int32 first = cast<Int32>(cast<Int64>(blockIdx.z) * blocks_k / splits);  // of the k-blocks of this CTA
    Int32 last = cast<Int32>((cast<Int64>(blockIdx.z) + 1) * blocks_k / splits);

    if (splits > 1) grid_dependency.launch();  // ReduceSplits may take its place on the SMs, and waits there
    grid_dependency.wait();
    if (auto _ = single_warp(4 * warpgroups)) {
      if (auto _ = single_thread()) {
        for (auto block : range(first, last)) {
          const auto slot = ring.acquire_for_producer();
          mbarrier.arrive_and_expect_tx(slot.full, a.at(slot).nbytes() + b.at(slot).nbytes());
          b.fetch(slot, column, block * block_k);
          a.fetch_for_cluster(slot, row, block * block_k);
          ring.advance_producer();
        }
        if (cluster_n > 1) ring.drain_producer();
      }
    }
    const int rows = block_n / warpgroups;  // of the transposed tile, for one warpgroup
    for (int me = 0; me < warpgroups; ++me) {
      if (auto _ = warp_group(4 * me, 4)) {
        auto acc = register_tensor<float>({rows, block_m}, 0.0f);
        for (auto block : range(first, last)) {
          const auto slot = ring.acquire_for_consumer();
          wgmma.fence();
          wgmma.mma(b.at(slot, me, warpgroups), a.at(slot).transpose(), acc, {.accumulate = block > first});
          wgmma.commit_group();
          wgmma.wait_group(1);  // all but the newest group: the block before this one
          if (auto _ = when(block > first)) ring.release_consumer();
          ring.advance_consumer();
        }
        wgmma.wait_group(0);
        if (cluster_n > 1) {  // the producers wait for this before they end
          if (auto _ = when(last > first)) ring.release_consumer();
        }
        store(epilogue, partials, acc, splits, row, column + me * rows);
      }
    }
  }

 private:
  // Eight columns of the sums, which are eight rows of the result, at a time.
  void store(const Epilogue<Out>& epilogue, const GlobalView& partials, const RegisterTensor& acc, int splits,
             const Int32& row, const Int32& column) const {
    const auto columns = static_cast<int>(acc.shape()[0]);
    const int piece = 8, pieces = config.block_m / piece;
    for (int begin = 0; begin < pieces; begin += 4) {
      const int end = std::min(begin + 4, pieces);
      std::vector<typename Epilogue<Out>::Addends> addends;
      for (int i = begin; splits == 1 && i < end; ++i)
        addends.push_back(epilogue.load(row + i * piece, column, piece, columns));
      for (int i = begin; i < end; ++i) {
        const RegisterTensor sums = acc.split(1, pieces)[i].transpose();
        if (splits == 1)
          epilogue.store(epilogue.finish(sums, addends[static_cast<std::size_t>(i - begin)]), row + i * piece, column);
        else
          store_global(partials, sums, {row + i * piece, column});
      }
    }
  }
};

}  // namespace tessera::kernels
