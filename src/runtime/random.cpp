#include "runtime/random.hpp"

#include <array>
#include <cmath>
#include <numbers>

#include "runtime/parallel.hpp"

namespace tessera::runtime {
namespace {

constexpr std::size_t pairs_a_chunk = 1 << 15;

// The finalising mix of SplitMix64 (Steele, Lea and Flood 2014): a bijection whose outputs pass as independent.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::array<float, 2> normal_pair(std::uint64_t seed, std::uint64_t counter) {
  const std::uint64_t bits = mix(mix(seed + 0x9e3779b97f4a7c15ULL) + counter * 0x9e3779b97f4a7c15ULL);
  constexpr float scale = 1.0F / 4294967296.0F;
  const float u = (static_cast<float>(bits >> 32) + 0.5F) * scale;  // never 0
  const float v = static_cast<float>(bits & 0xffffffffU) * scale;
  const float radius = std::sqrt(-2.0F * std::log(std::min(u, 1.0F)));
  const float angle = 2.0F * std::numbers::pi_v<float> * v;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

template <class T>
void fill(T* out, std::size_t count, std::uint64_t seed) {
  const std::size_t pairs = (count + 1) / 2;
  parallel_for((pairs + pairs_a_chunk - 1) / pairs_a_chunk, 0, [&](std::size_t chunk) {
    const std::size_t end = std::min(pairs, (chunk + 1) * pairs_a_chunk);
    for (std::size_t pair = chunk * pairs_a_chunk; pair < end; ++pair) {
      const auto [first, second] = normal_pair(seed, pair);
      out[2 * pair] = static_cast<T>(first);
      if (2 * pair + 1 < count) out[2 * pair + 1] = static_cast<T>(second);
    }
  });
}

}  // namespace

void normal_numbers(void* out, DType type, std::size_t count, std::uint64_t seed) {
  if (type == DType::f16) fill(static_cast<float16*>(out), count, seed);
  if (type == DType::bf16) fill(static_cast<bfloat16*>(out), count, seed);
  if (type == DType::f32) fill(static_cast<float*>(out), count, seed);
  if (type == DType::f8e4m3) fill(static_cast<float8_e4m3*>(out), count, seed);
  if (type == DType::f8e5m2) fill(static_cast<float8_e5m2*>(out), count, seed);
}

}  // namespace tessera::runtime
