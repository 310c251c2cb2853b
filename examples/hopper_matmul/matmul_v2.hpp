// V2: a ring of stages. The copies of the next k-blocks are under way while the current one is multiplied; every
// warpgroup does both jobs.
#pragma once

#include <tessera/tessera.hpp>

namespace hopper_matmul {

using namespace tessera;

struct MultiStageConfig {
  int block_m = 128, block_n = 256, block_k = 64, stages = 4, warpgroups = 2;
};

template <class Element>
struct MatmulMultiStage : Script {
  using Config = MultiStageConfig;

  static Space<Config> space() {
    return Space<Config>{}
        .choices<&Config::block_m, &Config::block_n, &Config::warpgroups>(
            {{64, 256, 1}, {128, 128, 1}, {128, 128, 2}, {128, 192, 2}, {128, 256, 2}, {256, 128, 2}})
        .choices<&Config::block_k>({32, 64, 128})
        .choices<&Config::stages>({2, 3, 4});
  }

  Config config;
  explicit MatmulMultiStage(Config c) : config(c) {}

  static constexpr auto params = names("m_size", "n_size", "k_size", "a", "b", "c");

  void operator()(Int32 m_size, int n_size, int k_size, Ptr<Element> a_ptr, Ptr<Element> b_ptr, Ptr<Element> c_ptr) {
    const auto [block_m, block_n, block_k, stages, warpgroups] = config;
    attrs.blocks = {cdiv(m_size, block_m), cdiv(n_size, block_n)};
    attrs.warps = 4 * warpgroups;

    Int32 offset_m = block_m * blockIdx.x;
    Int32 offset_n = block_n * blockIdx.y;

    auto ga = global_view(a_ptr, {m_size, k_size});
    auto gb = global_view(b_ptr, {n_size, k_size});
    auto gc = global_view(c_ptr, {m_size, n_size});
    auto sa = shared_tensor<Element>({stages, block_m, block_k});
    auto sb = shared_tensor<Element>({stages, block_n, block_k});
    auto loaded = mbarrier.alloc(std::vector<int>(stages, 1));
    auto everybody = named_barrier.alloc(128 * warpgroups);

    const auto load = [&](const Int32& stage, const Int32& offset_k) {
      mbarrier.arrive_and_expect_tx(loaded[stage], sa[stage].nbytes() + sb[stage].nbytes());
      tma.global_to_shared({.src = ga, .dst = sa[stage], .offsets = {offset_m, offset_k}, .mbarrier = loaded[stage]});
      tma.global_to_shared({.src = gb, .dst = sb[stage], .offsets = {offset_n, offset_k}, .mbarrier = loaded[stage]});
    };

    // All stages but one are filled ahead; the last is filled in the first iteration.
    const int blocks_k = cdiv(k_size, block_k);
    if (auto _ = single_thread(0)) {
      for (auto stage : range(std::min(stages - 1, blocks_k))) load(stage, stage * block_k);
    }

    for (int group = 0; group < warpgroups; ++group) {  // a C++ loop: traced once for each warpgroup
      if (auto _ = warp_group(4 * group, 4)) {
        const int rows = block_m / warpgroups;
        auto acc = register_tensor<float>({rows, block_n}, 0.0f);
        Var<Int32> stage = 0;
        Var<UInt32> phase = 0u;

        for (auto block : range(blocks_k)) {
          mbarrier.wait(loaded[stage], phase);
          wgmma.fence();
          wgmma.mma(sa[stage].split(0, warpgroups)[group], sb[stage].transpose(), acc);
          wgmma.commit_group();
          wgmma.wait_group(1);  // the previous block is done ...
          named_barrier.sync(everybody);
          if (group == 0) {  // ... in all warpgroups: its stage may be filled again
            if (auto _ = single_thread(0)) {
              Int32 next = block + (stages - 1);
              if (auto _ = when(next < blocks_k)) load(next % stages, next * block_k);
            }
          }
          stage = select(stage == stages - 1, 0, stage + 1);
          phase = select(stage == 0, phase ^ 1u, phase);
        }
        wgmma.wait_group(0);
        store_global(gc, cast<Element>(acc), {offset_m + group * rows, offset_n});
      }
    }
  }
};

}  // namespace hopper_matmul
