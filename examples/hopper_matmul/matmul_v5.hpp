// V5: the products of a k-block are queued behind those of the one before it, so that the tensor cores never wait for
// an instruction; a stage is released one block later.
#pragma once

#include <tessera/tessera.hpp>

namespace hopper_matmul {

using namespace tessera;

struct OverlappedConfig {
  int block_m = 128, block_n = 256, block_k = 64, stages = 4, group = 8;
};

template <class Element>
struct MatmulOverlapped : Script {
  using Config = OverlappedConfig;

  static Space<Config> space() {
    return Space<Config>{}
        .choices<&Config::block_m, &Config::block_n>({{128, 128}, {128, 256}, {256, 128}, {256, 256}})
        .choices<&Config::block_k>({16, 32, 64})
        .choices<&Config::stages>({3, 4, 5, 6})
        .choices<&Config::group>({4, 8});
  }

  Config config;
  explicit MatmulOverlapped(Config c) : config(c) {}

  static constexpr auto params = names("m_size", "n_size", "k_size", "a", "b", "c");

  void operator()(Int32 m_size, int n_size, int k_size, Ptr<Element> a_ptr, Ptr<Element> b_ptr, Ptr<Element> c_ptr) {
    const auto [block_m, block_n, block_k, stages, group] = config;
    attrs.blocks = cdiv(m_size, block_m) * cdiv(n_size, block_n);
    attrs.warps = 9;  // two consumer warpgroups and the producer

    GroupedTiles tiles(cdiv(m_size, block_m), cdiv(n_size, block_n), group);
    const auto tile = tiles.at(blockIdx.x);
    Int32 offset_m = tile.m * block_m;
    Int32 offset_n = tile.n * block_n;

    auto ga = global_view(a_ptr, {m_size, k_size});
    auto gb = global_view(b_ptr, {n_size, k_size});
    auto gc = global_view(c_ptr, {m_size, n_size});
    auto sa = shared_tensor<Element>({stages, block_m, block_k});
    auto sb = shared_tensor<Element>({stages, block_n, block_k});
    Pipeline ring(stages, {.consumer_warps = 8});

    if (auto _ = single_warp(8)) {
      if (auto _ = single_thread()) {
        for (auto offset_k : range(0, k_size, block_k)) {
          const auto slot = ring.acquire_for_producer();
          mbarrier.arrive_and_expect_tx(slot.full, sa[slot].nbytes() + sb[slot].nbytes());
          tma.global_to_shared({.src = ga, .dst = sa[slot], .offsets = {offset_m, offset_k}, .mbarrier = slot.full});
          tma.global_to_shared({.src = gb, .dst = sb[slot], .offsets = {offset_n, offset_k}, .mbarrier = slot.full});
          ring.advance_producer();
        }
      }
    }
    for (int half : {0, 1}) {  // a C++ loop: traced once for each consumer
      if (auto _ = warp_group(4 * half, 4)) {
        auto acc = register_tensor<float>({block_m / 2, block_n}, 0.0f);
        for (auto offset_k : range(0, k_size, block_k)) {
          const auto slot = ring.acquire_for_consumer();
          wgmma.fence();
          wgmma.mma(sa[slot].split(0, 2)[half], sb[slot].transpose(), acc);
          wgmma.commit_group();
          wgmma.wait_group(1);  // all but the newest group: the block before this one
          if (auto _ = when(offset_k > 0)) ring.release_consumer();
          ring.advance_consumer();
        }
        wgmma.wait_group(0);
        store_global(gc, cast<Element>(acc), {offset_m + half * (block_m / 2), offset_n});
      }
    }
  }
};

}  // namespace hopper_matmul
