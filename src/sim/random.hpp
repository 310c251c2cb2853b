// A counter-based generator: draw number n of a stream depends on (seed, stream, n) alone.
#pragma once

#include <cstdint>

namespace tessera::sim {

class Random {
 public:
  Random() = default;
  Random(std::uint64_t seed, std::uint64_t stream) : key_(mix(mix(seed + golden) ^ (stream * golden))) {}

  std::uint64_t next() { return mix(key_ + ++counter_ * golden); }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>((next() >> 32) * n >> 32); }

 private:
  static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;
  // The finaliser of SplitMix64.
  static constexpr std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
  }
  std::uint64_t key_ = 0;
  std::uint64_t counter_ = 0;
};

}  // namespace tessera::sim
