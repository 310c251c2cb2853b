// Layouts as expressions: which element a thread's register holds, and where an element lies in shared memory.
#pragma once

#include <vector>

#include "ir/expr.hpp"
#include "layout/register_layout.hpp"
#include "layout/shared_layout.hpp"

namespace tessera::lower {

// The element (one i32 index a dimension) that thread `spatial` holds in register `local`.
std::vector<const ir::Expr*> element_index(ir::ExprPool& x, const layout::RegisterLayout& l, const ir::Expr* local,
                                           const ir::Expr* spatial);

// True in the first of the threads that hold the same elements; null where no element is replicated.
const ir::Expr* is_first_replica(ir::ExprPool& x, const layout::RegisterLayout& l, const ir::Expr* spatial);

// How many consecutive registers hold consecutive elements of dimension `dim`, beginning at a multiple of that number.
std::int64_t consecutive_registers(const layout::RegisterLayout& l, std::size_t dim);

// u32 byte offset of element `index` (i32 each) in a shared tile, from the tile's first byte. Terms that repeat with
// the swizzle's period stay outside the XOR and terms that do not depend on the thread come last, so that a compiler
// can compute the thread's part once and add or XOR constants to it.
const ir::Expr* shared_offset(ir::ExprPool& x, const layout::SharedLayout& l,
                              const std::vector<const ir::Expr*>& index);

// The widest access (bytes) along dimension `dim`: contiguous, aligned and inside one swizzle chunk.
std::int64_t contiguous_bytes(const layout::SharedLayout& l, std::size_t dim);

}  // namespace tessera::lower
