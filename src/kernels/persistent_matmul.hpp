// The matmul for large results: one CTA an SM works through many tiles, a producer warp keeps a ring of operand tiles
// full, two or three consumer warpgroups multiply, either all on one tile or two in turns on tiles of their own.
#pragma once

#include <numeric>
#include <vector>

#include "kernels/configs.hpp"
#include "kernels/epilogue.hpp"
#include "kernels/operand.hpp"

namespace tessera::kernels {

template <class In, class Out>
struct PersistentMatmul : Script {
  using Config = PersistentConfig;

  Config config;
  explicit PersistentMatmul(Config c) : config(c) {}

  static constexpr auto params = names("m_size", "n_size", "k_size", "a_by_k", "b_by_k", "form", "steps", "a_pitch",
                                       "b_pitch", "c_rows", "c_columns", "alpha", "beta", "a", "b", "c", "bias");

  // a_by_k: a is stored [m, k], else [k, m]; b_by_k the same. Pitches are those of the stored matrices.
  void operator()(Int32 m_size, int n_size, int k_size, bool a_by_k, bool b_by_k, OutputForm form, int steps,
                  Int64 a_pitch, Int64 b_pitch, Int64 c_rows, Int64 c_columns, Float32 alpha, Float32 beta,
                  Ptr<In> a_ptr, Ptr<In> b_ptr, Ptr<Out> c_ptr, Ptr<Out> bias_ptr) {
    const auto [consumers, block_m, block_n, block_k, stages, cluster_m, group, store_n, buffers] = config;
    const bool turns = consumers == Consumers::ping_pong;
    const bool across = by_columns(form);
    const int count = config.consumer_count(), rows = config.consumer_rows();
    attrs.cluster = {cluster_m};
    attrs.blocks = persistent_grid();
    attrs.warps = 4 + 4 * count;  // the producer's warpgroup and the consumers

    const Operand<In> a(a_ptr, m_size, k_size, a_pitch, a_by_k, stages, block_m, block_k);
    const Operand<In> b(b_ptr, n_size, k_size, b_pitch, b_by_k, stages, block_n, block_k);
    const Epilogue<Out> epilogue(m_size, n_size, form, steps, c_rows, c_columns, alpha, beta, c_ptr, bias_ptr);
    const Staging sc = make_staging(rows, across);
    UnrolledPipeline ring(stages, cdiv(k_size, block_k),
                          {.consumer_warps = turns ? 4 : 4 * count, .cluster = cluster_m > 1});
    GroupedTiles tiles(cdiv(m_size, block_m), cdiv(n_size, block_n), group, {.cluster = cluster_m});
    auto turn = mbarrier.alloc({4, 4});  // of consumers in turns: an arrival of each warp of the one before

    if (auto _ = warp_group(0, 4)) {
      registers(config.producer_registers());
      if (auto _ = single_thread()) produce(ring, tiles, a, b);
    }
    for (int me = 0; me < count; ++me) {  // a C++ loop: traced once for each consumer
      if (auto _ = warp_group(4 + 4 * me, 4)) {
        registers(config.consumer_registers());
        auto acc = register_tensor<float>({rows, block_n}, 0.0f);
        if (turns) {
          take_turns(me, ring, tiles, a, b, acc, turn, epilogue, sc);
        } else {
          for (auto tile : tiles) {
            multiply(ring, a, b, acc, me, count);
            wgmma.wait_group(0);
            ring.release_last();
            send(epilogue, acc, sc, me, tile.m * block_m + me * rows, tile.n * block_n);
          }
        }
        if (by_tma(form)) {
          if (auto _ = single_thread(0)) tma.wait_group(0, {.read = true});  // the engine has read what it stores
        }
      }
    }
  }

 private:
  // Where results wait for the engine: store_n columns at a time, and what these leave of the tile's columns.
  struct Staging {
    SharedTensor whole;
    std::vector<SharedTensor> rest;  // one or none
  };
  Staging make_staging(int rows, bool across) const {
    const auto tiles = [&](int count, int columns) {
      return shared_tensor<Out>({config.consumer_count(), count, across ? columns : rows, across ? rows : columns});
    };
    Staging result{tiles(config.buffers, config.store_n), {}};
    if (const int rest = config.block_n % config.store_n; rest != 0) result.rest.push_back(tiles(1, rest));
    return result;
  }

