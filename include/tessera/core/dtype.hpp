// Element types: the enumeration used by the compiler and the host-side storage types.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tessera/core/float8.hpp"

namespace tessera {

enum class DType : std::uint8_t { f16, bf16, f32, i8, i16, i32, i64, u8, u16, u32, u64, boolean, f8e4m3, f8e5m2 };

constexpr int size_of(DType type) {
  switch (type) {
    case DType::i8:
    case DType::u8:
    case DType::boolean:
    case DType::f8e4m3:
    case DType::f8e5m2: return 1;
    case DType::f16:
    case DType::bf16:
    case DType::i16:
    case DType::u16: return 2;
    case DType::f32:
    case DType::i32:
    case DType::u32: return 4;
    case DType::i64:
    case DType::u64: return 8;
  }
  return 0;
}

constexpr const char* name_of(DType type) {
  switch (type) {
    case DType::f16: return "float16";
    case DType::bf16: return "bfloat16";
    case DType::f32: return "float32";
    case DType::i8: return "int8";
    case DType::i16: return "int16";
    case DType::i32: return "int32";
    case DType::i64: return "int64";
    case DType::u8: return "uint8";
    case DType::u16: return "uint16";
    case DType::u32: return "uint32";
    case DType::u64: return "uint64";
    case DType::boolean: return "bool";
    case DType::f8e4m3: return "float8_e4m3";
    case DType::f8e5m2: return "float8_e5m2";
  }
  return "?";
}

constexpr bool is_float8(DType type) { return type == DType::f8e4m3 || type == DType::f8e5m2; }
constexpr bool is_float(DType type) {
  return type == DType::f16 || type == DType::bf16 || type == DType::f32 || is_float8(type);
}
constexpr bool is_integer(DType type) { return !is_float(type) && type != DType::boolean; }
constexpr bool is_signed(DType type) {
  return is_float(type) || type == DType::i8 || type == DType::i16 || type == DType::i32 || type == DType::i64;
}

// IEEE binary16 and bfloat16 storage. Conversion from float rounds to nearest even, as `cvt.rn` does (PTX
// ISA 9.7.9.22); arithmetic is done by converting to float.
struct float16 {
  std::uint16_t bits = 0;
  constexpr float16() = default;
  constexpr explicit float16(float value) : bits(from_float(value)) {}
  constexpr explicit operator float() const { return to_float(bits); }
  static constexpr float16 from_bits(std::uint16_t b) {
    float16 h;
    h.bits = b;
    return h;
  }
  static constexpr std::uint16_t from_float(float value) {
    const auto x = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (x >> 16) & 0x8000U;
    const std::uint32_t magnitude = x & 0x7fffffffU;
    if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(0x7fffU);          // cvt gives the canonical NaN
    if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);  // rounds past 65504
    if (magnitude < 0x33000001U) return static_cast<std::uint16_t>(sign);             // at most half the smallest
    const int exponent = static_cast<int>(magnitude >> 23) - 127;
    std::uint32_t mantissa = (magnitude & 0x7fffffU) | 0x800000U;
    int shift = 13;
    std::uint32_t result = 0;
    if (exponent < -14) {
      shift += -14 - exponent;
    } else {
      result = static_cast<std::uint32_t>(exponent + 15 - 1) << 10;
    }
    const std::uint32_t half = 1U << (shift - 1);
    const std::uint32_t rest = mantissa & ((1U << shift) - 1U);
    mantissa >>= shift;
    if (rest > half || (rest == half && (mantissa & 1U) != 0)) ++mantissa;
    return static_cast<std::uint16_t>(sign | (result + mantissa));
  }
  static constexpr float to_float(std::uint16_t b) {
    const std::uint32_t sign = static_cast<std::uint32_t>(b & 0x8000U) << 16;
    std::uint32_t exponent = (b >> 10) & 0x1fU;
    std::uint32_t mantissa = b & 0x3ffU;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
    if (exponent == 0) {
      if (mantissa == 0) return std::bit_cast<float>(sign);
      exponent = 1;
      while ((mantissa & 0x400U) == 0) {
        mantissa <<= 1;
        --exponent;
      }
      mantissa &= 0x3ffU;
    }
    return std::bit_cast<float>(sign | ((exponent + 112U) << 23) | (mantissa << 13));
  }
};

struct bfloat16 {
  std::uint16_t bits = 0;
  constexpr bfloat16() = default;
  constexpr explicit bfloat16(float value) : bits(from_float(value)) {}
  constexpr explicit operator float() const { return to_float(bits); }
  static constexpr bfloat16 from_bits(std::uint16_t b) {
    bfloat16 h;
    h.bits = b;
    return h;
  }
  static constexpr std::uint16_t from_float(float value) {
    const auto x = std::bit_cast<std::uint32_t>(value);
    if ((x & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>(0x7fffU);
    return static_cast<std::uint16_t>((x + 0x7fffU + ((x >> 16) & 1U)) >> 16);
  }
  static constexpr float to_float(std::uint16_t b) { return std::bit_cast<float>(static_cast<std::uint32_t>(b) << 16); }
};

template <class T>
struct dtype_trait {};
template <>
struct dtype_trait<float16> {
  static constexpr DType value = DType::f16;
};
template <>
struct dtype_trait<bfloat16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct dtype_trait<float8_e4m3> {
  static constexpr DType value = DType::f8e4m3;
};
template <>
struct dtype_trait<float8_e5m2> {
  static constexpr DType value = DType::f8e5m2;
};
template <>
struct dtype_trait<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct dtype_trait<std::int8_t> {
  static constexpr DType value = DType::i8;
};
template <>
struct dtype_trait<std::int16_t> {
  static constexpr DType value = DType::i16;
};
template <>
struct dtype_trait<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct dtype_trait<std::int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct dtype_trait<std::uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct dtype_trait<std::uint16_t> {
  static constexpr DType value = DType::u16;
};
template <>
struct dtype_trait<std::uint32_t> {
  static constexpr DType value = DType::u32;
};
template <>
struct dtype_trait<std::uint64_t> {
  static constexpr DType value = DType::u64;
};
template <>
struct dtype_trait<bool> {
  static constexpr DType value = DType::boolean;
};

template <class T>
concept ElementType = requires {
  dtype_trait<std::remove_cv_t<T>>::value;
};
template <ElementType T>
inline constexpr DType dtype_of = dtype_trait<std::remove_cv_t<T>>::value;

}  // namespace tessera
