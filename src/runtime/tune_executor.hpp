// Runs the tuner's candidates on a device, in this process, on copies of what they write.
#pragma once

#include "runtime/candidate_memory.hpp"

namespace tessera::runtime {

// Kernels whose pointer arguments overlap see copies that overlap in the same way. Memory that is only read is used in
// place; the caller's buffers are never written by a kernel that keeps to its views.
class TuneExecutor final : public CandidateExecutor {
 public:
  // Throws a device Error if the copies do not fit into the device's memory.
  TuneExecutor(detail::DeviceState& device, std::unique_ptr<Timer> timer, RuntimeArguments arguments,
               std::vector<Entry> entries, SourceLoc call);
  ~TuneExecutor() override;

  std::vector<tune::Output> run(std::size_t candidate, std::vector<tune::Output> recycled) override;
  double time(std::size_t candidate) override;

 private:
  // Of a region that is written.
  struct Copy {
    void* allocation = nullptr;
    std::uintptr_t address = 0;
  };
  void allocate_copies();
  void release_copies();
  void make_plans();
  void restore(bool poison);

  detail::DeviceState& device_;
  std::unique_ptr<Timer> timer_;
  RuntimeArguments arguments_;
  std::vector<Entry> entries_;
  SourceLoc call_;
  CandidateMemory memory_;
  std::vector<Copy> copies_;  // one a region
  std::vector<detail::Argument> substitutes_;
  std::vector<LaunchPlan> plans_;
};

}  // namespace tessera::runtime
