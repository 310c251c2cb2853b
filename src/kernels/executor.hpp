// A matmul by one kernel, or by several that belong together, ready to be launched again and again.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kernels/candidates.hpp"
#include "tessera/runtime/kernel.hpp"

namespace tessera::kernels {

struct Call {
  const Problem& problem;
  const Device& device;
  void* stream;
  SourceLoc loc;
};

class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  // Traces, compiles and tunes what the call needs.
  virtual void prepare(const Call& call) = 0;
  virtual void launch(const Call& call) = 0;
  virtual Report report() const = 0;  // of the kernel that multiplies
  virtual std::vector<Report> helpers() const { return {}; }
  // The kernels of a launch of this call in their order, with their arguments, for whoever launches them elsewhere.
  struct Step {
    detail::KernelImpl* kernel;
    std::vector<detail::Argument> arguments;
  };
  virtual std::vector<Step> steps(const Call& call) = 0;
  // Microseconds that the model expects beside the reported time of the kernel.
  virtual double extra_us() const { return 0; }
};

// With these configurations to choose from.
std::unique_ptr<Executor> make_persistent(const Problem& problem, const std::vector<PersistentConfig>& configs);
std::unique_ptr<Executor> make_split(const Problem& problem, int splits, const std::vector<SplitConfig>& configs,
                                     double reduction_us);

std::unique_ptr<Executor> make_pitch(const Problem& problem, const std::vector<PitchConfig>& configs);

// Copies the operands that the TMA engine cannot fetch, then does what `inner` does.
std::unique_ptr<Executor> make_packed(const Problem& problem, double packing_us, std::unique_ptr<Executor> inner);
// What `inner` of make_packed has to be made for.
Problem packed_problem(const Problem& problem);

}  // namespace tessera::kernels
