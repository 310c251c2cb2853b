// Indices into rings of shared tiles and into arrays of barriers. Addresses are computed without a look at the bounds:
// an index outside names another stage, or memory of something else. Tracing refuses an index that is outside whatever
// happens; what may be outside is looked at where it is used, on the simulated Hopper.
#pragma once

#include <string>
#include <vector>

#include "ir/tile.hpp"

namespace tessera::passes {

struct IndexUse {
  const ir::Expr* index = nullptr;  // i32
  std::int64_t count = 0;           // 0 .. count - 1 is inside
  std::string what;                 // "element", "mbarrier"
  std::string where;                // "in dimension 0 of 'ring'"
  std::string help;
  SourceLoc made;  // the array
};

// The indices of a statement that may lie outside, as far as their bounds are known.
std::vector<IndexUse> uncertain_indices(const ir::Stmt* stmt);

}  // namespace tessera::passes
