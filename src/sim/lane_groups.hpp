// Register operands whose index differs by lane are executed once for each index.
#pragma once

#include <bit>
#include <cstdint>

#include "sim/cta.hpp"

namespace tessera::sim {

// Calls f(index, lanes) for each distinct index among `lanes`.
template <class F>
void for_each_index(const Warp& warp, const RegPlace& place, std::uint32_t lanes, F&& f) {
  const auto* index = warp.at<std::int32_t>(place.index);
  if (!place.lanes) return f(std::int64_t{*index}, lanes);
  while (lanes != 0) {
    const std::int32_t first = index[std::countr_zero(lanes)];
    std::uint32_t same = 0;
    for (int lane = 0; lane < warp_lanes; ++lane) same |= (index[lane] == first ? 1U : 0U) << lane;
    same &= lanes;
    f(std::int64_t{first}, same);
    lanes &= ~same;
  }
}

}  // namespace tessera::sim
