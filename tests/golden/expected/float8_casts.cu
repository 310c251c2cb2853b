// float8_casts, kernels.cpp:1.  nvcc -arch=sm_90a -fmad=false compiles it as Tessera does.

#define DEVICE static __device__ __forceinline__
typedef unsigned short f16;   // IEEE binary16, as bits
typedef unsigned short bf16;  // bfloat16, as bits
DEVICE unsigned short lo16(unsigned w) { return (unsigned short)w; }
DEVICE unsigned short hi16(unsigned w) { return (unsigned short)(w >> 16); }
DEVICE unsigned char get8(const unsigned* r, int i) { return (unsigned char)(r[i / 4] >> (i % 4 * 8)); }
DEVICE unsigned pack8(unsigned char a, unsigned char b, unsigned char c, unsigned char d) {
  return a | (unsigned)b << 8 | (unsigned)c << 16 | (unsigned)d << 24;
}
DEVICE void set16(unsigned* r, int i, unsigned short v) {
  r[i / 2] = (r[i / 2] & ~(0xffffu << (i % 2 * 16))) | (unsigned)v << (i % 2 * 16);
}
DEVICE void set8(unsigned* r, int i, unsigned char v) {
  r[i / 4] = (r[i / 4] & ~(0xffu << (i % 4 * 8))) | (unsigned)v << (i % 4 * 8);
}
DEVICE float f16_to_float(f16 x) { float r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x)); return r; }
DEVICE float bf16_to_float(bf16 x) { return __uint_as_float((unsigned)x << 16); }
DEVICE bf16 float_to_bf16(float x) { bf16 r; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r; }
DEVICE f16 e4m3_to_f16(unsigned char x) {
  unsigned r;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(r) : "h"((unsigned short)x));
  return (f16)r;
}
DEVICE float e4m3_to_float(unsigned char x) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(e4m3_to_f16(x)));
  return r;
}
DEVICE unsigned char float_to_e4m3(float x) {
  unsigned short r;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(r) : "f"(0.0f), "f"(x));
  return (unsigned char)r;
}
DEVICE unsigned pack_e4m3(float a, float b, float c, float d) {
  unsigned short lo, hi;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(lo) : "f"(b), "f"(a));
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(hi) : "f"(d), "f"(c));
  return lo | (unsigned)hi << 16;
}
DEVICE f16 e5m2_to_f16(unsigned char x) {
  unsigned r;
  asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(r) : "h"((unsigned short)x));
  return (f16)r;
}
DEVICE float e5m2_to_float(unsigned char x) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(e5m2_to_f16(x)));
  return r;
}
DEVICE unsigned char float_to_e5m2(float x) {
  unsigned short r;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(r) : "f"(0.0f), "f"(x));
  return (unsigned char)r;
}
DEVICE unsigned pack_e5m2(float a, float b, float c, float d) {
  unsigned short lo, hi;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(lo) : "f"(b), "f"(a));
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(hi) : "f"(d), "f"(c));
  return lo | (unsigned)hi << 16;
}
DEVICE int float_to_i32(float x) { int r; asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(r) : "f"(x)); return r; }
DEVICE unsigned float_to_u32(float x) {
  unsigned r;
  asm("cvt.rzi.u32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}
DEVICE unsigned char float_to_u8(float x) {
  const unsigned r = float_to_u32(x);
  return (unsigned char)(r > 255 ? 255 : r);
}
DEVICE void load_global_16(float* r, const void* p) {
  asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3]) : "l"(p) : "memory");
}
DEVICE void load_global_4(unsigned* r, const void* p) {
  asm volatile("ld.global.b32 %0, [%1];"
               : "=r"(r[0]) : "l"(p) : "memory");
}
DEVICE void store_global_1(unsigned v, void* p) {
  asm volatile("st.global.u8 [%1], %0;" :: "r"(v), "l"(p) : "memory");
}
DEVICE void store_global_4(const unsigned* r, void* p) {
  asm volatile("st.global.b32 [%1], %0;"
               :: "r"(r[0]), "l"(p) : "memory");
}

