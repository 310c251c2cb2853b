#include "tune/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

#include "runtime/parallel.hpp"

namespace tessera::tune {
namespace {

constexpr std::size_t chunk_bytes = 1 << 18;
constexpr std::size_t block_bytes = 4096;
constexpr std::size_t rms_samples = 65536;

template <class T>
double number(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  if constexpr (!std::is_arithmetic_v<T>) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<double>(value);
  }
}

// Of the finite elements, by an even sample.
template <class T>
double root_mean_square(const Output& output) {
  const std::size_t count = output.bytes.size() / sizeof(T);
  const std::size_t step = std::max<std::size_t>(1, count / rms_samples);
  double sum = 0;
  std::size_t used = 0;
  for (std::size_t i = 0; i < count; i += step) {
    const double v = number<T>(output.bytes.data() + i * sizeof(T));
    if (!std::isfinite(v)) continue;
    sum += v * v;
    ++used;
  }
  return used == 0 ? 0 : std::sqrt(sum / static_cast<double>(used));
}

bool close(double a, double b, double relative, double scale) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  if (!std::isfinite(a) || !std::isfinite(b)) return false;
  return std::fabs(a - b) <= relative * (std::max(std::fabs(a), std::fabs(b)) + scale);
}

template <class T>
Difference compare_as(const Output& expected, const Output& found) {
  const double relative = tolerance(expected.type);
  const double scale = relative == 0 ? 0 : root_mean_square<T>(expected);
  Difference result;
  result.total = expected.bytes.size() / sizeof(T);
  result.first = result.total;
  std::mutex mutex;
  const std::size_t bytes = expected.bytes.size();
  runtime::parallel_for((bytes + chunk_bytes - 1) / chunk_bytes, 0, [&](std::size_t chunk) {
    std::uint64_t different = 0, first = result.total;
    const std::size_t end = std::min(bytes, (chunk + 1) * chunk_bytes);
    for (std::size_t block = chunk * chunk_bytes; block < end; block += block_bytes) {
      const std::byte* a = expected.bytes.data() + block;
      const std::byte* b = found.bytes.data() + block;
      const std::size_t size = std::min(block_bytes, end - block);
      if (std::memcmp(a, b, size) == 0) continue;
      for (std::size_t i = 0; i + sizeof(T) <= size; i += sizeof(T)) {
        if (std::memcmp(a + i, b + i, sizeof(T)) == 0) continue;
        if (relative > 0 && close(number<T>(a + i), number<T>(b + i), relative, scale)) continue;
        if (different++ == 0) first = (block + i) / sizeof(T);
      }
    }
    if (different == 0) return;
    const std::lock_guard lock(mutex);
    result.different += different;
    result.first = std::min(result.first, first);
  });
  if (result.different != 0) {
    result.expected = number<T>(expected.bytes.data() + result.first * sizeof(T));
    result.found = number<T>(found.bytes.data() + result.first * sizeof(T));
  }
  return result;
}

}  // namespace

double tolerance(DType type) {
  switch (type) {
    case DType::f16: return 1.0 / 256;
    case DType::bf16: return 1.0 / 64;
    case DType::f32: return 1.0 / 1024;
    case DType::f8e4m3: return 1.0 / 8;
    case DType::f8e5m2: return 1.0 / 4;
    default: return 0;
  }
}

Difference compare(const Output& expected, const Output& found) {
  switch (expected.type) {
    case DType::f16: return compare_as<float16>(expected, found);
    case DType::bf16: return compare_as<bfloat16>(expected, found);
    case DType::f32: return compare_as<float>(expected, found);
    case DType::i8: return compare_as<std::int8_t>(expected, found);
    case DType::i16: return compare_as<std::int16_t>(expected, found);
    case DType::i32: return compare_as<std::int32_t>(expected, found);
    case DType::i64: return compare_as<std::int64_t>(expected, found);
    case DType::u8: return compare_as<std::uint8_t>(expected, found);
    case DType::u16: return compare_as<std::uint16_t>(expected, found);
    case DType::u32: return compare_as<std::uint32_t>(expected, found);
    case DType::u64: return compare_as<std::uint64_t>(expected, found);
    case DType::boolean: return compare_as<std::uint8_t>(expected, found);
    case DType::f8e4m3: return compare_as<float8_e4m3>(expected, found);
    case DType::f8e5m2: return compare_as<float8_e5m2>(expected, found);
  }
  return {};
}

std::string Difference::to_string() const {
  return fmt::format("{} of {} elements differ, the first at {}: {} instead of {}", different, total, first, found,
                     expected);
}

}  // namespace tessera::tune
