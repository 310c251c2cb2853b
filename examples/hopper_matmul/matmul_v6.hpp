// V6: one CTA an SM works through many tiles. Pairs of CTAs share the copies of b, the consumers take over the
// producer's registers, and results leave through shared memory while the next tile's copies are under way. The ring is
// unrolled, which saves instructions, and with them the power that limits the card.
#pragma once

#include <tessera/tessera.hpp>

#include "hopper_matmul/store_columns.hpp"

namespace hopper_matmul {

using namespace tessera;

struct PersistentConfig {
  int block_m = 128, block_n = 200, block_k = 64, stages = 5, cluster = 2, group = 16;
};

template <class Element>
struct MatmulPersistent : Script {
  using Config = PersistentConfig;

  static Space<Config> space() {
    return Space<Config>{}
        .choices<&Config::block_m, &Config::block_n, &Config::stages>(
            {{128, 128, 6}, {128, 192, 5}, {128, 200, 5}, {128, 256, 4}, {256, 128, 4}})
        .choices<&Config::cluster>({1, 2})
        .choices<&Config::group>({4, 8, 16});
  }

  Config config;
  explicit MatmulPersistent(Config c) : config(c) {}

  static constexpr auto params = names("m_size", "n_size", "k_size", "a", "b", "c");

  void operator()(Int32 m_size, int n_size, int k_size, Ptr<Element> a_ptr, Ptr<Element> b_ptr, Ptr<Element> c_ptr) {
    const int block_m = config.block_m, block_n = config.block_n, block_k = config.block_k;
    const int store_n = store_columns(block_n), stages = config.stages, cluster_m = config.cluster;
    const bool by_tma = n_size % (16 / sizeof(Element)) == 0;  // the engine stores rows of whole 16 bytes only
    attrs.cluster = {cluster_m};
    attrs.blocks = persistent_grid();  // one CTA an SM, whole clusters
    attrs.warps = 12;                  // one producer and two consumer warpgroups

    auto ga = global_view(a_ptr, {m_size, k_size});
    auto gb = global_view(b_ptr, {n_size, k_size});
    auto gc = global_view(c_ptr, {m_size, n_size});
    auto sa = shared_tensor<Element>({stages, block_m, block_k});
    auto sb = shared_tensor<Element>({stages, block_n, block_k});
    auto sc = shared_tensor<Element>({2, block_m / 2, store_n});  // one part for each consumer
    UnrolledPipeline ring(stages, cdiv(k_size, block_k), {.consumer_warps = 8, .cluster = cluster_m > 1});
    GroupedTiles tiles(cdiv(m_size, block_m), cdiv(n_size, block_n), config.group, {.cluster = cluster_m});

    if (auto _ = warp_group(0, 4)) {
      registers(56);
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
    for (int half : {0, 1}) {  // a C++ loop: traced once for each consumer
      if (auto _ = warp_group(4 + 4 * half, 4)) {
        registers(224);
        auto acc = register_tensor<float>({block_m / 2, block_n}, 0.0f);
        for (auto tile : tiles) {
          ring.consume([&](const UnrolledSlot& slot) {
            wgmma.fence();
            wgmma.mma(sa[slot].split(0, 2)[half], sb[slot].transpose(), acc, {.accumulate = slot.block > 0});
            wgmma.commit_group();
            wgmma.wait_group(1);
            ring.release_before(slot);
          });
          wgmma.wait_group(0);
          ring.release_last();

          Int32 row = tile.m * block_m + half * (block_m / 2);
          Int32 column = tile.n * block_n;
          for (int part = 0; part < block_n / store_n; ++part) {
            auto piece = cast<Element>(acc.split(1, block_n / store_n)[part]);
            if (by_tma) {
              if (auto _ = single_thread(0)) tma.wait_group(0, {.read = true});  // the last store has left
              sync();
              store_shared(sc[half], piece);
              fence.proxy_async();
              sync();
              if (auto _ = single_thread(0)) {
                tma.shared_to_global({.src = sc[half], .dst = gc, .offsets = {row, column + part * store_n}});
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
