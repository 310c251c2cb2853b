// The golden kernels: thread programs written by hand that cover every statement, type and operator.
#pragma once

#include <string>
#include <vector>

#include "ir/thread.hpp"

namespace tessera::golden {

struct Case {
  std::string name;
  ir::thread::Kernel (*make)();
  bool needs_stack = false;  // printf passes its arguments in local memory
};

const std::vector<Case>& cases();

ir::thread::Kernel vector_add();
ir::thread::Kernel packed_registers();
ir::thread::Kernel casts();
ir::thread::Kernel arithmetic();
ir::thread::Kernel printing();
ir::thread::Kernel control_flow();
ir::thread::Kernel tensor_cores();
ir::thread::Kernel tma_pipeline();
// C[m, matmul_n] = A[m, matmul_k] * B[matmul_n, matmul_k]^T for a run-time m; parameters m, A, B, C.
inline constexpr int matmul_n = 512, matmul_k = 1024;
ir::thread::Kernel matmul();
// The same product of bf16 with wgmma and clusters; the same parameters.
ir::thread::Kernel cluster_matmul();
ir::thread::Kernel hopper_forms();
ir::thread::Kernel float8_casts();
ir::thread::Kernel global_flags();
ir::thread::Kernel peer_memory();

}  // namespace tessera::golden
