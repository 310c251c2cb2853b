// The arguments of a call with copies of the memory that they point to.
#pragma once

#include <vector>

#include "runtime/candidate_memory.hpp"

namespace tessera::runtime {

// Pointers that overlap point to copies that overlap in the same way, with the alignment that the caller's memory has.
class Snapshot {
 public:
  // Copies in the order of `stream`, without waiting. Throws a device Error if there is no room.
  Snapshot(std::shared_ptr<detail::DeviceState> device, RuntimeArguments arguments, const std::vector<Entry>& entries,
           void* stream);
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  RuntimeArguments arguments() const { return pointers_; }

 private:
  void release();
  std::shared_ptr<detail::DeviceState> device_;
  std::vector<void*> allocations_;
  std::vector<detail::Argument> arguments_;
  std::vector<const detail::Argument*> pointers_;
};

}  // namespace tessera::runtime
