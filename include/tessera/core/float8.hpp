// The two 8-bit float formats of Hopper's tensor cores (PTX ISA 5.2.3), as host-side storage.
#pragma once

#include <bit>
#include <cstdint>

namespace tessera {

namespace detail {

// A sign, `8 - 1 - mantissa_bits` bits of exponent and the mantissa. `largest` is the code of the largest finite
// number.
template <int mantissa_bits, int bias, std::uint8_t largest>
struct Float8Codec {
  static constexpr std::uint8_t nan = 0x7f;

  // Rounds to nearest even; what is larger than the largest number, infinities too, becomes that number, and NaN the
  // canonical NaN: `cvt.rn.satfinite` (PTX ISA 9.7.9.22).
  static constexpr std::uint8_t from_float(float value) {
    const auto x = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint8_t>((x >> 24) & 0x80U);
    const std::uint32_t magnitude = x & 0x7fffffffU;
    if (magnitude > 0x7f800000U) return nan;
    const int exponent = static_cast<int>(magnitude >> 23) - 127;
    if (exponent > 16) return sign | largest;           // both formats end below 2^16
    if (exponent < -bias - mantissa_bits) return sign;  // less than half the smallest
    std::uint32_t mantissa = (magnitude & 0x7fffffU) | 0x800000U;
    int shift = 23 - mantissa_bits;
    std::uint32_t result = 0;
    if (exponent < 1 - bias) {
      shift += 1 - bias - exponent;
    } else {
      result = static_cast<std::uint32_t>(exponent + bias - 1) << mantissa_bits;
    }
    const std::uint32_t half = 1U << (shift - 1);
    const std::uint32_t rest = mantissa & ((1U << shift) - 1U);
    mantissa >>= shift;
    if (rest > half || (rest == half && (mantissa & 1U) != 0)) ++mantissa;
    result += mantissa;
    return static_cast<std::uint8_t>(sign | (result > largest ? largest : result));
  }

  static constexpr float to_float(std::uint8_t code, bool has_infinity) {
    const std::uint32_t sign = static_cast<std::uint32_t>(code & 0x80U) << 24;
    const auto magnitude = static_cast<std::uint32_t>(code & 0x7fU);
    if (magnitude > largest) {
      const bool infinite = has_infinity && magnitude == largest + 1U;
      return std::bit_cast<float>(infinite ? sign | 0x7f800000U : 0x7fffffffU);
    }
    const std::uint32_t exponent = magnitude >> mantissa_bits;
    const std::uint32_t mantissa = magnitude & ((1U << mantissa_bits) - 1U);
    if (exponent == 0) {  // mantissa * 2^(1 - bias - mantissa_bits), exact
      const float unit = std::bit_cast<float>(static_cast<std::uint32_t>(127 + 1 - bias - mantissa_bits) << 23);
      const float number = static_cast<float>(mantissa) * unit;
      return sign != 0 ? -number : number;
    }
    return std::bit_cast<float>(sign | ((exponent + static_cast<std::uint32_t>(127 - bias)) << 23) |
                                (mantissa << (23 - mantissa_bits)));
  }
};

}  // namespace detail

// 4 bits of exponent, 3 of mantissa: up to 448, no infinities.
struct float8_e4m3 {
  std::uint8_t bits = 0;
  constexpr float8_e4m3() = default;
  constexpr explicit float8_e4m3(float value) : bits(from_float(value)) {}
  constexpr explicit operator float() const { return to_float(bits); }
  static constexpr float8_e4m3 from_bits(std::uint8_t b) {
    float8_e4m3 x;
    x.bits = b;
    return x;
  }
  static constexpr std::uint8_t from_float(float value) { return detail::Float8Codec<3, 7, 0x7e>::from_float(value); }
  static constexpr float to_float(std::uint8_t b) { return detail::Float8Codec<3, 7, 0x7e>::to_float(b, false); }
};

// 5 bits of exponent, 2 of mantissa: up to 57344, with infinities. A conversion from float never makes one.
struct float8_e5m2 {
  std::uint8_t bits = 0;
  constexpr float8_e5m2() = default;
  constexpr explicit float8_e5m2(float value) : bits(from_float(value)) {}
  constexpr explicit operator float() const { return to_float(bits); }
  static constexpr float8_e5m2 from_bits(std::uint8_t b) {
    float8_e5m2 x;
    x.bits = b;
    return x;
  }
  static constexpr std::uint8_t from_float(float value) { return detail::Float8Codec<2, 15, 0x7b>::from_float(value); }
  static constexpr float to_float(std::uint8_t b) { return detail::Float8Codec<2, 15, 0x7b>::to_float(b, true); }
};

}  // namespace tessera
