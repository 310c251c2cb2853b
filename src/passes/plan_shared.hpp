// The shared-memory plan: byte offsets for every tile and barrier.
//
// A tile is live from its first to its last use, over the whole of every loop that it is carried around; a tile that
// the TMA engine fills is live until a wait on the copy's barrier, or to the end where there is none. Two tiles may
// share bytes only if they are never live together and a barrier of the whole CTA stands between the last use of one
// and the first use of the other on every path. `free_shared` is a hint that the plan has no need of. Barriers have a
// region of their own behind all tiles.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/thread.hpp"
#include "ir/tile.hpp"

namespace tessera::passes {

inline constexpr std::int64_t max_shared_bytes =
    232448;  // a CTA's limit on sm_90, CUDA C++ Programming Guide, table 30

struct SharedPlan {
  std::int64_t total_bytes = 0;
  std::vector<ir::thread::SharedRegion> regions;  // tiles that are used, then barriers
};

// Sets the offsets. Throws a user Error that lists the tiles where they do not fit.
// `barriers_in_tiles`, for tests that show what comes of it: barriers begin where the first tile does.
SharedPlan plan_shared(ir::tile::Kernel& kernel, bool barriers_in_tiles = false);

std::string to_string(const SharedPlan& plan);

}  // namespace tessera::passes
