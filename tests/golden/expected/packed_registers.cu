// packed_registers, kernels.cpp:1.  nvcc -arch=sm_90a -fmad=false compiles it as Tessera does.
//
// Shared memory, 512 bytes:
//        0 ..    512  scratch

#define DEVICE static __device__ __forceinline__
typedef unsigned short f16;   // IEEE binary16, as bits
typedef unsigned short bf16;  // bfloat16, as bits
DEVICE unsigned short lo16(unsigned w) { return (unsigned short)w; }
DEVICE unsigned short hi16(unsigned w) { return (unsigned short)(w >> 16); }
DEVICE unsigned char get8(const unsigned* r, int i) { return (unsigned char)(r[i / 4] >> (i % 4 * 8)); }
DEVICE unsigned pack16(unsigned short lo, unsigned short hi) { return lo | (unsigned)hi << 16; }
DEVICE unsigned pack8(unsigned char a, unsigned char b, unsigned char c, unsigned char d) {
  return a | (unsigned)b << 8 | (unsigned)c << 16 | (unsigned)d << 24;
}
DEVICE void set16(unsigned* r, int i, unsigned short v) {
  r[i / 2] = (r[i / 2] & ~(0xffffu << (i % 2 * 16))) | (unsigned)v << (i % 2 * 16);
}
DEVICE void set8(unsigned* r, int i, unsigned char v) {
  r[i / 4] = (r[i / 4] & ~(0xffu << (i % 4 * 8))) | (unsigned)v << (i % 4 * 8);
}
DEVICE void load_global_16(float* r, const void* p) {
  asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3]) : "l"(p) : "memory");
}
DEVICE void load_global_16(int* r, const void* p) {
  asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "l"(p) : "memory");
}
DEVICE void load_global_16(long long* r, const void* p) {
  asm volatile("ld.global.v2.b64 {%0, %1}, [%2];"
               : "=l"(r[0]), "=l"(r[1]) : "l"(p) : "memory");
}
DEVICE void load_global_16(unsigned* r, const void* p) {
  asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "l"(p) : "memory");
}
DEVICE void load_global_16(unsigned long long* r, const void* p) {
  asm volatile("ld.global.v2.b64 {%0, %1}, [%2];"
               : "=l"(r[0]), "=l"(r[1]) : "l"(p) : "memory");
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
DEVICE void load_global_4_if(bool on, float* r, const void* p) {
  r[0] = 0;
  asm volatile("{ .reg .pred on; setp.ne.u32 on, %2, 0; @on ld.global.f32 %0, [%1]; }"
               : "+f"(r[0]) : "l"(p), "r"((unsigned)on) : "memory");
}
DEVICE void load_global_4_if(bool on, int* r, const void* p) {
  r[0] = 0;
  asm volatile("{ .reg .pred on; setp.ne.u32 on, %2, 0; @on ld.global.b32 %0, [%1]; }"
               : "+r"(r[0]) : "l"(p), "r"((unsigned)on) : "memory");
}
DEVICE void load_global_4_if(bool on, unsigned* r, const void* p) {
  r[0] = 0;
  asm volatile("{ .reg .pred on; setp.ne.u32 on, %2, 0; @on ld.global.b32 %0, [%1]; }"
               : "+r"(r[0]) : "l"(p), "r"((unsigned)on) : "memory");
}
DEVICE void load_global_8(float* r, const void* p) {
  asm volatile("ld.global.v2.f32 {%0, %1}, [%2];"
               : "=f"(r[0]), "=f"(r[1]) : "l"(p) : "memory");
}
DEVICE void load_global_8(int* r, const void* p) {
  asm volatile("ld.global.v2.b32 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "l"(p) : "memory");
}
DEVICE void load_global_8(long long* r, const void* p) {
  asm volatile("ld.global.b64 %0, [%1];"
               : "=l"(r[0]) : "l"(p) : "memory");
}
DEVICE void load_global_8(unsigned* r, const void* p) {
  asm volatile("ld.global.v2.b32 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "l"(p) : "memory");
}
DEVICE void load_global_8(unsigned long long* r, const void* p) {
  asm volatile("ld.global.b64 %0, [%1];"
               : "=l"(r[0]) : "l"(p) : "memory");
}
DEVICE void load_shared_16(float* r, unsigned p) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3]) : "r"(p) : "memory");
}
DEVICE void load_shared_16(int* r, unsigned p) {
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(p) : "memory");
}
DEVICE void load_shared_16(long long* r, unsigned p) {
  asm volatile("ld.shared.v2.b64 {%0, %1}, [%2];"
               : "=l"(r[0]), "=l"(r[1]) : "r"(p) : "memory");
}
DEVICE void load_shared_16(unsigned* r, unsigned p) {
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(p) : "memory");
}
DEVICE void load_shared_16(unsigned long long* r, unsigned p) {
  asm volatile("ld.shared.v2.b64 {%0, %1}, [%2];"
               : "=l"(r[0]), "=l"(r[1]) : "r"(p) : "memory");
}
DEVICE unsigned load_shared_1(unsigned p) {
  unsigned v = 0;
  asm volatile("ld.shared.u8 %0, [%1];" : "+r"(v) : "r"(p) : "memory");
  return v;
}
DEVICE unsigned load_shared_2(unsigned p) {
  unsigned v = 0;
  asm volatile("ld.shared.u16 %0, [%1];" : "+r"(v) : "r"(p) : "memory");
  return v;
}
DEVICE void load_shared_4(float* r, unsigned p) {
  asm volatile("ld.shared.f32 %0, [%1];"
               : "=f"(r[0]) : "r"(p) : "memory");
}
DEVICE void load_shared_4(int* r, unsigned p) {
  asm volatile("ld.shared.b32 %0, [%1];"
               : "=r"(r[0]) : "r"(p) : "memory");
}
DEVICE void load_shared_4(unsigned* r, unsigned p) {
  asm volatile("ld.shared.b32 %0, [%1];"
               : "=r"(r[0]) : "r"(p) : "memory");
}
DEVICE void load_shared_8(float* r, unsigned p) {
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
               : "=f"(r[0]), "=f"(r[1]) : "r"(p) : "memory");
}
DEVICE void load_shared_8(int* r, unsigned p) {
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(p) : "memory");
}
DEVICE void load_shared_8(long long* r, unsigned p) {
  asm volatile("ld.shared.b64 %0, [%1];"
               : "=l"(r[0]) : "r"(p) : "memory");
}
DEVICE void load_shared_8(unsigned* r, unsigned p) {
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(p) : "memory");
}
DEVICE void load_shared_8(unsigned long long* r, unsigned p) {
  asm volatile("ld.shared.b64 %0, [%1];"
               : "=l"(r[0]) : "r"(p) : "memory");
}
DEVICE void store_global_16_if(bool on, const float* r, void* p) {
  asm volatile("{ .reg .pred on; setp.ne.u32 on, %5, 0; @on st.global.v4.f32 [%4], {%0, %1, %2, %3}; }"
               :: "f"(r[0]), "f"(r[1]), "f"(r[2]), "f"(r[3]), "l"(p), "r"((unsigned)on) : "memory");
}
DEVICE void store_global_16_if(bool on, const int* r, void* p) {
  asm volatile("{ .reg .pred on; setp.ne.u32 on, %5, 0; @on st.global.v4.b32 [%4], {%0, %1, %2, %3}; }"
               :: "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(p), "r"((unsigned)on) : "memory");
}
DEVICE void store_global_16_if(bool on, const long long* r, void* p) {
  asm volatile("{ .reg .pred on; setp.ne.u32 on, %3, 0; @on st.global.v2.b64 [%2], {%0, %1}; }"
               :: "l"(r[0]), "l"(r[1]), "l"(p), "r"((unsigned)on) : "memory");
}
DEVICE void store_global_16_if(bool on, const unsigned* r, void* p) {
  asm volatile("{ .reg .pred on; setp.ne.u32 on, %5, 0; @on st.global.v4.b32 [%4], {%0, %1, %2, %3}; }"
               :: "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(p), "r"((unsigned)on) : "memory");
}
DEVICE void store_global_16_if(bool on, const unsigned long long* r, void* p) {
  asm volatile("{ .reg .pred on; setp.ne.u32 on, %3, 0; @on st.global.v2.b64 [%2], {%0, %1}; }"
               :: "l"(r[0]), "l"(r[1]), "l"(p), "r"((unsigned)on) : "memory");
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
DEVICE void store_global_8(const float* r, void* p) {
  asm volatile("st.global.v2.f32 [%2], {%0, %1};"
               :: "f"(r[0]), "f"(r[1]), "l"(p) : "memory");
}
DEVICE void store_global_8(const int* r, void* p) {
  asm volatile("st.global.v2.b32 [%2], {%0, %1};"
               :: "r"(r[0]), "r"(r[1]), "l"(p) : "memory");
}
DEVICE void store_global_8(const long long* r, void* p) {
  asm volatile("st.global.b64 [%1], %0;"
               :: "l"(r[0]), "l"(p) : "memory");
}
DEVICE void store_global_8(const unsigned* r, void* p) {
  asm volatile("st.global.v2.b32 [%2], {%0, %1};"
               :: "r"(r[0]), "r"(r[1]), "l"(p) : "memory");
}
DEVICE void store_global_8(const unsigned long long* r, void* p) {
  asm volatile("st.global.b64 [%1], %0;"
               :: "l"(r[0]), "l"(p) : "memory");
}
DEVICE void store_shared_16(const float* r, unsigned p) {
  asm volatile("st.shared.v4.f32 [%4], {%0, %1, %2, %3};"
               :: "f"(r[0]), "f"(r[1]), "f"(r[2]), "f"(r[3]), "r"(p) : "memory");
}
DEVICE void store_shared_16(const int* r, unsigned p) {
  asm volatile("st.shared.v4.b32 [%4], {%0, %1, %2, %3};"
               :: "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(p) : "memory");
}
DEVICE void store_shared_16(const long long* r, unsigned p) {
  asm volatile("st.shared.v2.b64 [%2], {%0, %1};"
               :: "l"(r[0]), "l"(r[1]), "r"(p) : "memory");
}
DEVICE void store_shared_16(const unsigned* r, unsigned p) {
  asm volatile("st.shared.v4.b32 [%4], {%0, %1, %2, %3};"
               :: "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(p) : "memory");
}
DEVICE void store_shared_16(const unsigned long long* r, unsigned p) {
  asm volatile("st.shared.v2.b64 [%2], {%0, %1};"
               :: "l"(r[0]), "l"(r[1]), "r"(p) : "memory");
}
DEVICE void store_shared_1(unsigned v, unsigned p) {
  asm volatile("st.shared.u8 [%1], %0;" :: "r"(v), "r"(p) : "memory");
}
DEVICE void store_shared_2(unsigned v, unsigned p) {
  asm volatile("st.shared.u16 [%1], %0;" :: "r"(v), "r"(p) : "memory");
}
DEVICE void store_shared_4(const float* r, unsigned p) {
  asm volatile("st.shared.f32 [%1], %0;"
               :: "f"(r[0]), "r"(p) : "memory");
}
DEVICE void store_shared_4(const int* r, unsigned p) {
  asm volatile("st.shared.b32 [%1], %0;"
               :: "r"(r[0]), "r"(p) : "memory");
}
DEVICE void store_shared_4(const unsigned* r, unsigned p) {
  asm volatile("st.shared.b32 [%1], %0;"
               :: "r"(r[0]), "r"(p) : "memory");
}
DEVICE void store_shared_8_if(bool on, const float* r, unsigned p) {
  asm volatile("{ .reg .pred on; setp.ne.u32 on, %3, 0; @on st.shared.v2.f32 [%2], {%0, %1}; }"
               :: "f"(r[0]), "f"(r[1]), "r"(p), "r"((unsigned)on) : "memory");
}
DEVICE void store_shared_8_if(bool on, const int* r, unsigned p) {
  asm volatile("{ .reg .pred on; setp.ne.u32 on, %3, 0; @on st.shared.v2.b32 [%2], {%0, %1}; }"
               :: "r"(r[0]), "r"(r[1]), "r"(p), "r"((unsigned)on) : "memory");
}
DEVICE void store_shared_8_if(bool on, const long long* r, unsigned p) {
  asm volatile("{ .reg .pred on; setp.ne.u32 on, %2, 0; @on st.shared.b64 [%1], %0; }"
               :: "l"(r[0]), "r"(p), "r"((unsigned)on) : "memory");
}
DEVICE void store_shared_8_if(bool on, const unsigned* r, unsigned p) {
  asm volatile("{ .reg .pred on; setp.ne.u32 on, %3, 0; @on st.shared.v2.b32 [%2], {%0, %1}; }"
               :: "r"(r[0]), "r"(r[1]), "r"(p), "r"((unsigned)on) : "memory");
}
DEVICE void store_shared_8_if(bool on, const unsigned long long* r, unsigned p) {
  asm volatile("{ .reg .pred on; setp.ne.u32 on, %2, 0; @on st.shared.b64 [%1], %0; }"
               :: "l"(r[0]), "r"(p), "r"((unsigned)on) : "memory");
}

extern "C" __global__ void __launch_bounds__(32, 1) packed_registers(const f16* float16_in, f16* float16_out, const bf16* bfloat16_in, bf16* bfloat16_out, const float* float32_in, float* float32_out, const signed char* int8_in, signed char* int8_out, const short* int16_in, short* int16_out, const int* int32_in, int* int32_out, const long long* int64_in, long long* int64_out, const unsigned char* uint8_in, unsigned char* uint8_out, const unsigned short* uint16_in, unsigned short* uint16_out, const unsigned* uint32_in, unsigned* uint32_out, const unsigned long long* uint64_in, unsigned long long* uint64_out, const bool* bool_in, bool* bool_out) {
  const int thread = threadIdx.x;
  const int lane = threadIdx.x & 31;
  extern __shared__ __align__(1024) unsigned char smem[];
  const unsigned shared = (unsigned)__cvta_generic_to_shared(smem);
  const unsigned own = shared + (unsigned)lane * 16;  // kernels.cpp:2
  const long long offset = (long long)thread * 64;
  unsigned float16_r[5];  // kernels.cpp:20, 9 float16
  load_global_16(float16_r, float16_in + offset + 16);
  store_shared_16(float16_r, own);
  { unsigned t[4]; load_shared_16(t, own); set16(float16_r, 1, lo16(t[0])); set16(float16_r, 2, hi16(t[0])); set16(float16_r, 3, lo16(t[1])); set16(float16_r, 4, hi16(t[1])); set16(float16_r, 5, lo16(t[2])); set16(float16_r, 6, hi16(t[2])); set16(float16_r, 7, lo16(t[3])); float16_r[4] = (unsigned short)(hi16(t[3])); }
  { const unsigned t[4] = {pack16(hi16(float16_r[0]), lo16(float16_r[1])), pack16(hi16(float16_r[1]), lo16(float16_r[2])), pack16(hi16(float16_r[2]), lo16(float16_r[3])), pack16(hi16(float16_r[3]), lo16(float16_r[4]))}; store_global_16_if(lane < 7, t, float16_out + offset + 16); }
  load_global_8(float16_r, float16_in + offset + 8);
  store_shared_8_if(lane < 7, float16_r, own);
  { unsigned t[2]; load_shared_8(t, own); set16(float16_r, 1, lo16(t[0])); set16(float16_r, 2, hi16(t[0])); set16(float16_r, 3, lo16(t[1])); set16(float16_r, 4, hi16(t[1])); }
  { const unsigned t[2] = {pack16(hi16(float16_r[0]), lo16(float16_r[1])), pack16(hi16(float16_r[1]), lo16(float16_r[2]))}; store_global_8(t, float16_out + offset + 8); }
  load_global_4_if(lane < 7, float16_r, float16_in + offset + 4);
  store_shared_4(float16_r, own);
  { unsigned t[1]; load_shared_4(t, own); set16(float16_r, 1, lo16(t[0])); set16(float16_r, 2, hi16(t[0])); }
  { const unsigned t[1] = {pack16(hi16(float16_r[0]), lo16(float16_r[1]))}; store_global_4(t, float16_out + offset + 4); }
  set16(float16_r, 0, load_global_2(float16_in + offset + 2));
  store_shared_2(lo16(float16_r[0]), own);
  set16(float16_r, 1, load_shared_2(own));
  store_global_2(hi16(float16_r[0]), float16_out + offset + 2);
  float16_r[0] = pack16(hi16(float16_r[0]), lo16(float16_r[0]));
  float16_r[4] = (unsigned short)(lo16(float16_r[0]));
  store_global_2(lo16(float16_r[4]), float16_out + offset);
  store_global_2(lo16(float16_r[0]), float16_out + offset + 1);
  unsigned bfloat16_r[5];  // kernels.cpp:21, 9 bfloat16
  load_global_16(bfloat16_r, bfloat16_in + offset + 16);
  store_shared_16(bfloat16_r, own);
  { unsigned t[4]; load_shared_16(t, own); set16(bfloat16_r, 1, lo16(t[0])); set16(bfloat16_r, 2, hi16(t[0])); set16(bfloat16_r, 3, lo16(t[1])); set16(bfloat16_r, 4, hi16(t[1])); set16(bfloat16_r, 5, lo16(t[2])); set16(bfloat16_r, 6, hi16(t[2])); set16(bfloat16_r, 7, lo16(t[3])); bfloat16_r[4] = (unsigned short)(hi16(t[3])); }
  { const unsigned t[4] = {pack16(hi16(bfloat16_r[0]), lo16(bfloat16_r[1])), pack16(hi16(bfloat16_r[1]), lo16(bfloat16_r[2])), pack16(hi16(bfloat16_r[2]), lo16(bfloat16_r[3])), pack16(hi16(bfloat16_r[3]), lo16(bfloat16_r[4]))}; store_global_16_if(lane < 7, t, bfloat16_out + offset + 16); }
  load_global_8(bfloat16_r, bfloat16_in + offset + 8);
  store_shared_8_if(lane < 7, bfloat16_r, own);
  { unsigned t[2]; load_shared_8(t, own); set16(bfloat16_r, 1, lo16(t[0])); set16(bfloat16_r, 2, hi16(t[0])); set16(bfloat16_r, 3, lo16(t[1])); set16(bfloat16_r, 4, hi16(t[1])); }
  { const unsigned t[2] = {pack16(hi16(bfloat16_r[0]), lo16(bfloat16_r[1])), pack16(hi16(bfloat16_r[1]), lo16(bfloat16_r[2]))}; store_global_8(t, bfloat16_out + offset + 8); }
  load_global_4_if(lane < 7, bfloat16_r, bfloat16_in + offset + 4);
  store_shared_4(bfloat16_r, own);
  { unsigned t[1]; load_shared_4(t, own); set16(bfloat16_r, 1, lo16(t[0])); set16(bfloat16_r, 2, hi16(t[0])); }
  { const unsigned t[1] = {pack16(hi16(bfloat16_r[0]), lo16(bfloat16_r[1]))}; store_global_4(t, bfloat16_out + offset + 4); }
  set16(bfloat16_r, 0, load_global_2(bfloat16_in + offset + 2));
  store_shared_2(lo16(bfloat16_r[0]), own);
  set16(bfloat16_r, 1, load_shared_2(own));
  store_global_2(hi16(bfloat16_r[0]), bfloat16_out + offset + 2);
  bfloat16_r[0] = pack16(hi16(bfloat16_r[0]), lo16(bfloat16_r[0]));
  bfloat16_r[4] = (unsigned short)(lo16(bfloat16_r[0]));
  store_global_2(lo16(bfloat16_r[4]), bfloat16_out + offset);
  store_global_2(lo16(bfloat16_r[0]), bfloat16_out + offset + 1);
  float float32_r[5];  // kernels.cpp:22
  load_global_16(float32_r, float32_in + offset + 16);
  store_shared_16(float32_r, own);
  load_shared_16(&float32_r[1], own);
  store_global_16_if(lane < 7, &float32_r[1], float32_out + offset + 16);
  load_global_8(float32_r, float32_in + offset + 8);
  store_shared_8_if(lane < 7, float32_r, own);
  load_shared_8(&float32_r[1], own);
  store_global_8(&float32_r[1], float32_out + offset + 8);
  load_global_4_if(lane < 7, float32_r, float32_in + offset + 4);
  store_shared_4(float32_r, own);
  load_shared_4(&float32_r[1], own);
  store_global_4(&float32_r[1], float32_out + offset + 4);
  { const float t0 = float32_r[1]; const float t1 = float32_r[0]; float32_r[0] = t0; float32_r[1] = t1; }
  float32_r[4] = float32_r[0];
  store_global_4(&float32_r[4], float32_out + offset);
  store_global_4(float32_r, float32_out + offset + 1);
  unsigned int8_r[5];  // kernels.cpp:23, 17 int8
  load_global_16(int8_r, int8_in + offset + 16);
  store_shared_16(int8_r, own);
  { unsigned t[4]; load_shared_16(t, own); set8(int8_r, 1, get8(t, 0)); set8(int8_r, 2, get8(t, 1)); set8(int8_r, 3, get8(t, 2)); set8(int8_r, 4, get8(t, 3)); set8(int8_r, 5, get8(t, 4)); set8(int8_r, 6, get8(t, 5)); set8(int8_r, 7, get8(t, 6)); set8(int8_r, 8, get8(t, 7)); set8(int8_r, 9, get8(t, 8)); set8(int8_r, 10, get8(t, 9)); set8(int8_r, 11, get8(t, 10)); set8(int8_r, 12, get8(t, 11)); set8(int8_r, 13, get8(t, 12)); set8(int8_r, 14, get8(t, 13)); set8(int8_r, 15, get8(t, 14)); int8_r[4] = (unsigned char)(get8(t, 15)); }
  { const unsigned t[4] = {pack8((signed char)get8(int8_r, 1), (signed char)get8(int8_r, 2), (signed char)get8(int8_r, 3), (signed char)get8(int8_r, 4)), pack8((signed char)get8(int8_r, 5), (signed char)get8(int8_r, 6), (signed char)get8(int8_r, 7), (signed char)get8(int8_r, 8)), pack8((signed char)get8(int8_r, 9), (signed char)get8(int8_r, 10), (signed char)get8(int8_r, 11), (signed char)get8(int8_r, 12)), pack8((signed char)get8(int8_r, 13), (signed char)get8(int8_r, 14), (signed char)get8(int8_r, 15), (signed char)get8(int8_r, 16))}; store_global_16_if(lane < 7, t, int8_out + offset + 16); }
  load_global_8(int8_r, int8_in + offset + 8);
  store_shared_8_if(lane < 7, int8_r, own);
  { unsigned t[2]; load_shared_8(t, own); set8(int8_r, 1, get8(t, 0)); set8(int8_r, 2, get8(t, 1)); set8(int8_r, 3, get8(t, 2)); set8(int8_r, 4, get8(t, 3)); set8(int8_r, 5, get8(t, 4)); set8(int8_r, 6, get8(t, 5)); set8(int8_r, 7, get8(t, 6)); set8(int8_r, 8, get8(t, 7)); }
  { const unsigned t[2] = {pack8((signed char)get8(int8_r, 1), (signed char)get8(int8_r, 2), (signed char)get8(int8_r, 3), (signed char)get8(int8_r, 4)), pack8((signed char)get8(int8_r, 5), (signed char)get8(int8_r, 6), (signed char)get8(int8_r, 7), (signed char)get8(int8_r, 8))}; store_global_8(t, int8_out + offset + 8); }
  load_global_4_if(lane < 7, int8_r, int8_in + offset + 4);
  store_shared_4(int8_r, own);
  { unsigned t[1]; load_shared_4(t, own); set8(int8_r, 1, get8(t, 0)); set8(int8_r, 2, get8(t, 1)); set8(int8_r, 3, get8(t, 2)); set8(int8_r, 4, get8(t, 3)); }
  { const unsigned t[1] = {pack8((signed char)get8(int8_r, 1), (signed char)get8(int8_r, 2), (signed char)get8(int8_r, 3), (signed char)get8(int8_r, 4))}; store_global_4(t, int8_out + offset + 4); }
  { const unsigned t = load_global_2(int8_in + offset + 2); set8(int8_r, 0, get8(&t, 0)); set8(int8_r, 1, get8(&t, 1)); }
  store_shared_2(pack8((signed char)get8(int8_r, 0), (signed char)get8(int8_r, 1), 0, 0), own);
  { const unsigned t = load_shared_2(own); set8(int8_r, 1, get8(&t, 0)); set8(int8_r, 2, get8(&t, 1)); }
  store_global_2(pack8((signed char)get8(int8_r, 1), (signed char)get8(int8_r, 2), 0, 0), int8_out + offset + 2);
  set8(int8_r, 0, load_global_1(int8_in + offset + 1));
  store_shared_1((signed char)get8(int8_r, 0), own);
  set8(int8_r, 1, load_shared_1(own));
  store_global_1((signed char)get8(int8_r, 1), int8_out + offset + 1);
  { const signed char t0 = (signed char)get8(int8_r, 1); const signed char t1 = (signed char)get8(int8_r, 0); set8(int8_r, 0, t0); set8(int8_r, 1, t1); }
  int8_r[4] = (unsigned char)((signed char)get8(int8_r, 0));
  store_global_1((signed char)get8(int8_r, 16), int8_out + offset);
  store_global_1((signed char)get8(int8_r, 0), int8_out + offset + 1);
  unsigned int16_r[5];  // kernels.cpp:24, 9 int16
  load_global_16(int16_r, int16_in + offset + 16);
  store_shared_16(int16_r, own);
  { unsigned t[4]; load_shared_16(t, own); set16(int16_r, 1, lo16(t[0])); set16(int16_r, 2, hi16(t[0])); set16(int16_r, 3, lo16(t[1])); set16(int16_r, 4, hi16(t[1])); set16(int16_r, 5, lo16(t[2])); set16(int16_r, 6, hi16(t[2])); set16(int16_r, 7, lo16(t[3])); int16_r[4] = (unsigned short)(hi16(t[3])); }
  { const unsigned t[4] = {pack16((short)hi16(int16_r[0]), (short)lo16(int16_r[1])), pack16((short)hi16(int16_r[1]), (short)lo16(int16_r[2])), pack16((short)hi16(int16_r[2]), (short)lo16(int16_r[3])), pack16((short)hi16(int16_r[3]), (short)lo16(int16_r[4]))}; store_global_16_if(lane < 7, t, int16_out + offset + 16); }
  load_global_8(int16_r, int16_in + offset + 8);
  store_shared_8_if(lane < 7, int16_r, own);
  { unsigned t[2]; load_shared_8(t, own); set16(int16_r, 1, lo16(t[0])); set16(int16_r, 2, hi16(t[0])); set16(int16_r, 3, lo16(t[1])); set16(int16_r, 4, hi16(t[1])); }
  { const unsigned t[2] = {pack16((short)hi16(int16_r[0]), (short)lo16(int16_r[1])), pack16((short)hi16(int16_r[1]), (short)lo16(int16_r[2]))}; store_global_8(t, int16_out + offset + 8); }
  load_global_4_if(lane < 7, int16_r, int16_in + offset + 4);
  store_shared_4(int16_r, own);
  { unsigned t[1]; load_shared_4(t, own); set16(int16_r, 1, lo16(t[0])); set16(int16_r, 2, hi16(t[0])); }
  { const unsigned t[1] = {pack16((short)hi16(int16_r[0]), (short)lo16(int16_r[1]))}; store_global_4(t, int16_out + offset + 4); }
  set16(int16_r, 0, load_global_2(int16_in + offset + 2));
  store_shared_2((short)lo16(int16_r[0]), own);
  set16(int16_r, 1, load_shared_2(own));
  store_global_2((short)hi16(int16_r[0]), int16_out + offset + 2);
  int16_r[0] = pack16((short)hi16(int16_r[0]), (short)lo16(int16_r[0]));
  int16_r[4] = (unsigned short)((short)lo16(int16_r[0]));
  store_global_2((short)lo16(int16_r[4]), int16_out + offset);
  store_global_2((short)lo16(int16_r[0]), int16_out + offset + 1);
  int int32_r[5];  // kernels.cpp:25
  load_global_16(int32_r, int32_in + offset + 16);
  store_shared_16(int32_r, own);
  load_shared_16(&int32_r[1], own);
  store_global_16_if(lane < 7, &int32_r[1], int32_out + offset + 16);
  load_global_8(int32_r, int32_in + offset + 8);
  store_shared_8_if(lane < 7, int32_r, own);
  load_shared_8(&int32_r[1], own);
  store_global_8(&int32_r[1], int32_out + offset + 8);
  load_global_4_if(lane < 7, int32_r, int32_in + offset + 4);
  store_shared_4(int32_r, own);
  load_shared_4(&int32_r[1], own);
  store_global_4(&int32_r[1], int32_out + offset + 4);
  { const int t0 = int32_r[1]; const int t1 = int32_r[0]; int32_r[0] = t0; int32_r[1] = t1; }
  int32_r[4] = int32_r[0];
  store_global_4(&int32_r[4], int32_out + offset);
  store_global_4(int32_r, int32_out + offset + 1);
  long long int64_r[3];  // kernels.cpp:26
  load_global_16(int64_r, int64_in + offset + 16);
  store_shared_16(int64_r, own);
  load_shared_16(&int64_r[1], own);
  store_global_16_if(lane < 7, &int64_r[1], int64_out + offset + 16);
  load_global_8(int64_r, int64_in + offset + 8);
  store_shared_8_if(lane < 7, int64_r, own);
  load_shared_8(&int64_r[1], own);
  store_global_8(&int64_r[1], int64_out + offset + 8);
  { const long long t0 = int64_r[1]; const long long t1 = int64_r[0]; int64_r[0] = t0; int64_r[1] = t1; }
  int64_r[2] = int64_r[0];
  store_global_8(&int64_r[2], int64_out + offset);
  store_global_8(int64_r, int64_out + offset + 1);
  unsigned uint8_r[5];  // kernels.cpp:27, 17 uint8
  load_global_16(uint8_r, uint8_in + offset + 16);
  store_shared_16(uint8_r, own);
  { unsigned t[4]; load_shared_16(t, own); set8(uint8_r, 1, get8(t, 0)); set8(uint8_r, 2, get8(t, 1)); set8(uint8_r, 3, get8(t, 2)); set8(uint8_r, 4, get8(t, 3)); set8(uint8_r, 5, get8(t, 4)); set8(uint8_r, 6, get8(t, 5)); set8(uint8_r, 7, get8(t, 6)); set8(uint8_r, 8, get8(t, 7)); set8(uint8_r, 9, get8(t, 8)); set8(uint8_r, 10, get8(t, 9)); set8(uint8_r, 11, get8(t, 10)); set8(uint8_r, 12, get8(t, 11)); set8(uint8_r, 13, get8(t, 12)); set8(uint8_r, 14, get8(t, 13)); set8(uint8_r, 15, get8(t, 14)); uint8_r[4] = (unsigned char)(get8(t, 15)); }
  { const unsigned t[4] = {pack8(get8(uint8_r, 1), get8(uint8_r, 2), get8(uint8_r, 3), get8(uint8_r, 4)), pack8(get8(uint8_r, 5), get8(uint8_r, 6), get8(uint8_r, 7), get8(uint8_r, 8)), pack8(get8(uint8_r, 9), get8(uint8_r, 10), get8(uint8_r, 11), get8(uint8_r, 12)), pack8(get8(uint8_r, 13), get8(uint8_r, 14), get8(uint8_r, 15), get8(uint8_r, 16))}; store_global_16_if(lane < 7, t, uint8_out + offset + 16); }
  load_global_8(uint8_r, uint8_in + offset + 8);
  store_shared_8_if(lane < 7, uint8_r, own);
  { unsigned t[2]; load_shared_8(t, own); set8(uint8_r, 1, get8(t, 0)); set8(uint8_r, 2, get8(t, 1)); set8(uint8_r, 3, get8(t, 2)); set8(uint8_r, 4, get8(t, 3)); set8(uint8_r, 5, get8(t, 4)); set8(uint8_r, 6, get8(t, 5)); set8(uint8_r, 7, get8(t, 6)); set8(uint8_r, 8, get8(t, 7)); }
  { const unsigned t[2] = {pack8(get8(uint8_r, 1), get8(uint8_r, 2), get8(uint8_r, 3), get8(uint8_r, 4)), pack8(get8(uint8_r, 5), get8(uint8_r, 6), get8(uint8_r, 7), get8(uint8_r, 8))}; store_global_8(t, uint8_out + offset + 8); }
  load_global_4_if(lane < 7, uint8_r, uint8_in + offset + 4);
  store_shared_4(uint8_r, own);
  { unsigned t[1]; load_shared_4(t, own); set8(uint8_r, 1, get8(t, 0)); set8(uint8_r, 2, get8(t, 1)); set8(uint8_r, 3, get8(t, 2)); set8(uint8_r, 4, get8(t, 3)); }
  { const unsigned t[1] = {pack8(get8(uint8_r, 1), get8(uint8_r, 2), get8(uint8_r, 3), get8(uint8_r, 4))}; store_global_4(t, uint8_out + offset + 4); }
  { const unsigned t = load_global_2(uint8_in + offset + 2); set8(uint8_r, 0, get8(&t, 0)); set8(uint8_r, 1, get8(&t, 1)); }
  store_shared_2(pack8(get8(uint8_r, 0), get8(uint8_r, 1), 0, 0), own);
  { const unsigned t = load_shared_2(own); set8(uint8_r, 1, get8(&t, 0)); set8(uint8_r, 2, get8(&t, 1)); }
  store_global_2(pack8(get8(uint8_r, 1), get8(uint8_r, 2), 0, 0), uint8_out + offset + 2);
  set8(uint8_r, 0, load_global_1(uint8_in + offset + 1));
  store_shared_1(get8(uint8_r, 0), own);
  set8(uint8_r, 1, load_shared_1(own));
  store_global_1(get8(uint8_r, 1), uint8_out + offset + 1);
  { const unsigned char t0 = get8(uint8_r, 1); const unsigned char t1 = get8(uint8_r, 0); set8(uint8_r, 0, t0); set8(uint8_r, 1, t1); }
  uint8_r[4] = (unsigned char)(get8(uint8_r, 0));
  store_global_1(get8(uint8_r, 16), uint8_out + offset);
  store_global_1(get8(uint8_r, 0), uint8_out + offset + 1);
  unsigned uint16_r[5];  // kernels.cpp:28, 9 uint16
  load_global_16(uint16_r, uint16_in + offset + 16);
  store_shared_16(uint16_r, own);
  { unsigned t[4]; load_shared_16(t, own); set16(uint16_r, 1, lo16(t[0])); set16(uint16_r, 2, hi16(t[0])); set16(uint16_r, 3, lo16(t[1])); set16(uint16_r, 4, hi16(t[1])); set16(uint16_r, 5, lo16(t[2])); set16(uint16_r, 6, hi16(t[2])); set16(uint16_r, 7, lo16(t[3])); uint16_r[4] = (unsigned short)(hi16(t[3])); }
  { const unsigned t[4] = {pack16(hi16(uint16_r[0]), lo16(uint16_r[1])), pack16(hi16(uint16_r[1]), lo16(uint16_r[2])), pack16(hi16(uint16_r[2]), lo16(uint16_r[3])), pack16(hi16(uint16_r[3]), lo16(uint16_r[4]))}; store_global_16_if(lane < 7, t, uint16_out + offset + 16); }
  load_global_8(uint16_r, uint16_in + offset + 8);
  store_shared_8_if(lane < 7, uint16_r, own);
  { unsigned t[2]; load_shared_8(t, own); set16(uint16_r, 1, lo16(t[0])); set16(uint16_r, 2, hi16(t[0])); set16(uint16_r, 3, lo16(t[1])); set16(uint16_r, 4, hi16(t[1])); }
  { const unsigned t[2] = {pack16(hi16(uint16_r[0]), lo16(uint16_r[1])), pack16(hi16(uint16_r[1]), lo16(uint16_r[2]))}; store_global_8(t, uint16_out + offset + 8); }
  load_global_4_if(lane < 7, uint16_r, uint16_in + offset + 4);
  store_shared_4(uint16_r, own);
  { unsigned t[1]; load_shared_4(t, own); set16(uint16_r, 1, lo16(t[0])); set16(uint16_r, 2, hi16(t[0])); }
  { const unsigned t[1] = {pack16(hi16(uint16_r[0]), lo16(uint16_r[1]))}; store_global_4(t, uint16_out + offset + 4); }
  set16(uint16_r, 0, load_global_2(uint16_in + offset + 2));
  store_shared_2(lo16(uint16_r[0]), own);
  set16(uint16_r, 1, load_shared_2(own));
  store_global_2(hi16(uint16_r[0]), uint16_out + offset + 2);
  uint16_r[0] = pack16(hi16(uint16_r[0]), lo16(uint16_r[0]));
  uint16_r[4] = (unsigned short)(lo16(uint16_r[0]));
  store_global_2(lo16(uint16_r[4]), uint16_out + offset);
  store_global_2(lo16(uint16_r[0]), uint16_out + offset + 1);
  unsigned uint32_r[5];  // kernels.cpp:29
  load_global_16(uint32_r, uint32_in + offset + 16);
  store_shared_16(uint32_r, own);
  load_shared_16(&uint32_r[1], own);
  store_global_16_if(lane < 7, &uint32_r[1], uint32_out + offset + 16);
  load_global_8(uint32_r, uint32_in + offset + 8);
  store_shared_8_if(lane < 7, uint32_r, own);
  load_shared_8(&uint32_r[1], own);
  store_global_8(&uint32_r[1], uint32_out + offset + 8);
  load_global_4_if(lane < 7, uint32_r, uint32_in + offset + 4);
  store_shared_4(uint32_r, own);
  load_shared_4(&uint32_r[1], own);
  store_global_4(&uint32_r[1], uint32_out + offset + 4);
  { const unsigned t0 = uint32_r[1]; const unsigned t1 = uint32_r[0]; uint32_r[0] = t0; uint32_r[1] = t1; }
  uint32_r[4] = uint32_r[0];
  store_global_4(&uint32_r[4], uint32_out + offset);
  store_global_4(uint32_r, uint32_out + offset + 1);
  unsigned long long uint64_r[3];  // kernels.cpp:30
  load_global_16(uint64_r, uint64_in + offset + 16);
  store_shared_16(uint64_r, own);
  load_shared_16(&uint64_r[1], own);
  store_global_16_if(lane < 7, &uint64_r[1], uint64_out + offset + 16);
  load_global_8(uint64_r, uint64_in + offset + 8);
  store_shared_8_if(lane < 7, uint64_r, own);
  load_shared_8(&uint64_r[1], own);
  store_global_8(&uint64_r[1], uint64_out + offset + 8);
  { const unsigned long long t0 = uint64_r[1]; const unsigned long long t1 = uint64_r[0]; uint64_r[0] = t0; uint64_r[1] = t1; }
  uint64_r[2] = uint64_r[0];
  store_global_8(&uint64_r[2], uint64_out + offset);
  store_global_8(uint64_r, uint64_out + offset + 1);
  bool bool_r[17];  // kernels.cpp:31
  { unsigned t[4]; load_global_16(t, bool_in + offset + 16); bool_r[0] = get8(t, 0) != 0; bool_r[1] = get8(t, 1) != 0; bool_r[2] = get8(t, 2) != 0; bool_r[3] = get8(t, 3) != 0; bool_r[4] = get8(t, 4) != 0; bool_r[5] = get8(t, 5) != 0; bool_r[6] = get8(t, 6) != 0; bool_r[7] = get8(t, 7) != 0; bool_r[8] = get8(t, 8) != 0; bool_r[9] = get8(t, 9) != 0; bool_r[10] = get8(t, 10) != 0; bool_r[11] = get8(t, 11) != 0; bool_r[12] = get8(t, 12) != 0; bool_r[13] = get8(t, 13) != 0; bool_r[14] = get8(t, 14) != 0; bool_r[15] = get8(t, 15) != 0; }
  { const unsigned t[4] = {pack8(bool_r[0], bool_r[1], bool_r[2], bool_r[3]), pack8(bool_r[4], bool_r[5], bool_r[6], bool_r[7]), pack8(bool_r[8], bool_r[9], bool_r[10], bool_r[11]), pack8(bool_r[12], bool_r[13], bool_r[14], bool_r[15])}; store_shared_16(t, own); }
  { unsigned t[4]; load_shared_16(t, own); bool_r[1] = get8(t, 0) != 0; bool_r[2] = get8(t, 1) != 0; bool_r[3] = get8(t, 2) != 0; bool_r[4] = get8(t, 3) != 0; bool_r[5] = get8(t, 4) != 0; bool_r[6] = get8(t, 5) != 0; bool_r[7] = get8(t, 6) != 0; bool_r[8] = get8(t, 7) != 0; bool_r[9] = get8(t, 8) != 0; bool_r[10] = get8(t, 9) != 0; bool_r[11] = get8(t, 10) != 0; bool_r[12] = get8(t, 11) != 0; bool_r[13] = get8(t, 12) != 0; bool_r[14] = get8(t, 13) != 0; bool_r[15] = get8(t, 14) != 0; bool_r[16] = get8(t, 15) != 0; }
  { const unsigned t[4] = {pack8(bool_r[1], bool_r[2], bool_r[3], bool_r[4]), pack8(bool_r[5], bool_r[6], bool_r[7], bool_r[8]), pack8(bool_r[9], bool_r[10], bool_r[11], bool_r[12]), pack8(bool_r[13], bool_r[14], bool_r[15], bool_r[16])}; store_global_16_if(lane < 7, t, bool_out + offset + 16); }
  { unsigned t[2]; load_global_8(t, bool_in + offset + 8); bool_r[0] = get8(t, 0) != 0; bool_r[1] = get8(t, 1) != 0; bool_r[2] = get8(t, 2) != 0; bool_r[3] = get8(t, 3) != 0; bool_r[4] = get8(t, 4) != 0; bool_r[5] = get8(t, 5) != 0; bool_r[6] = get8(t, 6) != 0; bool_r[7] = get8(t, 7) != 0; }
  { const unsigned t[2] = {pack8(bool_r[0], bool_r[1], bool_r[2], bool_r[3]), pack8(bool_r[4], bool_r[5], bool_r[6], bool_r[7])}; store_shared_8_if(lane < 7, t, own); }
  { unsigned t[2]; load_shared_8(t, own); bool_r[1] = get8(t, 0) != 0; bool_r[2] = get8(t, 1) != 0; bool_r[3] = get8(t, 2) != 0; bool_r[4] = get8(t, 3) != 0; bool_r[5] = get8(t, 4) != 0; bool_r[6] = get8(t, 5) != 0; bool_r[7] = get8(t, 6) != 0; bool_r[8] = get8(t, 7) != 0; }
  { const unsigned t[2] = {pack8(bool_r[1], bool_r[2], bool_r[3], bool_r[4]), pack8(bool_r[5], bool_r[6], bool_r[7], bool_r[8])}; store_global_8(t, bool_out + offset + 8); }
  { unsigned t[1]; load_global_4_if(lane < 7, t, bool_in + offset + 4); bool_r[0] = get8(t, 0) != 0; bool_r[1] = get8(t, 1) != 0; bool_r[2] = get8(t, 2) != 0; bool_r[3] = get8(t, 3) != 0; }
  { const unsigned t[1] = {pack8(bool_r[0], bool_r[1], bool_r[2], bool_r[3])}; store_shared_4(t, own); }
  { unsigned t[1]; load_shared_4(t, own); bool_r[1] = get8(t, 0) != 0; bool_r[2] = get8(t, 1) != 0; bool_r[3] = get8(t, 2) != 0; bool_r[4] = get8(t, 3) != 0; }
  { const unsigned t[1] = {pack8(bool_r[1], bool_r[2], bool_r[3], bool_r[4])}; store_global_4(t, bool_out + offset + 4); }
  { const unsigned t = load_global_2(bool_in + offset + 2); bool_r[0] = get8(&t, 0) != 0; bool_r[1] = get8(&t, 1) != 0; }
  store_shared_2(pack8(bool_r[0], bool_r[1], 0, 0), own);
  { const unsigned t = load_shared_2(own); bool_r[1] = get8(&t, 0) != 0; bool_r[2] = get8(&t, 1) != 0; }
  store_global_2(pack8(bool_r[1], bool_r[2], 0, 0), bool_out + offset + 2);
  bool_r[0] = load_global_1(bool_in + offset + 1) != 0;
  store_shared_1(bool_r[0], own);
  bool_r[1] = load_shared_1(own) != 0;
  store_global_1(bool_r[1], bool_out + offset + 1);
  { const bool t0 = bool_r[1]; const bool t1 = bool_r[0]; bool_r[0] = t0; bool_r[1] = t1; }
  bool_r[16] = bool_r[0];
  store_global_1(bool_r[16], bool_out + offset);
  store_global_1(bool_r[0], bool_out + offset + 1);
}
