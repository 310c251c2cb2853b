// tensor_cores, kernels.cpp:1.  nvcc -arch=sm_90a -fmad=false compiles it as Tessera does.
//
// Shared memory, 2048 bytes:
//        0 ..   2048  tile

#define DEVICE static __device__ __forceinline__
typedef unsigned short f16;   // IEEE binary16, as bits
DEVICE unsigned pack16(unsigned short lo, unsigned short hi) { return lo | (unsigned)hi << 16; }
DEVICE void ldmatrix_x1(unsigned* r, unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(address) : "memory");
}
DEVICE void ldmatrix_x1_trans(unsigned* r, unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(address) : "memory");
}
DEVICE void ldmatrix_x2(unsigned* r, unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(address) : "memory");
}
DEVICE void ldmatrix_x2_trans(unsigned* r, unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(address) : "memory");
}
DEVICE void ldmatrix_x4(unsigned* r, unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}
DEVICE void ldmatrix_x4_trans(unsigned* r, unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}
DEVICE void mma_m16n8k16_f16_f32(float* d, const unsigned* a, const unsigned* b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
DEVICE void mma_m16n8k16_bf16_f32(float* d, const unsigned* a, const unsigned* b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
DEVICE void mma_m16n8k16_f16_f16(unsigned* d, const unsigned* a, const unsigned* b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
      : "+r"(d[0]), "+r"(d[1])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
DEVICE void store_global_16(const float* r, void* p) {
  asm volatile("st.global.v4.f32 [%4], {%0, %1, %2, %3};"
               :: "f"(r[0]), "f"(r[1]), "f"(r[2]), "f"(r[3]), "l"(p) : "memory");
}
DEVICE void store_global_8(const unsigned* r, void* p) {
  asm volatile("st.global.v2.b32 [%2], {%0, %1};"
               :: "r"(r[0]), "r"(r[1]), "l"(p) : "memory");
}

extern "C" __global__ void __launch_bounds__(32, 1) tensor_cores(float* out, f16* half_out) {
  const int lane = threadIdx.x & 31;
  extern __shared__ __align__(1024) unsigned char smem[];
  const unsigned shared = (unsigned)__cvta_generic_to_shared(smem);
  const unsigned row = shared + (unsigned)lane * 16;  // kernels.cpp:4
  unsigned a[4];  // kernels.cpp:5, 8 float16
  unsigned a_brain[4];  // 8 bfloat16
  unsigned m[4];  // 8 float16
  unsigned n[2];  // 4 bfloat16
  float d[8];
  unsigned d_half[2];  // 4 float16
  d[0] = 0.0f; d[1] = 0.0f; d[2] = 0.0f; d[3] = 0.0f; d[4] = 0.0f; d[5] = 0.0f; d[6] = 0.0f; d[7] = 0.0f;
  d_half[0] = pack16(0x0000 /* 0 */, 0x0000 /* 0 */); d_half[1] = pack16(0x0000 /* 0 */, 0x0000 /* 0 */);
  ldmatrix_x4(a, row);  // kernels.cpp:6
  ldmatrix_x4_trans(a_brain, row);
  ldmatrix_x2(m, row + 512);
  ldmatrix_x2_trans(n, row + 512);
  ldmatrix_x1(&m[2], row + 1024);
  ldmatrix_x1_trans(&m[3], row + 1024);
  mma_m16n8k16_f16_f32(d, a, m);  // kernels.cpp:7
  mma_m16n8k16_f16_f32(&d[4], a, &m[2]);
  mma_m16n8k16_bf16_f32(&d[4], a_brain, n);
  mma_m16n8k16_f16_f16(d_half, a, m);
  store_global_16(d, out + (long long)(lane * 8));  // kernels.cpp:8
  store_global_16(&d[4], out + (long long)(lane * 8) + 4);
  store_global_8(d_half, half_out + (long long)(lane * 8));
}
