// The rows of the page with the timeline, from top to bottom.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "check/timeline_data.hpp"

namespace tessera::checker {

struct Row {
  std::size_t track = 0;
  std::string heading;  // empty: the row belongs to the group of the one before
  int top = 0, height = 0;
};
inline constexpr int heading_height = 22;  // as in timeline.css

// Warps, engines, tiles, barriers, each by blocks and then by names, in which numbers count as such: sa[2], sa[10],
// sb[0].
std::vector<Row> rows_of(const sim::Timeline& timeline, const std::vector<TrackEvents>& tracks);
int height_of(const std::vector<Row>& rows);

// Where a lane of a row lies, from the row's top.
struct LaneBox {
  double top = 0, height = 0;
};
LaneBox lane_box(const Row& row, std::size_t lanes, std::size_t lane);

}  // namespace tessera::checker
