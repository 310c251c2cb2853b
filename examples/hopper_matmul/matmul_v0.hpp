// The minimal Hopper matmul: c = a·bᵀ with TMA loads, an mbarrier and mma.sync.
#pragma once

#include <tessera/tessera.hpp>

namespace hopper_matmul {

using namespace tessera;

struct MatmulConfig {
  int block_m = 128, block_n = 128, block_k = 64;
};

template <class Element>
struct MatmulTma : Script {
  using Config = MatmulConfig;

  static Space<Config> space() {
    return Space<Config>{}
        .choices<&Config::block_m, &Config::block_n>({{64, 128}, {128, 128}, {128, 256}, {256, 128}, {256, 256}})
        .choices<&Config::block_k>({16, 32, 64});
  }

  Config config;
  explicit MatmulTma(Config c) : config(c) {}

  static constexpr auto params = names("m_size", "n_size", "k_size", "a", "b", "c");

  // Int32: a run-time value. int: a compile-time constant, a new value compiles and tunes anew. Ptr<T>: device memory.
  void operator()(Int32 m_size, int n_size, int k_size, Ptr<Element> a_ptr, Ptr<Element> b_ptr, Ptr<Element> c_ptr) {
    const auto [block_m, block_n, block_k] = config;
    attrs.blocks = {cdiv(m_size, block_m), cdiv(n_size, block_n)};
    attrs.warps = 4;

    Int32 offset_m = block_m * blockIdx.x;
    Int32 offset_n = block_n * blockIdx.y;

    auto ga = global_view(a_ptr, {m_size, k_size});
    auto gb = global_view(b_ptr, {n_size, k_size});
    auto sa = shared_tensor<Element>({block_m, block_k});
    auto sb = shared_tensor<Element>({block_n, block_k});
    auto acc = register_tensor<float>({block_m, block_n}, 0.0f);

    auto tma_barrier = mbarrier.alloc(1);
    Var<UInt32> phase = 0u;

    for (auto offset_k : range(0, k_size, block_k)) {
      // One thread asks the copy engine for a tile of a and a tile of b, and waits until both have landed.
      if (auto _ = single_thread()) {
        mbarrier.arrive_and_expect_tx(tma_barrier, sa.nbytes() + sb.nbytes());
        tma.global_to_shared({.src = ga, .dst = sa, .offsets = {offset_m, offset_k}, .mbarrier = tma_barrier});
        tma.global_to_shared({.src = gb, .dst = sb, .offsets = {offset_n, offset_k}, .mbarrier = tma_barrier});
        mbarrier.wait(tma_barrier, phase);
      }
      sync();  // the other threads may read the tiles from here on
      auto a = load_shared(sa);
      auto b = load_shared(sb);
      dot(a, b.transpose(), acc);  // acc += a · bᵀ
      sync();                      // everybody has read them: the next iteration may overwrite them
      phase ^= 1u;
    }

    auto gc = global_view(c_ptr, {m_size, n_size});
    store_global(gc, cast<Element>(acc), {offset_m, offset_n});
  }
};

}  // namespace hopper_matmul
