// V6: one CTA an SM works through many tiles. Pairs of CTAs share the copies of b, the consumers take over the
// producer's registers, and results leave through shared memory while the next tile's products are under way.
#pragma once

#include <tessera/tessera.hpp>

namespace hopper_matmul {

using namespace tessera;

struct PersistentConfig {
  int block_m = 128, block_n = 256, block_k = 64, stages = 4, cluster = 2, group = 8;
};

template <class Element>
struct MatmulPersistent : Script {
  using Config = PersistentConfig;

  static Space<Config> space() {
    return Space<Config>{}
        .choices<&Config::block_m, &Config::block_n, &Config::stages>(
            {{128, 256, 4}, {128, 256, 3}, {256, 128, 4}, {128, 192, 4}, {128, 128, 6}})
        .choices<&Config::cluster>({1, 2})
        .choices<&Config::group>({4, 8, 16});
  }

  Config config;
  explicit MatmulPersistent(Config c) : config(c) {}

  static constexpr auto params = names("m_size", "n_size", "k_size", "a", "b", "c");

  static constexpr int store_n = 64;  // columns that leave together

  void operator()(Int32 m_size, int n_size, int k_size, Ptr<Element> a_ptr, Ptr<Element> b_ptr, Ptr<Element> c_ptr) {
    const auto [block_m, block_n, block_k, stages, cluster_m, group] = config;
    const int parts = block_n / store_n;
    const bool by_tma = n_size % (16 / sizeof(Element)) == 0;  // the engine stores rows of whole 16 bytes only
    attrs.cluster = {cluster_m};
    attrs.blocks = persistent_grid();  // one CTA an SM, whole clusters
    attrs.warps = 12;                  // one producer and two consumer warpgroups

    auto ga = global_view(a_ptr, {m_size, k_size});
    auto gb = global_view(b_ptr, {n_size, k_size});
    auto gc = global_view(c_ptr, {m_size, n_size});
    auto sa = shared_tensor<Element>({stages, block_m, block_k});
    auto sb = shared_tensor<Element>({stages, block_n, block_k});
    auto sc = shared_tensor<Element>({2, 2, block_m / 2, store_n});  // two buffers a consumer
    Pipeline ring(stages, {.consumer_warps = 8, .cluster = cluster_m > 1});
    GroupedTiles tiles(cdiv(m_size, block_m), cdiv(n_size, block_n), group, {.cluster = cluster_m});

    if (auto _ = warp_group(0, 4)) {
      registers(40);
      if (auto _ = single_thread()) {
        for (auto tile : tiles) {
          for (auto offset_k : range(0, k_size, block_k)) {
            const auto slot = ring.acquire_for_producer();
            mbarrier.arrive_and_expect_tx(slot.full, sa[slot].nbytes() + sb[slot].nbytes());
            tma.global_to_shared(
                {.src = ga, .dst = sa[slot], .offsets = {tile.m * block_m, offset_k}, .mbarrier = slot.full});
            if (cluster_m == 1) {
              tma.global_to_shared(
                  {.src = gb, .dst = sb[slot], .offsets = {tile.n * block_n, offset_k}, .mbarrier = slot.full});
            } else {  // each CTA of the cluster fetches a part of b for all of them
              const int part = block_n / cluster_m;
              tma.global_to_shared({.src = gb,
                                    .dst = sb[slot].split(0, cluster_m)[cluster.rank()],
                                    .offsets = {tile.n * block_n + cluster.rank() * part, offset_k},
                                    .mbarrier = slot.full,
                                    .multicast = cluster.all()});
            }
            ring.advance_producer();
          }
        }
        ring.drain_producer();
      }
    }
    for (int half : {0, 1}) {  // a C++ loop: traced once for each consumer
      if (auto _ = warp_group(4 + 4 * half, 4)) {
        registers(232);
        auto acc = register_tensor<float>({block_m / 2, block_n}, 0.0f);
        for (auto tile : tiles) {
          for (auto offset_k : range(0, k_size, block_k)) {
            const auto slot = ring.acquire_for_consumer();
            wgmma.fence();
            wgmma.mma(sa[slot].split(0, 2)[half], sb[slot].transpose(), acc, {.accumulate = offset_k > 0});
            wgmma.commit_group();
            wgmma.wait_group(1);
            if (auto _ = when(offset_k > 0)) ring.release_consumer();
            ring.advance_consumer();
          }
          wgmma.wait_group(0);
          if (k_size > 0) ring.release_consumer();

          Int32 row = tile.m * block_m + half * (block_m / 2);
          Int32 column = tile.n * block_n;
          if (by_tma) {
            for (int part = 0; part < parts; ++part) {
              auto staging = sc[half][part % 2];
              // The store before the last has left this buffer; the last one too, where a tile ended with this buffer.
              const int others = part == 0 && parts % 2 != 0 ? 0 : 1;
              if (auto _ = single_thread(0)) tma.wait_group(others, {.read = true});
              sync();
              store_shared(staging, cast<Element>(acc.split(1, parts)[part]));
              fence.proxy_async();
              sync();
              if (auto _ = single_thread(0)) {
                tma.shared_to_global({.src = staging, .dst = gc, .offsets = {row, column + part * store_n}});
                tma.commit_group();
              }
            }
          } else {
            for (int part = 0; part < parts; ++part) {
              auto piece = cast<Element>(acc.split(1, parts)[part]);
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
