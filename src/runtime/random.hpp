// Normally distributed numbers by position, for test and example data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/core/dtype.hpp"

namespace tessera::runtime {

// Writes `count` numbers of a floating-point type (mean 0, deviation 1). Number i is a function of (seed, i) alone:
// elements 2j and 2j+1 come from one counter by the Box-Muller transform, in float32, and are rounded to `type` once.
void normal_numbers(void* out, DType type, std::size_t count, std::uint64_t seed);

}  // namespace tessera::runtime
