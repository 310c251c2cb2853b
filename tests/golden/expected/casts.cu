// casts, kernels.cpp:1.  nvcc -arch=sm_90a -fmad=false compiles it as Tessera does.

#define DEVICE static __device__ __forceinline__
typedef unsigned short f16;   // IEEE binary16, as bits
typedef unsigned short bf16;  // bfloat16, as bits
DEVICE unsigned short lo16(unsigned w) { return (unsigned short)w; }
DEVICE unsigned char get8(const unsigned* r, int i) { return (unsigned char)(r[i / 4] >> (i % 4 * 8)); }
DEVICE float f16_to_float(f16 x) { float r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x)); return r; }
DEVICE float bf16_to_float(bf16 x) { return __uint_as_float((unsigned)x << 16); }
DEVICE f16 float_to_f16(float x) { f16 r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r; }
DEVICE bf16 float_to_bf16(float x) { bf16 r; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x)); return r; }
DEVICE unsigned pack_f16(float lo, float hi) {
  unsigned r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
}
DEVICE unsigned pack_bf16(float lo, float hi) {
  unsigned r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
}
DEVICE int float_to_i32(float x) { int r; asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(r) : "f"(x)); return r; }
DEVICE unsigned float_to_u32(float x) {
  unsigned r;
  asm("cvt.rzi.u32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}
DEVICE long long float_to_i64(float x) {
  long long r;
  asm("cvt.rzi.s64.f32 %0, %1;" : "=l"(r) : "f"(x));
  return x == x ? r : 0;
}
DEVICE unsigned long long float_to_u64(float x) {
  unsigned long long r;
  asm("cvt.rzi.u64.f32 %0, %1;" : "=l"(r) : "f"(x));
  return x == x ? r : 0;
}
DEVICE signed char float_to_i8(float x) {
  const int r = float_to_i32(x);
  return (signed char)(r < -128 ? -128 : r > 127 ? 127 : r);
}
DEVICE unsigned char float_to_u8(float x) {
  const unsigned r = float_to_u32(x);
  return (unsigned char)(r > 255 ? 255 : r);
}
DEVICE short float_to_i16(float x) {
  const int r = float_to_i32(x);
  return (short)(r < -32768 ? -32768 : r > 32767 ? 32767 : r);
}
DEVICE unsigned short float_to_u16(float x) {
  const unsigned r = float_to_u32(x);
  return (unsigned short)(r > 65535 ? 65535 : r);
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
DEVICE void load_global_8(float* r, const void* p) {
  asm volatile("ld.global.v2.f32 {%0, %1}, [%2];"
               : "=f"(r[0]), "=f"(r[1]) : "l"(p) : "memory");
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

extern "C" __global__ void __launch_bounds__(32, 1) casts(const f16* float16_in, const bf16* bfloat16_in, const float* float32_in, const signed char* int8_in, const short* int16_in, const int* int32_in, const long long* int64_in, const unsigned char* uint8_in, const unsigned short* uint16_in, const unsigned* uint32_in, const unsigned long long* uint64_in, const bool* bool_in, f16* float16_out, bf16* bfloat16_out, float* float32_out, signed char* int8_out, short* int16_out, int* int32_out, long long* int64_out, unsigned char* uint8_out, unsigned short* uint16_out, unsigned* uint32_out, unsigned long long* uint64_out, bool* bool_out) {
  const int thread = threadIdx.x;
  const long long i = (long long)thread;  // kernels.cpp:2
  unsigned from_float16[1];  // kernels.cpp:10, 1 float16
  from_float16[0] = (unsigned short)(load_global_2(float16_in + i));
  unsigned r0[1];  // 1 bfloat16
  r0[0] = (unsigned short)(float_to_bf16(f16_to_float(lo16(from_float16[0]))));
  store_global_2(lo16(r0[0]), bfloat16_out + i);
  float r1[1];
  r1[0] = f16_to_float(lo16(from_float16[0]));
  store_global_4(r1, float32_out + i);
  unsigned r2[1];  // 1 int8
  r2[0] = (unsigned char)(float_to_i8(f16_to_float(lo16(from_float16[0]))));
  store_global_1((signed char)get8(r2, 0), int8_out + i);
  unsigned r3[1];  // 1 int16
  r3[0] = (unsigned short)(float_to_i16(f16_to_float(lo16(from_float16[0]))));
  store_global_2((short)lo16(r3[0]), int16_out + i);
  int r4[1];
  r4[0] = float_to_i32(f16_to_float(lo16(from_float16[0])));
  store_global_4(r4, int32_out + i);
  long long r5[1];
  r5[0] = float_to_i64(f16_to_float(lo16(from_float16[0])));
  store_global_8(r5, int64_out + i);
  unsigned r6[1];  // 1 uint8
  r6[0] = (unsigned char)(float_to_u8(f16_to_float(lo16(from_float16[0]))));
  store_global_1(get8(r6, 0), uint8_out + i);
  unsigned r7[1];  // 1 uint16
  r7[0] = (unsigned short)(float_to_u16(f16_to_float(lo16(from_float16[0]))));
  store_global_2(lo16(r7[0]), uint16_out + i);
  unsigned r8[1];
  r8[0] = float_to_u32(f16_to_float(lo16(from_float16[0])));
  store_global_4(r8, uint32_out + i);
  unsigned long long r9[1];
  r9[0] = float_to_u64(f16_to_float(lo16(from_float16[0])));
  store_global_8(r9, uint64_out + i);
  bool r10[1];
  r10[0] = f16_to_float(lo16(from_float16[0])) != 0.0f;
  store_global_1(r10[0], bool_out + i);
  unsigned from_bfloat16[1];  // kernels.cpp:11, 1 bfloat16
  from_bfloat16[0] = (unsigned short)(load_global_2(bfloat16_in + i));
  unsigned r11[1];  // 1 float16
  r11[0] = (unsigned short)(float_to_f16(bf16_to_float(lo16(from_bfloat16[0]))));
  store_global_2(lo16(r11[0]), float16_out + i + 32);
  float r12[1];
  r12[0] = bf16_to_float(lo16(from_bfloat16[0]));
  store_global_4(r12, float32_out + i + 32);
  unsigned r13[1];  // 1 int8
  r13[0] = (unsigned char)(float_to_i8(bf16_to_float(lo16(from_bfloat16[0]))));
  store_global_1((signed char)get8(r13, 0), int8_out + i + 32);
  unsigned r14[1];  // 1 int16
  r14[0] = (unsigned short)(float_to_i16(bf16_to_float(lo16(from_bfloat16[0]))));
  store_global_2((short)lo16(r14[0]), int16_out + i + 32);
  int r15[1];
  r15[0] = float_to_i32(bf16_to_float(lo16(from_bfloat16[0])));
  store_global_4(r15, int32_out + i + 32);
  long long r16[1];
  r16[0] = float_to_i64(bf16_to_float(lo16(from_bfloat16[0])));
  store_global_8(r16, int64_out + i + 32);
  unsigned r17[1];  // 1 uint8
  r17[0] = (unsigned char)(float_to_u8(bf16_to_float(lo16(from_bfloat16[0]))));
  store_global_1(get8(r17, 0), uint8_out + i + 32);
  unsigned r18[1];  // 1 uint16
  r18[0] = (unsigned short)(float_to_u16(bf16_to_float(lo16(from_bfloat16[0]))));
  store_global_2(lo16(r18[0]), uint16_out + i + 32);
  unsigned r19[1];
  r19[0] = float_to_u32(bf16_to_float(lo16(from_bfloat16[0])));
  store_global_4(r19, uint32_out + i + 32);
  unsigned long long r20[1];
  r20[0] = float_to_u64(bf16_to_float(lo16(from_bfloat16[0])));
  store_global_8(r20, uint64_out + i + 32);
  bool r21[1];
  r21[0] = bf16_to_float(lo16(from_bfloat16[0])) != 0.0f;
  store_global_1(r21[0], bool_out + i + 32);
  float from_float32[1];  // kernels.cpp:12
  load_global_4(from_float32, float32_in + i);
  unsigned r22[1];  // 1 float16
  r22[0] = (unsigned short)(float_to_f16(from_float32[0]));
  store_global_2(lo16(r22[0]), float16_out + i + 64);
  unsigned r23[1];  // 1 bfloat16
  r23[0] = (unsigned short)(float_to_bf16(from_float32[0]));
  store_global_2(lo16(r23[0]), bfloat16_out + i + 64);
  unsigned r24[1];  // 1 int8
  r24[0] = (unsigned char)(float_to_i8(from_float32[0]));
  store_global_1((signed char)get8(r24, 0), int8_out + i + 64);
  unsigned r25[1];  // 1 int16
  r25[0] = (unsigned short)(float_to_i16(from_float32[0]));
  store_global_2((short)lo16(r25[0]), int16_out + i + 64);
  int r26[1];
  r26[0] = float_to_i32(from_float32[0]);
  store_global_4(r26, int32_out + i + 64);
  long long r27[1];
  r27[0] = float_to_i64(from_float32[0]);
  store_global_8(r27, int64_out + i + 64);
  unsigned r28[1];  // 1 uint8
  r28[0] = (unsigned char)(float_to_u8(from_float32[0]));
  store_global_1(get8(r28, 0), uint8_out + i + 64);
  unsigned r29[1];  // 1 uint16
  r29[0] = (unsigned short)(float_to_u16(from_float32[0]));
  store_global_2(lo16(r29[0]), uint16_out + i + 64);
  unsigned r30[1];
  r30[0] = float_to_u32(from_float32[0]);
  store_global_4(r30, uint32_out + i + 64);
  unsigned long long r31[1];
  r31[0] = float_to_u64(from_float32[0]);
  store_global_8(r31, uint64_out + i + 64);
  bool r32[1];
  r32[0] = from_float32[0] != 0.0f;
  store_global_1(r32[0], bool_out + i + 64);
  unsigned from_int8[1];  // kernels.cpp:13, 1 int8
  from_int8[0] = (unsigned char)(load_global_1(int8_in + i));
  unsigned r33[1];  // 1 float16
  r33[0] = (unsigned short)(float_to_f16((float)(signed char)get8(from_int8, 0)));
  store_global_2(lo16(r33[0]), float16_out + i + 96);
  unsigned r34[1];  // 1 bfloat16
  r34[0] = (unsigned short)(float_to_bf16((float)(signed char)get8(from_int8, 0)));
  store_global_2(lo16(r34[0]), bfloat16_out + i + 96);
  float r35[1];
  r35[0] = (float)(signed char)get8(from_int8, 0);
  store_global_4(r35, float32_out + i + 96);
  unsigned r36[1];  // 1 int16
  r36[0] = (unsigned short)((short)(signed char)get8(from_int8, 0));
  store_global_2((short)lo16(r36[0]), int16_out + i + 96);
  int r37[1];
  r37[0] = (int)(signed char)get8(from_int8, 0);
  store_global_4(r37, int32_out + i + 96);
  long long r38[1];
  r38[0] = (long long)(signed char)get8(from_int8, 0);
  store_global_8(r38, int64_out + i + 96);
  unsigned r39[1];  // 1 uint8
  r39[0] = (unsigned char)((unsigned char)(signed char)get8(from_int8, 0));
  store_global_1(get8(r39, 0), uint8_out + i + 96);
  unsigned r40[1];  // 1 uint16
  r40[0] = (unsigned short)((unsigned short)(signed char)get8(from_int8, 0));
  store_global_2(lo16(r40[0]), uint16_out + i + 96);
  unsigned r41[1];
  r41[0] = (unsigned)(signed char)get8(from_int8, 0);
  store_global_4(r41, uint32_out + i + 96);
  unsigned long long r42[1];
  r42[0] = (unsigned long long)(signed char)get8(from_int8, 0);
  store_global_8(r42, uint64_out + i + 96);
  bool r43[1];
  r43[0] = (signed char)get8(from_int8, 0) != 0;
  store_global_1(r43[0], bool_out + i + 96);
  unsigned from_int16[1];  // kernels.cpp:14, 1 int16
  from_int16[0] = (unsigned short)(load_global_2(int16_in + i));
  unsigned r44[1];  // 1 float16
  r44[0] = (unsigned short)(float_to_f16((float)(short)lo16(from_int16[0])));
  store_global_2(lo16(r44[0]), float16_out + i + 128);
  unsigned r45[1];  // 1 bfloat16
  r45[0] = (unsigned short)(float_to_bf16((float)(short)lo16(from_int16[0])));
  store_global_2(lo16(r45[0]), bfloat16_out + i + 128);
  float r46[1];
  r46[0] = (float)(short)lo16(from_int16[0]);
  store_global_4(r46, float32_out + i + 128);
  unsigned r47[1];  // 1 int8
  r47[0] = (unsigned char)((signed char)(short)lo16(from_int16[0]));
  store_global_1((signed char)get8(r47, 0), int8_out + i + 128);
  int r48[1];
  r48[0] = (int)(short)lo16(from_int16[0]);
  store_global_4(r48, int32_out + i + 128);
  long long r49[1];
  r49[0] = (long long)(short)lo16(from_int16[0]);
  store_global_8(r49, int64_out + i + 128);
  unsigned r50[1];  // 1 uint8
  r50[0] = (unsigned char)((unsigned char)(short)lo16(from_int16[0]));
  store_global_1(get8(r50, 0), uint8_out + i + 128);
  unsigned r51[1];  // 1 uint16
  r51[0] = (unsigned short)((unsigned short)(short)lo16(from_int16[0]));
  store_global_2(lo16(r51[0]), uint16_out + i + 128);
  unsigned r52[1];
  r52[0] = (unsigned)(short)lo16(from_int16[0]);
  store_global_4(r52, uint32_out + i + 128);
  unsigned long long r53[1];
  r53[0] = (unsigned long long)(short)lo16(from_int16[0]);
  store_global_8(r53, uint64_out + i + 128);
  bool r54[1];
  r54[0] = (short)lo16(from_int16[0]) != 0;
  store_global_1(r54[0], bool_out + i + 128);
  int from_int32[1];  // kernels.cpp:15
  load_global_4(from_int32, int32_in + i);
  unsigned r55[1];  // 1 float16
  r55[0] = (unsigned short)(float_to_f16((float)from_int32[0]));
  store_global_2(lo16(r55[0]), float16_out + i + 160);
  unsigned r56[1];  // 1 bfloat16
  r56[0] = (unsigned short)(float_to_bf16((float)from_int32[0]));
  store_global_2(lo16(r56[0]), bfloat16_out + i + 160);
  float r57[1];
  r57[0] = (float)from_int32[0];
  store_global_4(r57, float32_out + i + 160);
  unsigned r58[1];  // 1 int8
  r58[0] = (unsigned char)((signed char)from_int32[0]);
  store_global_1((signed char)get8(r58, 0), int8_out + i + 160);
  unsigned r59[1];  // 1 int16
  r59[0] = (unsigned short)((short)from_int32[0]);
  store_global_2((short)lo16(r59[0]), int16_out + i + 160);
  long long r60[1];
  r60[0] = (long long)from_int32[0];
  store_global_8(r60, int64_out + i + 160);
  unsigned r61[1];  // 1 uint8
  r61[0] = (unsigned char)((unsigned char)from_int32[0]);
  store_global_1(get8(r61, 0), uint8_out + i + 160);
  unsigned r62[1];  // 1 uint16
  r62[0] = (unsigned short)((unsigned short)from_int32[0]);
  store_global_2(lo16(r62[0]), uint16_out + i + 160);
  unsigned r63[1];
  r63[0] = (unsigned)from_int32[0];
  store_global_4(r63, uint32_out + i + 160);
  unsigned long long r64[1];
  r64[0] = (unsigned long long)from_int32[0];
  store_global_8(r64, uint64_out + i + 160);
  bool r65[1];
  r65[0] = from_int32[0] != 0;
  store_global_1(r65[0], bool_out + i + 160);
  long long from_int64[1];  // kernels.cpp:16
  load_global_8(from_int64, int64_in + i);
  unsigned r66[1];  // 1 float16
  r66[0] = (unsigned short)(float_to_f16((float)from_int64[0]));
  store_global_2(lo16(r66[0]), float16_out + i + 192);
  unsigned r67[1];  // 1 bfloat16
  r67[0] = (unsigned short)(float_to_bf16((float)from_int64[0]));
  store_global_2(lo16(r67[0]), bfloat16_out + i + 192);
  float r68[1];
  r68[0] = (float)from_int64[0];
  store_global_4(r68, float32_out + i + 192);
  unsigned r69[1];  // 1 int8
  r69[0] = (unsigned char)((signed char)from_int64[0]);
  store_global_1((signed char)get8(r69, 0), int8_out + i + 192);
  unsigned r70[1];  // 1 int16
  r70[0] = (unsigned short)((short)from_int64[0]);
  store_global_2((short)lo16(r70[0]), int16_out + i + 192);
  int r71[1];
  r71[0] = (int)from_int64[0];
  store_global_4(r71, int32_out + i + 192);
  unsigned r72[1];  // 1 uint8
  r72[0] = (unsigned char)((unsigned char)from_int64[0]);
  store_global_1(get8(r72, 0), uint8_out + i + 192);
  unsigned r73[1];  // 1 uint16
  r73[0] = (unsigned short)((unsigned short)from_int64[0]);
  store_global_2(lo16(r73[0]), uint16_out + i + 192);
  unsigned r74[1];
  r74[0] = (unsigned)from_int64[0];
  store_global_4(r74, uint32_out + i + 192);
  unsigned long long r75[1];
  r75[0] = (unsigned long long)from_int64[0];
  store_global_8(r75, uint64_out + i + 192);
  bool r76[1];
  r76[0] = from_int64[0] != 0;
  store_global_1(r76[0], bool_out + i + 192);
  unsigned from_uint8[1];  // kernels.cpp:17, 1 uint8
  from_uint8[0] = (unsigned char)(load_global_1(uint8_in + i));
  unsigned r77[1];  // 1 float16
  r77[0] = (unsigned short)(float_to_f16((float)get8(from_uint8, 0)));
  store_global_2(lo16(r77[0]), float16_out + i + 224);
  unsigned r78[1];  // 1 bfloat16
  r78[0] = (unsigned short)(float_to_bf16((float)get8(from_uint8, 0)));
  store_global_2(lo16(r78[0]), bfloat16_out + i + 224);
  float r79[1];
  r79[0] = (float)get8(from_uint8, 0);
  store_global_4(r79, float32_out + i + 224);
  unsigned r80[1];  // 1 int8
  r80[0] = (unsigned char)((signed char)get8(from_uint8, 0));
  store_global_1((signed char)get8(r80, 0), int8_out + i + 224);
  unsigned r81[1];  // 1 int16
  r81[0] = (unsigned short)((short)get8(from_uint8, 0));
  store_global_2((short)lo16(r81[0]), int16_out + i + 224);
  int r82[1];
  r82[0] = (int)get8(from_uint8, 0);
  store_global_4(r82, int32_out + i + 224);
  long long r83[1];
  r83[0] = (long long)get8(from_uint8, 0);
  store_global_8(r83, int64_out + i + 224);
  unsigned r84[1];  // 1 uint16
  r84[0] = (unsigned short)((unsigned short)get8(from_uint8, 0));
  store_global_2(lo16(r84[0]), uint16_out + i + 224);
  unsigned r85[1];
  r85[0] = (unsigned)get8(from_uint8, 0);
  store_global_4(r85, uint32_out + i + 224);
  unsigned long long r86[1];
  r86[0] = (unsigned long long)get8(from_uint8, 0);
  store_global_8(r86, uint64_out + i + 224);
  bool r87[1];
  r87[0] = get8(from_uint8, 0) != 0;
  store_global_1(r87[0], bool_out + i + 224);
  unsigned from_uint16[1];  // kernels.cpp:18, 1 uint16
  from_uint16[0] = (unsigned short)(load_global_2(uint16_in + i));
  unsigned r88[1];  // 1 float16
  r88[0] = (unsigned short)(float_to_f16((float)lo16(from_uint16[0])));
  store_global_2(lo16(r88[0]), float16_out + i + 256);
  unsigned r89[1];  // 1 bfloat16
  r89[0] = (unsigned short)(float_to_bf16((float)lo16(from_uint16[0])));
  store_global_2(lo16(r89[0]), bfloat16_out + i + 256);
  float r90[1];
  r90[0] = (float)lo16(from_uint16[0]);
  store_global_4(r90, float32_out + i + 256);
  unsigned r91[1];  // 1 int8
  r91[0] = (unsigned char)((signed char)lo16(from_uint16[0]));
  store_global_1((signed char)get8(r91, 0), int8_out + i + 256);
  unsigned r92[1];  // 1 int16
  r92[0] = (unsigned short)((short)lo16(from_uint16[0]));
  store_global_2((short)lo16(r92[0]), int16_out + i + 256);
  int r93[1];
  r93[0] = (int)lo16(from_uint16[0]);
  store_global_4(r93, int32_out + i + 256);
  long long r94[1];
  r94[0] = (long long)lo16(from_uint16[0]);
  store_global_8(r94, int64_out + i + 256);
  unsigned r95[1];  // 1 uint8
  r95[0] = (unsigned char)((unsigned char)lo16(from_uint16[0]));
  store_global_1(get8(r95, 0), uint8_out + i + 256);
  unsigned r96[1];
  r96[0] = (unsigned)lo16(from_uint16[0]);
  store_global_4(r96, uint32_out + i + 256);
  unsigned long long r97[1];
  r97[0] = (unsigned long long)lo16(from_uint16[0]);
  store_global_8(r97, uint64_out + i + 256);
  bool r98[1];
  r98[0] = lo16(from_uint16[0]) != 0;
  store_global_1(r98[0], bool_out + i + 256);
  unsigned from_uint32[1];  // kernels.cpp:19
  load_global_4(from_uint32, uint32_in + i);
  unsigned r99[1];  // 1 float16
  r99[0] = (unsigned short)(float_to_f16((float)from_uint32[0]));
  store_global_2(lo16(r99[0]), float16_out + i + 288);
  unsigned r100[1];  // 1 bfloat16
  r100[0] = (unsigned short)(float_to_bf16((float)from_uint32[0]));
  store_global_2(lo16(r100[0]), bfloat16_out + i + 288);
  float r101[1];
  r101[0] = (float)from_uint32[0];
  store_global_4(r101, float32_out + i + 288);
  unsigned r102[1];  // 1 int8
  r102[0] = (unsigned char)((signed char)from_uint32[0]);
  store_global_1((signed char)get8(r102, 0), int8_out + i + 288);
  unsigned r103[1];  // 1 int16
  r103[0] = (unsigned short)((short)from_uint32[0]);
  store_global_2((short)lo16(r103[0]), int16_out + i + 288);
  int r104[1];
  r104[0] = (int)from_uint32[0];
  store_global_4(r104, int32_out + i + 288);
  long long r105[1];
  r105[0] = (long long)from_uint32[0];
  store_global_8(r105, int64_out + i + 288);
  unsigned r106[1];  // 1 uint8
  r106[0] = (unsigned char)((unsigned char)from_uint32[0]);
  store_global_1(get8(r106, 0), uint8_out + i + 288);
  unsigned r107[1];  // 1 uint16
  r107[0] = (unsigned short)((unsigned short)from_uint32[0]);
  store_global_2(lo16(r107[0]), uint16_out + i + 288);
  unsigned long long r108[1];
  r108[0] = (unsigned long long)from_uint32[0];
  store_global_8(r108, uint64_out + i + 288);
  bool r109[1];
  r109[0] = from_uint32[0] != 0;
  store_global_1(r109[0], bool_out + i + 288);
  unsigned long long from_uint64[1];  // kernels.cpp:20
  load_global_8(from_uint64, uint64_in + i);
  unsigned r110[1];  // 1 float16
  r110[0] = (unsigned short)(float_to_f16((float)from_uint64[0]));
  store_global_2(lo16(r110[0]), float16_out + i + 320);
  unsigned r111[1];  // 1 bfloat16
  r111[0] = (unsigned short)(float_to_bf16((float)from_uint64[0]));
  store_global_2(lo16(r111[0]), bfloat16_out + i + 320);
  float r112[1];
  r112[0] = (float)from_uint64[0];
  store_global_4(r112, float32_out + i + 320);
  unsigned r113[1];  // 1 int8
  r113[0] = (unsigned char)((signed char)from_uint64[0]);
  store_global_1((signed char)get8(r113, 0), int8_out + i + 320);
  unsigned r114[1];  // 1 int16
  r114[0] = (unsigned short)((short)from_uint64[0]);
  store_global_2((short)lo16(r114[0]), int16_out + i + 320);
  int r115[1];
  r115[0] = (int)from_uint64[0];
  store_global_4(r115, int32_out + i + 320);
  long long r116[1];
  r116[0] = (long long)from_uint64[0];
  store_global_8(r116, int64_out + i + 320);
  unsigned r117[1];  // 1 uint8
  r117[0] = (unsigned char)((unsigned char)from_uint64[0]);
  store_global_1(get8(r117, 0), uint8_out + i + 320);
  unsigned r118[1];  // 1 uint16
  r118[0] = (unsigned short)((unsigned short)from_uint64[0]);
  store_global_2(lo16(r118[0]), uint16_out + i + 320);
  unsigned r119[1];
  r119[0] = (unsigned)from_uint64[0];
  store_global_4(r119, uint32_out + i + 320);
  bool r120[1];
  r120[0] = from_uint64[0] != 0;
  store_global_1(r120[0], bool_out + i + 320);
  bool from_bool[1];  // kernels.cpp:21
  from_bool[0] = load_global_1(bool_in + i) != 0;
  unsigned r121[1];  // 1 float16
  r121[0] = (unsigned short)(float_to_f16((float)from_bool[0]));
  store_global_2(lo16(r121[0]), float16_out + i + 352);
  unsigned r122[1];  // 1 bfloat16
  r122[0] = (unsigned short)(float_to_bf16((float)from_bool[0]));
  store_global_2(lo16(r122[0]), bfloat16_out + i + 352);
  float r123[1];
  r123[0] = (float)from_bool[0];
  store_global_4(r123, float32_out + i + 352);
  unsigned r124[1];  // 1 int8
  r124[0] = (unsigned char)((signed char)from_bool[0]);
  store_global_1((signed char)get8(r124, 0), int8_out + i + 352);
  unsigned r125[1];  // 1 int16
  r125[0] = (unsigned short)((short)from_bool[0]);
  store_global_2((short)lo16(r125[0]), int16_out + i + 352);
  int r126[1];
  r126[0] = (int)from_bool[0];
  store_global_4(r126, int32_out + i + 352);
  long long r127[1];
  r127[0] = (long long)from_bool[0];
  store_global_8(r127, int64_out + i + 352);
  unsigned r128[1];  // 1 uint8
  r128[0] = (unsigned char)((unsigned char)from_bool[0]);
  store_global_1(get8(r128, 0), uint8_out + i + 352);
  unsigned r129[1];  // 1 uint16
  r129[0] = (unsigned short)((unsigned short)from_bool[0]);
  store_global_2(lo16(r129[0]), uint16_out + i + 352);
  unsigned r130[1];
  r130[0] = (unsigned)from_bool[0];
  store_global_4(r130, uint32_out + i + 352);
  unsigned long long r131[1];
  r131[0] = (unsigned long long)from_bool[0];
  store_global_8(r131, uint64_out + i + 352);
  unsigned pair[1];  // kernels.cpp:30, 2 float16
  unsigned brain[1];  // 2 bfloat16
  float wide[2];
  load_global_8(wide, float32_in + i * 2);
  pair[0] = pack_f16(wide[0], wide[1]);
  brain[0] = pack_bf16(wide[0], wide[1]);
  store_global_4(pair, float16_out + i * 2 + 384);
  store_global_4(brain, bfloat16_out + i * 2 + 384);
}
