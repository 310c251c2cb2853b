// ldmatrix of parts of a shared tile; used by load_shared, and by dot for operands that are never whole in registers.
#pragma once

#include "lower/lowering.hpp"
#include "passes/shared_layouts.hpp"

namespace tessera::lower {

// Fetches `matrices` (1, 2 or 4) 8x8 matrices, numbers first .. first + matrices - 1 of the thread's matrices in
// register order, to dst.
void emit_ldmatrix(Lowering& l, const ir::tile::LoadShared& load, const passes::LdMatrixPlan& plan,
                   const ir::Expr* first, int matrices, ir::thread::RegRef dst);

// Says in the thread program how a tile is fetched or stored by 8x8 matrices and how its banks behave, and remarks
// conflicts.
void describe_matrices(Lowering& l, const ir::tile::SharedView& view, SourceLoc loc, const passes::LdMatrixPlan& plan,
                       const std::string& how, const char* instruction);

}  // namespace tessera::lower
