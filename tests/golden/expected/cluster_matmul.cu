// cluster_matmul, kernels.cpp:1.  nvcc -arch=sm_90a -fmad=false compiles it as Tessera does.
//
// Shared memory, 213040 bytes:
//        0 .. 147456  ring
//   147456 .. 212992  sc
//   212992 .. 213016  full (barriers)
//   213016 .. 213040  empty (barriers)

#define DEVICE static __device__ __forceinline__
typedef unsigned short bf16;  // bfloat16, as bits
struct alignas(64) TensorMap { unsigned long long words[16]; };
DEVICE unsigned pack_bf16(float lo, float hi) {
  unsigned r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
}
// True in one lane of the warp, whose lanes are together here.
DEVICE bool elect_one() {
  unsigned on;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(on));
  return on != 0;
}
DEVICE void stmatrix_x4(const unsigned* r, unsigned address) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               :: "r"(address), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
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
DEVICE void mbarrier_arrive_cta(unsigned barrier, unsigned cta, unsigned count) {
  asm volatile("{ .reg .b32 remote;\n"
               "mapa.shared::cluster.u32 remote, %0, %1;\n"
               "mbarrier.arrive.shared::cluster.b64 _, [remote], %2; }"
               :: "r"(barrier), "r"(cta), "r"(count) : "memory");
}
DEVICE int cta_rank() { int r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
DEVICE void prefetch_tensor_map(const TensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" :: "l"(map) : "memory");
}
DEVICE void fence_proxy_async_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
DEVICE void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
DEVICE void keep_float_128(float* r) {
  asm volatile("" : "+f"(r[0]), "+f"(r[1]), "+f"(r[2]), "+f"(r[3]), "+f"(r[4]), "+f"(r[5]), "+f"(r[6]), "+f"(r[7]), "+f"(r[8]), "+f"(r[9]), "+f"(r[10]), "+f"(r[11]), "+f"(r[12]), "+f"(r[13]), "+f"(r[14]), "+f"(r[15]), "+f"(r[16]), "+f"(r[17]), "+f"(r[18]), "+f"(r[19]), "+f"(r[20]), "+f"(r[21]), "+f"(r[22]), "+f"(r[23]), "+f"(r[24]), "+f"(r[25]), "+f"(r[26]), "+f"(r[27]), "+f"(r[28]), "+f"(r[29]), "+f"(r[30]), "+f"(r[31]), "+f"(r[32]), "+f"(r[33]), "+f"(r[34]), "+f"(r[35]), "+f"(r[36]), "+f"(r[37]), "+f"(r[38]), "+f"(r[39]), "+f"(r[40]), "+f"(r[41]), "+f"(r[42]), "+f"(r[43]), "+f"(r[44]), "+f"(r[45]), "+f"(r[46]), "+f"(r[47]), "+f"(r[48]), "+f"(r[49]), "+f"(r[50]), "+f"(r[51]), "+f"(r[52]), "+f"(r[53]), "+f"(r[54]), "+f"(r[55]), "+f"(r[56]), "+f"(r[57]), "+f"(r[58]), "+f"(r[59]), "+f"(r[60]), "+f"(r[61]), "+f"(r[62]), "+f"(r[63]) :: "memory");
  asm volatile("" : "+f"(r[64]), "+f"(r[65]), "+f"(r[66]), "+f"(r[67]), "+f"(r[68]), "+f"(r[69]), "+f"(r[70]), "+f"(r[71]), "+f"(r[72]), "+f"(r[73]), "+f"(r[74]), "+f"(r[75]), "+f"(r[76]), "+f"(r[77]), "+f"(r[78]), "+f"(r[79]), "+f"(r[80]), "+f"(r[81]), "+f"(r[82]), "+f"(r[83]), "+f"(r[84]), "+f"(r[85]), "+f"(r[86]), "+f"(r[87]), "+f"(r[88]), "+f"(r[89]), "+f"(r[90]), "+f"(r[91]), "+f"(r[92]), "+f"(r[93]), "+f"(r[94]), "+f"(r[95]), "+f"(r[96]), "+f"(r[97]), "+f"(r[98]), "+f"(r[99]), "+f"(r[100]), "+f"(r[101]), "+f"(r[102]), "+f"(r[103]), "+f"(r[104]), "+f"(r[105]), "+f"(r[106]), "+f"(r[107]), "+f"(r[108]), "+f"(r[109]), "+f"(r[110]), "+f"(r[111]), "+f"(r[112]), "+f"(r[113]), "+f"(r[114]), "+f"(r[115]), "+f"(r[116]), "+f"(r[117]), "+f"(r[118]), "+f"(r[119]), "+f"(r[120]), "+f"(r[121]), "+f"(r[122]), "+f"(r[123]), "+f"(r[124]), "+f"(r[125]), "+f"(r[126]), "+f"(r[127]) :: "memory");
}
DEVICE void tma_load_2d_hint(unsigned dst, const TensorMap* map, int x, int y, unsigned barrier, unsigned long long policy) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint "
               "[%0], [%1, {%2, %3}], [%4], %5;"
               :: "r"(dst), "l"(map), "r"(x), "r"(y), "r"(barrier), "l"(policy) : "memory");
}
DEVICE void tma_load_2d_multicast_hint(unsigned dst, const TensorMap* map, int x, int y, unsigned barrier, unsigned ctas, unsigned long long policy) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint "
               "[%0], [%1, {%2, %3}], [%4], %5, %6;"
               :: "r"(dst), "l"(map), "r"(x), "r"(y), "r"(barrier), "h"((unsigned short)ctas), "l"(policy) : "memory");
}
DEVICE void tma_store_2d(unsigned src, const TensorMap* map, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group "
               "[%1, {%2, %3}], [%0];"
               :: "r"(src), "l"(map), "r"(x), "r"(y) : "memory");
}
DEVICE void wgmma_m64n256k16_f32_bf16_bf16(float* d, unsigned a_low, unsigned a_high, unsigned b_low, unsigned b_high, int accumulate) {
  asm volatile("{ .reg .pred p; .reg .b64 a, b;\n"
               "setp.ne.b32 p, %132, 0; mov.b64 a, {%128, %129}; mov.b64 b, {%130, %131};\n"
               "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
               "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
               "a, b, p, 1, 1, 0, 0; }"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
               : "r"(a_low), "r"(a_high), "r"(b_low), "r"(b_high), "r"(accumulate));
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(384, 1) cluster_matmul(int m_size, const bf16* a_ptr, const bf16* b_ptr, bf16* c_ptr, const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, const __grid_constant__ TensorMap c) {
  const int block_x = blockIdx.x;
  const int block_y = blockIdx.y;
  const int cluster_rank = cta_rank();
  const int lane = threadIdx.x & 31;
  const int warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
  const bool elected = elect_one();
  extern __shared__ __align__(1024) unsigned char smem[];
  const unsigned shared = (unsigned)__cvta_generic_to_shared(smem);
  const int offset_m = block_x * 128;  // kernels.cpp:11
  const int offset_n = block_y * 256;  // kernels.cpp:12
  if (warp == 0 && elected) {  // kernels.cpp:13
    prefetch_tensor_map(&a);
    prefetch_tensor_map(&b);
    prefetch_tensor_map(&c);
    mbarrier_init(shared + 212992, 1);
    mbarrier_init(shared + 213016, 16);
    mbarrier_init(shared + 213000, 1);
    mbarrier_init(shared + 213024, 16);
    mbarrier_init(shared + 213008, 1);
    mbarrier_init(shared + 213032, 16);
  }
  fence_mbarrier_init();
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");  // kernels.cpp:14
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");  // kernels.cpp:15
  if (warp < 4) {  // kernels.cpp:16
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;" ::: "memory");  // kernels.cpp:20
    if (warp == 0 && elected) {
      unsigned fill_stage = 0u;
      unsigned fill_phase = 0u;
      const int half_1 = cluster_rank * 128;
      for (int k = 0; k < 1024; k += 64) {  // kernels.cpp:21
        mbarrier_wait(fill_stage * 8 + shared + 213016, fill_phase ^ 1);  // kernels.cpp:22
        mbarrier_arrive_expect_tx(fill_stage * 8 + shared + 212992, 49152u);  // kernels.cpp:23
        tma_load_2d_hint(fill_stage * 49152 + shared, &a, k, offset_m, fill_stage * 8 + shared + 212992, 0x12f0000000000000ull);  // kernels.cpp:24
        tma_load_2d_multicast_hint(fill_stage * 49152 + shared + (unsigned)half_1 * 128 + 16384, &b, k, offset_n + half_1, fill_stage * 8 + shared + 212992, 3u, 0x14f0000000000000ull);  // kernels.cpp:25
        fill_stage += 1;
        if (fill_stage == 3) {
          fill_stage = 0u;
          fill_phase ^= 1;
        }
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;" ::: "memory");  // kernels.cpp:30
    unsigned drain_stage = 0u;
    unsigned drain_phase = 0u;
    const int half_2 = warp / 4 - 1;
    float acc[128];
    const unsigned a_low = ((shared + (unsigned)half_2 * 8192) >> 4) | 65536;
    const unsigned b_low = ((shared + 16384) >> 4) | 65536;
    for (int k_1 = 0; k_1 < 1024; k_1 += 64) {  // kernels.cpp:31
      mbarrier_wait(drain_stage * 8 + shared + 212992, drain_phase);  // kernels.cpp:32
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");  // kernels.cpp:33
      wgmma_m64n256k16_f32_bf16_bf16(acc, a_low + drain_stage * 3072, 0x40000040u, b_low + drain_stage * 3072, 0x40000040u, k_1 > 0);  // kernels.cpp:34
      wgmma_m64n256k16_f32_bf16_bf16(acc, a_low + drain_stage * 3072 + 2, 0x40000040u, b_low + drain_stage * 3072 + 2, 0x40000040u, 1);
      wgmma_m64n256k16_f32_bf16_bf16(acc, a_low + drain_stage * 3072 + 4, 0x40000040u, b_low + drain_stage * 3072 + 4, 0x40000040u, 1);
      wgmma_m64n256k16_f32_bf16_bf16(acc, a_low + drain_stage * 3072 + 6, 0x40000040u, b_low + drain_stage * 3072 + 6, 0x40000040u, 1);
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // kernels.cpp:35
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); keep_float_128(acc);  // kernels.cpp:36
      if (lane < 2) {  // kernels.cpp:37
        mbarrier_arrive_cta(drain_stage * 8 + shared + 213016, (unsigned)lane, 1);
      }
      drain_stage += 1;
      if (drain_stage == 3) {
        drain_stage = 0u;
        drain_phase ^= 1;
      }
    }
    unsigned out[64];  // kernels.cpp:40, 128 bfloat16
    #pragma unroll
    for (int i = 0; i < 128; i += 2) {
      out[i / 2] = pack_bf16(acc[i], acc[i + 1]);
    }
    const unsigned tile = shared + (unsigned)half_2 * 32768 + 147456;
    const int row = warp % 4 * 16 + lane % 16;
    #pragma unroll
    for (int j = 0; j < 16; ++j) {  // kernels.cpp:41
      stmatrix_x4(&out[j * 4], tile + (unsigned)(row * 128 + ((j % 4 * 2 + lane / 16) ^ (row % 8)) * 16 + j / 4 * 8192));
    }
    fence_proxy_async_shared();  // kernels.cpp:42
    if (half_2 == 0) {
      asm volatile("bar.sync 1, 128;" ::: "memory");  // kernels.cpp:43
    }
    if (half_2 == 1) {
      asm volatile("bar.sync 2, 128;" ::: "memory");
    }
    if (warp % 4 == 0 && elected) {  // kernels.cpp:44
      tma_store_2d(tile, &c, offset_n, offset_m + half_2 * 64);
      tma_store_2d(tile + 8192, &c, offset_n + 64, offset_m + half_2 * 64);
      tma_store_2d(tile + 16384, &c, offset_n + 128, offset_m + half_2 * 64);
      tma_store_2d(tile + 24576, &c, offset_n + 192, offset_m + half_2 * 64);
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");  // kernels.cpp:45
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");  // kernels.cpp:46
    }
  }
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");  // kernels.cpp:50
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
