// Which conditions may differ between the threads of a group, and the instructions that must not stand under them.
#pragma once

#include <vector>

#include "ir/tile.hpp"
#include "tessera/core/error.hpp"

namespace tessera::lang {

// Every thread has its own copy of a Var, so a Var that only part of a group has assigned makes the group diverge where
// a condition or a loop bound depends on it. Nothing else does: parameters, blockIdx and loop values are the same in
// all threads. Returns a mistake for each instruction of a whole group (sync(), print_tensor(), wgmma, registers(),
// named barriers) that such a condition covers, for each instruction of a whole warp (dot, load_shared, an elected
// thread) under one that splits a warp, and for each cluster.sync() under one that may differ between the blocks of a
// cluster.
std::vector<Diagnostic> check_uniformity(const ir::tile::Kernel& kernel);

}  // namespace tessera::lang
