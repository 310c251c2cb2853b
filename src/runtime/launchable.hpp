// What a call of a kernel would launch, for those who want to do something else with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/thread.hpp"
#include "tessera/core/finding.hpp"
#include "tessera/runtime/kernel.hpp"

namespace tessera::detail {

// Without arguments, of a kernel that takes some: its program and its toolchain alone.
struct KernelImpl::Launchable {
  const Program* program = nullptr;  // as long as the kernel lives
  std::shared_ptr<const runtime::Toolchain> toolchain;
  std::shared_ptr<const ir::thread::Kernel> kernel;  // null: a launch without blocks
  std::string config;
  std::vector<Finding> findings;     // hazards that the text shows
  std::vector<std::int64_t> values;  // of the kernel's parameters; pointers as integers
  std::vector<std::size_t> bytes;    // of the buffers
  bool simulated = false;
  std::string device;
  SourceLoc call;
};

}  // namespace tessera::detail
