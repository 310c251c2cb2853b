// Runs candidates in this process, on memory that an executor of one kind or another has made for them.
#pragma once

#include <memory>
#include <vector>

#include "runtime/candidate_memory.hpp"
#include "tessera/runtime/buffer.hpp"

namespace tessera::runtime {

class LocalExecutor : public CandidateExecutor {
 public:
  std::vector<tune::Output> run(std::size_t candidate, std::vector<tune::Output> recycled) final;
  double time(std::size_t candidate) final;

 protected:
  struct Ready {
    const Executable& executable;
    const LaunchPlan& plan;
  };
  LocalExecutor(detail::DeviceState& device, std::unique_ptr<Timer> timer)
      : device_(device), timer_(std::move(timer)) {}
  // Throws Error if the candidate cannot be made ready.
  virtual Ready ready(std::size_t candidate) = 0;

  // Memory of so many bytes, aligned as the original. Throws a device Error if there is none.
  void make_copy(std::size_t region, std::size_t bytes, std::uintptr_t original);
  std::uintptr_t copy(std::size_t region) const { return copies_[region].address; }
  // Before every run the copy gets this content,
  void restore_from(std::size_t region, std::uintptr_t content) { copies_[region].content = content; }
  // or, before those whose result counts, this filling.
  void poison_with(std::size_t region, unsigned char byte) { copies_[region].poison = byte; }
  void expect_outputs(std::vector<trial::OutputPlace> places) { outputs_ = std::move(places); }
  detail::DeviceState& device() const { return device_; }

 private:
  struct Copy {
    std::unique_ptr<detail::Memory> memory;
    std::uintptr_t address = 0;
    std::size_t bytes = 0;
    std::uintptr_t content = 0;  // where there is one
    std::optional<unsigned char> poison;
  };
  void restore(bool poison);

  detail::DeviceState& device_;
  std::unique_ptr<Timer> timer_;
  std::vector<Copy> copies_;  // by region; without memory where the executor has made none
  std::vector<trial::OutputPlace> outputs_;
};

}  // namespace tessera::runtime
