// arithmetic, kernels.cpp:1.  nvcc -arch=sm_90a -fmad=false compiles it as Tessera does.

#define DEVICE static __device__ __forceinline__
typedef unsigned short f16;   // IEEE binary16, as bits
typedef unsigned short bf16;  // bfloat16, as bits
DEVICE unsigned short lo16(unsigned w) { return (unsigned short)w; }
DEVICE unsigned short hi16(unsigned w) { return (unsigned short)(w >> 16); }
DEVICE unsigned char get8(const unsigned* r, int i) { return (unsigned char)(r[i / 4] >> (i % 4 * 8)); }
DEVICE void set16(unsigned* r, int i, unsigned short v) {
  r[i / 2] = (r[i / 2] & ~(0xffffu << (i % 2 * 16))) | (unsigned)v << (i % 2 * 16);
}
DEVICE void set8(unsigned* r, int i, unsigned char v) {
  r[i / 4] = (r[i / 4] & ~(0xffu << (i % 4 * 8))) | (unsigned)v << (i % 4 * 8);
}
DEVICE float f16_to_float(f16 x) { float r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x)); return r; }
DEVICE float bf16_to_float(bf16 x) { return __uint_as_float((unsigned)x << 16); }
DEVICE f16 float_to_f16(float x) { f16 r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r; }
DEVICE bf16 float_to_bf16(float x) { bf16 r; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r; }
DEVICE int wrap_add(int a, int b) { return (int)((unsigned)a + (unsigned)b); }
DEVICE int wrap_sub(int a, int b) { return (int)((unsigned)a - (unsigned)b); }
DEVICE int wrap_mul(int a, int b) { return (int)((unsigned)a * (unsigned)b); }
DEVICE int wrap_shl(int a, int b) { return (int)((unsigned)a << b); }
DEVICE int wrap_div(int a, int b) { return b == -1 ? wrap_sub(0, a) : a / b; }
DEVICE int wrap_mod(int a, int b) { return b == -1 ? 0 : a % b; }
DEVICE long long wrap_add64(long long a, long long b) {
  return (long long)((unsigned long long)a + (unsigned long long)b);
}
DEVICE long long wrap_sub64(long long a, long long b) {
  return (long long)((unsigned long long)a - (unsigned long long)b);
}
DEVICE long long wrap_mul64(long long a, long long b) {
  return (long long)((unsigned long long)a * (unsigned long long)b);
}
DEVICE long long wrap_shl64(long long a, long long b) {
  return (long long)((unsigned long long)a << b);
}
DEVICE long long wrap_div64(long long a, long long b) {
  return b == -1 ? wrap_sub64(0, a) : a / b;
}
DEVICE long long wrap_mod64(long long a, long long b) { return b == -1 ? 0 : a % b; }
DEVICE f16 f16_add(f16 a, f16 b) {
  f16 r;
  asm("add.rn.f16 %0, %1, %2;" : "=h"(r) : "h"(a), "h"(b));
  return r;
}
DEVICE f16 f16_sub(f16 a, f16 b) {
  f16 r;
  asm("sub.rn.f16 %0, %1, %2;" : "=h"(r) : "h"(a), "h"(b));
  return r;
}
DEVICE f16 f16_mul(f16 a, f16 b) {
  f16 r;
  asm("mul.rn.f16 %0, %1, %2;" : "=h"(r) : "h"(a), "h"(b));
  return r;
}
DEVICE unsigned load_global_1(const void* p) {
  unsigned v = 0;
  asm volatile("ld.global.u8 %0, [%1];" : "+r"(v) : "l"(p) : "memory");
  return v;
}
DEVICE unsigned load_global_2(const void* p) {
  unsigned v = 0;
  asm volatile("ld.global.u16 %0, [%1];" : "+r"(v) : "l"(p) : "memory");
  return v;
}
DEVICE void load_global_4(float* r, const void* p) {
  asm volatile("ld.global.f32 %0, [%1];"
               : "=f"(r[0]) : "l"(p) : "memory");
}
DEVICE void load_global_4(int* r, const void* p) {
  asm volatile("ld.global.b32 %0, [%1];"
               : "=r"(r[0]) : "l"(p) : "memory");
}
DEVICE void load_global_4(unsigned* r, const void* p) {
  asm volatile("ld.global.b32 %0, [%1];"
               : "=r"(r[0]) : "l"(p) : "memory");
}
DEVICE void load_global_8(long long* r, const void* p) {
  asm volatile("ld.global.b64 %0, [%1];"
               : "=l"(r[0]) : "l"(p) : "memory");
}
DEVICE void load_global_8(unsigned long long* r, const void* p) {
  asm volatile("ld.global.b64 %0, [%1];"
               : "=l"(r[0]) : "l"(p) : "memory");
}
DEVICE void store_global_1(unsigned v, void* p) {
  asm volatile("st.global.u8 [%1], %0;" :: "r"(v), "l"(p) : "memory");
}
DEVICE void store_global_2(unsigned v, void* p) {
  asm volatile("st.global.u16 [%1], %0;" :: "r"(v), "l"(p) : "memory");
}
DEVICE void store_global_4(const float* r, void* p) {
  asm volatile("st.global.f32 [%1], %0;"
               :: "f"(r[0]), "l"(p) : "memory");
}
DEVICE void store_global_4(const int* r, void* p) {
  asm volatile("st.global.b32 [%1], %0;"
               :: "r"(r[0]), "l"(p) : "memory");
}
DEVICE void store_global_4(const unsigned* r, void* p) {
  asm volatile("st.global.b32 [%1], %0;"
               :: "r"(r[0]), "l"(p) : "memory");
}
DEVICE void store_global_8(const long long* r, void* p) {
  asm volatile("st.global.b64 [%1], %0;"
               :: "l"(r[0]), "l"(p) : "memory");
}
DEVICE void store_global_8(const unsigned long long* r, void* p) {
  asm volatile("st.global.b64 [%1], %0;"
               :: "l"(r[0]), "l"(p) : "memory");
}

