#include "check/timeline_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>

namespace tessera::checker {
namespace {
using nlohmann::ordered_json;
using sim::Timeline;
using sim::TimelineEvent;
using Kind = TimelineEvent::Kind;

// Numbers labels in the order of their first use: most of them are said often.
class Labels {
 public:
  std::size_t number(const std::string& text) {
    const auto [entry, added] = numbers_.try_emplace(text, texts_.size());
    if (added) texts_.push_back(text);
    return entry->second;
  }
  const ordered_json& texts() const { return texts_; }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  ordered_json texts_ = ordered_json::array();
};

std::uint64_t length_of(const TimelineEvent& event) { return event.end > event.begin ? event.end - event.begin : 0; }

// Puts an event into the first lane that is free at its begin; `ends` are those of the lanes.
void put(std::uint32_t index, const TimelineEvent& event, TrackEvents& track, std::vector<std::uint64_t>& ends) {
  std::size_t lane = 0;
  while (lane < ends.size() && ends[lane] > event.begin) ++lane;
  lane = std::min(lane, most_lanes - 1);
  if (lane == ends.size()) {
    ends.push_back(0);
    track.lanes.emplace_back();
  }
  ends[lane] = std::max(ends[lane], event.begin + length_of(event));
  track.lanes[lane].push_back(index);
}

EventIndices in_order_of_begin(const Timeline& timeline) {
  EventIndices order(timeline.events.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const TimelineEvent &x = timeline.events[a], &y = timeline.events[b];
    return x.begin != y.begin ? x.begin < y.begin : length_of(x) > length_of(y);
  });
  return order;
}

// How well an event shows a finding; 0: not at all.
int likeness(const Timeline& timeline, const TimelineEvent& event, const Finding& finding) {
  const Timeline::Track& track = timeline.tracks[event.track];
  const std::string_view label = event.label, message = finding.diagnostic.message;
  int score = 0;
  if (event.line != 0 && event.line == finding.diagnostic.loc.line) score += 8;
  if (label == message) {
    score += 16;
  } else if (!label.empty() && (message.find(label) != message.npos || label.find(message) != label.npos)) {
    score += 4;
  }
  if (score == 0) return 0;
  if (track.block == finding.block) score += 2;
  if (track.name == fmt::format("warp {}", finding.warp)) score += 1;
  return score;
}

ordered_json lane_json(const Timeline& timeline, const EventIndices& lane, Labels& labels) {
  ordered_json flat = ordered_json::array();
  for (const std::uint32_t index : lane) {
    const TimelineEvent& event = timeline.events[index];
    flat.push_back(static_cast<int>(event.kind));
    flat.push_back(event.begin);
    flat.push_back(length_of(event));
    flat.push_back(event.line);
    flat.push_back(labels.number(event.label));
  }
  return flat;
}

ordered_json points_json(const Timeline& timeline, const EventIndices& points, Labels& labels) {
  ordered_json flat = ordered_json::array();
  for (const std::uint32_t index : points) {
    const TimelineEvent& event = timeline.events[index];
    flat.push_back(event.begin);
    flat.push_back(event.line);
    flat.push_back(labels.number(event.label));
  }
  return flat;
}

ordered_json tracks_json(const Timeline& timeline, const std::vector<TrackEvents>& tracks, Labels& labels) {
  ordered_json list = ordered_json::array();
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    ordered_json lanes = ordered_json::array();
    for (const EventIndices& lane : tracks[i].lanes) lanes.push_back(lane_json(timeline, lane, labels));
    list.push_back({{"name", timeline.tracks[i].name},
                    {"lanes", std::move(lanes)},
                    {"arrivals", points_json(timeline, tracks[i].arrivals, labels)},
                    {"marks", points_json(timeline, tracks[i].marks, labels)}});
  }
  return list;
}

// The text of each line that some event is of.
ordered_json source_json(const Timeline& timeline) {
  std::map<std::uint32_t, bool> lines;
  for (const TimelineEvent& event : timeline.events) lines[event.line] = true;
  ordered_json source = ordered_json::object();
  for (const auto& [line, used] : lines) {
    const std::string text = source_line({timeline.file.c_str(), "", line});
    if (!text.empty()) source[std::to_string(line)] = text;
  }
  return source;
}

ordered_json places_json(const Timeline& timeline, std::span<const Finding> findings) {
  ordered_json list = ordered_json::array();
  for (const auto& place : places(timeline, findings)) {
    if (!place) {
      list.push_back(nullptr);
      continue;
    }
    const TimelineEvent& event = timeline.events[*place];
    list.push_back(ordered_json::array({event.track, event.begin}));
  }
  return list;
}

}  // namespace

std::uint64_t end_of(const Timeline& timeline) {
  std::uint64_t end = timeline.end;
  for (const TimelineEvent& event : timeline.events) end = std::max({end, event.begin, event.end});
  return end;
}

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::run: return "run";
    case Kind::wait: return "wait";
    case Kind::copy: return "copy";
    case Kind::store: return "store";
    case Kind::wgmma: return "wgmma";
    case Kind::held: return "held";
    case Kind::phase: return "phase";
    case Kind::arrival: return "arrival";
    case Kind::finding: return "finding";
  }
  return "?";
}

std::vector<TrackEvents> pack(const Timeline& timeline) {
  std::vector<TrackEvents> tracks(timeline.tracks.size());
  std::vector<std::vector<std::uint64_t>> ends(tracks.size());
  for (const std::uint32_t index : in_order_of_begin(timeline)) {
    const TimelineEvent& event = timeline.events[index];
    if (event.track >= tracks.size()) {
      throw Error(ErrorKind::internal, {},
                  fmt::format("an event of track {} in a timeline of {} tracks", event.track, tracks.size()));
    }
    TrackEvents& track = tracks[event.track];
    switch (event.kind) {
      case Kind::arrival: track.arrivals.push_back(index); break;
      case Kind::finding: track.marks.push_back(index); break;
      default: put(index, event, track, ends[event.track]);
    }
  }
  return tracks;
}

std::vector<std::optional<std::uint32_t>> places(const Timeline& timeline, std::span<const Finding> findings) {
  EventIndices marks;
  for (std::uint32_t i = 0; i < timeline.events.size(); ++i) {
    if (timeline.events[i].kind == Kind::finding) marks.push_back(i);
  }
  std::vector<std::optional<std::uint32_t>> found(findings.size());
  for (std::size_t f = 0; f < findings.size(); ++f) {
    int best = 0;
    for (const std::uint32_t mark : marks) {
      const int score = likeness(timeline, timeline.events[mark], findings[f]);
      if (score > best) {
        best = score;
        found[f] = mark;
      }
    }
  }
  return found;
}

std::string timeline_json(const Timeline& timeline, const std::vector<TrackEvents>& tracks,
                          std::span<const Finding> findings) {
  Labels labels;
  ordered_json kinds = ordered_json::array();
  for (int i = 0; i < kind_count; ++i) kinds.push_back(name_of(static_cast<Kind>(i)));
  ordered_json json = {{"file", timeline.file},
                       {"end", end_of(timeline)},
                       {"kinds", std::move(kinds)},
                       {"tracks", tracks_json(timeline, tracks, labels)},
                       {"findings", places_json(timeline, findings)},
                       {"source", source_json(timeline)}};
  json["labels"] = labels.texts();
  std::string out;
  for (const char c : json.dump(-1, ' ', true, ordered_json::error_handler_t::replace)) {
    if (c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace tessera::checker
