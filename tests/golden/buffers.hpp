// Buffers with values that matter (signed zeros, NaN, infinities, limits of every format) and their comparison.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "ir/thread.hpp"

namespace tessera::golden {

// One argument a kernel parameter: a scalar's bits, or the bytes of a buffer.
struct Argument {
  std::int64_t scalar = 0;
  std::vector<std::byte> bytes;
};

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> out(values.size() * sizeof(T));
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}
template <class T>
std::vector<T> values_of(const std::vector<std::byte>& bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

inline std::mt19937& engine() {
  static std::mt19937 e(7);
  return e;
}

inline float interesting_float() {
  static constexpr float special[] = {0.0F,
                                      -0.0F,
                                      1.0F,
                                      -1.0F,
                                      0.5F,
                                      -2.5F,
                                      65504.0F,
                                      70000.0F,
                                      1e-7F,
                                      -3e-8F,
                                      1e-40F,
                                      3e9F,
                                      -3e9F,
                                      1e19F,
                                      -1e19F,
                                      127.5F,
                                      -128.75F,
                                      255.9F,
                                      32767.5F,
                                      65535.5F,
                                      std::numeric_limits<float>::infinity(),
                                      -std::numeric_limits<float>::infinity(),
                                      std::numeric_limits<float>::quiet_NaN()};
  if (engine()() % 3 == 0) return special[engine()() % std::size(special)];
  return std::normal_distribution<float>(0, 100)(engine());
}

inline std::vector<std::byte> interesting(DType type, std::size_t count) {
  const auto width = static_cast<std::size_t>(size_of(type));
  std::vector<std::byte> out(count * width);
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* at = out.data() + i * width;
    const float f = interesting_float();
    const std::uint64_t bits = (static_cast<std::uint64_t>(engine()()) << 32) | engine()();
    const bool truth = (bits & 1) != 0;
    const std::uint16_t half = float16::from_float(f), brain = bfloat16::from_float(f);
    switch (type) {
      case DType::f16: std::memcpy(at, &half, 2); break;
      case DType::bf16: std::memcpy(at, &brain, 2); break;
      case DType::f32: std::memcpy(at, &f, 4); break;
      case DType::boolean: std::memcpy(at, &truth, 1); break;
      default: std::memcpy(at, &bits, width); break;
    }
  }
  return out;
}

inline std::vector<Argument> interesting_arguments(const ir::thread::Kernel& kernel, std::size_t elements) {
  std::vector<Argument> out;
  for (const ir::Param& p : kernel.params) {
    Argument a;
    if (p.is_pointer) a.bytes = interesting(p.type, elements);
    out.push_back(std::move(a));
  }
  return out;
}

// For the kernel `arithmetic`: right operands (elements 32 to 63) that division and shifts of integers allow, and
// values for its two scalars.
inline std::vector<Argument> arithmetic_arguments(const ir::thread::Kernel& kernel, int round) {
  std::vector<Argument> out = interesting_arguments(kernel, 32UL * 40);
  for (std::size_t p = 0; p < out.size(); ++p) {
    const DType type = kernel.params[p].type;
    if (!kernel.params[p].is_pointer || is_float(type)) continue;
    const auto width = static_cast<std::size_t>(size_of(type));
    for (std::size_t i = 32; i < 64; ++i) {
      std::memset(&out[p].bytes[i * width], 0, width);
      out[p].bytes[i * width] = static_cast<std::byte>(1 + engine()() % 7);
    }
  }
  out[out.size() - 2].scalar = static_cast<std::int32_t>(engine()());
  out.back().scalar = round % 2;
  return out;
}

// Equal bits, except that any NaN equals any other.
inline void expect_same(DType type, const std::vector<std::byte>& a, const std::vector<std::byte>& b,
                        const std::string& what) {
  ASSERT_EQ(a.size(), b.size());
  const auto width = static_cast<std::size_t>(size_of(type));
  const auto bits_of = [&](const std::byte* at) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, at, width);
    return bits;
  };
  const auto is_nan = [&](std::uint64_t bits) {
    if (type == DType::f16) return (bits & 0x7fffU) > 0x7c00U;
    if (type == DType::bf16) return (bits & 0x7fffU) > 0x7f80U;
    if (type == DType::f8e4m3) return (bits & 0x7fU) == 0x7fU;
    if (type == DType::f8e5m2) return (bits & 0x7fU) > 0x7cU;
    return type == DType::f32 && (bits & 0x7fffffffU) > 0x7f800000U;
  };
  for (std::size_t i = 0; i < a.size(); i += width) {
    const std::uint64_t x = bits_of(&a[i]), y = bits_of(&b[i]);
    ASSERT_TRUE(x == y || (is_nan(x) && is_nan(y)))
        << what << ", element " << i / width << ": " << std::hex << x << " and " << y;
  }
}

}  // namespace tessera::golden
