// What a printed kernel needs to run on the CPU, one thread after another: the CUDA words that it uses, and the
// prelude's helpers written again, in plain C++, from what PTX says about the instructions.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "tessera/core/dtype.hpp"

#define __global__
#define __launch_bounds__(threads, ctas)
#define __shared__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define fminf ptx_min
#define fmaxf ptx_max

struct HostIndex {
  unsigned x = 0, y = 0, z = 0;
};
inline HostIndex threadIdx, blockIdx;
extern "C" {  // the kernels that declare it are extern "C"
alignas(1024) inline unsigned char smem[4096];
}

inline std::uint32_t __cvta_generic_to_shared(const unsigned char*) { return 0; }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline void __syncwarp(unsigned) {}

using f16 = unsigned short;
using bf16 = unsigned short;
inline float f16_to_float(f16 x) { return tessera::float16::to_float(x); }
inline float bf16_to_float(bf16 x) { return tessera::bfloat16::to_float(x); }
inline f16 float_to_f16(float x) { return tessera::float16::from_float(x); }
inline bf16 float_to_bf16(float x) { return tessera::bfloat16::from_float(x); }
inline f16 e4m3_to_f16(unsigned char x) { return float_to_f16(tessera::float8_e4m3::to_float(x)); }
inline f16 e5m2_to_f16(unsigned char x) { return float_to_f16(tessera::float8_e5m2::to_float(x)); }
inline float e4m3_to_float(unsigned char x) { return tessera::float8_e4m3::to_float(x); }
inline float e5m2_to_float(unsigned char x) { return tessera::float8_e5m2::to_float(x); }
inline unsigned char float_to_e4m3(float x) { return tessera::float8_e4m3::from_float(x); }
inline unsigned char float_to_e5m2(float x) { return tessera::float8_e5m2::from_float(x); }
inline f16 f16_add(f16 a, f16 b) { return float_to_f16(f16_to_float(a) + f16_to_float(b)); }
inline f16 f16_sub(f16 a, f16 b) { return float_to_f16(f16_to_float(a) - f16_to_float(b)); }
inline f16 f16_mul(f16 a, f16 b) { return float_to_f16(f16_to_float(a) * f16_to_float(b)); }

// PTX min and max give the operand that is no NaN, and order -0 before +0.
inline float ptx_min(float a, float b) {
  if (a != a) return b;
  if (b != b) return a;
  return a == b ? (std::signbit(a) ? a : b) : (a < b ? a : b);
}
inline float ptx_max(float a, float b) {
  if (a != a) return b;
  if (b != b) return a;
  return a == b ? (std::signbit(a) ? b : a) : (a < b ? b : a);
}

