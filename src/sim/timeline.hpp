// What happened in one cluster, for a picture: who did what, from when to when.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::sim {

struct TimelineEvent {
  enum class Kind : std::uint8_t {
    run,      // a warp executes statements
    wait,     // a warp is blocked
    copy,     // TMA load, from issue until its bytes have landed
    store,    // TMA store, from issue until its source has been read
    wgmma,    // from issue until it has been executed
    held,     // on a tile: from an operation's issue until the wait that covers it
    phase,    // on an mbarrier: from the end of the previous phase until this one is complete
    arrival,  // on an mbarrier; begin == end
    finding   // begin == end
  };
  Kind kind = Kind::run;
  std::uint32_t track = 0;  // index into Timeline::tracks
  std::uint64_t begin = 0, end = 0;
  std::uint32_t line = 0;  // of the user's statement; 0: unknown
  std::string label;       // "waits on full[0] for parity 1"
};

// Time counts the statements that the cluster's warps have executed.
struct Timeline {
  struct Track {
    enum class Kind : std::uint8_t { warp, engine, barrier, tile };
    Kind kind = Kind::warp;
    std::array<std::int64_t, 3> block{};
    std::string name;  // "warp 4", "TMA", "full[0]", "sa[2]"
  };
  std::string kernel, file, schedule;
  std::vector<Track> tracks;
  std::vector<TimelineEvent> events;
  std::uint64_t end = 0;
  bool truncated = false;  // there were more events than are kept
};

}  // namespace tessera::sim
