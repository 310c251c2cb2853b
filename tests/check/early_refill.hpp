// A matmul with a fault that a public tile compiler has shipped in its examples.
#pragma once

#include "tessera/tessera.hpp"

namespace tessera::testing {

// One thread refills the stage that was just read; nobody has asked the other warps whether they are done.
struct EarlyRefill : Script {
  static constexpr auto params = names("m_size", "n_size", "k_size", "a", "b", "c");
  void operator()(Int32 m_size, int n_size, int k_size, Ptr<float16> a_ptr, Ptr<float16> b_ptr, Ptr<float16> c_ptr) {
    constexpr int block = 64, block_k = 32, stages = 2;
    attrs.blocks = {cdiv(m_size, block), cdiv(n_size, block)};
    attrs.warps = 4;
    auto ga = global_view(a_ptr, {m_size, k_size}), gb = global_view(b_ptr, {n_size, k_size});
    auto sa = shared_tensor<float16>({stages, block, block_k}), sb = shared_tensor<float16>({stages, block, block_k});
    auto acc = register_tensor<float>({block, block}, 0.0f);
    auto full = mbarrier.alloc({1, 1});
    const auto fill = [&](const Int32& stage, const Int32& k) {
      mbarrier.arrive_and_expect_tx(full[stage], sa[stage].nbytes() + sb[stage].nbytes());
      tma.global_to_shared({.src = ga, .dst = sa[stage], .offsets = {block * blockIdx.x, k}, .mbarrier = full[stage]});
      tma.global_to_shared({.src = gb, .dst = sb[stage], .offsets = {block * blockIdx.y, k}, .mbarrier = full[stage]});
    };
    if (auto _ = single_thread(0)) {
      for (auto stage : range(0, stages)) fill(stage, stage * block_k);
    }
    Var<UInt32> phase = 0u;
    Var<Int32> slot = 0;
    for (auto k : range(0, k_size, block_k)) {
      const Int32 stage = slot;
      mbarrier.wait(full[stage], phase);
      dot(load_shared(sa[stage]), load_shared(sb[stage]).transpose(), acc);
      if (auto _ = single_thread(0)) {
        if (auto _ = when(k + stages * block_k < k_size)) fill(stage, k + stages * block_k);
      }
      slot = select(stage == stages - 1, 0, stage + 1);
      phase = select(stage == stages - 1, phase ^ 1u, phase);
    }
    store_global(global_view(c_ptr, {m_size, n_size}), cast<float16>(acc), {block * blockIdx.x, block * blockIdx.y});
  }
};

}  // namespace tessera::testing
