// The language at full stretch: a persistent matrix product with clusters, a ring, warp specialisation and stores by
// the TMA engine, from its source to its tile program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/tile.hpp"
#include "tessera/core/error.hpp"
#include "tessera/lang/lang.hpp"

using namespace tessera;  // NOLINT: as a kernel author writes it

namespace {

struct MatmulPersistent : Script {
  struct Config {
    int block_m = 128, block_n = 256, block_k = 64, stages = 4, cluster = 2, group = 16;
  };

  Config config;
  explicit MatmulPersistent(Config c) : config(c) {}

  void operator()(Int32 m_size, int n_size, int k_size, Ptr<bfloat16> a_ptr, Ptr<bfloat16> b_ptr, Ptr<bfloat16> c_ptr) {
    const auto [block_m, block_n, block_k, stages, cluster_m, group] = config;
    attrs.cluster = {cluster_m};
    attrs.blocks = persistent_grid();
    attrs.warps = 12;

    auto ga = global_view(a_ptr, {m_size, k_size});
    auto gb = global_view(b_ptr, {n_size, k_size});
    auto gc = global_view(c_ptr, {m_size, n_size});
    auto sa = shared_tensor<bfloat16>({stages, block_m, block_k});
    auto sb = shared_tensor<bfloat16>({stages, block_n, block_k});
    auto sc = shared_tensor<bfloat16>({2, block_m / 2, block_n});
    Pipeline ring(stages, {.consumer_warps = 8, .cluster = true});
    GroupedTiles tiles(cdiv(m_size, block_m), cdiv(n_size, block_n), group, {.cluster = cluster_m});

    if (auto _ = warp_group(0, 4)) {
      registers(40);
      for (auto tile : tiles) {
        for (auto k : range(0, k_size, block_k)) {
          auto slot = ring.acquire_for_producer();
          if (auto _ = single_thread()) {
            mbarrier.arrive_and_expect_tx(slot.full, sa[slot].nbytes() + sb[slot].nbytes());
            tma.global_to_shared({.src = ga, .dst = sa[slot], .offsets = {tile.m * block_m, k}, .mbarrier = slot.full});
            tma.global_to_shared({.src = gb,
                                  .dst = sb[slot].split(0, cluster_m)[cluster.rank()],
                                  .offsets = {tile.n * block_n + cluster.rank() * (block_n / cluster_m), k},
                                  .mbarrier = slot.full,
                                  .multicast = cluster.all()});
          }
          ring.advance_producer();
        }
      }
      ring.drain_producer();
    }
    for (int half : {0, 1}) {
      if (auto _ = warp_group(4 + 4 * half, 4)) {
        registers(232);
        auto acc = register_tensor<float>({block_m / 2, block_n});
        for (auto tile : tiles) {
          for (auto k : range(0, k_size, block_k)) {
            auto slot = ring.acquire_for_consumer();
            wgmma.fence();
            wgmma.mma(sa[slot].split(0, 2)[half], sb[slot].transpose(), acc, {.accumulate = k > 0});
            wgmma.commit_group();
            wgmma.wait_group(0);
            ring.release_consumer();
            ring.advance_consumer();
          }
          if (auto _ = single_thread(0)) tma.wait_group(0, {.read = true});
          sync();
          store_shared(sc[half], cast<bfloat16>(acc));
          fence.proxy_async();
          sync();
          if (auto _ = single_thread(0)) {
            tma.shared_to_global(
                {.src = sc[half], .dst = gc, .offsets = {tile.m * block_m + half * (block_m / 2), tile.n * block_n}});
            tma.commit_group();
          }
        }
      }
    }
  }
};

const std::vector<std::int64_t> constants{0, 1024, 512, 0, 0, 0};

TEST(Persistent, TileProgram) {
  const auto kernel = detail::trace(MatmulPersistent({}), constants);
  EXPECT_EQ(ir::tile::to_string(*kernel, false),
            R"(kernel MatmulPersistent(m_size: i32, a_ptr: bf16*, b_ptr: bf16*, c_ptr: bf16*)
blocks [int64((sm_count / 2) * 2), 1, 1], warps 12, cluster [2, 1, 1]
view ga: bf16[int64(m_size), 512] = a_ptr, strides [512, 1]
view gb: bf16[1024, 512] = b_ptr, strides [512, 1]
view gc: bf16[int64(m_size), 1024] = c_ptr, strides [1024, 1]
sa: bf16[4, 128, 64] = shared_tensor()
sb: bf16[4, 256, 64] = shared_tensor()
sc: bf16[2, 64, 256] = shared_tensor()
full = mbarrier.alloc([1, 1, 1, 1])
empty = mbarrier.alloc([16, 16, 16, 16])
var producer_stage: i32 = 0
var producer_parity: u32 = 0
var consumer_stage: i32 = 0
var consumer_parity: u32 = 0
var released_stage: i32 = 0
var released_parity: u32 = 0
let rows_0: i32 = (((m_size / 128) + int32((m_size % 128) != 0)) / 2) + int32((((m_size / 128) + int32((m_size % 128) != 0)) % 2) != 0)
threads 0..127 {
  registers(40)
  let clusters_1: i32 = gridDim.x / 2
  for v2 in range(blockIdx.x / 2, rows_0 * 4, clusters_1) {
    let height_3: i32 = min(rows_0 - ((v2 / 32) * 8), 8)
    for k in range(0, 512, 64) {
      let producer_stage_5: i32 = producer_stage
      let producer_parity_6: u32 = producer_parity
      threads 0..31 {
        mbarrier.wait(empty[producer_stage_5], producer_parity_6 ^ 1)
      }
      one thread elected in warp 0 {
        mbarrier.arrive_and_expect_tx(full[producer_stage_5], 49152)
        tma.global_to_shared(ga, sa[producer_stage_5, :, :], [(((v2 / 32) * 2048) + (((v2 % 32) - (((v2 % 32) / height_3) * height_3)) * 256)) + (cluster_rank * 128), k], full[producer_stage_5])
        tma.global_to_shared(gb, sb[producer_stage_5, cluster_rank * 128:+128, :], [(((v2 % 32) / height_3) * 256) + (cluster_rank * 128), k], full[producer_stage_5], multicast 3)
      }
      producer_parity = select((producer_stage + 1) == 4, producer_parity ^ 1, producer_parity)
      producer_stage = select((producer_stage + 1) == 4, 0, producer_stage + 1)
    }
  }
  for v7 in range(0, 4, 1) {
    let producer_stage_8: i32 = producer_stage
    let producer_parity_9: u32 = producer_parity
    threads 0..31 {
      mbarrier.wait(empty[producer_stage_8], producer_parity_9 ^ 1)
    }
    producer_parity = select((producer_stage + 1) == 4, producer_parity ^ 1, producer_parity)
    producer_stage = select((producer_stage + 1) == 4, 0, producer_stage + 1)
  }
}
threads 128..255 {
  registers(232)
  acc: f32[64, 256] = register_tensor()
  let clusters_10: i32 = gridDim.x / 2
  for v11 in range(blockIdx.x / 2, rows_0 * 4, clusters_10) {
    let height_12: i32 = min(rows_0 - ((v11 / 32) * 8), 8)
    for k in range(0, 512, 64) {
      let consumer_stage_14: i32 = consumer_stage
      let consumer_parity_15: u32 = consumer_parity
      mbarrier.wait(full[consumer_stage_14], consumer_parity_15)
      wgmma.fence()
      wgmma.mma(sa[consumer_stage_14, 0:+64, :], sb[consumer_stage_14, :, :].transpose(), acc, accumulate k > 0)
      wgmma.commit_group()
      wgmma.wait_group(0)
      let released_stage_16: i32 = released_stage
      one thread elected in each of the warps 4..7 {
        mbarrier.arrive_remote(empty[released_stage_16], cta 0)
        mbarrier.arrive_remote(empty[released_stage_16], cta 1)
      }
      released_parity = select((released_stage + 1) == 4, released_parity ^ 1, released_parity)
      released_stage = select((released_stage + 1) == 4, 0, released_stage + 1)
      consumer_parity = select((consumer_stage + 1) == 4, consumer_parity ^ 1, consumer_parity)
      consumer_stage = select((consumer_stage + 1) == 4, 0, consumer_stage + 1)
    }
    thread 128 {
      tma.wait_group(0, read)
    }
    sync()
    t1: bf16[64, 256] = bfloat16(acc)
    store_shared(sc[0, :, :], t1)
    fence.proxy_async()
    sync()
    thread 128 {
      tma.shared_to_global(sc[0, :, :], gc, [(((v11 / 32) * 2048) + (((v11 % 32) - (((v11 % 32) / height_12) * height_12)) * 256)) + (cluster_rank * 128), ((v11 % 32) / height_12) * 256])
      tma.commit_group()
    }
  }
}
threads 256..383 {
  registers(232)
  acc_2: f32[64, 256] = register_tensor()
  let clusters_17: i32 = gridDim.x / 2
  for v18 in range(blockIdx.x / 2, rows_0 * 4, clusters_17) {
    let height_19: i32 = min(rows_0 - ((v18 / 32) * 8), 8)
    for k in range(0, 512, 64) {
      let consumer_stage_21: i32 = consumer_stage
      let consumer_parity_22: u32 = consumer_parity
      mbarrier.wait(full[consumer_stage_21], consumer_parity_22)
      wgmma.fence()
      wgmma.mma(sa[consumer_stage_21, 64:+64, :], sb[consumer_stage_21, :, :].transpose(), acc_2, accumulate k > 0)
      wgmma.commit_group()
      wgmma.wait_group(0)
      let released_stage_23: i32 = released_stage
      one thread elected in each of the warps 8..11 {
        mbarrier.arrive_remote(empty[released_stage_23], cta 0)
        mbarrier.arrive_remote(empty[released_stage_23], cta 1)
      }
      released_parity = select((released_stage + 1) == 4, released_parity ^ 1, released_parity)
      released_stage = select((released_stage + 1) == 4, 0, released_stage + 1)
      consumer_parity = select((consumer_stage + 1) == 4, consumer_parity ^ 1, consumer_parity)
      consumer_stage = select((consumer_stage + 1) == 4, 0, consumer_stage + 1)
    }
    thread 256 {
      tma.wait_group(0, read)
    }
    sync()
    t3: bf16[64, 256] = bfloat16(acc_2)
    store_shared(sc[1, :, :], t3)
    fence.proxy_async()
    sync()
    thread 256 {
      tma.shared_to_global(sc[1, :, :], gc, [((((v18 / 32) * 2048) + (((v18 % 32) - (((v18 % 32) / height_19) * height_19)) * 256)) + (cluster_rank * 128)) + 64, ((v18 % 32) / height_19) * 256])
      tma.commit_group()
    }
  }
}
)");
}

}  // namespace
