// How wide a masked global access may be: shared by layout inference, which wants wide ones, and by lowering.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/tile.hpp"

namespace tessera::passes {

// The dimension of the view whose stride is the constant 1, or -1.
int contiguous_dim(const ir::tile::GlobalView& view);

// The largest power of two `v` (v * element size <= 16 bytes) such that v consecutive elements along the contiguous
// dimension, beginning at a tile index that is a multiple of v, are aligned and are all inside or all outside the view.
std::int64_t vector_width(const ir::tile::Kernel& kernel, const ir::tile::GlobalView& view,
                          const std::vector<const ir::Expr*>& offsets);

}  // namespace tessera::passes
