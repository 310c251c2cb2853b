// How many 32-bit registers a thread will need, estimated from the live register tensors.
#pragma once

#include <vector>

#include "ir/tile.hpp"

namespace tessera::passes {

inline constexpr int max_registers = 255;  // a thread's limit on sm_90

// 32-bit registers that one thread holds of `tensor`.
std::int64_t registers_of(const ir::tile::RegisterTensor& tensor);

// Registers of a thread of each warpgroup, after registers(n). Throws a user Error where the groups together ask for
// more than the block is launched with.
std::vector<int> registers_of_warpgroups(ir::tile::Kernel& kernel);
// Whether the program has a statement of this kind. Where it has SetRegisters, what the groups share is what one block
// alone is launched with.
bool contains(ir::tile::Kernel& kernel, ir::StmtKind kind);
int register_limit(const ir::tile::Group& group, const std::vector<int>& of_warpgroup);

struct RegisterNeed {
  int tiles = 0;     // the largest sum of live tensors at any statement, streamed operands counted by their fragments
  int estimate = 0;  // with a share for addresses and control
};
// Throws a user Error for a tile that alone exceeds the limit.
RegisterNeed estimate_registers(ir::tile::Kernel& kernel);

// How many CTAs of an SM to ask the compiler for (__launch_bounds__). Asking is worth it where one more CTA fits if
// addresses are kept in few registers: V0 with 128x128x64 tiles runs at 0.61 of cuBLAS with three CTAs an SM and at
// 0.48 with the two that the compiler leaves room for by itself (H200). Otherwise 1: no constraint.
// `wgmma`: the kernel uses it, which keeps more registers beside the accumulators.
int choose_ctas_per_sm(const RegisterNeed& need, int threads, std::int64_t shared_bytes, bool wgmma = false);

}  // namespace tessera::passes