extern "C" __global__ void __launch_bounds__(32, 1) arithmetic(f16* float16, bf16* bfloat16, float* float32, signed char* int8, short* int16, int* int32, long long* int64, unsigned char* uint8, unsigned short* uint16, unsigned* uint32, unsigned long long* uint64, int* out, int n, bool on) {
  const int thread = threadIdx.x;
  const long long i = (long long)thread;  // kernels.cpp:2
  unsigned r[2];  // kernels.cpp:10, 4 float16
  set16(r, 0, load_global_2(float16 + i));
  set16(r, 1, load_global_2(float16 + i + 32));
  set16(r, 2, load_global_2(float16 + i + 64));
  set16(r, 3, load_global_2(float16 + i + 96));
  set16(r, 3, f16_add(lo16(r[0]), hi16(r[0])));
  store_global_2(hi16(r[1]), float16 + i + 128);
  set16(r, 3, f16_sub(lo16(r[0]), hi16(r[0])));
  store_global_2(hi16(r[1]), float16 + i + 160);
  set16(r, 3, f16_mul(lo16(r[0]), hi16(r[0])));
  store_global_2(hi16(r[1]), float16 + i + 192);
  set16(r, 3, float_to_f16(f16_to_float(lo16(r[0])) / f16_to_float(hi16(r[0]))));
  store_global_2(hi16(r[1]), float16 + i + 224);
  set16(r, 3, float_to_f16(fmodf(f16_to_float(lo16(r[0])), f16_to_float(hi16(r[0])))));
  store_global_2(hi16(r[1]), float16 + i + 256);
  set16(r, 3, float_to_f16(fminf(f16_to_float(lo16(r[0])), f16_to_float(hi16(r[0])))));
  store_global_2(hi16(r[1]), float16 + i + 288);
  set16(r, 3, float_to_f16(fmaxf(f16_to_float(lo16(r[0])), f16_to_float(hi16(r[0])))));
  store_global_2(hi16(r[1]), float16 + i + 320);
  set16(r, 3, float_to_f16(-f16_to_float(lo16(r[0]))));
  store_global_2(hi16(r[1]), float16 + i + 352);
  set16(r, 3, f16_to_float(lo16(r[0])) < f16_to_float(hi16(r[0])) ? lo16(r[1]) : 0x3e00 /* 1.5 */);
  store_global_2(hi16(r[1]), float16 + i + 384);
  set16(r, 3, f16_to_float(lo16(r[0])) <= f16_to_float(hi16(r[0])) ? lo16(r[1]) : 0x3e00 /* 1.5 */);
  store_global_2(hi16(r[1]), float16 + i + 416);
  set16(r, 3, f16_to_float(lo16(r[0])) > f16_to_float(hi16(r[0])) ? lo16(r[1]) : 0x3e00 /* 1.5 */);
  store_global_2(hi16(r[1]), float16 + i + 448);
  set16(r, 3, f16_to_float(lo16(r[0])) >= f16_to_float(hi16(r[0])) ? lo16(r[1]) : 0x3e00 /* 1.5 */);
  store_global_2(hi16(r[1]), float16 + i + 480);
  set16(r, 3, f16_to_float(lo16(r[0])) == f16_to_float(hi16(r[0])) ? lo16(r[1]) : 0x3e00 /* 1.5 */);
  store_global_2(hi16(r[1]), float16 + i + 512);
  set16(r, 3, f16_to_float(lo16(r[0])) != f16_to_float(hi16(r[0])) ? lo16(r[1]) : 0x3e00 /* 1.5 */);
  store_global_2(hi16(r[1]), float16 + i + 544);
  set16(r, 3, f16_mul(f16_sub(lo16(r[0]), f16_sub(hi16(r[0]), lo16(r[1]))), f16_add(lo16(r[0]), hi16(r[0]))));
  store_global_2(hi16(r[1]), float16 + i + 576);
  set16(r, 3, f16_add(lo16(r[0]), 0xae66 /* -0.099975586 */));
  store_global_2(hi16(r[1]), float16 + i + 608);
  unsigned r_1[2];  // kernels.cpp:11, 4 bfloat16
  set16(r_1, 0, load_global_2(bfloat16 + i));
  set16(r_1, 1, load_global_2(bfloat16 + i + 32));
  set16(r_1, 2, load_global_2(bfloat16 + i + 64));
  set16(r_1, 3, load_global_2(bfloat16 + i + 96));
  set16(r_1, 3, float_to_bf16(bf16_to_float(lo16(r_1[0])) + bf16_to_float(hi16(r_1[0]))));
  store_global_2(hi16(r_1[1]), bfloat16 + i + 128);
  set16(r_1, 3, float_to_bf16(bf16_to_float(lo16(r_1[0])) - bf16_to_float(hi16(r_1[0]))));
  store_global_2(hi16(r_1[1]), bfloat16 + i + 160);
  set16(r_1, 3, float_to_bf16(bf16_to_float(lo16(r_1[0])) * bf16_to_float(hi16(r_1[0]))));
  store_global_2(hi16(r_1[1]), bfloat16 + i + 192);
  set16(r_1, 3, float_to_bf16(bf16_to_float(lo16(r_1[0])) / bf16_to_float(hi16(r_1[0]))));
  store_global_2(hi16(r_1[1]), bfloat16 + i + 224);
  set16(r_1, 3, float_to_bf16(fmodf(bf16_to_float(lo16(r_1[0])), bf16_to_float(hi16(r_1[0])))));
  store_global_2(hi16(r_1[1]), bfloat16 + i + 256);
  set16(r_1, 3, float_to_bf16(fminf(bf16_to_float(lo16(r_1[0])), bf16_to_float(hi16(r_1[0])))));
  store_global_2(hi16(r_1[1]), bfloat16 + i + 288);
  set16(r_1, 3, float_to_bf16(fmaxf(bf16_to_float(lo16(r_1[0])), bf16_to_float(hi16(r_1[0])))));
  store_global_2(hi16(r_1[1]), bfloat16 + i + 320);
  set16(r_1, 3, float_to_bf16(-bf16_to_float(lo16(r_1[0]))));
  store_global_2(hi16(r_1[1]), bfloat16 + i + 352);
  set16(r_1, 3, bf16_to_float(lo16(r_1[0])) < bf16_to_float(hi16(r_1[0])) ? lo16(r_1[1]) : 0x3fc0 /* 1.5 */);
  store_global_2(hi16(r_1[1]), bfloat16 + i + 384);
  set16(r_1, 3, bf16_to_float(lo16(r_1[0])) <= bf16_to_float(hi16(r_1[0])) ? lo16(r_1[1]) : 0x3fc0 /* 1.5 */);
  store_global_2(hi16(r_1[1]), bfloat16 + i + 416);
  set16(r_1, 3, bf16_to_float(lo16(r_1[0])) > bf16_to_float(hi16(r_1[0])) ? lo16(r_1[1]) : 0x3fc0 /* 1.5 */);
  store_global_2(hi16(r_1[1]), bfloat16 + i + 448);
  set16(r_1, 3, bf16_to_float(lo16(r_1[0])) >= bf16_to_float(hi16(r_1[0])) ? lo16(r_1[1]) : 0x3fc0 /* 1.5 */);
  store_global_2(hi16(r_1[1]), bfloat16 + i + 480);
  set16(r_1, 3, bf16_to_float(lo16(r_1[0])) == bf16_to_float(hi16(r_1[0])) ? lo16(r_1[1]) : 0x3fc0 /* 1.5 */);
  store_global_2(hi16(r_1[1]), bfloat16 + i + 512);
  set16(r_1, 3, bf16_to_float(lo16(r_1[0])) != bf16_to_float(hi16(r_1[0])) ? lo16(r_1[1]) : 0x3fc0 /* 1.5 */);
  store_global_2(hi16(r_1[1]), bfloat16 + i + 544);
  set16(r_1, 3, float_to_bf16(bf16_to_float(float_to_bf16(bf16_to_float(lo16(r_1[0])) - bf16_to_float(float_to_bf16(bf16_to_float(hi16(r_1[0])) - bf16_to_float(lo16(r_1[1])))))) * bf16_to_float(float_to_bf16(bf16_to_float(lo16(r_1[0])) + bf16_to_float(hi16(r_1[0]))))));
  store_global_2(hi16(r_1[1]), bfloat16 + i + 576);
  set16(r_1, 3, float_to_bf16(bf16_to_float(lo16(r_1[0])) + bf16_to_float(0xbdcd /* -0.100097656 */)));
  store_global_2(hi16(r_1[1]), bfloat16 + i + 608);
  float r_2[4];  // kernels.cpp:12
  load_global_4(r_2, float32 + i);
  load_global_4(&r_2[1], float32 + i + 32);
  load_global_4(&r_2[2], float32 + i + 64);
  load_global_4(&r_2[3], float32 + i + 96);
  r_2[3] = r_2[0] + r_2[1];
  store_global_4(&r_2[3], float32 + i + 128);
  r_2[3] = r_2[0] - r_2[1];
  store_global_4(&r_2[3], float32 + i + 160);
  r_2[3] = r_2[0] * r_2[1];
  store_global_4(&r_2[3], float32 + i + 192);
  r_2[3] = r_2[0] / r_2[1];
  store_global_4(&r_2[3], float32 + i + 224);
  r_2[3] = fmodf(r_2[0], r_2[1]);
  store_global_4(&r_2[3], float32 + i + 256);
  r_2[3] = fminf(r_2[0], r_2[1]);
  store_global_4(&r_2[3], float32 + i + 288);
  r_2[3] = fmaxf(r_2[0], r_2[1]);
  store_global_4(&r_2[3], float32 + i + 320);
  r_2[3] = -r_2[0];
  store_global_4(&r_2[3], float32 + i + 352);
  r_2[3] = r_2[0] < r_2[1] ? r_2[2] : 1.5f;
  store_global_4(&r_2[3], float32 + i + 384);
  r_2[3] = r_2[0] <= r_2[1] ? r_2[2] : 1.5f;
  store_global_4(&r_2[3], float32 + i + 416);
  r_2[3] = r_2[0] > r_2[1] ? r_2[2] : 1.5f;
  store_global_4(&r_2[3], float32 + i + 448);
  r_2[3] = r_2[0] >= r_2[1] ? r_2[2] : 1.5f;
  store_global_4(&r_2[3], float32 + i + 480);
  r_2[3] = r_2[0] == r_2[1] ? r_2[2] : 1.5f;
  store_global_4(&r_2[3], float32 + i + 512);
  r_2[3] = r_2[0] != r_2[1] ? r_2[2] : 1.5f;
  store_global_4(&r_2[3], float32 + i + 544);
  r_2[3] = (r_2[0] - (r_2[1] - r_2[2])) * (r_2[0] + r_2[1]);
  store_global_4(&r_2[3], float32 + i + 576);
  r_2[3] = r_2[0] + -0.1f;
  store_global_4(&r_2[3], float32 + i + 608);
  unsigned r_3[1];  // kernels.cpp:13, 4 int8
  set8(r_3, 0, load_global_1(int8 + i));
  set8(r_3, 1, load_global_1(int8 + i + 32));
  set8(r_3, 2, load_global_1(int8 + i + 64));
  set8(r_3, 3, load_global_1(int8 + i + 96));
  set8(r_3, 3, (signed char)((signed char)get8(r_3, 0) + (signed char)get8(r_3, 1)));
  store_global_1((signed char)get8(r_3, 3), int8 + i + 128);
  set8(r_3, 3, (signed char)((signed char)get8(r_3, 0) - (signed char)get8(r_3, 1)));
  store_global_1((signed char)get8(r_3, 3), int8 + i + 160);
  set8(r_3, 3, (signed char)((signed char)get8(r_3, 0) * (signed char)get8(r_3, 1)));
  store_global_1((signed char)get8(r_3, 3), int8 + i + 192);
  set8(r_3, 3, (signed char)((signed char)get8(r_3, 0) / (signed char)get8(r_3, 1)));
  store_global_1((signed char)get8(r_3, 3), int8 + i + 224);
  set8(r_3, 3, (signed char)((signed char)get8(r_3, 0) % (signed char)get8(r_3, 1)));
  store_global_1((signed char)get8(r_3, 3), int8 + i + 256);
  set8(r_3, 3, min((signed char)get8(r_3, 0), (signed char)get8(r_3, 1)));
  store_global_1((signed char)get8(r_3, 3), int8 + i + 288);
  set8(r_3, 3, max((signed char)get8(r_3, 0), (signed char)get8(r_3, 1)));
  store_global_1((signed char)get8(r_3, 3), int8 + i + 320);
  set8(r_3, 3, (signed char)get8(r_3, 0) & (signed char)get8(r_3, 1));
  store_global_1((signed char)get8(r_3, 3), int8 + i + 352);
  set8(r_3, 3, (signed char)get8(r_3, 0) | (signed char)get8(r_3, 1));
  store_global_1((signed char)get8(r_3, 3), int8 + i + 384);
  set8(r_3, 3, (signed char)get8(r_3, 0) ^ (signed char)get8(r_3, 1));
  store_global_1((signed char)get8(r_3, 3), int8 + i + 416);
  set8(r_3, 3, (signed char)((signed char)get8(r_3, 0) << (signed char)get8(r_3, 1)));
  store_global_1((signed char)get8(r_3, 3), int8 + i + 448);
  set8(r_3, 3, (signed char)get8(r_3, 0) >> (signed char)get8(r_3, 1));
  store_global_1((signed char)get8(r_3, 3), int8 + i + 480);
  set8(r_3, 3, ~(signed char)get8(r_3, 0));
  store_global_1((signed char)get8(r_3, 3), int8 + i + 512);
  set8(r_3, 3, (signed char)get8(r_3, 0) ^ ((signed char)get8(r_3, 1) & ((signed char)get8(r_3, 2) >> 3)));
  store_global_1((signed char)get8(r_3, 3), int8 + i + 544);
  set8(r_3, 3, (signed char)(-(signed char)get8(r_3, 0)));
  store_global_1((signed char)get8(r_3, 3), int8 + i + 576);
  set8(r_3, 3, (signed char)get8(r_3, 0) < (signed char)get8(r_3, 1) ? (signed char)get8(r_3, 2) : -3);
  store_global_1((signed char)get8(r_3, 3), int8 + i + 608);
  set8(r_3, 3, (signed char)get8(r_3, 0) <= (signed char)get8(r_3, 1) ? (signed char)get8(r_3, 2) : -3);
  store_global_1((signed char)get8(r_3, 3), int8 + i + 640);
  set8(r_3, 3, (signed char)get8(r_3, 0) > (signed char)get8(r_3, 1) ? (signed char)get8(r_3, 2) : -3);
  store_global_1((signed char)get8(r_3, 3), int8 + i + 672);
  set8(r_3, 3, (signed char)get8(r_3, 0) >= (signed char)get8(r_3, 1) ? (signed char)get8(r_3, 2) : -3);
  store_global_1((signed char)get8(r_3, 3), int8 + i + 704);
  set8(r_3, 3, (signed char)get8(r_3, 0) == (signed char)get8(r_3, 1) ? (signed char)get8(r_3, 2) : -3);
  store_global_1((signed char)get8(r_3, 3), int8 + i + 736);
  set8(r_3, 3, (signed char)get8(r_3, 0) != (signed char)get8(r_3, 1) ? (signed char)get8(r_3, 2) : -3);
  store_global_1((signed char)get8(r_3, 3), int8 + i + 768);
  set8(r_3, 3, (signed char)((signed char)((signed char)get8(r_3, 0) - (signed char)((signed char)get8(r_3, 1) - (signed char)get8(r_3, 2))) * (signed char)((signed char)get8(r_3, 0) + (signed char)get8(r_3, 1))));
  store_global_1((signed char)get8(r_3, 3), int8 + i + 800);
  set8(r_3, 3, (signed char)((signed char)((signed char)get8(r_3, 0) * 5) - 7));
  store_global_1((signed char)get8(r_3, 3), int8 + i + 832);
  unsigned r_4[2];  // kernels.cpp:14, 4 int16
  set16(r_4, 0, load_global_2(int16 + i));
  set16(r_4, 1, load_global_2(int16 + i + 32));
  set16(r_4, 2, load_global_2(int16 + i + 64));
  set16(r_4, 3, load_global_2(int16 + i + 96));
  set16(r_4, 3, (short)((short)lo16(r_4[0]) + (short)hi16(r_4[0])));
  store_global_2((short)hi16(r_4[1]), int16 + i + 128);
  set16(r_4, 3, (short)((short)lo16(r_4[0]) - (short)hi16(r_4[0])));
  store_global_2((short)hi16(r_4[1]), int16 + i + 160);
  set16(r_4, 3, (short)((short)lo16(r_4[0]) * (short)hi16(r_4[0])));
  store_global_2((short)hi16(r_4[1]), int16 + i + 192);
  set16(r_4, 3, (short)((short)lo16(r_4[0]) / (short)hi16(r_4[0])));
  store_global_2((short)hi16(r_4[1]), int16 + i + 224);
  set16(r_4, 3, (short)((short)lo16(r_4[0]) % (short)hi16(r_4[0])));
  store_global_2((short)hi16(r_4[1]), int16 + i + 256);
  set16(r_4, 3, min((short)lo16(r_4[0]), (short)hi16(r_4[0])));
  store_global_2((short)hi16(r_4[1]), int16 + i + 288);
  set16(r_4, 3, max((short)lo16(r_4[0]), (short)hi16(r_4[0])));
  store_global_2((short)hi16(r_4[1]), int16 + i + 320);
  set16(r_4, 3, (short)lo16(r_4[0]) & (short)hi16(r_4[0]));
  store_global_2((short)hi16(r_4[1]), int16 + i + 352);
  set16(r_4, 3, (short)lo16(r_4[0]) | (short)hi16(r_4[0]));
  store_global_2((short)hi16(r_4[1]), int16 + i + 384);
  set16(r_4, 3, (short)lo16(r_4[0]) ^ (short)hi16(r_4[0]));
  store_global_2((short)hi16(r_4[1]), int16 + i + 416);
  set16(r_4, 3, (short)((short)lo16(r_4[0]) << (short)hi16(r_4[0])));
  store_global_2((short)hi16(r_4[1]), int16 + i + 448);
  set16(r_4, 3, (short)lo16(r_4[0]) >> (short)hi16(r_4[0]));
  store_global_2((short)hi16(r_4[1]), int16 + i + 480);
  set16(r_4, 3, ~(short)lo16(r_4[0]));
  store_global_2((short)hi16(r_4[1]), int16 + i + 512);
  set16(r_4, 3, (short)lo16(r_4[0]) ^ ((short)hi16(r_4[0]) & ((short)lo16(r_4[1]) >> 3)));
  store_global_2((short)hi16(r_4[1]), int16 + i + 544);
  set16(r_4, 3, (short)(-(short)lo16(r_4[0])));
  store_global_2((short)hi16(r_4[1]), int16 + i + 576);
  set16(r_4, 3, (short)lo16(r_4[0]) < (short)hi16(r_4[0]) ? (short)lo16(r_4[1]) : -3);
  store_global_2((short)hi16(r_4[1]), int16 + i + 608);
  set16(r_4, 3, (short)lo16(r_4[0]) <= (short)hi16(r_4[0]) ? (short)lo16(r_4[1]) : -3);
  store_global_2((short)hi16(r_4[1]), int16 + i + 640);
  set16(r_4, 3, (short)lo16(r_4[0]) > (short)hi16(r_4[0]) ? (short)lo16(r_4[1]) : -3);
  store_global_2((short)hi16(r_4[1]), int16 + i + 672);
  set16(r_4, 3, (short)lo16(r_4[0]) >= (short)hi16(r_4[0]) ? (short)lo16(r_4[1]) : -3);
  store_global_2((short)hi16(r_4[1]), int16 + i + 704);
  set16(r_4, 3, (short)lo16(r_4[0]) == (short)hi16(r_4[0]) ? (short)lo16(r_4[1]) : -3);
  store_global_2((short)hi16(r_4[1]), int16 + i + 736);
  set16(r_4, 3, (short)lo16(r_4[0]) != (short)hi16(r_4[0]) ? (short)lo16(r_4[1]) : -3);
  store_global_2((short)hi16(r_4[1]), int16 + i + 768);
  set16(r_4, 3, (short)((short)((short)lo16(r_4[0]) - (short)((short)hi16(r_4[0]) - (short)lo16(r_4[1]))) * (short)((short)lo16(r_4[0]) + (short)hi16(r_4[0]))));
  store_global_2((short)hi16(r_4[1]), int16 + i + 800);
  set16(r_4, 3, (short)((short)((short)lo16(r_4[0]) * 5) - 7));
  store_global_2((short)hi16(r_4[1]), int16 + i + 832);
  int r_5[4];  // kernels.cpp:15
  load_global_4(r_5, int32 + i);
  load_global_4(&r_5[1], int32 + i + 32);
  load_global_4(&r_5[2], int32 + i + 64);
  load_global_4(&r_5[3], int32 + i + 96);
  r_5[3] = wrap_add(r_5[0], r_5[1]);
  store_global_4(&r_5[3], int32 + i + 128);
  r_5[3] = wrap_sub(r_5[0], r_5[1]);
  store_global_4(&r_5[3], int32 + i + 160);
  r_5[3] = wrap_mul(r_5[0], r_5[1]);
  store_global_4(&r_5[3], int32 + i + 192);
  r_5[3] = wrap_div(r_5[0], r_5[1]);
  store_global_4(&r_5[3], int32 + i + 224);
  r_5[3] = wrap_mod(r_5[0], r_5[1]);
  store_global_4(&r_5[3], int32 + i + 256);
  r_5[3] = min(r_5[0], r_5[1]);
  store_global_4(&r_5[3], int32 + i + 288);
  r_5[3] = max(r_5[0], r_5[1]);
  store_global_4(&r_5[3], int32 + i + 320);
  r_5[3] = r_5[0] & r_5[1];
  store_global_4(&r_5[3], int32 + i + 352);
  r_5[3] = r_5[0] | r_5[1];
  store_global_4(&r_5[3], int32 + i + 384);
  r_5[3] = r_5[0] ^ r_5[1];
  store_global_4(&r_5[3], int32 + i + 416);
  r_5[3] = wrap_shl(r_5[0], r_5[1]);
  store_global_4(&r_5[3], int32 + i + 448);
  r_5[3] = r_5[0] >> r_5[1];
  store_global_4(&r_5[3], int32 + i + 480);
  r_5[3] = ~r_5[0];
  store_global_4(&r_5[3], int32 + i + 512);
  r_5[3] = r_5[0] ^ (r_5[1] & (r_5[2] >> 3));
  store_global_4(&r_5[3], int32 + i + 544);
  r_5[3] = wrap_sub(0, r_5[0]);
  store_global_4(&r_5[3], int32 + i + 576);
  r_5[3] = r_5[0] < r_5[1] ? r_5[2] : -3;
  store_global_4(&r_5[3], int32 + i + 608);
  r_5[3] = r_5[0] <= r_5[1] ? r_5[2] : -3;
  store_global_4(&r_5[3], int32 + i + 640);
  r_5[3] = r_5[0] > r_5[1] ? r_5[2] : -3;
  store_global_4(&r_5[3], int32 + i + 672);
  r_5[3] = r_5[0] >= r_5[1] ? r_5[2] : -3;
  store_global_4(&r_5[3], int32 + i + 704);
  r_5[3] = r_5[0] == r_5[1] ? r_5[2] : -3;
  store_global_4(&r_5[3], int32 + i + 736);
  r_5[3] = r_5[0] != r_5[1] ? r_5[2] : -3;
  store_global_4(&r_5[3], int32 + i + 768);
  r_5[3] = wrap_mul(wrap_sub(r_5[0], wrap_sub(r_5[1], r_5[2])), wrap_add(r_5[0], r_5[1]));
  store_global_4(&r_5[3], int32 + i + 800);
  r_5[3] = wrap_add(wrap_mul(r_5[0], 5), -7);
  store_global_4(&r_5[3], int32 + i + 832);
  long long r_6[4];  // kernels.cpp:16
  load_global_8(r_6, int64 + i);
  load_global_8(&r_6[1], int64 + i + 32);
  load_global_8(&r_6[2], int64 + i + 64);
  load_global_8(&r_6[3], int64 + i + 96);
  r_6[3] = wrap_add64(r_6[0], r_6[1]);
  store_global_8(&r_6[3], int64 + i + 128);
  r_6[3] = wrap_sub64(r_6[0], r_6[1]);
  store_global_8(&r_6[3], int64 + i + 160);
  r_6[3] = wrap_mul64(r_6[0], r_6[1]);
  store_global_8(&r_6[3], int64 + i + 192);
  r_6[3] = wrap_div64(r_6[0], r_6[1]);
  store_global_8(&r_6[3], int64 + i + 224);
  r_6[3] = wrap_mod64(r_6[0], r_6[1]);
  store_global_8(&r_6[3], int64 + i + 256);
  r_6[3] = min(r_6[0], r_6[1]);
  store_global_8(&r_6[3], int64 + i + 288);
  r_6[3] = max(r_6[0], r_6[1]);
  store_global_8(&r_6[3], int64 + i + 320);
  r_6[3] = r_6[0] & r_6[1];
  store_global_8(&r_6[3], int64 + i + 352);
  r_6[3] = r_6[0] | r_6[1];
  store_global_8(&r_6[3], int64 + i + 384);
  r_6[3] = r_6[0] ^ r_6[1];
  store_global_8(&r_6[3], int64 + i + 416);
  r_6[3] = wrap_shl64(r_6[0], r_6[1]);
  store_global_8(&r_6[3], int64 + i + 448);
  r_6[3] = r_6[0] >> r_6[1];
  store_global_8(&r_6[3], int64 + i + 480);
  r_6[3] = ~r_6[0];
  store_global_8(&r_6[3], int64 + i + 512);
  r_6[3] = r_6[0] ^ (r_6[1] & (r_6[2] >> 3));
  store_global_8(&r_6[3], int64 + i + 544);
  r_6[3] = wrap_sub64(0, r_6[0]);
  store_global_8(&r_6[3], int64 + i + 576);
  r_6[3] = r_6[0] < r_6[1] ? r_6[2] : -3ll;
  store_global_8(&r_6[3], int64 + i + 608);
  r_6[3] = r_6[0] <= r_6[1] ? r_6[2] : -3ll;
  store_global_8(&r_6[3], int64 + i + 640);
  r_6[3] = r_6[0] > r_6[1] ? r_6[2] : -3ll;
  store_global_8(&r_6[3], int64 + i + 672);
  r_6[3] = r_6[0] >= r_6[1] ? r_6[2] : -3ll;
  store_global_8(&r_6[3], int64 + i + 704);
  r_6[3] = r_6[0] == r_6[1] ? r_6[2] : -3ll;
  store_global_8(&r_6[3], int64 + i + 736);
  r_6[3] = r_6[0] != r_6[1] ? r_6[2] : -3ll;
  store_global_8(&r_6[3], int64 + i + 768);
  r_6[3] = wrap_mul64(wrap_sub64(r_6[0], wrap_sub64(r_6[1], r_6[2])), wrap_add64(r_6[0], r_6[1]));
  store_global_8(&r_6[3], int64 + i + 800);
  r_6[3] = wrap_add64(wrap_mul64(r_6[0], 5ll), -7ll);
  store_global_8(&r_6[3], int64 + i + 832);
  unsigned r_7[1];  // kernels.cpp:17, 4 uint8
  set8(r_7, 0, load_global_1(uint8 + i));
  set8(r_7, 1, load_global_1(uint8 + i + 32));
  set8(r_7, 2, load_global_1(uint8 + i + 64));
  set8(r_7, 3, load_global_1(uint8 + i + 96));
  set8(r_7, 3, (unsigned char)(get8(r_7, 0) + get8(r_7, 1)));
  store_global_1(get8(r_7, 3), uint8 + i + 128);
  set8(r_7, 3, (unsigned char)(get8(r_7, 0) - get8(r_7, 1)));
  store_global_1(get8(r_7, 3), uint8 + i + 160);
  set8(r_7, 3, (unsigned char)(get8(r_7, 0) * get8(r_7, 1)));
  store_global_1(get8(r_7, 3), uint8 + i + 192);
  set8(r_7, 3, get8(r_7, 0) / get8(r_7, 1));
  store_global_1(get8(r_7, 3), uint8 + i + 224);
  set8(r_7, 3, get8(r_7, 0) % get8(r_7, 1));
  store_global_1(get8(r_7, 3), uint8 + i + 256);
  set8(r_7, 3, min(get8(r_7, 0), get8(r_7, 1)));
  store_global_1(get8(r_7, 3), uint8 + i + 288);
  set8(r_7, 3, max(get8(r_7, 0), get8(r_7, 1)));
  store_global_1(get8(r_7, 3), uint8 + i + 320);
  set8(r_7, 3, get8(r_7, 0) & get8(r_7, 1));
  store_global_1(get8(r_7, 3), uint8 + i + 352);
  set8(r_7, 3, get8(r_7, 0) | get8(r_7, 1));
  store_global_1(get8(r_7, 3), uint8 + i + 384);
  set8(r_7, 3, get8(r_7, 0) ^ get8(r_7, 1));
  store_global_1(get8(r_7, 3), uint8 + i + 416);
  set8(r_7, 3, (unsigned char)(get8(r_7, 0) << get8(r_7, 1)));
  store_global_1(get8(r_7, 3), uint8 + i + 448);
  set8(r_7, 3, get8(r_7, 0) >> get8(r_7, 1));
  store_global_1(get8(r_7, 3), uint8 + i + 480);
  set8(r_7, 3, (unsigned char)(~get8(r_7, 0)));
  store_global_1(get8(r_7, 3), uint8 + i + 512);
  set8(r_7, 3, get8(r_7, 0) ^ (get8(r_7, 1) & (get8(r_7, 2) >> 3)));
  store_global_1(get8(r_7, 3), uint8 + i + 544);
  set8(r_7, 3, (unsigned char)(-get8(r_7, 0)));
  store_global_1(get8(r_7, 3), uint8 + i + 576);
  set8(r_7, 3, get8(r_7, 0) < get8(r_7, 1) ? get8(r_7, 2) : 253);
  store_global_1(get8(r_7, 3), uint8 + i + 608);
  set8(r_7, 3, get8(r_7, 0) <= get8(r_7, 1) ? get8(r_7, 2) : 253);
  store_global_1(get8(r_7, 3), uint8 + i + 640);
  set8(r_7, 3, get8(r_7, 0) > get8(r_7, 1) ? get8(r_7, 2) : 253);
  store_global_1(get8(r_7, 3), uint8 + i + 672);
  set8(r_7, 3, get8(r_7, 0) >= get8(r_7, 1) ? get8(r_7, 2) : 253);
  store_global_1(get8(r_7, 3), uint8 + i + 704);
  set8(r_7, 3, get8(r_7, 0) == get8(r_7, 1) ? get8(r_7, 2) : 253);
  store_global_1(get8(r_7, 3), uint8 + i + 736);
  set8(r_7, 3, get8(r_7, 0) != get8(r_7, 1) ? get8(r_7, 2) : 253);
  store_global_1(get8(r_7, 3), uint8 + i + 768);
  set8(r_7, 3, (unsigned char)((unsigned char)(get8(r_7, 0) - (unsigned char)(get8(r_7, 1) - get8(r_7, 2))) * (unsigned char)(get8(r_7, 0) + get8(r_7, 1))));
  store_global_1(get8(r_7, 3), uint8 + i + 800);
  set8(r_7, 3, (unsigned char)((unsigned char)(get8(r_7, 0) * 5) + 249));
  store_global_1(get8(r_7, 3), uint8 + i + 832);
  unsigned r_8[2];  // kernels.cpp:18, 4 uint16
  set16(r_8, 0, load_global_2(uint16 + i));
  set16(r_8, 1, load_global_2(uint16 + i + 32));
  set16(r_8, 2, load_global_2(uint16 + i + 64));
  set16(r_8, 3, load_global_2(uint16 + i + 96));
  set16(r_8, 3, (unsigned short)(lo16(r_8[0]) + hi16(r_8[0])));
  store_global_2(hi16(r_8[1]), uint16 + i + 128);
  set16(r_8, 3, (unsigned short)(lo16(r_8[0]) - hi16(r_8[0])));
  store_global_2(hi16(r_8[1]), uint16 + i + 160);
  set16(r_8, 3, (unsigned short)((unsigned)lo16(r_8[0]) * hi16(r_8[0])));
  store_global_2(hi16(r_8[1]), uint16 + i + 192);
  set16(r_8, 3, lo16(r_8[0]) / hi16(r_8[0]));
  store_global_2(hi16(r_8[1]), uint16 + i + 224);
  set16(r_8, 3, lo16(r_8[0]) % hi16(r_8[0]));
  store_global_2(hi16(r_8[1]), uint16 + i + 256);
  set16(r_8, 3, min(lo16(r_8[0]), hi16(r_8[0])));
  store_global_2(hi16(r_8[1]), uint16 + i + 288);
  set16(r_8, 3, max(lo16(r_8[0]), hi16(r_8[0])));
  store_global_2(hi16(r_8[1]), uint16 + i + 320);
  set16(r_8, 3, lo16(r_8[0]) & hi16(r_8[0]));
  store_global_2(hi16(r_8[1]), uint16 + i + 352);
  set16(r_8, 3, lo16(r_8[0]) | hi16(r_8[0]));
  store_global_2(hi16(r_8[1]), uint16 + i + 384);
  set16(r_8, 3, lo16(r_8[0]) ^ hi16(r_8[0]));
  store_global_2(hi16(r_8[1]), uint16 + i + 416);
  set16(r_8, 3, (unsigned short)(lo16(r_8[0]) << hi16(r_8[0])));
  store_global_2(hi16(r_8[1]), uint16 + i + 448);
  set16(r_8, 3, lo16(r_8[0]) >> hi16(r_8[0]));
  store_global_2(hi16(r_8[1]), uint16 + i + 480);
  set16(r_8, 3, (unsigned short)(~lo16(r_8[0])));
  store_global_2(hi16(r_8[1]), uint16 + i + 512);
  set16(r_8, 3, lo16(r_8[0]) ^ (hi16(r_8[0]) & (lo16(r_8[1]) >> 3)));
  store_global_2(hi16(r_8[1]), uint16 + i + 544);
  set16(r_8, 3, (unsigned short)(-lo16(r_8[0])));
  store_global_2(hi16(r_8[1]), uint16 + i + 576);
  set16(r_8, 3, lo16(r_8[0]) < hi16(r_8[0]) ? lo16(r_8[1]) : 65533);
  store_global_2(hi16(r_8[1]), uint16 + i + 608);
  set16(r_8, 3, lo16(r_8[0]) <= hi16(r_8[0]) ? lo16(r_8[1]) : 65533);
  store_global_2(hi16(r_8[1]), uint16 + i + 640);
  set16(r_8, 3, lo16(r_8[0]) > hi16(r_8[0]) ? lo16(r_8[1]) : 65533);
  store_global_2(hi16(r_8[1]), uint16 + i + 672);
  set16(r_8, 3, lo16(r_8[0]) >= hi16(r_8[0]) ? lo16(r_8[1]) : 65533);
  store_global_2(hi16(r_8[1]), uint16 + i + 704);
  set16(r_8, 3, lo16(r_8[0]) == hi16(r_8[0]) ? lo16(r_8[1]) : 65533);
  store_global_2(hi16(r_8[1]), uint16 + i + 736);
  set16(r_8, 3, lo16(r_8[0]) != hi16(r_8[0]) ? lo16(r_8[1]) : 65533);
  store_global_2(hi16(r_8[1]), uint16 + i + 768);
  set16(r_8, 3, (unsigned short)((unsigned)(unsigned short)(lo16(r_8[0]) - (unsigned short)(hi16(r_8[0]) - lo16(r_8[1]))) * (unsigned short)(lo16(r_8[0]) + hi16(r_8[0]))));
  store_global_2(hi16(r_8[1]), uint16 + i + 800);
  set16(r_8, 3, (unsigned short)((unsigned short)((unsigned)lo16(r_8[0]) * 5) + 65529));
  store_global_2(hi16(r_8[1]), uint16 + i + 832);
  unsigned r_9[4];  // kernels.cpp:19
  load_global_4(r_9, uint32 + i);
  load_global_4(&r_9[1], uint32 + i + 32);
  load_global_4(&r_9[2], uint32 + i + 64);
  load_global_4(&r_9[3], uint32 + i + 96);
  r_9[3] = r_9[0] + r_9[1];
  store_global_4(&r_9[3], uint32 + i + 128);
  r_9[3] = r_9[0] - r_9[1];
  store_global_4(&r_9[3], uint32 + i + 160);
  r_9[3] = r_9[0] * r_9[1];
  store_global_4(&r_9[3], uint32 + i + 192);
  r_9[3] = r_9[0] / r_9[1];
  store_global_4(&r_9[3], uint32 + i + 224);
  r_9[3] = r_9[0] % r_9[1];
  store_global_4(&r_9[3], uint32 + i + 256);
  r_9[3] = min(r_9[0], r_9[1]);
  store_global_4(&r_9[3], uint32 + i + 288);
  r_9[3] = max(r_9[0], r_9[1]);
  store_global_4(&r_9[3], uint32 + i + 320);
  r_9[3] = r_9[0] & r_9[1];
  store_global_4(&r_9[3], uint32 + i + 352);
  r_9[3] = r_9[0] | r_9[1];
  store_global_4(&r_9[3], uint32 + i + 384);
  r_9[3] = r_9[0] ^ r_9[1];
  store_global_4(&r_9[3], uint32 + i + 416);
  r_9[3] = r_9[0] << r_9[1];
  store_global_4(&r_9[3], uint32 + i + 448);
  r_9[3] = r_9[0] >> r_9[1];
  store_global_4(&r_9[3], uint32 + i + 480);
  r_9[3] = ~r_9[0];
  store_global_4(&r_9[3], uint32 + i + 512);
  r_9[3] = r_9[0] ^ (r_9[1] & (r_9[2] >> 3));
  store_global_4(&r_9[3], uint32 + i + 544);
  r_9[3] = -r_9[0];
  store_global_4(&r_9[3], uint32 + i + 576);
  r_9[3] = r_9[0] < r_9[1] ? r_9[2] : 4294967293u;
  store_global_4(&r_9[3], uint32 + i + 608);
  r_9[3] = r_9[0] <= r_9[1] ? r_9[2] : 4294967293u;
  store_global_4(&r_9[3], uint32 + i + 640);
  r_9[3] = r_9[0] > r_9[1] ? r_9[2] : 4294967293u;
  store_global_4(&r_9[3], uint32 + i + 672);
  r_9[3] = r_9[0] >= r_9[1] ? r_9[2] : 4294967293u;
  store_global_4(&r_9[3], uint32 + i + 704);
  r_9[3] = r_9[0] == r_9[1] ? r_9[2] : 4294967293u;
  store_global_4(&r_9[3], uint32 + i + 736);
  r_9[3] = r_9[0] != r_9[1] ? r_9[2] : 4294967293u;
  store_global_4(&r_9[3], uint32 + i + 768);
  r_9[3] = (r_9[0] - (r_9[1] - r_9[2])) * (r_9[0] + r_9[1]);
  store_global_4(&r_9[3], uint32 + i + 800);
  r_9[3] = r_9[0] * 5 + 4294967289u;
  store_global_4(&r_9[3], uint32 + i + 832);
  unsigned long long r_10[4];  // kernels.cpp:20
  load_global_8(r_10, uint64 + i);
  load_global_8(&r_10[1], uint64 + i + 32);
  load_global_8(&r_10[2], uint64 + i + 64);
  load_global_8(&r_10[3], uint64 + i + 96);
  r_10[3] = r_10[0] + r_10[1];
  store_global_8(&r_10[3], uint64 + i + 128);
  r_10[3] = r_10[0] - r_10[1];
  store_global_8(&r_10[3], uint64 + i + 160);
  r_10[3] = r_10[0] * r_10[1];
  store_global_8(&r_10[3], uint64 + i + 192);
  r_10[3] = r_10[0] / r_10[1];
  store_global_8(&r_10[3], uint64 + i + 224);
  r_10[3] = r_10[0] % r_10[1];
  store_global_8(&r_10[3], uint64 + i + 256);
  r_10[3] = min(r_10[0], r_10[1]);
  store_global_8(&r_10[3], uint64 + i + 288);
  r_10[3] = max(r_10[0], r_10[1]);
  store_global_8(&r_10[3], uint64 + i + 320);
  r_10[3] = r_10[0] & r_10[1];
  store_global_8(&r_10[3], uint64 + i + 352);
  r_10[3] = r_10[0] | r_10[1];
  store_global_8(&r_10[3], uint64 + i + 384);
  r_10[3] = r_10[0] ^ r_10[1];
  store_global_8(&r_10[3], uint64 + i + 416);
  r_10[3] = r_10[0] << r_10[1];
  store_global_8(&r_10[3], uint64 + i + 448);
  r_10[3] = r_10[0] >> r_10[1];
  store_global_8(&r_10[3], uint64 + i + 480);
  r_10[3] = ~r_10[0];
  store_global_8(&r_10[3], uint64 + i + 512);
  r_10[3] = r_10[0] ^ (r_10[1] & (r_10[2] >> 3));
  store_global_8(&r_10[3], uint64 + i + 544);
  r_10[3] = -r_10[0];
  store_global_8(&r_10[3], uint64 + i + 576);
  r_10[3] = r_10[0] < r_10[1] ? r_10[2] : 18446744073709551613ull;
  store_global_8(&r_10[3], uint64 + i + 608);
  r_10[3] = r_10[0] <= r_10[1] ? r_10[2] : 18446744073709551613ull;
  store_global_8(&r_10[3], uint64 + i + 640);
  r_10[3] = r_10[0] > r_10[1] ? r_10[2] : 18446744073709551613ull;
  store_global_8(&r_10[3], uint64 + i + 672);
  r_10[3] = r_10[0] >= r_10[1] ? r_10[2] : 18446744073709551613ull;
  store_global_8(&r_10[3], uint64 + i + 704);
  r_10[3] = r_10[0] == r_10[1] ? r_10[2] : 18446744073709551613ull;
  store_global_8(&r_10[3], uint64 + i + 736);
  r_10[3] = r_10[0] != r_10[1] ? r_10[2] : 18446744073709551613ull;
  store_global_8(&r_10[3], uint64 + i + 768);
  r_10[3] = (r_10[0] - (r_10[1] - r_10[2])) * (r_10[0] + r_10[1]);
  store_global_8(&r_10[3], uint64 + i + 800);
  r_10[3] = r_10[0] * 5 - 7;
  store_global_8(&r_10[3], uint64 + i + 832);
  int v[1];  // kernels.cpp:40
  v[0] = (int)((n > 0 && on) || !(n % 2 == 1));
  store_global_4(v, out + i);
  v[0] = (thread + 3) * (thread / 7);
  store_global_4(v, out + i + 32);
  v[0] = thread << 2;
  store_global_4(v, out + i + 64);
  v[0] = on ? (n % 2 == 1 ? thread : (-2147483647 - 1)) : wrap_sub(thread, n);
  store_global_4(v, out + i + 96);
}
