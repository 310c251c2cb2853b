// Gives every register and shared tensor a layout.
//
// Register tensors: pinned layouts first, then what the tensor cores demand of a dot's operands, then vectorised
// layouts for global and shared accesses, then a default. Each choice spreads through elementwise instructions and
// transposes to tensors that have none yet. Where an instruction needs another layout than its operand got, a
// conversion is inserted and remarked. Shared tensors that the TMA engine fills or ldmatrix reads get the widest
// swizzle their rows allow.
#pragma once

#include <vector>

#include "ir/tile.hpp"
#include "tessera/core/error.hpp"

namespace tessera::passes {

void infer_layouts(ir::tile::Kernel& kernel, std::vector<Diagnostic>& remarks);

// For each register r of `out`: the register of `in` that holds the element it needs (with broadcasting), if that is in
// the same thread and the same register number for every thread.
std::optional<std::vector<std::int64_t>> aligned_registers(const ir::tile::RegisterTensor& out,
                                                           const ir::tile::RegisterTensor& in);

}  // namespace tessera::passes
