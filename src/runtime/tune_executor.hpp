// Runs the tuner's candidates on a device, in this process, on copies of what they write.
#pragma once

#include "runtime/local_executor.hpp"

namespace tessera::runtime {

// Kernels whose pointer arguments overlap see copies that overlap in the same way. Memory that is only read is used in
// place; the caller's buffers are never written by a kernel that keeps to its views.
class TuneExecutor final : public LocalExecutor {
 public:
  // Throws a device Error if the copies do not fit into the device's memory.
  TuneExecutor(detail::DeviceState& device, std::unique_ptr<Timer> timer, RuntimeArguments arguments,
               std::vector<Entry> entries, SourceLoc call);

 private:
  Ready ready(std::size_t candidate) override { return {*entries_[candidate].executable, plans_[candidate]}; }
  void make_copies(const CandidateMemory& memory);
  void make_plans(const CandidateMemory& memory, RuntimeArguments arguments, SourceLoc call);

  std::vector<Entry> entries_;
  std::vector<detail::Argument> substitutes_;
  std::vector<LaunchPlan> plans_;
};

}  // namespace tessera::runtime
