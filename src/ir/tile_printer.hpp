// Text of single tile statements, for messages; to_string(Kernel) in tile.hpp prints whole kernels.
#pragma once

#include <string>

#include "ir/tile.hpp"

namespace tessera::ir::tile {

// The statement's own line, without the bodies nested in it: "for k in range(0, 64, 16)", "sync()".
std::string statement_text(const Stmt* s);

}  // namespace tessera::ir::tile
