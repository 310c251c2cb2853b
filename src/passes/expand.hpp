// Replaces instructions that are made of others: layout conversions through shared memory and whole-tile prints.
#pragma once

#include "ir/tile.hpp"

namespace tessera::passes {

void expand(ir::tile::Kernel& kernel);

}  // namespace tessera::passes
