// Takes down what a cluster does, for a picture.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/report.hpp"
#include "sim/timeline.hpp"

namespace tessera::sim {

class Recorder {
 public:
  explicit Recorder(Timeline& timeline) : timeline_(timeline) {}

  // Time goes on by the statements that warps execute: by `statements`, their count, between runs() and ran().
  std::uint64_t now() const { return now_ + (counter_ == nullptr ? 0 : *counter_ - counted_); }
  void runs(const Site& warp, const std::uint64_t& statements);
  void ran();
  // The warp is blocked from now on, until it runs again.
  void blocked(const Site& warp, std::string why);

  // An engine's operation on `tile` of `block`, by its number in the order, and what it completes by. Those of one
  // wgmma group are one bar of the engine, those that hold a tile at the same time one bar of the tile.
  void issued(std::uint32_t operation, TimelineEvent::Kind kind, const Site& by,
              const std::array<std::int64_t, 3>& block, const std::string& tile, std::uint32_t component,
              std::uint32_t time);
  void performed(std::uint32_t operation);                    // by the engine
  void done(std::uint32_t operation);                         // nothing is held any longer
  void covered(std::uint32_t component, std::uint32_t time);  // by a wait: done, too
  void arrived(const BlockInfo& home, const std::string& barrier, const Site& by);
  void completed(const BlockInfo& home, const std::string& barrier, std::uint64_t phase, const ir::Stmt* by);
  void found(const Site& site, const std::string& what);
  void failed(const Finding& finding);  // which ends the run
  void finish();

 private:
  using TrackKind = Timeline::Track::Kind;
  std::uint32_t track(TrackKind kind, const std::array<std::int64_t, 3>& block, const std::string& name);
  void add(TimelineEvent event);

  // What makes operations share a bar: the track, their kind, and what else tells them apart.
  struct BarKey {
    std::uint32_t track = 0;
    TimelineEvent::Kind kind = TimelineEvent::Kind::run;
    std::uint32_t first = 0, second = 0;
    bool operator<(const BarKey& other) const {
      return std::tie(track, kind, first, second) < std::tie(other.track, other.kind, other.first, other.second);
    }
  };
  struct Bar {
    TimelineEvent event;
    std::vector<std::string> tiles;
    int operations = 0;  // that are not done
    std::optional<std::uint64_t> performed;
  };
  struct Open {
    std::uint32_t component = 0, time = 0;
    BarKey engine, tile;
  };
  void resumed(std::uint32_t on);
  void join(const BarKey& key, TimelineEvent event, const std::string& tile);
  void leave(const BarKey& key);

  static constexpr std::size_t most_events = 200000;
  Timeline& timeline_;
  std::uint64_t now_ = 0;
  const std::uint64_t* counter_ = nullptr;  // of the warp that runs
  std::uint64_t counted_ = 0;               // when it began to
  TimelineEvent run_;                       // the last one, which the next may continue
  std::map<std::string, std::uint32_t> tracks_;
  std::map<std::uint32_t, TimelineEvent> waits_;                   // by the warp's track
  std::map<std::uint32_t, Open> open_;                             // by operation
  std::map<BarKey, Bar> bars_;                                     // of open operations
  std::unordered_map<std::uint32_t, std::uint64_t> phase_begins_;  // by the barrier's track
};

}  // namespace tessera::sim
