// Boxes of shared tiles (tile::SharedView) once their tensors have layouts: how a view lies in memory and where it
// begins.
#pragma once

#include "ir/tile.hpp"

namespace tessera::passes {

// The layout of the view's elements, its first element at offset 0. `call` names the instruction in messages. Throws a
// user Error where the box cuts through the tensor's panels.
layout::SharedLayout layout_of(const ir::tile::SharedView& view, SourceLoc loc, const std::string& call);

// As above for a tensor that had the layout `tensor`; null where the box cuts through its panels.
std::optional<layout::SharedLayout> layout_in(const ir::tile::SharedView& view, const layout::SharedLayout& tensor);

// i32 bytes from the tensor's first byte to the view's first element, before the swizzle.
const ir::Expr* offset_of(ir::ExprPool& x, const ir::tile::SharedView& view);

// The same, for an engine that addresses the view as a tile of its own: throws a user Error unless the view begins
// where the tensor's swizzle pattern does, or inside a row of it if `inside_row` allows that.
const ir::Expr* engine_offset(ir::ExprPool& x, const ir::tile::SharedView& view, SourceLoc loc, const std::string& call,
                              bool inside_row = false);

// The tensor's index (one i32 a dimension) of the view's element `index`.
std::vector<const ir::Expr*> tensor_index(ir::ExprPool& x, const ir::tile::SharedView& view,
                                          const std::vector<const ir::Expr*>& index);

}  // namespace tessera::passes
