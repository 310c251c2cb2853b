// Masks of a warp's lanes.
#pragma once

#include <bit>
#include <cstdint>

namespace tessera::sim {

template <class F>
void for_each_lane(std::uint32_t lanes, F&& f) {
  for (; lanes != 0; lanes &= lanes - 1) f(std::countr_zero(lanes));
}

}  // namespace tessera::sim
