// Thread IR to CUDA C++ text: one line a statement, no decisions, no includes.
#pragma once

#include <string>

#include "ir/thread.hpp"

namespace tessera::cuda {

struct PrintOptions {
  // false: canonical text without comments and with generated names, which does not depend on the user's file names,
  // line numbers or variable names; the cache key is computed from it.
  bool readable = true;
};

// The name of the __global__ function in that text: the kernel's name made a legal identifier, or "tessera_kernel" in
// canonical text.
std::string function_name(const ir::thread::Kernel& kernel, const PrintOptions& options = {});

std::string print(const ir::thread::Kernel& kernel, const PrintOptions& options = {});

}  // namespace tessera::cuda
