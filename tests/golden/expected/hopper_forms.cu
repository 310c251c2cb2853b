// hopper_forms, kernels.cpp:1.  nvcc -arch=sm_90a -fmad=false compiles it as Tessera does.
//
// Shared memory, 16384 bytes:
//        0 ..  16384  tile

#define DEVICE static __device__ __forceinline__
typedef unsigned short f16;   // IEEE binary16, as bits
struct alignas(64) TensorMap { unsigned long long words[16]; };
DEVICE unsigned short hi16(unsigned w) { return (unsigned short)(w >> 16); }
DEVICE unsigned pack16(unsigned short lo, unsigned short hi) { return lo | (unsigned)hi << 16; }
DEVICE f16 float_to_f16(float x) { f16 r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r; }
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
DEVICE void stmatrix_x1(const unsigned* r, unsigned address) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};"
               :: "r"(address), "r"(r[0]) : "memory");
}
DEVICE void stmatrix_x1_trans(const unsigned* r, unsigned address) {
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};"
               :: "r"(address), "r"(r[0]) : "memory");
}
DEVICE void stmatrix_x2(const unsigned* r, unsigned address) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
               :: "r"(address), "r"(r[0]), "r"(r[1]) : "memory");
}
DEVICE void stmatrix_x2_trans(const unsigned* r, unsigned address) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};"
               :: "r"(address), "r"(r[0]), "r"(r[1]) : "memory");
}
DEVICE void stmatrix_x4(const unsigned* r, unsigned address) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               :: "r"(address), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
}
DEVICE void stmatrix_x4_trans(const unsigned* r, unsigned address) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
               :: "r"(address), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
}
DEVICE void fence_proxy_async_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
DEVICE void keep_float_32(float* r) {
  asm volatile("" : "+f"(r[0]), "+f"(r[1]), "+f"(r[2]), "+f"(r[3]), "+f"(r[4]), "+f"(r[5]), "+f"(r[6]), "+f"(r[7]), "+f"(r[8]), "+f"(r[9]), "+f"(r[10]), "+f"(r[11]), "+f"(r[12]), "+f"(r[13]), "+f"(r[14]), "+f"(r[15]), "+f"(r[16]), "+f"(r[17]), "+f"(r[18]), "+f"(r[19]), "+f"(r[20]), "+f"(r[21]), "+f"(r[22]), "+f"(r[23]), "+f"(r[24]), "+f"(r[25]), "+f"(r[26]), "+f"(r[27]), "+f"(r[28]), "+f"(r[29]), "+f"(r[30]), "+f"(r[31]) :: "memory");
}
DEVICE void keep_unsigned_8(unsigned* r) {
  asm volatile("" : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]), "+r"(r[4]), "+r"(r[5]), "+r"(r[6]), "+r"(r[7]) :: "memory");
}
DEVICE void store_shared_16(const unsigned* r, unsigned p) {
  asm volatile("st.shared.v4.b32 [%4], {%0, %1, %2, %3};"
               :: "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(p) : "memory");
}
DEVICE void tma_prefetch_1d(const TensorMap* map, int x) {
  asm volatile("cp.async.bulk.prefetch.tensor.1d.L2.global.tile "
               "[%0, {%1}];"
               :: "l"(map), "r"(x) : "memory");
}
DEVICE void tma_prefetch_2d(const TensorMap* map, int x, int y) {
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile "
               "[%0, {%1, %2}];"
               :: "l"(map), "r"(x), "r"(y) : "memory");
}
DEVICE void tma_prefetch_3d(const TensorMap* map, int x, int y, int z) {
  asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global.tile "
               "[%0, {%1, %2, %3}];"
               :: "l"(map), "r"(x), "r"(y), "r"(z) : "memory");
}
DEVICE void tma_prefetch_4d(const TensorMap* map, int x, int y, int z, int w) {
  asm volatile("cp.async.bulk.prefetch.tensor.4d.L2.global.tile "
               "[%0, {%1, %2, %3, %4}];"
               :: "l"(map), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}
DEVICE void tma_prefetch_5d(const TensorMap* map, int x, int y, int z, int w, int v) {
  asm volatile("cp.async.bulk.prefetch.tensor.5d.L2.global.tile "
               "[%0, {%1, %2, %3, %4, %5}];"
               :: "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(v) : "memory");
}
DEVICE void tma_reduce_add_1d_hint(unsigned src, const TensorMap* map, int x, unsigned long long policy) {
  asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group.L2::cache_hint "
               "[%1, {%2}], [%0], %3;"
               :: "r"(src), "l"(map), "r"(x), "l"(policy) : "memory");
}
DEVICE void tma_reduce_add_2d_hint(unsigned src, const TensorMap* map, int x, int y, unsigned long long policy) {
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group.L2::cache_hint "
               "[%1, {%2, %3}], [%0], %4;"
               :: "r"(src), "l"(map), "r"(x), "r"(y), "l"(policy) : "memory");
}
DEVICE void tma_reduce_add_3d_hint(unsigned src, const TensorMap* map, int x, int y, int z, unsigned long long policy) {
  asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group.L2::cache_hint "
               "[%1, {%2, %3, %4}], [%0], %5;"
               :: "r"(src), "l"(map), "r"(x), "r"(y), "r"(z), "l"(policy) : "memory");
}
DEVICE void tma_reduce_add_4d_hint(unsigned src, const TensorMap* map, int x, int y, int z, int w, unsigned long long policy) {
  asm volatile("cp.reduce.async.bulk.tensor.4d.global.shared::cta.add.tile.bulk_group.L2::cache_hint "
               "[%1, {%2, %3, %4, %5}], [%0], %6;"
               :: "r"(src), "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "l"(policy) : "memory");
}
DEVICE void tma_reduce_add_5d_hint(unsigned src, const TensorMap* map, int x, int y, int z, int w, int v, unsigned long long policy) {
  asm volatile("cp.reduce.async.bulk.tensor.5d.global.shared::cta.add.tile.bulk_group.L2::cache_hint "
               "[%1, {%2, %3, %4, %5, %6}], [%0], %7;"
               :: "r"(src), "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(v), "l"(policy) : "memory");
}
DEVICE void tma_store_1d(unsigned src, const TensorMap* map, int x) {
  asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group "
               "[%1, {%2}], [%0];"
               :: "r"(src), "l"(map), "r"(x) : "memory");
}
DEVICE void tma_store_2d(unsigned src, const TensorMap* map, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group "
               "[%1, {%2, %3}], [%0];"
               :: "r"(src), "l"(map), "r"(x), "r"(y) : "memory");
}
DEVICE void tma_store_3d(unsigned src, const TensorMap* map, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group "
               "[%1, {%2, %3, %4}], [%0];"
               :: "r"(src), "l"(map), "r"(x), "r"(y), "r"(z) : "memory");
}
DEVICE void tma_store_4d(unsigned src, const TensorMap* map, int x, int y, int z, int w) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group "
               "[%1, {%2, %3, %4, %5}], [%0];"
               :: "r"(src), "l"(map), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}
