// What the page's script reads: events sorted and packed, so that drawing a window on them is a search and a walk.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/timeline.hpp"
#include "tessera/core/finding.hpp"

namespace tessera::checker {

using EventIndices = std::vector<std::uint32_t>;  // into Timeline::events

// The events of one track. Those with an extent are put into lanes, in which they follow each other.
struct TrackEvents {
  std::vector<EventIndices> lanes;
  EventIndices arrivals, marks;  // marks: of findings
};
inline constexpr std::size_t most_lanes = 16;  // what does not fit lies over others in the last one

// One entry a track. An event of no track is an internal Error.
std::vector<TrackEvents> pack(const sim::Timeline& timeline);

// The event that shows each finding, where there is one.
std::vector<std::optional<std::uint32_t>> places(const sim::Timeline& timeline, std::span<const Finding> findings);

// The last moment that something happens at.
std::uint64_t end_of(const sim::Timeline& timeline);

const char* name_of(sim::TimelineEvent::Kind kind);
inline constexpr int kind_count = static_cast<int>(sim::TimelineEvent::Kind::finding) + 1;

// JSON that may stand inside a script element: without '<', '>', '&' and without anything but ASCII.
std::string timeline_json(const sim::Timeline& timeline, const std::vector<TrackEvents>& tracks,
                          std::span<const Finding> findings);

}  // namespace tessera::checker
