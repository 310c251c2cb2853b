// Register layouts for d[m, n] += a[m, k] * b[k, n] with warp-wide mma instructions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "layout/register_layout.hpp"

namespace tessera::layout {

struct DotLayouts {
  RegisterLayout a, b, d;                 // shapes [m, k], [k, n], [m, n], 32 threads a warp
  std::int64_t warps_m = 1, warps_n = 1;  // the warp grid over d
  std::int64_t replicas = 1;              // groups of warps_m * warps_n warps that hold and compute the same
  std::int64_t registers(int operand_bytes, int accumulator_bytes) const;  // 32-bit registers a thread for a, b and d
};

// One candidate for every warp grid that tiles d with m16n8k16, fewest rows of warps first. Where no grid uses all
// warps, the largest grid whose size divides them is taken and the others hold replicas. Empty unless m, n and k are
// multiples of the instruction's 16, 8 and 16.
std::vector<DotLayouts> dot_candidates(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t warps);

// The operands' layouts for a d that is already laid out; null unless d consists of whole m16n8k16 fragments and k is a
// multiple of 16.
std::optional<DotLayouts> dot_layouts_for(const RegisterLayout& d, std::int64_t k);

}  // namespace tessera::layout
