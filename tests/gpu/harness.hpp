// Runs a thread program on the card and on the simulated Hopper, on equal copies of the same buffers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "golden/buffers.hpp"
#include "ir/thread.hpp"
#include "jit/driver.hpp"

namespace tessera::gpu_tests {

using golden::Argument;

// Why no card can be used here; empty if one can.
std::string why_no_card();

// A kernel, compiled for the card.
class CardProgram {
 public:
  explicit CardProgram(const ir::thread::Kernel& kernel);
  // Runs the whole grid on copies of the buffers, and leaves what it wrote in the buffers.
  void run(std::vector<Argument>& arguments) const;

 private:
  const ir::thread::Kernel& kernel_;
  std::unique_ptr<jit::Module> module_;
};

// Both run the kernel over its whole grid and leave what it wrote in the buffers.
void run_on_card(const ir::thread::Kernel& kernel, std::vector<Argument>& arguments);
void run_on_simulator(const ir::thread::Kernel& kernel, std::vector<Argument>& arguments);

}  // namespace tessera::gpu_tests