DEVICE void tma_store_5d(unsigned src, const TensorMap* map, int x, int y, int z, int w, int v) {
  asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group "
               "[%1, {%2, %3, %4, %5, %6}], [%0];"
               :: "r"(src), "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(v) : "memory");
}
DEVICE void wgmma_m64n32k16_f16_f16_f16(unsigned* d, unsigned a_low, unsigned a_high, unsigned b_low, unsigned b_high, int accumulate) {
  asm volatile("{ .reg .pred p; .reg .b64 a, b;\n"
               "setp.ne.b32 p, %12, 0; mov.b64 a, {%8, %9}; mov.b64 b, {%10, %11};\n"
               "wgmma.mma_async.sync.aligned.m64n32k16.f16.f16.f16 "
               "{%0, %1, %2, %3, %4, %5, %6, %7}, "
               "a, b, p, 1, 1, 0, 0; }"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7])
               : "r"(a_low), "r"(a_high), "r"(b_low), "r"(b_high), "r"(accumulate));
}
DEVICE void wgmma_m64n64k16_f32_f16_f16_mna_nega_negb(float* d, unsigned a_low, unsigned a_high, unsigned b_low, unsigned b_high, int accumulate) {
  asm volatile("{ .reg .pred p; .reg .b64 a, b;\n"
               "setp.ne.b32 p, %36, 0; mov.b64 a, {%32, %33}; mov.b64 b, {%34, %35};\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
               "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
               "a, b, p, -1, -1, 1, 0; }"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
               : "r"(a_low), "r"(a_high), "r"(b_low), "r"(b_high), "r"(accumulate));
}
DEVICE void wgmma_m64n64k16_f32_f16_f16_ra_mnb(float* d, const unsigned* a, unsigned b_low, unsigned b_high, int accumulate) {
  asm volatile("{ .reg .pred p; .reg .b64 a, b;\n"
               "setp.ne.b32 p, %38, 0; mov.b64 b, {%36, %37};\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
               "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
               "{%32, %33, %34, %35}, b, p, 1, 1, 1; }"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
               : "r"((a[0])), "r"((a[1])), "r"((a[2])), "r"((a[3])), "r"(b_low), "r"(b_high), "r"(accumulate));
}

