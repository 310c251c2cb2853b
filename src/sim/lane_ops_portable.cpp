// LaneOps for any x86-64, the scalar forms, and the choice at run time.
#include <type_traits>

#include "sim/lane_ops.hpp"

namespace tessera::sim {
namespace {
#include "sim/lane_ops.inl"
}  // namespace

const LaneOps& scalar_ops() {
  static constexpr LaneOps ops = make_ops<1>();
  return ops;
}

const LaneOps& portable_lane_ops() {
  static constexpr LaneOps ops = make_ops<warp_lanes>();
  return ops;
}

#if !defined(TESSERA_SIM_AVX2)
const LaneOps* avx2_lane_ops() { return nullptr; }
#endif

const LaneOps& lane_ops() {
#if defined(TESSERA_SIM_AVX2)
  static const bool has_avx2 =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 && __builtin_cpu_supports("avx") != 0;
  if (has_avx2) return *avx2_lane_ops();
#endif
  return portable_lane_ops();
}

}  // namespace tessera::sim
