// Vector clocks: what a thread knows to have happened before what it does next.
//
// Time is counted for each component. A component is a warp, the wgmma groups of a warp, the bulk groups of a thread,
// or the phases of an mbarrier; "component 7 at time 3" is all that warp 7 did up to its third release, the first three
// groups, the first three phases. Lanes of a warp mostly know and do the same, so that one number stands for 32 of
// them; where one lane acts for itself, it gets a number of its own until the others know as much.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace tessera::race {

using Component = std::uint32_t;
using Time = std::uint32_t;
inline constexpr Time never = 0xffffffffU;
inline constexpr int lanes_of_warp = 32;

class Knowledge {
 public:
  // Up to when the whole component is known. Of a warp: of all its lanes.
  Time of(Component c) const { return c < at_.size() ? at_[c] : 0; }
  bool knows(Component c, Time t) const { return of(c) >= t; }
  // Whether lane `lane` of warp `c` is known up to time `t`.
  bool knows_lane(Component c, int lane, Time t) const { return of(c) >= t || (!lanes_.empty() && find(c, lane) >= t); }

  void raise(Component c, Time t) {
    if (c >= at_.size()) at_.resize(c + 1, 0);
    if (at_[c] < t) at_[c] = t;
  }
  void raise_lane(Component c, int lane, Time t);
  void join(const Knowledge& other);
  // The components below `end` only: those of warps, whose accesses go through the generic proxy.
  void join_below(const Knowledge& other, Component end);
  void forget(Component begin, Component end);
  void clear() {
    at_.clear();
    lanes_.clear();
  }
  bool empty() const { return at_.empty() && lanes_.empty(); }

 private:
  struct LaneTimes {
    Component warp = 0;
    std::array<Time, lanes_of_warp> at{};
  };
  Time find(Component c, int lane) const;
  // Lanes that all have caught up need no times of their own.
  void settle(std::size_t index);

  std::vector<Time> at_;
  std::vector<LaneTimes> lanes_;
};

// `known`: what happened before. `fenced`: of that, the generic accesses that a proxy fence stands after, so that an
// asynchronous engine may rely on them (PTX ISA 8.9, proxy-preserved base causality order).
struct Clock {
  Knowledge known, fenced;
  void join(const Clock& other) {
    known.join(other.known);
    fenced.join(other.fenced);
  }
  void clear() {
    known.clear();
    fenced.clear();
  }
};

}  // namespace tessera::race
