// The 8-bit floats, by their definitions: every code, rounding to nearest even, saturation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernel_builder.hpp"
#include "sim/lane_ops.hpp"
#include "wgmma_kernel.hpp"

namespace tessera::testing {
namespace {

constexpr DType float8_types[] = {DType::f8e4m3, DType::f8e5m2};

bool is_nan(DType type, std::uint32_t code) {
  return type == DType::f8e4m3 ? (code & 0x7fU) == 0x7fU : (code & 0x7fU) > 0x7cU;
}
bool is_infinite(DType type, std::uint32_t code) { return type == DType::f8e5m2 && (code & 0x7fU) == 0x7cU; }

// Thirty-two numbers converted by a table of lane operations.
template <class Result>
std::vector<Result> convert(const sim::LaneOps& ops, DType from, DType to, const std::vector<std::uint32_t>& raw) {
  std::vector<std::uint32_t> in(raw), out(raw.size());
  for (std::size_t i = 0; i < raw.size(); i += 32) {
    ops.cast[static_cast<int>(from)][static_cast<int>(to)](out.data() + i, in.data() + i, nullptr, nullptr);
  }
  std::vector<Result> results;
  for (const std::uint32_t x : out) results.push_back(std::bit_cast<Result>(x));
  return results;
}

std::vector<const sim::LaneOps*> tables() {
  std::vector<const sim::LaneOps*> all = {&sim::portable_lane_ops()};
  if (sim::lane_ops().wgmma != sim::portable_lane_ops().wgmma) all.push_back(&sim::lane_ops());
  return all;
}

TEST(Float8, EveryCode) {
  for (const sim::LaneOps* ops : tables()) {
    for (const DType type : float8_types) {
      std::vector<std::uint32_t> codes;
      for (std::uint32_t i = 0; i < 256; ++i) codes.push_back(i);
      const auto wide = convert<float>(*ops, type, DType::f32, codes);
      const auto half = convert<std::uint32_t>(*ops, type, DType::f16, codes);
      for (std::uint32_t i = 0; i < 256; ++i) {
        if (is_nan(type, i)) {
          EXPECT_TRUE(std::isnan(wide[i])) << i;
          EXPECT_EQ(half[i], 0x7fffU);
          continue;
        }
        const float expected =
            is_infinite(type, i) ? (i < 128 ? INFINITY : -INFINITY) : static_cast<float>(decode(type, i));
        EXPECT_EQ(std::bit_cast<std::uint32_t>(wide[i]), std::bit_cast<std::uint32_t>(expected)) << i;
        EXPECT_EQ(half[i], float16(expected).bits) << i;
      }
    }
  }
}

// The nearest finite code; the even one of two at the same distance.
std::uint32_t nearest(DType type, float value) {
  if (std::isnan(value)) return 0x7f;
  const double v = std::min(1e6, std::fabs(static_cast<double>(value)));
  std::uint32_t best = 0;
  double distance = INFINITY;
  for (std::uint32_t code = 0; code < 128; ++code) {
    if (is_nan(type, code) || is_infinite(type, code)) continue;
    const double d = std::fabs(decode(type, code) - v);
    if (d < distance || (d == distance && code % 2 == 0)) {
      best = code;
      distance = d;
    }
  }
  return best | (std::signbit(value) ? 0x80U : 0U);
}

TEST(Float8, RoundingAndSaturation) {
  for (const DType type : float8_types) {
    std::vector<float> values = {0.0F, -0.0F, INFINITY, -INFINITY, NAN,   1e-30F, -1e38F,
                                 448,  464,   480,      57344,     61440, 65536};
    for (std::uint32_t code = 0; code < 126; ++code) {
      if (is_nan(type, code + 1) || is_infinite(type, code + 1)) break;
      const auto low = static_cast<float>(decode(type, code)), high = static_cast<float>(decode(type, code + 1));
      const float middle = (low + high) / 2;
      for (const float v : {low, middle, std::nextafterf(middle, 0), std::nextafterf(middle, INFINITY)}) {
        values.push_back(v);
        values.push_back(-v);
      }
    }
    while (values.size() % 32 != 0) values.push_back(1);
    std::vector<std::uint32_t> raw;
    for (const float v : values) raw.push_back(std::bit_cast<std::uint32_t>(v));
    for (const sim::LaneOps* ops : tables()) {
      const auto codes = convert<std::uint32_t>(*ops, DType::f32, type, raw);
      for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_EQ(codes[i], nearest(type, values[i])) << name_of(type) << " " << values[i];
      }
    }
  }
}

TEST(Float8, FromThe16BitFloats) {
  for (const DType type : float8_types) {
    for (const DType from : {DType::f16, DType::bf16}) {
      std::vector<std::uint32_t> raw;
      std::vector<float> values;
      for (std::uint32_t i = 0; i < 65536; i += 7) {
        raw.push_back(i);
        values.push_back(from == DType::f16 ? float16::to_float(static_cast<std::uint16_t>(i))
                                            : bfloat16::to_float(static_cast<std::uint16_t>(i)));
      }
      while (raw.size() % 32 != 0) raw.push_back(0);
      const auto codes = convert<std::uint32_t>(sim::lane_ops(), from, type, raw);
      for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(codes[i], nearest(type, values[i])) << raw[i];
    }
  }
}

// Loaded, kept in a register array, converted, stored.
TEST(Float8, InAKernel) {
  for (const DType type : float8_types) {
    KernelBuilder b;
    const auto in = b.pointer(DType::f32, "in"), out = b.pointer(type, "out"), back = b.pointer(DType::f32, "back");
    const auto* x = b.regs(DType::f32, 4, "x");
    const auto* y = b.regs(type, 4, "y");
    const E at = b.lane().cast(DType::i64) * 4;
    b.add<thread::LoadGlobalVector>(SourceLoc::here(), b.ref(x), 4, in, at, nullptr);
    b.write(y, 0, {b.reg(x, 0).cast(type), b.reg(x, 1).cast(type), b.reg(x, 2).cast(type), b.reg(x, 3).cast(type)});
    b.add<thread::StoreGlobalVector>(SourceLoc::here(), b.ref(y), 4, out, at, nullptr);
    b.add<thread::LoadGlobalVector>(SourceLoc::here(), b.ref(y), 4, out, at, nullptr);
    for (int i = 0; i < 4; ++i) b.store(back, b.lane() * 4 + i, b.reg(y, i).cast(DType::f32));
    std::vector<float> values(128), result(128);
    std::vector<std::uint8_t> codes(128);
    for (std::size_t i = 0; i < 128; ++i) values[i] = (static_cast<float>(i) - 60) * 0.37F;
    sim::run(b.kernel, std::vector<sim::Argument>{buffer(values), buffer(codes), buffer(result)}, options());
    for (std::size_t i = 0; i < 128; ++i) {
      EXPECT_EQ(codes[i], nearest(type, values[i]));
      EXPECT_EQ(result[i], static_cast<float>(decode(type, codes[i])));
    }
  }
}

TEST(Float8, Printed) {
  KernelBuilder b;
  b.when(b.lane() == 0, [&] {
    b.add<thread::PrintThread>(SourceLoc::here(), std::vector<std::string>{"", ""},
                               std::vector<const Expr*>{b.real(DType::f32, 3.3).cast(DType::f8e4m3)});
  });
  std::string text;
  sim::Options o = options();
  o.print = [&](std::string_view s) { text += s; };
  sim::run(b.kernel, {}, o);
  EXPECT_EQ(text, "3.25");
}

}  // namespace
}  // namespace tessera::testing
