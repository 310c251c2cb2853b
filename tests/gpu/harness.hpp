// Runs a thread program on the card and on the simulated Hopper, on equal copies of the same buffers.
#pragma once

#include <string>
#include <vector>

#include "golden/buffers.hpp"
#include "ir/thread.hpp"

namespace tessera::gpu_tests {

using golden::Argument;

// Why no card can be used here; empty if one can.
std::string why_no_card();

// Both run the kernel over its whole grid and leave what it wrote in the buffers.
void run_on_card(const ir::thread::Kernel& kernel, std::vector<Argument>& arguments);
void run_on_simulator(const ir::thread::Kernel& kernel, std::vector<Argument>& arguments);

}  // namespace tessera::gpu_tests
