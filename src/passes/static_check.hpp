// Hazards that the program text shows, before anything runs. What is reported goes wrong whenever the instruction is
// executed, or for arguments that nothing in the program rules out; whatever cannot be proven is left to a run.
#pragma once

#include <vector>

#include "ir/tile.hpp"
#include "tessera/core/finding.hpp"

namespace tessera::passes {

struct StaticOptions {
  bool fences_inserted = true;  // the compiler adds the proxy fences that are missing, so that none is a hazard
};

// In the order of the lines. The kernel is one as it was traced.
std::vector<Finding> static_findings(const ir::tile::Kernel& kernel, const StaticOptions& options = {});

// Throws a user Error with those of them that no arguments avoid: every run that gets to the instruction goes wrong.
// Returns the others.
std::vector<Finding> refuse_certain_hazards(const ir::tile::Kernel& kernel, const StaticOptions& options = {});

}  // namespace tessera::passes
