// Marks load_shared instructions whose tile is used once, by a dot that follows in the same block with nothing in
// between that could change the tile: the dot then fetches it fragment by fragment, and the tile is never whole in
// registers.
#pragma once

#include "ir/tile.hpp"

namespace tessera::passes {

void stream_operands(ir::tile::Kernel& kernel);

}  // namespace tessera::passes