extern "C" __global__ void __launch_bounds__(256, 1) hopper_forms(f16* out, const __grid_constant__ TensorMap out_map, const __grid_constant__ TensorMap out_map_1, const __grid_constant__ TensorMap out_map_2, const __grid_constant__ TensorMap out_map_3, const __grid_constant__ TensorMap out_map_4) {
  const int lane = threadIdx.x & 31;
  const int warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);
  const bool elected = elect_one();
  extern __shared__ __align__(1024) unsigned char smem[];
  const unsigned shared = (unsigned)__cvta_generic_to_shared(smem);
  const unsigned row = shared + (unsigned)lane * 16;  // kernels.cpp:4
  unsigned a[4];  // kernels.cpp:5, 8 float16
  ldmatrix_x4(a, row);
  stmatrix_x1(a, row);  // kernels.cpp:6
  stmatrix_x2(a, row);
  stmatrix_x4(a, row);
  stmatrix_x1_trans(a, row);
  stmatrix_x2_trans(a, row);
  stmatrix_x4_trans(a, row);
  float d[32];  // kernels.cpp:7
  unsigned d_half[8];  // 16 float16
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");  // kernels.cpp:8
  wgmma_m64n64k16_f32_f16_f16_ra_mnb(d, a, 65536u, 0x40000040u, false);  // kernels.cpp:9
  wgmma_m64n64k16_f32_f16_f16_mna_nega_negb(d, 65536u, 0x40000040u, 65536u, 0x40000040u, 1);  // kernels.cpp:10
  wgmma_m64n32k16_f16_f16_f16(d_half, 65536u, 0x40000040u, 65536u, 0x40000040u, false);  // kernels.cpp:11
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");  // kernels.cpp:12
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); keep_float_32(d); keep_unsigned_8(d_half);
  #pragma unroll
  for (int i = 0; i < 16; i += 2) {  // kernels.cpp:13
    d_half[i / 2] = pack16(float_to_f16(d[i] + d[i + 16]), hi16(d_half[i / 2]));
  }
  #pragma unroll
  for (int i_1 = 0; i_1 < 2; ++i_1) {  // kernels.cpp:14
    store_shared_16(&d_half[i_1 * 4], row + 512);
  }
  fence_proxy_async_shared();  // kernels.cpp:15
  if (warp < 4) {  // kernels.cpp:16
    asm volatile("bar.arrive 2, 256;" ::: "memory");  // kernels.cpp:17
  } else {
    asm volatile("bar.sync 2, 256;" ::: "memory");  // kernels.cpp:18
    if (warp == 4 && elected) {
      tma_prefetch_1d(&out_map, 0);  // kernels.cpp:19
      tma_store_1d(shared + 512, &out_map, 0);
      tma_reduce_add_1d_hint(shared + 512, &out_map, 0, 0x1000000000000000ull);
      tma_prefetch_2d(&out_map_1, 0, 0);  // kernels.cpp:20
      tma_store_2d(shared + 512, &out_map_1, 0, 0);
      tma_reduce_add_2d_hint(shared + 512, &out_map_1, 0, 0, 0x1000000000000000ull);
      tma_prefetch_3d(&out_map_2, 0, 0, 0);  // kernels.cpp:21
      tma_store_3d(shared + 512, &out_map_2, 0, 0, 0);
      tma_reduce_add_3d_hint(shared + 512, &out_map_2, 0, 0, 0, 0x1000000000000000ull);
      tma_prefetch_4d(&out_map_3, 0, 0, 0, 0);  // kernels.cpp:22
      tma_store_4d(shared + 512, &out_map_3, 0, 0, 0, 0);
      tma_reduce_add_4d_hint(shared + 512, &out_map_3, 0, 0, 0, 0, 0x1000000000000000ull);
      tma_prefetch_5d(&out_map_4, 0, 0, 0, 0, 0);  // kernels.cpp:23
      tma_store_5d(shared + 512, &out_map_4, 0, 0, 0, 0, 0);
      tma_reduce_add_5d_hint(shared + 512, &out_map_4, 0, 0, 0, 0, 0, 0x1000000000000000ull);
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");  // kernels.cpp:24
      asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
      asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
  }
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");  // kernels.cpp:25
}
