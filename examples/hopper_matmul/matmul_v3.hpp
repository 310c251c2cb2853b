// V3: warp specialisation. One warp does nothing but copy, a warpgroup nothing but multiply; two barriers a stage hand
// it from one to the other.
#pragma once

#include <tessera/tessera.hpp>

namespace hopper_matmul {

using namespace tessera;

struct WarpSpecialisedConfig {
  int block_m = 128, block_n = 128, block_k = 64, stages = 3;
};

template <class Element>
struct MatmulWarpSpecialised : Script {
  using Config = WarpSpecialisedConfig;

  static Space<Config> space() {
    return Space<Config>{}
        .choices<&Config::block_m, &Config::block_n>({{64, 256}, {128, 128}, {128, 192}, {192, 128}})
        .choices<&Config::block_k>({32, 64, 128})
        .choices<&Config::stages>({2, 3, 4, 6});
  }

  Config config;
  explicit MatmulWarpSpecialised(Config c) : config(c) {}

  static constexpr auto params = names("m_size", "n_size", "k_size", "a", "b", "c");

  void operator()(Int32 m_size, int n_size, int k_size, Ptr<Element> a_ptr, Ptr<Element> b_ptr, Ptr<Element> c_ptr) {
    const auto [block_m, block_n, block_k, stages] = config;
    attrs.blocks = {cdiv(m_size, block_m), cdiv(n_size, block_n)};
    attrs.warps = 5;  // four consumers and the producer

    Int32 offset_m = block_m * blockIdx.x;
    Int32 offset_n = block_n * blockIdx.y;

    auto ga = global_view(a_ptr, {m_size, k_size});
    auto gb = global_view(b_ptr, {n_size, k_size});
    auto gc = global_view(c_ptr, {m_size, n_size});
    auto sa = shared_tensor<Element>({stages, block_m, block_k});
    auto sb = shared_tensor<Element>({stages, block_n, block_k});
    auto full = mbarrier.alloc(std::vector<int>(stages, 1));
    auto empty = mbarrier.alloc(std::vector<int>(stages, 4));  // one arrival of each consumer warp

    Var<Int32> stage = 0;
    Var<UInt32> phase = 0u;
    const auto advance = [&, stages = stages] {
      stage = select(stage == stages - 1, 0, stage + 1);
      phase = select(stage == 0, phase ^ 1u, phase);
    };

    if (auto _ = single_warp(4)) {
      if (auto _ = single_thread()) {
        for (auto offset_k : range(0, k_size, block_k)) {
          mbarrier.wait(empty[stage], phase ^ 1u);  // at once in the first round
          mbarrier.arrive_and_expect_tx(full[stage], sa[stage].nbytes() + sb[stage].nbytes());
          tma.global_to_shared({.src = ga, .dst = sa[stage], .offsets = {offset_m, offset_k}, .mbarrier = full[stage]});
          tma.global_to_shared({.src = gb, .dst = sb[stage], .offsets = {offset_n, offset_k}, .mbarrier = full[stage]});
          advance();
        }
      }
    }
    if (auto _ = warp_group(0, 4)) {
      auto acc = register_tensor<float>({block_m, block_n}, 0.0f);
      for ([[maybe_unused]] auto offset_k : range(0, k_size, block_k)) {
        mbarrier.wait(full[stage], phase);
        wgmma.fence();
        wgmma.mma(sa[stage], sb[stage].transpose(), acc);
        wgmma.commit_group();
        wgmma.wait_group(0);
        if (auto _ = single_thread_of_each_warp()) mbarrier.arrive(empty[stage]);
        advance();
      }
      store_global(gc, cast<Element>(acc), {offset_m, offset_n});
    }
  }
};

}  // namespace hopper_matmul
