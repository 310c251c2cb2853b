// The 8-bit formats against their definition: every code's value from its fields, every rounding by search.
#include "tessera/core/float8.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tessera/core/dtype.hpp"

namespace tessera {
namespace {

struct Format {
  int mantissa_bits, bias;
  double largest;
  bool infinity;
};
constexpr Format e4m3{3, 7, 448, false}, e5m2{2, 15, 57344, true};

// The value of a code that is neither NaN nor infinite, from the definition of the format.
double value_of(const Format& f, int code) {
  const int exponent = (code & 0x7f) >> f.mantissa_bits;
  const double fraction = std::ldexp(code & ((1 << f.mantissa_bits) - 1), -f.mantissa_bits);
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, 1 - f.bias) : std::ldexp(1 + fraction, exponent - f.bias);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

// The code nearest to x, or to the largest number if x is beyond it, among the finite ones; the even one of two.
int nearest(const Format& f, float x) {
  int best = 0;
  double distance = std::numeric_limits<double>::infinity();
  const double magnitude = std::min(std::fabs(static_cast<double>(x)), f.largest);
  for (int code = 0; code < 128; ++code) {
    const double value = value_of(f, code);
    if (value > f.largest) break;
    const double d = std::fabs(magnitude - value);
    if (d < distance || (d == distance && code % 2 == 0)) {
      best = code;
      distance = d;
    }
  }
  return std::signbit(x) ? best | 0x80 : best;
}

template <class T>
class Float8 : public testing::Test {
 protected:
  static const Format& format() {
    if constexpr (std::is_same_v<T, float8_e4m3>) return e4m3;
    return e5m2;
  }
};
using Types = testing::Types<float8_e4m3, float8_e5m2>;
TYPED_TEST_SUITE(Float8, Types);

TYPED_TEST(Float8, EveryCodeHasItsValueAndComesBack) {
  const Format& f = this->format();
  int finite = 0;
  for (int code = 0; code < 256; ++code) {
    const auto x = static_cast<float>(TypeParam::from_bits(static_cast<std::uint8_t>(code)));
    const double value = value_of(f, code);
    if (std::fabs(value) <= f.largest) {
      ++finite;
      EXPECT_EQ(static_cast<double>(x), value) << code;
      EXPECT_EQ(std::signbit(x), code >= 128) << code;
      EXPECT_EQ(static_cast<int>(TypeParam(x).bits), code);
    } else if (f.infinity && (code & 0x7f) == 0x7c) {
      EXPECT_EQ(x, code < 128 ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity());
    } else {
      EXPECT_TRUE(std::isnan(x)) << code;
      EXPECT_EQ(static_cast<int>(TypeParam(x).bits), 0x7f);
    }
  }
  EXPECT_EQ(finite, f.infinity ? 248 : 254);
}

TYPED_TEST(Float8, RoundsToTheNearestAndTiesToEven) {
  const Format& f = this->format();
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> samples = {0.0F,
                                -0.0F,
                                inf,
                                -inf,
                                1e30F,
                                -1e30F,
                                1e-30F,
                                1e-40F,
                                65536.0F,
                                65535.0F,
                                61440.0F,
                                std::numeric_limits<float>::max(),
                                std::numeric_limits<float>::denorm_min()};
  for (int code = 0; code < 127; ++code) {
    const auto here = static_cast<float>(value_of(f, code)), next = static_cast<float>(value_of(f, code + 1));
    const float middle = (here + next) / 2;
    for (const float x : {here, middle, std::nextafter(middle, 0.0F), std::nextafter(middle, inf)}) {
      samples.push_back(x);
      samples.push_back(-x);
    }
  }
  std::mt19937 engine(5);
  for (int i = 0; i < 100000; ++i) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(engine()));
    if (!std::isnan(x)) samples.push_back(x);
    samples.push_back(std::ldexp(std::normal_distribution<float>()(engine), static_cast<int>(engine() % 48) - 28));
  }
  for (const float x : samples) {
    ASSERT_EQ(static_cast<int>(TypeParam(x).bits), nearest(f, x)) << std::hexfloat << x;
  }
}

TYPED_TEST(Float8, NanIsCanonical) {
  for (const std::uint32_t bits : {0x7f800001U, 0x7fc00000U, 0xffc00000U, 0xffffffffU})
    EXPECT_EQ(static_cast<int>(TypeParam(std::bit_cast<float>(bits)).bits), 0x7f);
}

TEST(Float8Types, HaveElementTypesAndWorkAtCompileTime) {
  static_assert(dtype_of<float8_e4m3> == DType::f8e4m3 && dtype_of<const float8_e5m2> == DType::f8e5m2);
  static_assert(sizeof(float8_e4m3) == 1 && size_of(DType::f8e4m3) == 1 && size_of(DType::f8e5m2) == 1);
  static_assert(float8_e4m3(1.0F).bits == 0x38 && float8_e5m2(1.0F).bits == 0x3c);
  static_assert(static_cast<float>(float8_e4m3::from_bits(0x7e)) == 448.0F);
  EXPECT_TRUE(is_float(DType::f8e4m3) && is_float8(DType::f8e5m2) && !is_integer(DType::f8e4m3));
}

}  // namespace
}  // namespace tessera