extern "C" __global__ void __launch_bounds__(32, 1) float8_casts(const unsigned char* e4m3_in, unsigned char* e4m3_out, const unsigned char* e5m2_in, unsigned char* e5m2_out, const float* wide, unsigned char* narrow, unsigned char* brief) {
  const int thread = threadIdx.x;
  const long long i = (long long)thread;  // kernels.cpp:2
  unsigned e4m3[1];  // kernels.cpp:10, 4 float8_e4m3
  load_global_4(e4m3, e4m3_in + i * 4);
  store_global_4(e4m3, e4m3_out + i * 4);
  float r0[4];  // kernels.cpp:13
  r0[0] = e4m3_to_float(get8(e4m3, 0));
  r0[1] = e4m3_to_float(get8(e4m3, 1));
  r0[2] = e4m3_to_float(get8(e4m3, 2));
  r0[3] = e4m3_to_float(get8(e4m3, 3));
  unsigned r1[1];  // 4 float8_e4m3
  r1[0] = pack_e4m3(r0[0], r0[1], r0[2], r0[3]);
  store_global_4(r1, e4m3_out + i * 4 + 128);
  set8(r1, 1, float_to_e4m3(r0[3]));
  store_global_1(get8(r1, 0), e4m3_out + i * 4 + 256);
  unsigned r2[2];  // kernels.cpp:11, 4 float16
  set16(r2, 0, e4m3_to_f16(get8(e4m3, 0)));
  set16(r2, 1, e4m3_to_f16(get8(e4m3, 1)));
  set16(r2, 2, e4m3_to_f16(get8(e4m3, 2)));
  set16(r2, 3, e4m3_to_f16(get8(e4m3, 3)));
  unsigned r3[1];  // 4 float8_e4m3
  r3[0] = pack8(float_to_e4m3(f16_to_float(lo16(r2[0]))), float_to_e4m3(f16_to_float(hi16(r2[0]))), float_to_e4m3(f16_to_float(lo16(r2[1]))), float_to_e4m3(f16_to_float(hi16(r2[1]))));
  store_global_4(r3, e4m3_out + i * 4 + 384);
  set8(r3, 1, float_to_e4m3(f16_to_float(hi16(r2[1]))));
  store_global_1(get8(r3, 0), e4m3_out + i * 4 + 512);
  unsigned r4[2];  // kernels.cpp:12, 4 bfloat16
  set16(r4, 0, float_to_bf16(e4m3_to_float(get8(e4m3, 0))));
  set16(r4, 1, float_to_bf16(e4m3_to_float(get8(e4m3, 1))));
  set16(r4, 2, float_to_bf16(e4m3_to_float(get8(e4m3, 2))));
  set16(r4, 3, float_to_bf16(e4m3_to_float(get8(e4m3, 3))));
  unsigned r5[1];  // 4 float8_e4m3
  r5[0] = pack8(float_to_e4m3(bf16_to_float(lo16(r4[0]))), float_to_e4m3(bf16_to_float(hi16(r4[0]))), float_to_e4m3(bf16_to_float(lo16(r4[1]))), float_to_e4m3(bf16_to_float(hi16(r4[1]))));
  store_global_4(r5, e4m3_out + i * 4 + 640);
  set8(r5, 1, float_to_e4m3(bf16_to_float(hi16(r4[1]))));
  store_global_1(get8(r5, 0), e4m3_out + i * 4 + 768);
  int r6[4];  // kernels.cpp:16
  r6[0] = float_to_i32(e4m3_to_float(get8(e4m3, 0)));
  r6[1] = float_to_i32(e4m3_to_float(get8(e4m3, 1)));
  r6[2] = float_to_i32(e4m3_to_float(get8(e4m3, 2)));
  r6[3] = float_to_i32(e4m3_to_float(get8(e4m3, 3)));
  unsigned r7[1];  // 4 float8_e4m3
  r7[0] = pack8(float_to_e4m3((float)r6[0]), float_to_e4m3((float)r6[1]), float_to_e4m3((float)r6[2]), float_to_e4m3((float)r6[3]));
  store_global_4(r7, e4m3_out + i * 4 + 896);
  set8(r7, 1, float_to_e4m3((float)r6[3]));
  store_global_1(get8(r7, 0), e4m3_out + i * 4 + 1024);
  unsigned r8[1];  // kernels.cpp:18, 4 uint8
  set8(r8, 0, float_to_u8(e4m3_to_float(get8(e4m3, 0))));
  set8(r8, 1, float_to_u8(e4m3_to_float(get8(e4m3, 1))));
  set8(r8, 2, float_to_u8(e4m3_to_float(get8(e4m3, 2))));
  set8(r8, 3, float_to_u8(e4m3_to_float(get8(e4m3, 3))));
  unsigned r9[1];  // 4 float8_e4m3
  r9[0] = pack8(float_to_e4m3((float)get8(r8, 0)), float_to_e4m3((float)get8(r8, 1)), float_to_e4m3((float)get8(r8, 2)), float_to_e4m3((float)get8(r8, 3)));
  store_global_4(r9, e4m3_out + i * 4 + 1152);
  set8(r9, 1, float_to_e4m3((float)get8(r8, 3)));
  store_global_1(get8(r9, 0), e4m3_out + i * 4 + 1280);
  bool r10[4];  // kernels.cpp:22
  r10[0] = e4m3_to_float(get8(e4m3, 0)) != 0.0f;
  r10[1] = e4m3_to_float(get8(e4m3, 1)) != 0.0f;
  r10[2] = e4m3_to_float(get8(e4m3, 2)) != 0.0f;
  r10[3] = e4m3_to_float(get8(e4m3, 3)) != 0.0f;
  unsigned r11[1];  // 4 float8_e4m3
  r11[0] = pack8(float_to_e4m3((float)r10[0]), float_to_e4m3((float)r10[1]), float_to_e4m3((float)r10[2]), float_to_e4m3((float)r10[3]));
  store_global_4(r11, e4m3_out + i * 4 + 1408);
  set8(r11, 1, float_to_e4m3((float)r10[3]));
  store_global_1(get8(r11, 0), e4m3_out + i * 4 + 1536);
  unsigned r12[1];  // kernels.cpp:40, 1 float8_e4m3
  r12[0] = (unsigned char)(e4m3_to_float(get8(e4m3, 0)) > 0.0f ? get8(e4m3, 0) : 0x3c /* 1.5 */);
  store_global_1(get8(r12, 0), e4m3_out + i * 4 + 1664);
  unsigned e5m2[1];  // kernels.cpp:10, 4 float8_e5m2
  load_global_4(e5m2, e5m2_in + i * 4);
  store_global_4(e5m2, e5m2_out + i * 4);
  float r13[4];  // kernels.cpp:13
  r13[0] = e5m2_to_float(get8(e5m2, 0));
  r13[1] = e5m2_to_float(get8(e5m2, 1));
  r13[2] = e5m2_to_float(get8(e5m2, 2));
  r13[3] = e5m2_to_float(get8(e5m2, 3));
  unsigned r14[1];  // 4 float8_e5m2
  r14[0] = pack_e5m2(r13[0], r13[1], r13[2], r13[3]);
  store_global_4(r14, e5m2_out + i * 4 + 128);
  set8(r14, 1, float_to_e5m2(r13[3]));
  store_global_1(get8(r14, 0), e5m2_out + i * 4 + 256);
  unsigned r15[2];  // kernels.cpp:11, 4 float16
  set16(r15, 0, e5m2_to_f16(get8(e5m2, 0)));
  set16(r15, 1, e5m2_to_f16(get8(e5m2, 1)));
  set16(r15, 2, e5m2_to_f16(get8(e5m2, 2)));
  set16(r15, 3, e5m2_to_f16(get8(e5m2, 3)));
  unsigned r16[1];  // 4 float8_e5m2
  r16[0] = pack8(float_to_e5m2(f16_to_float(lo16(r15[0]))), float_to_e5m2(f16_to_float(hi16(r15[0]))), float_to_e5m2(f16_to_float(lo16(r15[1]))), float_to_e5m2(f16_to_float(hi16(r15[1]))));
  store_global_4(r16, e5m2_out + i * 4 + 384);
  set8(r16, 1, float_to_e5m2(f16_to_float(hi16(r15[1]))));
  store_global_1(get8(r16, 0), e5m2_out + i * 4 + 512);
  unsigned r17[2];  // kernels.cpp:12, 4 bfloat16
  set16(r17, 0, float_to_bf16(e5m2_to_float(get8(e5m2, 0))));
  set16(r17, 1, float_to_bf16(e5m2_to_float(get8(e5m2, 1))));
  set16(r17, 2, float_to_bf16(e5m2_to_float(get8(e5m2, 2))));
  set16(r17, 3, float_to_bf16(e5m2_to_float(get8(e5m2, 3))));
  unsigned r18[1];  // 4 float8_e5m2
  r18[0] = pack8(float_to_e5m2(bf16_to_float(lo16(r17[0]))), float_to_e5m2(bf16_to_float(hi16(r17[0]))), float_to_e5m2(bf16_to_float(lo16(r17[1]))), float_to_e5m2(bf16_to_float(hi16(r17[1]))));
  store_global_4(r18, e5m2_out + i * 4 + 640);
  set8(r18, 1, float_to_e5m2(bf16_to_float(hi16(r17[1]))));
  store_global_1(get8(r18, 0), e5m2_out + i * 4 + 768);
  int r19[4];  // kernels.cpp:16
  r19[0] = float_to_i32(e5m2_to_float(get8(e5m2, 0)));
  r19[1] = float_to_i32(e5m2_to_float(get8(e5m2, 1)));
  r19[2] = float_to_i32(e5m2_to_float(get8(e5m2, 2)));
  r19[3] = float_to_i32(e5m2_to_float(get8(e5m2, 3)));
  unsigned r20[1];  // 4 float8_e5m2
  r20[0] = pack8(float_to_e5m2((float)r19[0]), float_to_e5m2((float)r19[1]), float_to_e5m2((float)r19[2]), float_to_e5m2((float)r19[3]));
  store_global_4(r20, e5m2_out + i * 4 + 896);
  set8(r20, 1, float_to_e5m2((float)r19[3]));
  store_global_1(get8(r20, 0), e5m2_out + i * 4 + 1024);
  unsigned r21[1];  // kernels.cpp:18, 4 uint8
  set8(r21, 0, float_to_u8(e5m2_to_float(get8(e5m2, 0))));
  set8(r21, 1, float_to_u8(e5m2_to_float(get8(e5m2, 1))));
  set8(r21, 2, float_to_u8(e5m2_to_float(get8(e5m2, 2))));
  set8(r21, 3, float_to_u8(e5m2_to_float(get8(e5m2, 3))));
  unsigned r22[1];  // 4 float8_e5m2
  r22[0] = pack8(float_to_e5m2((float)get8(r21, 0)), float_to_e5m2((float)get8(r21, 1)), float_to_e5m2((float)get8(r21, 2)), float_to_e5m2((float)get8(r21, 3)));
  store_global_4(r22, e5m2_out + i * 4 + 1152);
  set8(r22, 1, float_to_e5m2((float)get8(r21, 3)));
  store_global_1(get8(r22, 0), e5m2_out + i * 4 + 1280);
  bool r23[4];  // kernels.cpp:22
  r23[0] = e5m2_to_float(get8(e5m2, 0)) != 0.0f;
  r23[1] = e5m2_to_float(get8(e5m2, 1)) != 0.0f;
  r23[2] = e5m2_to_float(get8(e5m2, 2)) != 0.0f;
  r23[3] = e5m2_to_float(get8(e5m2, 3)) != 0.0f;
  unsigned r24[1];  // 4 float8_e5m2
  r24[0] = pack8(float_to_e5m2((float)r23[0]), float_to_e5m2((float)r23[1]), float_to_e5m2((float)r23[2]), float_to_e5m2((float)r23[3]));
  store_global_4(r24, e5m2_out + i * 4 + 1408);
  set8(r24, 1, float_to_e5m2((float)r23[3]));
  store_global_1(get8(r24, 0), e5m2_out + i * 4 + 1536);
  unsigned r25[1];  // kernels.cpp:40, 1 float8_e5m2
  r25[0] = (unsigned char)(e5m2_to_float(get8(e5m2, 0)) > 0.0f ? get8(e5m2, 0) : 0x3e /* 1.5 */);
  store_global_1(get8(r25, 0), e5m2_out + i * 4 + 1664);
  float w[4];  // kernels.cpp:41
  load_global_16(w, wide + i * 4);
  unsigned r26[1];  // 4 float8_e4m3
  r26[0] = pack_e4m3(w[0], w[1], w[2], w[3]);
  store_global_4(r26, narrow + i * 4);
  unsigned r27[1];  // 4 float8_e5m2
  r27[0] = pack_e5m2(w[0], w[1], w[2], w[3]);
  store_global_4(r27, brief + i * 4);
}
