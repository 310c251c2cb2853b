// Comparison of two traces of one script, to find C++ state and C++ control flow that depend on a traced body.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "ir/tile.hpp"

namespace tessera::lang {

struct Difference {
  SourceLoc loc;              // of the first statement that differs
  std::string first, second;  // the two statements; "nothing" where one is missing
  SourceLoc skipped;          // the last body that was not compared before it, if any
};

// Compares two programs statement by statement; objects correspond by the order of their definition. Bodies at nesting
// depth `skip_depth` (the kernel's own statements are at depth 0, so bodies of its scopes at 1) are not compared.
std::optional<Difference> compare_kernels(const ir::tile::Kernel& a, const ir::tile::Kernel& b, int skip_depth);

// Compares two blocks of one kernel, the two passes over a loop body.
std::optional<Difference> compare_passes(const ir::Block& first, const ir::Block& second);

}  // namespace tessera::lang