template <class T>
T saturate(float x) {
  if (x != x) return 0;
  const double d = std::trunc(static_cast<double>(x));
  if (d <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (d >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(d);
}
inline signed char float_to_i8(float x) { return saturate<signed char>(x); }
inline short float_to_i16(float x) { return saturate<short>(x); }
inline int float_to_i32(float x) { return saturate<int>(x); }
inline long long float_to_i64(float x) { return saturate<long long>(x); }
inline unsigned char float_to_u8(float x) { return saturate<unsigned char>(x); }
inline unsigned short float_to_u16(float x) { return saturate<unsigned short>(x); }
inline unsigned float_to_u32(float x) { return saturate<unsigned>(x); }
inline unsigned long long float_to_u64(float x) { return saturate<unsigned long long>(x); }

#define HOST_WRAP(name, expression)                                                              \
  inline int name(int x, int y) {                                                                \
    const std::int64_t a = x, b = y;                                                             \
    return static_cast<int>(static_cast<std::uint32_t>(static_cast<std::uint64_t>(expression))); \
  }                                                                                              \
  inline long long name##64(long long x, long long y) {                                          \
    __extension__ const __int128 a = x, b = y;                                                   \
    return static_cast<long long>(static_cast<std::uint64_t>(expression));                       \
  }
HOST_WRAP(wrap_add, a + b)
HOST_WRAP(wrap_sub, a - b)
HOST_WRAP(wrap_mul, a* b)
HOST_WRAP(wrap_shl, a*(static_cast<decltype(a)>(1) << b))
HOST_WRAP(wrap_div, a / b)
HOST_WRAP(wrap_mod, a % b)
#undef HOST_WRAP

inline int min(int a, int b) { return a < b ? a : b; }
inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
inline long long min(long long a, long long b) { return a < b ? a : b; }
inline unsigned long long min(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
inline int max(int a, int b) { return a < b ? b : a; }
inline unsigned max(unsigned a, unsigned b) { return a < b ? b : a; }
inline long long max(long long a, long long b) { return a < b ? b : a; }
inline unsigned long long max(unsigned long long a, unsigned long long b) { return a < b ? b : a; }

// Packed elements are bytes in memory order.
inline unsigned short element16(unsigned word, int i) {
  unsigned short v;
  std::memcpy(&v, reinterpret_cast<const char*>(&word) + 2 * i, 2);
  return v;
}
inline unsigned short lo16(unsigned w) { return element16(w, 0); }
inline unsigned short hi16(unsigned w) { return element16(w, 1); }
inline unsigned short get16(const unsigned* r, int i) { return element16(r[i / 2], i % 2); }
inline unsigned char get8(const unsigned* r, int i) { return reinterpret_cast<const unsigned char*>(r)[i]; }
inline void set16(unsigned* r, int i, unsigned short v) { std::memcpy(reinterpret_cast<char*>(r) + 2 * i, &v, 2); }
inline void set8(unsigned* r, int i, unsigned char v) { reinterpret_cast<unsigned char*>(r)[i] = v; }
inline unsigned pack16(unsigned short a, unsigned short b) {
  unsigned w = 0;
  set16(&w, 0, a);
  set16(&w, 1, b);
  return w;
}
inline unsigned pack8(unsigned char a, unsigned char b, unsigned char c, unsigned char d) {
  unsigned w = 0;
  const unsigned char all[] = {a, b, c, d};
  std::memcpy(&w, all, 4);
  return w;
}
inline unsigned pack_f16(float lo, float hi) { return pack16(float_to_f16(lo), float_to_f16(hi)); }
inline unsigned pack_bf16(float lo, float hi) { return pack16(float_to_bf16(lo), float_to_bf16(hi)); }
inline unsigned pack_e4m3(float a, float b, float c, float d) {
  return pack8(float_to_e4m3(a), float_to_e4m3(b), float_to_e4m3(c), float_to_e4m3(d));
}
inline unsigned pack_e5m2(float a, float b, float c, float d) {
  return pack8(float_to_e5m2(a), float_to_e5m2(b), float_to_e5m2(c), float_to_e5m2(d));
}

inline bool host_aligned(const void* p, int bytes) {
  return reinterpret_cast<std::uintptr_t>(p) % static_cast<unsigned>(bytes) == 0;
}
inline int host_misaligned = 0;  // accesses that were not naturally aligned

#define HOST_VECTOR(bytes)                                          \
  template <class R>                                                \
  void load_global_##bytes##_if(bool on, R* r, const void* p) {     \
    if (on) {                                                       \
      host_misaligned += host_aligned(p, bytes) ? 0 : 1;            \
      std::memcpy(r, p, bytes);                                     \
    } else {                                                        \
      std::memset(r, 0, bytes);                                     \
    }                                                               \
  }                                                                 \
  template <class R>                                                \
  void store_global_##bytes##_if(bool on, const R* r, void* p) {    \
    if (!on) return;                                                \
    host_misaligned += host_aligned(p, bytes) ? 0 : 1;              \
    std::memcpy(p, r, bytes);                                       \
  }                                                                 \
  template <class R>                                                \
  void load_global_##bytes(R* r, const void* p) {                   \
    load_global_##bytes##_if(true, r, p);                           \
  }                                                                 \
  template <class R>                                                \
  void store_global_##bytes(const R* r, void* p) {                  \
    store_global_##bytes##_if(true, r, p);                          \
  }                                                                 \
  template <class R>                                                \
  void load_shared_##bytes(R* r, unsigned p) {                      \
    load_global_##bytes##_if(true, r, smem + p);                    \
  }                                                                 \
  template <class R>                                                \
  void store_shared_##bytes(const R* r, unsigned p) {               \
    store_global_##bytes##_if(true, r, smem + p);                   \
  }                                                                 \
  template <class R>                                                \
  void store_shared_##bytes##_if(bool on, const R* r, unsigned p) { \
    store_global_##bytes##_if(on, r, smem + p);                     \
  }
HOST_VECTOR(4)
HOST_VECTOR(8)
HOST_VECTOR(16)
#undef HOST_VECTOR

#define HOST_SCALAR(bytes)                                                                  \
  inline unsigned load_global_##bytes(const void* p) {                                      \
    unsigned v = 0;                                                                         \
    std::memcpy(&v, p, bytes);                                                              \
    return v;                                                                               \
  }                                                                                         \
  inline void store_global_##bytes(unsigned v, void* p) { std::memcpy(p, &v, bytes); }      \
  inline unsigned load_shared_##bytes(unsigned p) { return load_global_##bytes(smem + p); } \
  inline void store_shared_##bytes(unsigned v, unsigned p) { store_global_##bytes(v, smem + p); }
HOST_SCALAR(1)
HOST_SCALAR(2)
#undef HOST_SCALAR
