// V7: ping-pong. Each consumer has tiles of its own; while one sends its result off, the other has the tensor cores to
// itself, so that the stores cost no time even where K is short. The ring is unrolled, which saves instructions, and
// with them the power that limits the card.
#pragma once

#include <tessera/tessera.hpp>

#include "hopper_matmul/store_columns.hpp"

namespace hopper_matmul {

using namespace tessera;

struct PingPongConfig {
  int block_m = 128, block_n = 200, block_k = 64, stages = 4, cluster = 2, group = 16;
};

template <class Element>
struct MatmulPingPong : Script {
  using Config = PingPongConfig;

  static Space<Config> space() {
    return Space<Config>{}
        .choices<&Config::block_m, &Config::block_n, &Config::stages>(
            {{128, 128, 6}, {128, 160, 5}, {128, 168, 5}, {128, 192, 4}, {128, 200, 4}})
        .choices<&Config::cluster>({1, 2})
        .choices<&Config::group>({4, 8, 16});
  }

  Config config;
  explicit MatmulPingPong(Config c) : config(c) {}

  static constexpr auto params = names("m_size", "n_size", "k_size", "a", "b", "c");

  void operator()(Int32 m_size, int n_size, int k_size, Ptr<Element> a_ptr, Ptr<Element> b_ptr, Ptr<Element> c_ptr) {
    const int block_m = config.block_m, block_n = config.block_n, block_k = config.block_k;
    const int store_n = store_columns(block_n), stages = config.stages, cluster_m = config.cluster;
    const bool by_tma = n_size % (16 / sizeof(Element)) == 0;  // the engine stores rows of whole 16 bytes only
    const int blocks_k = cdiv(k_size, block_k);
    attrs.cluster = {cluster_m};
    attrs.blocks = persistent_grid();
    attrs.warps = 12;  // one producer and two consumer warpgroups

    auto ga = global_view(a_ptr, {m_size, k_size});
    auto gb = global_view(b_ptr, {n_size, k_size});
    auto gc = global_view(c_ptr, {m_size, n_size});
    auto sa = shared_tensor<Element>({stages, block_m, block_k});
    auto sb = shared_tensor<Element>({stages, block_n, block_k});
    auto sc = shared_tensor<Element>({2, block_m, store_n});
    UnrolledPipeline ring(stages, blocks_k, {.consumer_warps = 4, .cluster = cluster_m > 1});
    GroupedTiles tiles(cdiv(m_size, block_m), cdiv(n_size, block_n), config.group, {.cluster = cluster_m});
    auto turn = mbarrier.alloc({4, 4});  // one arrival of each warp of the consumer that had the turn before

    const bool wide = block_n > 168;  // sums that leave the producer fewer registers
    if (auto _ = warp_group(0, 4)) {
      registers(wide ? 40 : 56);
      if (auto _ = single_thread()) {
        for (auto tile : tiles) {
          ring.produce([&](const UnrolledSlot& slot) {
            Int32 offset_k = slot.block * block_k;
            mbarrier.arrive_and_expect_tx(slot.full, sa[slot].nbytes() + sb[slot].nbytes());
            tma.global_to_shared(
                {.src = ga, .dst = sa[slot], .offsets = {tile.m * block_m, offset_k}, .mbarrier = slot.full});
            // The CTAs of the cluster take turns at fetching b for all of them.
            if (auto _ = when(cluster.rank() == slot.index % cluster_m)) {
              tma.global_to_shared({.src = gb,
                                    .dst = sb[slot],
                                    .offsets = {tile.n * block_n, offset_k},
                                    .mbarrier = slot.full,
                                    .multicast = cluster.all()});
            }
          });
        }
        ring.drain_producer();
      }
    }
    for (int me : {0, 1}) {  // a C++ loop: traced once for each consumer
      if (auto _ = warp_group(4 + 4 * me, 4)) {
        registers(wide ? 232 : 224);
        auto acc = register_tensor<float>({block_m, block_n}, 0.0f);
        Var<UInt32> round = 0u;
        if (me == 1) ring.skip_consumer();
        for (auto tile : tiles.turns(me, 2)) {
          mbarrier.wait(turn[me], me == 0 ? round ^ 1u : UInt32(round));  // the first turn is consumer 0's
          round ^= 1u;
          ring.consume([&](const UnrolledSlot& slot) {
            wgmma.fence();
            wgmma.mma(sa[slot], sb[slot].transpose(), acc, {.accumulate = slot.block > 0});
            wgmma.commit_group();
            wgmma.wait_group(1);
            ring.release_before(slot);
          });
          if (auto _ = single_thread_of_each_warp()) mbarrier.arrive(turn[1 - me]);
          wgmma.wait_group(0);
          ring.release_last();
          ring.skip_consumer();  // the other consumer's tile

          Int32 row = tile.m * block_m;
          Int32 column = tile.n * block_n;
          for (int part = 0; part < block_n / store_n; ++part) {
            auto piece = cast<Element>(acc.split(1, block_n / store_n)[part]);
            if (by_tma) {
              if (auto _ = single_thread(0)) tma.wait_group(0, {.read = true});  // the last store has left
              sync();
              store_shared(sc[me], piece);
              fence.proxy_async();
              sync();
              if (auto _ = single_thread(0)) {
                tma.shared_to_global({.src = sc[me], .dst = gc, .offsets = {row, column + part * store_n}});
                tma.commit_group();
              }
            } else {
              store_global(gc, piece, {row, column + part * store_n});
            }
          }
        }
        if (auto _ = single_thread(0)) tma.wait_group(0, {.read = true});  // the engine has read what it stores
      }
    }
  }
};

}  // namespace hopper_matmul
