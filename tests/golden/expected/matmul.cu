// matmul, kernels.cpp:1.  nvcc -arch=sm_90a -fmad=false compiles it as Tessera does.
//
// Shared memory, 32776 bytes:
//        0 ..  16384  sa
//    16384 ..  32768  sb
//    32768 ..  32776  tma_barrier (barriers)

#define DEVICE static __device__ __forceinline__
typedef unsigned short f16;   // IEEE binary16, as bits
struct alignas(64) TensorMap { unsigned long long words[16]; };
DEVICE unsigned pack_f16(float lo, float hi) {
  unsigned r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
}
// True in one lane of the warp, whose lanes are together here.
DEVICE bool elect_one() {
  unsigned on;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(on));
  return on != 0;
}
DEVICE void ldmatrix_x4(unsigned* r, unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}
DEVICE void mma_m16n8k16_f16_f32(float* d, const unsigned* a, const unsigned* b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
DEVICE void mbarrier_init(unsigned barrier, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(barrier), "r"(count) : "memory");
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
DEVICE void tma_load_2d(unsigned dst, const TensorMap* map, int x, int y, unsigned barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3}], [%4];"
               :: "r"(dst), "l"(map), "r"(x), "r"(y), "r"(barrier) : "memory");
}
DEVICE void fence_proxy_async_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
DEVICE void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
DEVICE void store_global_4_if(bool on, const unsigned* r, void* p) {
  asm volatile("{ .reg .pred on; setp.ne.u32 on, %2, 0; @on st.global.b32 [%1], %0; }"
               :: "r"(r[0]), "l"(p), "r"((unsigned)on) : "memory");
}

extern "C" __global__ void __launch_bounds__(128, 1) matmul(int m_size, const f16* a_ptr, const f16* b_ptr, f16* c_ptr, const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b) {
  const int block_x = blockIdx.x;
  const int block_y = blockIdx.y;
  const int lane = threadIdx.x & 31;
  const int warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
  const bool elected = elect_one();
  extern __shared__ __align__(1024) unsigned char smem[];
  const unsigned shared = (unsigned)__cvta_generic_to_shared(smem);
  const int offset_m = block_x * 128;  // kernels.cpp:5
  const int offset_n = block_y * 128;  // kernels.cpp:6
  float acc[128];  // kernels.cpp:10
  #pragma unroll
  for (int i = 0; i < 128; ++i) {
    acc[i] = 0.0f;
  }
  if (warp == 0 && elected) {  // kernels.cpp:11
    mbarrier_init(shared + 32768, 1);
  }
  fence_mbarrier_init();
  asm volatile("bar.sync 0, 128;" ::: "memory");
  unsigned phase = 0u;  // kernels.cpp:12
  const int warp_m = warp / 2;
  const int warp_n = warp % 2;
  for (int offset_k = 0; offset_k < 1024; offset_k += 64) {  // kernels.cpp:14
    if (warp == 0 && elected) {  // kernels.cpp:15
      mbarrier_arrive_expect_tx(shared + 32768, 32768u);  // kernels.cpp:16
      tma_load_2d(shared, &a, offset_k, offset_m, shared + 32768);  // kernels.cpp:17
      tma_load_2d(shared + 16384, &b, offset_k, offset_n, shared + 32768);  // kernels.cpp:18
      mbarrier_wait(shared + 32768, phase);  // kernels.cpp:19
    }
    asm volatile("bar.sync 0, 128;" ::: "memory");
    unsigned a_1[16];  // 32 float16
    unsigned b_1[16];  // 32 float16
    #pragma unroll
    for (int kk = 0; kk < 4; ++kk) {
      #pragma unroll
      for (int i_1 = 0; i_1 < 4; ++i_1) {  // kernels.cpp:20
        ldmatrix_x4(&a_1[i_1 * 4], shared + (unsigned)(warp_m * 8192 + lane % 16 * 128 + i_1 * 2048 + ((kk * 2 + lane / 16) ^ (lane % 16 % 8)) * 16));
      }
      #pragma unroll
      for (int j = 0; j < 4; ++j) {  // kernels.cpp:21
        ldmatrix_x4(&b_1[j * 4], shared + (unsigned)(warp_n * 8192 + lane % 8 * 128 + lane / 16 * 1024 + j * 2048 + ((kk * 2 + lane / 8 % 2) ^ (lane % 8)) * 16) + 16384);
      }
      #pragma unroll
      for (int i_2 = 0; i_2 < 4; ++i_2) {  // kernels.cpp:22
        #pragma unroll
        for (int j_1 = 0; j_1 < 8; ++j_1) {
          mma_m16n8k16_f16_f32(&acc[i_2 * 32 + j_1 * 4], &a_1[i_2 * 4], &b_1[j_1 * 2]);
        }
      }
    }
    fence_proxy_async_shared();  // kernels.cpp:23, sa and sb are read here and written by TMA next
    asm volatile("bar.sync 0, 128;" ::: "memory");
    phase ^= 1;  // kernels.cpp:24
  }
  unsigned out[64];  // kernels.cpp:30, 128 float16
  #pragma unroll
  for (int i_3 = 0; i_3 < 128; i_3 += 2) {
    out[i_3 / 2] = pack_f16(acc[i_3], acc[i_3 + 1]);
  }
  #pragma unroll
  for (int i_4 = 0; i_4 < 4; ++i_4) {  // kernels.cpp:31
    #pragma unroll
    for (int half_1 = 0; half_1 < 2; ++half_1) {
      const int row = offset_m + warp_m * 64 + lane / 4 + i_4 * 16 + half_1 * 8;
      const bool inside = row < m_size;
      #pragma unroll
      for (int j_2 = 0; j_2 < 8; ++j_2) {
        store_global_4_if(inside, &out[half_1 + j_2 * 2 + i_4 * 16], c_ptr + (long long)row * 512 + (long long)(offset_n + warp_n * 64 + lane % 4 * 2 + j_2 * 8));
      }
    }
  }
}
