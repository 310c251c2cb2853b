// A tile matmul as lowering would write it: C = A * B^T, swizzled TMA boxes, ldmatrix, mma.sync, one buffer a tile.
#pragma once

#include "kernel_builder.hpp"

namespace tessera::testing {

struct MatmulPlan {
  int block_m = 64, block_n = 128, block_k = 64;  // block_k: 64, one 128-byte row
  int warps_m = 2, warps_n = 2;
  // One mistake at a time:
  bool flip_phase = true;  // false: waits on phase 0 for ever
  int wrong_phase = 0;     // added to the phase that is waited for
  int missing_bytes = 0;   // declared too few (or, negative, too many)
  bool arrive = true;
  bool second_sync = true;
  bool fence = true;
  // Filled in: lines of statements that reports must name.
  mutable std::uint32_t line_arrive = 0, line_copy = 0, line_wait = 0, line_sync = 0, line_ldmatrix = 0;
};

// Parameters: m, n, k (int32), a (m x k), b (n x k), c (m x n), float16.
void build_matmul(KernelBuilder& b, const MatmulPlan& plan);

}  // namespace tessera::testing
