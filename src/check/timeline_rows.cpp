#include "check/timeline_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <tuple>

namespace tessera::checker {
namespace {
using sim::Timeline;
using Track = Timeline::Track;

int section_of(Track::Kind kind) {
  switch (kind) {
    case Track::Kind::warp:
    case Track::Kind::engine: return 0;
    case Track::Kind::tile: return 1;
    case Track::Kind::barrier: return 2;
  }
  return 2;
}
constexpr const char* section_names[] = {"Warps and engines", "Tiles", "mbarriers"};

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// The number or the single character that the text begins with is taken off it.
std::string_view take(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  const std::string_view taken = text.substr(0, std::max<std::size_t>(n, 1));
  text.remove_prefix(taken.size());
  return taken;
}

bool name_before(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const std::string_view x = take(a), y = take(b);
    if (x == y) continue;
    if (is_digit(x[0]) && is_digit(y[0]) && x.size() != y.size()) return x.size() < y.size();
    return x < y;
  }
  return a.size() < b.size();
}

std::vector<std::size_t> row_order(const Timeline& timeline) {
  std::vector<std::size_t> order(timeline.tracks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto group = [](const Track& t) { return std::tuple(section_of(t.kind), t.block, t.kind); };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Track &x = timeline.tracks[a], &y = timeline.tracks[b];
    return group(x) != group(y) ? group(x) < group(y) : name_before(x.name, y.name);
  });
  return order;
}

int row_height(std::size_t lanes) { return lanes <= 1 ? 21 : 5 + 8 * static_cast<int>(lanes); }

}  // namespace

std::vector<Row> rows_of(const Timeline& timeline, const std::vector<TrackEvents>& tracks) {
  std::set<std::array<std::int64_t, 3>> blocks;
  for (const Track& track : timeline.tracks) blocks.insert(track.block);
  std::vector<Row> rows;
  std::string group;
  int top = 0;
  for (const std::size_t index : row_order(timeline)) {
    const Track& track = timeline.tracks[index];
    std::string heading = section_names[section_of(track.kind)];
    if (blocks.size() > 1) heading += fmt::format(" ({}, {}, {})", track.block[0], track.block[1], track.block[2]);
    Row row;
    row.track = index;
    if (heading != group) row.heading = group = heading;
    row.top = top + (row.heading.empty() ? 0 : heading_height);
    row.height = row_height(tracks[index].lanes.size());
    top = row.top + row.height;
    rows.push_back(std::move(row));
  }
  return rows;
}

int height_of(const std::vector<Row>& rows) { return rows.empty() ? 0 : rows.back().top + rows.back().height; }

LaneBox lane_box(const Row& row, std::size_t lanes, std::size_t lane) {
  const double high = (row.height - 5) / static_cast<double>(std::max<std::size_t>(1, lanes));
  return {2 + static_cast<double>(lane) * high, std::max(2.0, high - (lanes > 1 ? 1 : 0))};
}

}  // namespace tessera::checker
