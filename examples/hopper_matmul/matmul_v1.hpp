// V1: the products move to the warpgroup's tensor-core instruction, which reads its operands from shared memory.
#pragma once

#include <tessera/tessera.hpp>

namespace hopper_matmul {

using namespace tessera;

struct WgmmaConfig {
  int block_m = 128, block_n = 128, block_k = 64;
};

template <class Element>
struct MatmulWgmma : Script {
  using Config = WgmmaConfig;

  static Space<Config> space() {
    return Space<Config>{}
        .choices<&Config::block_m, &Config::block_n>({{64, 128}, {64, 256}, {128, 128}, {128, 192}, {192, 128}})
        .choices<&Config::block_k>({32, 64, 128});
  }

  Config config;
  explicit MatmulWgmma(Config c) : config(c) {}

  static constexpr auto params = names("m_size", "n_size", "k_size", "a", "b", "c");

  void operator()(Int32 m_size, int n_size, int k_size, Ptr<Element> a_ptr, Ptr<Element> b_ptr, Ptr<Element> c_ptr) {
    const auto [block_m, block_n, block_k] = config;
    attrs.blocks = {cdiv(m_size, block_m), cdiv(n_size, block_n)};
    attrs.warps = 4;

    Int32 offset_m = block_m * blockIdx.x;
    Int32 offset_n = block_n * blockIdx.y;

    auto ga = global_view(a_ptr, {m_size, k_size});
    auto gb = global_view(b_ptr, {n_size, k_size});
    auto gc = global_view(c_ptr, {m_size, n_size});
    auto sa = shared_tensor<Element>({block_m, block_k});
    auto sb = shared_tensor<Element>({block_n, block_k});
    auto acc = register_tensor<float>({block_m, block_n}, 0.0f);

    auto loaded = mbarrier.alloc(1);
    Var<UInt32> phase = 0u;

    for (auto offset_k : range(0, k_size, block_k)) {
      if (auto _ = single_thread()) {
        mbarrier.arrive_and_expect_tx(loaded, sa.nbytes() + sb.nbytes());
        tma.global_to_shared({.src = ga, .dst = sa, .offsets = {offset_m, offset_k}, .mbarrier = loaded});
        tma.global_to_shared({.src = gb, .dst = sb, .offsets = {offset_n, offset_k}, .mbarrier = loaded});
      }
      mbarrier.wait(loaded, phase);

      wgmma.fence();
      wgmma.mma(sa, sb.transpose(), acc);  // acc += a · bᵀ, asynchronously
      wgmma.commit_group();
      wgmma.wait_group(0);
      sync();  // all four warps' parts are done: the next copy may overwrite the tiles
      phase ^= 1u;
    }

    store_global(gc, cast<Element>(acc), {offset_m, offset_n});
  }
};

}  // namespace hopper_matmul
