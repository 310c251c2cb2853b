// Takes down what a cluster does, for a picture.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/report.hpp"
#include "sim/timeline.hpp"

namespace tessera::sim {

class Recorder {
 public:
  explicit Recorder(Timeline& timeline) : timeline_(timeline) {}

  // Time goes on by the statements that warps execute.
  std::uint64_t now() const { return now_; }
  void ran(const Site& warp, std::uint64_t statements);
  // The warp is blocked from now on, or no longer.
  void blocked(const Site& warp, std::string why);
  void resumed(const Site& warp);

  // An engine's operation on `tile` of `block`, by its number in the order, and what it completes by.
  void issued(std::uint32_t operation, TimelineEvent::Kind kind, const Site& by,
              const std::array<std::int64_t, 3>& block, const std::string& tile, std::uint32_t component,
              std::uint32_t time);
  void done(std::uint32_t operation);
  void covered(std::uint32_t component, std::uint32_t time);  // by a wait
  void arrived(const BlockInfo& home, const std::string& barrier, const Site& by);
  void completed(const BlockInfo& home, const std::string& barrier, std::uint64_t phase, const ir::Stmt* by);
  void found(const Site& site, const std::string& what);
  void finish();

 private:
  using TrackKind = Timeline::Track::Kind;
  std::uint32_t track(TrackKind kind, const std::array<std::int64_t, 3>& block, const std::string& name);
  void add(TimelineEvent event);

  static constexpr std::size_t most_events = 200000;
  struct Open {
    std::uint32_t tile = 0, component = 0, time = 0;
    TimelineEvent event;
  };
  Timeline& timeline_;
  std::uint64_t now_ = 0;
  std::map<std::string, std::uint32_t> tracks_;
  std::map<std::uint32_t, TimelineEvent> waits_;                   // by the warp's track
  std::map<std::uint32_t, Open> open_;                             // by operation
  std::unordered_map<std::uint32_t, std::uint64_t> phase_begins_;  // by the barrier's track
};

}  // namespace tessera::sim
