// LaneOps for machines with AVX2, FMA and F16C (every x86-64-v3); compiled with these switched on for this file alone.
#include <immintrin.h>

#include <type_traits>

#include "sim/lane_ops.hpp"

namespace tessera::sim {
namespace {
#include "sim/lane_ops.inl"
}  // namespace

const LaneOps* avx2_lane_ops() {
  static constexpr LaneOps ops = make_ops<warp_lanes>();
  return &ops;
}

}  // namespace tessera::sim
