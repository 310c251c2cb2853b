// Runs the tuner's candidates on a device, on copies of what they write.
#pragma once

#include <memory>
#include <vector>

#include "runtime/device_state.hpp"
#include "runtime/launch_plan.hpp"
#include "tune/tuner.hpp"

namespace tessera::runtime {

// Kernels whose pointer arguments overlap see copies that overlap in the same way. Memory that is only read is used in
// place; the caller's buffers are never written.
class TuneExecutor final : public tune::Executor {
 public:
  struct Entry {
    std::shared_ptr<const ir::thread::Kernel> kernel;  // null: does not take part
    const Executable* executable = nullptr;
  };
  // Throws a device Error if the copies do not fit into the device's memory.
  TuneExecutor(detail::DeviceState& device, std::unique_ptr<Timer> timer, RuntimeArguments arguments,
               std::vector<Entry> entries, SourceLoc call);
  ~TuneExecutor() override;

  std::vector<tune::Output> run(std::size_t candidate, std::vector<tune::Output> recycled) override;
  double time(std::size_t candidate) override;
  std::uint64_t timed() const { return timed_; }

 private:
  // Bytes [begin, end) of the caller's memory that pointer parameters reach together.
  struct Region {
    std::uintptr_t begin = 0, end = 0;
    bool read = false, written = false;
    void* allocation = nullptr;
    std::uintptr_t copy = 0;
  };
  void find_regions();
  void allocate_copies();
  void make_plans();
  void restore(bool poison);
  Region* region_of(std::uintptr_t address);

  detail::DeviceState& device_;
  std::unique_ptr<Timer> timer_;
  RuntimeArguments arguments_;
  std::vector<Entry> entries_;
  SourceLoc call_;
  std::vector<std::size_t> reach_;    // bytes a parameter; 0 for scalars
  std::vector<bool> read_, written_;  // a parameter
  std::vector<Region> regions_;
  std::vector<detail::Argument> substitutes_;
  std::vector<LaunchPlan> plans_;
  std::uint64_t timed_ = 0;
};

}  // namespace tessera::runtime
