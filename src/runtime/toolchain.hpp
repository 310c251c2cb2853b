// The steps that turn a traced program into something a device can load; tests replace them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "ir/thread.hpp"
#include "ir/tile.hpp"
#include "jit/compiler.hpp"
#include "passes/pipeline.hpp"
#include "tessera/runtime/kernel.hpp"

namespace tessera::runtime {

struct Toolchain {
  std::function<passes::Lowered(ir::tile::Kernel&)> lower;
  std::function<std::string(const ir::thread::Kernel&, bool readable)> print_cuda;
  std::function<std::string(const ir::thread::Kernel&)> print_thread;
  std::function<jit::Compiled(const std::string& source, const std::string& kernel)> compile;
  std::function<std::string()> compiler;  // version and flags
};

// passes::lower, cuda::print and NVRTC.
std::shared_ptr<const Toolchain> real_toolchain();

}  // namespace tessera::runtime
