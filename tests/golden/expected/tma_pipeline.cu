// tma_pipeline, kernels.cpp:1.  nvcc -arch=sm_90a -fmad=false compiles it as Tessera does.
//
// Shared memory, 1040 bytes:
//        0 ..   1024  tile
//     1024 ..   1040  full (barriers)

#define DEVICE static __device__ __forceinline__
typedef unsigned short bf16;  // bfloat16, as bits
struct alignas(64) TensorMap { unsigned long long words[16]; };
// True in one lane of the warp, whose lanes are together here.
DEVICE bool elect_one() {
  unsigned on;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(on));
  return on != 0;
}
DEVICE void mbarrier_init(unsigned barrier, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(barrier), "r"(count) : "memory");
}
DEVICE void mbarrier_arrive(unsigned barrier, unsigned count) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" :: "r"(barrier), "r"(count) : "memory");
}
DEVICE void mbarrier_arrive_expect_tx(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(barrier), "r"(bytes) : "memory");
}
DEVICE void mbarrier_wait(unsigned barrier, unsigned parity) {
  asm volatile("{ .reg .pred done;\n"
               "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@!done bra again; }"
               :: "r"(barrier), "r"(parity) : "memory");
}
DEVICE void tma_load_1d(unsigned dst, const TensorMap* map, int x, unsigned barrier) {
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2}], [%3];"
               :: "r"(dst), "l"(map), "r"(x), "r"(barrier) : "memory");
}
DEVICE void tma_load_2d(unsigned dst, const TensorMap* map, int x, int y, unsigned barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3}], [%4];"
               :: "r"(dst), "l"(map), "r"(x), "r"(y), "r"(barrier) : "memory");
}
DEVICE void tma_load_3d(unsigned dst, const TensorMap* map, int x, int y, int z, unsigned barrier) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3, %4}], [%5];"
               :: "r"(dst), "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier) : "memory");
}
DEVICE void tma_load_4d(unsigned dst, const TensorMap* map, int x, int y, int z, int w, unsigned barrier) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3, %4, %5}], [%6];"
               :: "r"(dst), "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(barrier) : "memory");
}
DEVICE void tma_load_5d(unsigned dst, const TensorMap* map, int x, int y, int z, int w, int v,
                        unsigned barrier) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3, %4, %5, %6}], [%7];"
               :: "r"(dst), "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(v), "r"(barrier) : "memory");
}
DEVICE void fence_proxy_async_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
DEVICE void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

extern "C" __global__ void __launch_bounds__(256, 1) tma_pipeline(const bf16* src, const __grid_constant__ TensorMap src_map, const __grid_constant__ TensorMap src_map_1, const __grid_constant__ TensorMap src_map_2, const __grid_constant__ TensorMap src_map_3, const __grid_constant__ TensorMap src_map_4) {
  const int warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
  const bool elected = elect_one();
  extern __shared__ __align__(1024) unsigned char smem[];
  const unsigned shared = (unsigned)__cvta_generic_to_shared(smem);
  if (warp == 0 && elected) {  // kernels.cpp:5
    mbarrier_init(shared + 1024, 1);
    mbarrier_init(shared + 1032, 128);
  }
  fence_mbarrier_init();  // makes the barriers known to the copy engine
  asm volatile("bar.sync 0, 256;" ::: "memory");
  unsigned phase = 0u;  // kernels.cpp:6
  for (int k = 0; k < 4; ++k) {  // kernels.cpp:7
    if (warp == 0 && elected) {  // kernels.cpp:8
      mbarrier_arrive_expect_tx(shared + 1024, 640u);
      tma_load_1d(shared + 128, &src_map, k, shared + 1024);  // kernels.cpp:9
      tma_load_2d(shared + 256, &src_map_1, k, k, shared + 1024);  // kernels.cpp:10
      tma_load_3d(shared + 384, &src_map_2, k, k, k, shared + 1024);  // kernels.cpp:11
      tma_load_4d(shared + 512, &src_map_3, k, k, k, k, shared + 1024);  // kernels.cpp:12
      tma_load_5d(shared + 640, &src_map_4, k, k, k, k, k, shared + 1024);  // kernels.cpp:13
    }
    mbarrier_wait(shared + 1024, phase);  // kernels.cpp:14
    if (warp >= 4) {
      mbarrier_arrive(shared + 1032, 1);  // kernels.cpp:15
      asm volatile("bar.sync 3, 128;" ::: "memory");  // kernels.cpp:16
    }
    fence_proxy_async_shared();  // kernels.cpp:17, the tile is written by TMA again
    asm volatile("bar.sync 0, 256;" ::: "memory");
    phase ^= 1;
  }
}