  void produce(const UnrolledPipeline& ring, const GroupedTiles& tiles, const Operand<In>& a,
               const Operand<In>& b) const {
    for (auto tile : tiles) {
      ring.produce([&](const UnrolledSlot& slot) {
        Int32 offset_k = slot.block * config.block_k;
        mbarrier.arrive_and_expect_tx(slot.full, a.at(slot).nbytes() + b.at(slot).nbytes());
        a.fetch(slot, tile.m * config.block_m, offset_k);
        b.fetch_for_cluster(slot, tile.n * config.block_n, offset_k);
      });
    }
    ring.drain_producer();
  }

  // acc = the products of part `part` of `parts` of a's rows. The last ones are still under way, their slot is not
  // released.
  void multiply(const UnrolledPipeline& ring, const Operand<In>& a, const Operand<In>& b, const RegisterTensor& acc,
                int part, int parts) const {
    ring.consume([&](const UnrolledSlot& slot) {
      wgmma.fence();
      wgmma.mma(a.at(slot, part, parts), b.at(slot).transpose(), acc, {.accumulate = slot.block > 0});
      wgmma.commit_group();
      wgmma.wait_group(1);  // all but the newest group: the block before this one
      ring.release_before(slot);
    });
  }

  void take_turns(int me, const UnrolledPipeline& ring, const GroupedTiles& tiles, const Operand<In>& a,
                  const Operand<In>& b, const RegisterTensor& acc, const BarrierArray& turn,
                  const Epilogue<Out>& epilogue, const Staging& sc) const {
    Var<UInt32> round = 0u;
    if (me == 1) ring.skip_consumer();
    for (auto tile : tiles.turns(me, 2)) {
      mbarrier.wait(turn[me], me == 0 ? round ^ 1u : UInt32(round));  // the first turn is consumer 0's
      round ^= 1u;
      multiply(ring, a, b, acc, 0, 1);
      if (auto _ = single_thread_of_each_warp()) mbarrier.arrive(turn[1 - me]);
      wgmma.wait_group(0);
      ring.release_last();
      ring.skip_consumer();  // the other consumer's tile
      send(epilogue, acc, sc, me, tile.m * config.block_m, tile.n * config.block_n);
    }
  }

  // How many stores were sent since the last one from the memory that part `part` uses: of this tile, or of the one
  // before.
  int stores_since_last_use(int part) const {
    const int whole = config.block_n / config.store_n, parts = cdiv(config.block_n, config.store_n);
    if (part >= whole) return parts;
    if (part >= config.buffers) return config.buffers;
    const int last = whole - 1 - (whole - 1 - part) % config.buffers;
    return part + parts - last;
  }

  // Finishes the sums and stores them at [row, column], store_n columns at a time; these in pieces, so that few
  // registers are in use beside the sums.
  void send(const Epilogue<Out>& epilogue, const RegisterTensor& acc, const Staging& sc, int me, const Int32& row,
            const Int32& column) const {
    const auto rows = static_cast<int>(acc.shape()[0]);
    const int piece = epilogue.piece(std::gcd(config.store_n, config.block_n), acc);
    for (int begin = 0; begin < config.block_n; begin += config.store_n) {
      const int part = begin / config.store_n, columns = std::min(config.store_n, config.block_n - begin);
      const int pieces = columns / piece;
      const Int32 first = column + begin;
      std::vector<typename Epilogue<Out>::Addends> addends;
      for (int i = 0; i < pieces; ++i) addends.push_back(epilogue.load(row, first + i * piece, rows, piece));
      const auto finished = [&](int i) {
        const RegisterTensor sums = acc.split(1, config.block_n / piece)[begin / piece + i];
        return epilogue.finish(sums, addends[static_cast<std::size_t>(i)]);
      };
      if (!by_tma(epilogue.form())) {
        for (int i = 0; i < pieces; ++i) epilogue.store(finished(i), row, first + i * piece);
        continue;
      }
      const SharedTensor staging = columns < config.store_n ? sc.rest[0][me][0] : sc.whole[me][part % config.buffers];
      const SharedTensor tile = epilogue.as_rows(staging);
      // The last store from here has left.
      if (auto _ = single_thread(0)) tma.wait_group(stores_since_last_use(part) - 1, {.read = true});
      sync();
      for (int i = 0; i < pieces; ++i) store_shared(tile.split(1, pieces)[i], finished(i));
      fence.proxy_async();
      sync();
      if (auto _ = single_thread(0)) epilogue.send_staged(staging, row, first);
    }
  }
};

}  // namespace tessera::kernels
