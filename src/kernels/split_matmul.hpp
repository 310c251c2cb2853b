// The matmul for few rows or few tiles: operands change places, so that rows of b fill the tensor cores' 64 and the
// rows of a are their columns, as few as eight; and several CTAs share the k of a tile: those of a cluster, which add
// up their sums through shared memory, or those of the whole grid, through global memory.
#pragma once

#include <bit>

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
    const auto [block_m, block_n, block_k, stages, warpgroups, cluster_n, cluster_k] = config;
    const int blocks_k = cdiv(k_size, block_k), parts = splits * cluster_k;
    attrs.cluster = {cluster_n, 1, cluster_k};
    attrs.blocks = {cdiv(n_size, block_n * cluster_n) * cluster_n, cdiv(m_size, block_m), parts};
    attrs.warps = 4 * warpgroups + 1;
    attrs.dependent_launch = true;

    const Operand<In> a(a_ptr, m_size, k_size, a_pitch, a_by_k, stages, block_m, block_k);
    const Operand<In> b(b_ptr, n_size, k_size, b_pitch, b_by_k, stages, block_n, block_k);
    const Epilogue<Out> epilogue(m_size, n_size, form, steps, c_rows, c_columns, alpha, beta, c_ptr, bias_ptr);
    const int pitch = partial_pitch(n_size);
    Int64 split = cast<Int64>(blockIdx.z / cluster_k);
    auto partials = global_view(partials_ptr + split * cast<Int64>(m_size) * pitch, {m_size, n_size}, {pitch, 1});
    const Output output{epilogue, partials, splits == 1};
    std::vector<SharedTensor> sums;  // what the CTAs of a cluster have to add up; as rows of the result
    if (cluster_k > 1) {
      sums.push_back(shared_tensor<float>({block_m, block_n}));
      annotate_layout(sums.front(), layouts::swizzled(Swizzle::b128));
    }
    std::vector<SharedTensor> staging;      // results on their way to memory, a tile of each warpgroup
    const int rows = block_n / warpgroups;  // of the transposed tile, for one warpgroup
    if (splits == 1 && by_tma(form) && config.stages_results()) {
      const bool across = by_columns(form);
      staging.push_back(shared_tensor<Out>({warpgroups, across ? rows : block_m, across ? block_m : rows}));
    }
    Pipeline ring(stages, {.consumer_warps = 4 * warpgroups, .cluster = cluster_n > 1});
    Int32 row = blockIdx.y * block_m;
    Int32 column = blockIdx.x * block_n;
    Int32 first = cast<Int32>(cast<Int64>(blockIdx.z) * blocks_k / parts);  // of the k-blocks of this CTA
    Int32 last = cast<Int32>((cast<Int64>(blockIdx.z) + 1) * blocks_k / parts);

    if (splits > 1) grid_dependency.launch();  // ReduceSplits may take its place on the SMs, and waits there
    grid_dependency.wait();
    if (auto _ = single_warp(4 * warpgroups)) {
      if (auto _ = single_thread()) {
        for (auto block : range(first, last)) {
          const auto slot = ring.acquire_for_producer();
          mbarrier.arrive_and_expect_tx(slot.full, a.at(slot).nbytes() + b.at(slot).nbytes());
          b.fetch(slot, column, block * block_k);
          if (cluster_n > 1)
            a.fetch_for_cluster(slot, row, block * block_k);
          else
            a.fetch(slot, row, block * block_k);
          ring.advance_producer();
        }
        if (cluster_n > 1) ring.drain_producer();
      }
    }
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
        if (cluster_k > 1)
          keep(sums.front().split(1, warpgroups)[me], acc);
        else
          store(output, staging, acc, me, row, column + me * rows);
      }
    }
    if (cluster_k > 1) {
      cluster.sync();
      if (auto _ = warp_group(0, 4 * warpgroups)) add_up(output, sums.front(), row, column);
      if (auto _ = single_warp(4 * warpgroups)) cluster.arrive();
      cluster.wait();  // a CTA's memory lasts as long as its peers read it
    }
  }

 private:
  // Where sums go: to the end, or to memory where ReduceSplits finds them.
  struct Output {
    const Epilogue<Out>& epilogue;
    GlobalView partials;
    bool finished;
  };

  // Sums for add_up, eight rows of the result at a time.
  void keep(const SharedTensor& sums, const RegisterTensor& acc) const {
    const int pieces = config.block_m / 8;
    for (int i = 0; i < pieces; ++i) store_shared(sums.split(0, pieces)[i], acc.split(1, pieces)[i].transpose());
  }

  // Adds up a share of the tile, its own part first and then those of the next CTAs, and finishes it. Of an odd number
  // of CTAs not all have a share.
  void add_up(const Output& output, const SharedTensor& sums, const Int32& row, const Int32& column) const {
    const int adders = std::bit_floor(static_cast<unsigned>(config.cluster_k));
    const int dim = config.block_m % (8 * adders) == 0 ? 0 : 1;
    Int32 rank = cluster.rank();
    const SharedTensor mine = sums.split(dim, adders)[min(rank, adders - 1)];
    const auto rows = static_cast<int>(mine.shape()[0]), columns = static_cast<int>(mine.shape()[1]);
    const int piece = piece_rows(rows, columns), pieces = rows / piece;
    std::vector<RegisterTensor> totals;
    for (int i = 0; i < pieces; ++i) {
      auto total = register_tensor<float>({piece, columns}, 0.0f);
      const SharedTensor part = mine.split(0, pieces)[i];
      if (auto _ = when(rank < adders)) {
        total = load_shared(part);
        for (int peer = 1; peer < config.cluster_k; ++peer)
          total += load_shared(cluster.map_shared_rank(part, (rank + peer) % config.cluster_k));
      }
      totals.push_back(total);
    }
    cluster.arrive();  // before the results are on their way to memory, which it would wait for
    if (auto _ = when(rank < adders)) {
      const Int32 at_row = row + rank * (dim == 0 ? rows : 0), at_column = column + rank * (dim == 1 ? columns : 0);
      std::vector<typename Epilogue<Out>::Addends> addends;
      for (int i = 0; output.finished && i < pieces; ++i)
        addends.push_back(output.epilogue.load(at_row + i * piece, at_column, piece, columns));
      // Of a tile with fewer elements than threads several threads hold, and read, what one writes.
      if (output.finished && output.epilogue.reads_c()) sync();
      for (int i = 0; i < pieces; ++i) {
        const RegisterTensor& total = totals[static_cast<std::size_t>(i)];
        if (output.finished)
          output.epilogue.store(output.epilogue.finish(total, addends[static_cast<std::size_t>(i)]), at_row + i * piece,
                                at_column);
        else
          store_global(output.partials, total, {at_row + i * piece, at_column});
      }
    }
  }
  // So that a thread has 16 sums of each CTA at a time.
  int piece_rows(int rows, int columns) const {
    int piece = rows;
    while (piece % 16 == 0 && piece * columns > 16 * 128 * config.warpgroups) piece /= 2;
    return piece;
  }

  // Eight columns of the sums, which are eight rows of the result, at a time.
  void store(const Output& output, const std::vector<SharedTensor>& staging, const RegisterTensor& acc, int me,
             const Int32& row, const Int32& column) const {
    const Epilogue<Out>& epilogue = output.epilogue;
    const auto columns = static_cast<int>(acc.shape()[0]);
    const int piece = 8, pieces = config.block_m / piece;
    for (int begin = 0; begin < pieces; begin += 4) {
      const int end = std::min(begin + 4, pieces);
      std::vector<typename Epilogue<Out>::Addends> addends;
      for (int i = begin; output.finished && i < end; ++i)
        addends.push_back(epilogue.load(row + i * piece, column, piece, columns));
      for (int i = begin; i < end; ++i) {
        const RegisterTensor sums = acc.split(1, pieces)[i].transpose();
        if (!output.finished) {
          store_global(output.partials, sums, {row + i * piece, column});
          continue;
        }
        const RegisterTensor results = epilogue.finish(sums, addends[static_cast<std::size_t>(i - begin)]);
        if (staging.empty())
          epilogue.store(results, row + i * piece, column);
        else
          store_shared(epilogue.as_rows(staging.front()[me]).split(0, pieces)[i], results);
      }
    }
    if (staging.empty()) return;
    fence.proxy_async();
    sync();
    if (auto _ = single_thread(0)) {
      epilogue.send_staged(staging.front()[me], row, column);
      tma.wait_group(0, {.read = true});
    }
  }
};

}  // namespace tessera::kernels
