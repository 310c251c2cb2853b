// Runs candidates of which only their launches are known on a device, in this process.
#pragma once

#include "runtime/local_executor.hpp"

namespace tessera::runtime {

class JobExecutor final : public LocalExecutor {
 public:
  // Throws a device Error if the memory that the candidates use does not fit into the device's.
  JobExecutor(detail::DeviceState& device, std::unique_ptr<Timer> timer, trial::Candidates candidates);

 private:
  Ready ready(std::size_t candidate) override;
  std::uintptr_t make_content(std::size_t region);
  LaunchPlan plan_of(const trial::Job& job) const;
  std::int64_t value(const trial::Param& param) const;
  jit::EncodedTensorMap encode(const trial::MapJob& job) const;

  trial::Candidates candidates_;
  std::vector<std::unique_ptr<detail::Memory>> contents_;  // of what is read and written
  std::vector<LaunchPlan> plans_;
  std::vector<std::unique_ptr<Executable>> executables_;  // null: not loaded yet
};

}  // namespace tessera::runtime
