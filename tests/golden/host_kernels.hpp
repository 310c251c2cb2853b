// Runs the expected CUDA text of a golden kernel on the CPU.
#pragma once

#include <string>
#include <vector>

#include "golden/buffers.hpp"

namespace tessera::golden {

// All threads of `ctas` CTAs one after another; returns how many memory accesses were misaligned.
int run_text_on_host(const std::string& name, const std::vector<Argument>& arguments, unsigned ctas = 1);

}  // namespace tessera::golden
