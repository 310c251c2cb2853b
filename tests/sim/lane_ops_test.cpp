// The lane arithmetic against plain C++, for every instruction set that the machine has.
#include "sim/lane_ops.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace tessera::sim {
namespace {

std::vector<const LaneOps*> implementations() {
  std::vector<const LaneOps*> all = {&portable_lane_ops()};
  if (&lane_ops() != &portable_lane_ops()) all.push_back(avx2_lane_ops());
  return all;
}

int at(DType t) { return static_cast<int>(t); }

TEST(LaneOps, HalfToFloatIsExactForEveryBitPattern) {
  for (const LaneOps* ops : implementations()) {
    for (std::uint32_t first = 0; first < 0x10000; first += warp_lanes) {
      std::uint32_t in[warp_lanes], out[warp_lanes];
      for (std::uint32_t i = 0; i < warp_lanes; ++i) in[i] = first + i;
      ops->cast[at(DType::f16)][at(DType::f32)](out, in, in, in);
      for (std::uint32_t i = 0; i < warp_lanes; ++i) {
        const float expected = float16::to_float(static_cast<std::uint16_t>(first + i));
        const float found = std::bit_cast<float>(out[i]);
        if (std::isnan(expected)) {
          EXPECT_TRUE(std::isnan(found)) << first + i;
        } else {
          EXPECT_EQ(out[i], std::bit_cast<std::uint32_t>(expected)) << first + i;
        }
      }
    }
  }
}

TEST(LaneOps, FloatToHalvesRoundsAsTheStorageTypesDo) {
  for (const LaneOps* ops : implementations()) {
    for (std::uint64_t first = 0; first < 0x100000000ULL; first += 32 * 4093) {
      std::uint32_t in[warp_lanes], half[warp_lanes], brain[warp_lanes];
      for (std::uint32_t i = 0; i < warp_lanes; ++i) in[i] = static_cast<std::uint32_t>(first + i * 4093ULL);
      ops->cast[at(DType::f32)][at(DType::f16)](half, in, in, in);
      ops->cast[at(DType::f32)][at(DType::bf16)](brain, in, in, in);
      for (int i = 0; i < warp_lanes; ++i) {
        ASSERT_EQ(half[i], float16::from_float(std::bit_cast<float>(in[i]))) << std::hex << in[i];
        ASSERT_EQ(brain[i], bfloat16::from_float(std::bit_cast<float>(in[i]))) << std::hex << in[i];
      }
    }
  }
}

TEST(LaneOps, HalfRoundingBoundaries) {
  const float values[] = {65519.99F,       65520.0F,        -65520.0F,    0x1p-25F,     0x1.000002p-25F,
                          0x1p-24F,        0x1.8p-24F,      0x1.ffcp-15F, 0x1.ffep-15F, 0x1.fffp-15F,
                          1.0F + 0x1p-11F, 1.0F + 0x3p-11F, 0.0F,         -0.0F};
  for (const LaneOps* ops : implementations()) {
    for (const float v : values) {
      std::uint32_t in[warp_lanes], out[warp_lanes];
      std::fill_n(in, warp_lanes, std::bit_cast<std::uint32_t>(v));
      ops->cast[at(DType::f32)][at(DType::f16)](out, in, in, in);
      EXPECT_EQ(out[7], float16::from_float(v)) << v;
    }
  }
}

// A number of one type converted to another, worked out with long double.
template <class To>
To saturate(float f) {
  if (std::isnan(f)) return 0;
  const long double t = std::trunc(static_cast<long double>(f));
  if (t < static_cast<long double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (t > static_cast<long double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return static_cast<To>(t);
}

template <class To>
void check_float_to_integer(const LaneOps& ops) {
  const float inf = std::numeric_limits<float>::infinity();
  float in[warp_lanes] = {0.0F,
                          -0.9F,
                          0.9F,
                          1.5F,
                          -1.5F,
                          127.9F,
                          128.0F,
                          -128.9F,
                          -129.0F,
                          255.5F,
                          256.0F,
                          32767.5F,
                          32768.0F,
                          -32769.0F,
                          65535.0F,
                          65536.0F,
                          2147483520.0F,
                          2147483648.0F,
                          -2147483648.0F,
                          -2147483904.0F,
                          4294967040.0F,
                          4294967296.0F,
                          9223371487098961920.0F,
                          9223372036854775808.0F,
                          -9223372036854775808.0F,
                          18446742974197923840.0F,
                          18446744073709551616.0F,
                          inf,
                          -inf,
                          std::nanf(""),
                          1e30F,
                          -1e30F};
  std::uint64_t out[warp_lanes] = {};
  ops.cast[at(DType::f32)][at(dtype_of<To>)](out, in, in, in);
  for (int i = 0; i < warp_lanes; ++i) {
    To found{};
    if (sizeof(To) == 8) {
      found = static_cast<To>(out[i]);
    } else {
      const std::uint32_t raw = reinterpret_cast<const std::uint32_t*>(out)[i];
      found = static_cast<To>(raw);
      EXPECT_EQ(static_cast<std::int64_t>(std::is_signed_v<To> ? static_cast<std::int32_t>(raw) : std::int64_t{raw}),
                static_cast<std::int64_t>(found));  // extended to the word
    }
    EXPECT_EQ(found, saturate<To>(in[i])) << in[i] << " to " << name_of(dtype_of<To>);
  }
}

TEST(LaneOps, FloatToIntegerTruncatesAndSaturates) {
  for (const LaneOps* ops : implementations()) {
    check_float_to_integer<std::int8_t>(*ops);
    check_float_to_integer<std::int16_t>(*ops);
    check_float_to_integer<std::int32_t>(*ops);
    check_float_to_integer<std::int64_t>(*ops);
    check_float_to_integer<std::uint8_t>(*ops);
    check_float_to_integer<std::uint16_t>(*ops);
    check_float_to_integer<std::uint32_t>(*ops);
    check_float_to_integer<std::uint64_t>(*ops);
  }
}

template <class T>
void check_integers(const LaneOps& ops) {
  using Raw = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  const auto raw_of = [](T v) {
    return static_cast<Raw>(static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>(v));
  };
  std::mt19937_64 random(1);
  const T special[] = {0, 1, static_cast<T>(-1), std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), 2, 7};
  for (int round = 0; round < 50; ++round) {
    T a[warp_lanes], b[warp_lanes];
    Raw x[warp_lanes], y[warp_lanes], out[warp_lanes];
    for (int i = 0; i < warp_lanes; ++i) {
      a[i] = random() % 2 == 0 ? special[random() % 7] : static_cast<T>(random());
      b[i] = random() % 2 == 0 ? special[random() % 7] : static_cast<T>(random());
      x[i] = raw_of(a[i]);
      y[i] = raw_of(b[i]);
    }
    const auto check = [&](ir::ExprKind kind, auto reference) {
      ops.op[static_cast<int>(kind)][at(dtype_of<T>)](out, x, y, y);
      for (int i = 0; i < warp_lanes; ++i) {
        ASSERT_EQ(out[i], raw_of(reference(a[i], b[i])))
            << ir::name_of(kind) << " of " << name_of(dtype_of<T>) << " " << +a[i] << ", " << +b[i];
      }
    };
    using U = std::uint64_t;
    check(ir::ExprKind::add, [](T p, T q) { return static_cast<T>(static_cast<U>(p) + static_cast<U>(q)); });
    check(ir::ExprKind::sub, [](T p, T q) { return static_cast<T>(static_cast<U>(p) - static_cast<U>(q)); });
    check(ir::ExprKind::mul, [](T p, T q) { return static_cast<T>(static_cast<U>(p) * static_cast<U>(q)); });
    check(ir::ExprKind::div, [](T p, T q) {
      if (q == 0) return T{0};
      if (std::is_signed_v<T> && q == static_cast<T>(-1)) return static_cast<T>(U{0} - static_cast<U>(p));
      return static_cast<T>(p / q);
    });
    check(ir::ExprKind::mod, [](T p, T q) {
      if (q == 0 || (std::is_signed_v<T> && q == static_cast<T>(-1))) return T{0};
      return static_cast<T>(p % q);
    });
    check(ir::ExprKind::min, [](T p, T q) { return p < q ? p : q; });
    check(ir::ExprKind::max, [](T p, T q) { return p > q ? p : q; });
    check(ir::ExprKind::bit_and, [](T p, T q) { return static_cast<T>(p & q); });
    check(ir::ExprKind::bit_or, [](T p, T q) { return static_cast<T>(p | q); });
    check(ir::ExprKind::bit_xor, [](T p, T q) { return static_cast<T>(p ^ q); });
    check(ir::ExprKind::neg, [](T p, T) { return static_cast<T>(U{0} - static_cast<U>(p)); });
    check(ir::ExprKind::bit_not, [](T p, T) { return static_cast<T>(~p); });
    for (auto& v : b) v = static_cast<T>(random() % (8 * sizeof(T)));
    for (int i = 0; i < warp_lanes; ++i) y[i] = raw_of(b[i]);
    check(ir::ExprKind::shl, [](T p, T q) { return static_cast<T>(static_cast<U>(p) << q); });
    check(ir::ExprKind::shr, [](T p, T q) { return static_cast<T>(p >> q); });
  }
}

TEST(LaneOps, IntegersWrapInTheirType) {
  for (const LaneOps* ops : implementations()) {
    check_integers<std::int8_t>(*ops);
    check_integers<std::int16_t>(*ops);
    check_integers<std::int32_t>(*ops);
    check_integers<std::int64_t>(*ops);
    check_integers<std::uint8_t>(*ops);
    check_integers<std::uint16_t>(*ops);
    check_integers<std::uint32_t>(*ops);
    check_integers<std::uint64_t>(*ops);
  }
}

TEST(LaneOps, FloatMinAndMaxFollowPtx) {
  const float nan = std::nanf("");
  for (const LaneOps* ops : implementations()) {
    float a[warp_lanes] = {nan, 1.0F, nan, -0.0F, 0.0F, 2.0F, -3.0F};
    float b[warp_lanes] = {1.0F, nan, nan, 0.0F, -0.0F, 1.0F, 4.0F};
    float low[warp_lanes], high[warp_lanes];
    ops->op[static_cast<int>(ir::ExprKind::min)][at(DType::f32)](low, a, b, b);
    ops->op[static_cast<int>(ir::ExprKind::max)][at(DType::f32)](high, a, b, b);
    EXPECT_EQ(low[0], 1.0F);
    EXPECT_EQ(high[1], 1.0F);
    EXPECT_TRUE(std::isnan(low[2]) && std::isnan(high[2]));
    EXPECT_TRUE(std::signbit(low[3]) && std::signbit(low[4]));
    EXPECT_FALSE(std::signbit(high[3]) || std::signbit(high[4]));
    EXPECT_EQ(low[5], 1.0F);
    EXPECT_EQ(high[6], 4.0F);
  }
}

TEST(LaneOps, HalfArithmeticRoundsOncePerOperation) {
  std::mt19937 random(2);
  for (const LaneOps* ops : implementations()) {
    for (int round = 0; round < 200; ++round) {
      std::uint32_t a[warp_lanes], b[warp_lanes], out[warp_lanes];
      for (auto& v : a) v = random() & 0xffffU;
      for (auto& v : b) v = random() & 0xffffU;
      ops->op[static_cast<int>(ir::ExprKind::mul)][at(DType::f16)](out, a, b, b);
      for (int i = 0; i < warp_lanes; ++i) {
        const float product =
            float16::to_float(static_cast<std::uint16_t>(a[i])) * float16::to_float(static_cast<std::uint16_t>(b[i]));
        ASSERT_EQ(out[i], float16::from_float(product));
      }
      ops->op[static_cast<int>(ir::ExprKind::add)][at(DType::bf16)](out, a, b, b);
      for (int i = 0; i < warp_lanes; ++i) {
        const float sum =
            bfloat16::to_float(static_cast<std::uint16_t>(a[i])) + bfloat16::to_float(static_cast<std::uint16_t>(b[i]));
        ASSERT_EQ(out[i], bfloat16::from_float(sum));
      }
    }
  }
}

TEST(LaneOps, TheScalarFormGivesTheSameBits) {
  std::mt19937 random(3);
  for (int kind = static_cast<int>(ir::ExprKind::neg); kind < static_cast<int>(ir::ExprKind::select); ++kind) {
    for (int type = 0; type < dtype_count; ++type) {
      const LaneFn wide = lane_ops().op[kind][type];
      const LaneFn one = scalar_ops().op[kind][type];
      ASSERT_EQ(wide == nullptr, one == nullptr);
      if (wide == nullptr) continue;
      std::uint64_t a[warp_lanes] = {}, b[warp_lanes] = {}, out[warp_lanes] = {};
      const bool big = size_of(static_cast<DType>(type)) == 8;
      for (int i = 0; i < warp_lanes; ++i) {
        const std::uint64_t mask = type == at(DType::boolean)               ? 1
                                   : size_of(static_cast<DType>(type)) == 1 ? 0x7f
                                                                            : 0x7fff;
        const std::uint64_t x = random() & mask, y = random() & mask & 31;
        if (big) {
          a[i] = x, b[i] = y;
        } else {
          reinterpret_cast<std::uint32_t*>(a)[i] = static_cast<std::uint32_t>(x);
          reinterpret_cast<std::uint32_t*>(b)[i] = static_cast<std::uint32_t>(y);
        }
      }
      wide(out, a, b, b);
      const auto kind_of = static_cast<ir::ExprKind>(kind);
      const bool out_big = big && !ir::is_comparison(kind_of);
      for (int i = 0; i < warp_lanes; ++i) {
        std::uint64_t single = 0;
        const auto pick = [&](const std::uint64_t* p, bool is_big) {
          return is_big ? reinterpret_cast<const char*>(p + i) : reinterpret_cast<const char*>(p) + 4 * i;
        };
        one(&single, pick(a, big), pick(b, big), pick(b, big));
        ASSERT_EQ(std::memcmp(&single, pick(out, out_big), out_big ? 8 : 4), 0)
            << ir::name_of(kind_of) << " type " << type;
      }
    }
  }
}

// Fragments by their definition (PTX ISA 9.7.14.5.8): lane 4g + q.
struct Fragments {
  RegisterWord a[4], b[2], d[4];
};

TEST(LaneOps, MmaAgreesWithItsDefinitionToTheBit) {
  std::mt19937 random(4);
  for (const LaneOps* ops : implementations()) {
    Fragments f;
    float a[16][16], b[16][8], d[16][8];
    const auto draw = [&] { return static_cast<float>(static_cast<int>(random() % 4001) - 2000) / 1024.0F; };
    for (auto& row : a)
      for (float& v : row) v = float16::to_float(float16::from_float(draw()));
    for (auto& row : b)
      for (float& v : row) v = float16::to_float(float16::from_float(draw()));
    for (auto& row : d)
      for (float& v : row) v = draw() * 3.7F;
    const auto pack = [](float low, float high) {
      return float16::from_float(low) | (static_cast<std::uint32_t>(float16::from_float(high)) << 16);
    };
    for (int lane = 0; lane < 32; ++lane) {
      const int g = lane / 4, q = lane % 4;
      f.a[0][lane] = pack(a[g][2 * q], a[g][2 * q + 1]);
      f.a[1][lane] = pack(a[g + 8][2 * q], a[g + 8][2 * q + 1]);
      f.a[2][lane] = pack(a[g][2 * q + 8], a[g][2 * q + 9]);
      f.a[3][lane] = pack(a[g + 8][2 * q + 8], a[g + 8][2 * q + 9]);
      f.b[0][lane] = pack(b[2 * q][g], b[2 * q + 1][g]);
      f.b[1][lane] = pack(b[2 * q + 8][g], b[2 * q + 9][g]);
      for (int i = 0; i < 4; ++i) f.d[i][lane] = std::bit_cast<std::uint32_t>(d[g + 8 * (i / 2)][2 * q + i % 2]);
    }
    ops->mma_f16_f32(f.d, f.a, f.b);
    for (int m = 0; m < 16; ++m) {
      for (int n = 0; n < 8; ++n) {
        float sum = d[m][n];
        for (int k = 0; k < 16; ++k) sum += a[m][k] * b[k][n];  // products are exact, so this rounds as a fused one
        EXPECT_EQ(f.d[2 * (m / 8) + n % 2][4 * (m % 8) + n / 2], std::bit_cast<std::uint32_t>(sum)) << m << ", " << n;
      }
    }
  }
}

TEST(LaneOps, EveryInstructionSetGivesTheSameMma) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  const std::vector<const LaneOps*> all = implementations();
  for (int round = 0; round < 20; ++round) {
    RegisterWord a[4], b[2], start[4];
    for (const bool brain : {false, true}) {
      const auto pair = [&] {
        const float low = normal(random), high = normal(random);
        return brain ? bfloat16::from_float(low) | (static_cast<std::uint32_t>(bfloat16::from_float(high)) << 16)
                     : float16::from_float(low) | (static_cast<std::uint32_t>(float16::from_float(high)) << 16);
      };
      for (auto& word : a) {
        for (auto& v : word) v = pair();
      }
      for (auto& word : b) {
        for (auto& v : word) v = pair();
      }
      for (const bool half : {false, true}) {
        if (brain && half) continue;
        for (auto& word : start) {
          for (auto& v : word) v = half ? pair() : std::bit_cast<std::uint32_t>(normal(random));
        }
        std::vector<std::vector<std::uint32_t>> results;
        for (const LaneOps* ops : all) {
          RegisterWord d[4];
          std::memcpy(d, start, sizeof(d));
          (brain ? ops->mma_bf16_f32 : half ? ops->mma_f16_f16 : ops->mma_f16_f32)(d, a, b);
          results.emplace_back(&d[0][0], &d[0][0] + 4 * warp_lanes);
          EXPECT_NE(std::memcmp(d, start, sizeof(d)), 0);
        }
        for (const auto& r : results) EXPECT_EQ(r, results.front());
      }
    }
  }
}

}  // namespace
}  // namespace tessera::sim
