#include "runtime/snapshot.hpp"

namespace tessera::runtime {

Snapshot::Snapshot(std::shared_ptr<detail::DeviceState> device, RuntimeArguments arguments,
                   const std::vector<Entry>& entries, void* stream)
    : device_(std::move(device)) {
  const CandidateMemory memory = find_memory(arguments, entries, *device_);
  std::vector<std::uintptr_t> copies;
  try {
    for (const CandidateMemory::Region& region : memory.regions) {
      allocations_.push_back(device_->allocate(region.range.bytes + copy_room));
      copies.push_back(copy_address(allocations_.back(), region.range.begin));
      device_->copy_on(stream, reinterpret_cast<void*>(copies.back()),
                       reinterpret_cast<const void*>(region.range.begin), region.range.bytes);
    }
  } catch (...) {
    release();
    throw;
  }
  for (const detail::Argument* argument : arguments) arguments_.push_back(*argument);
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (memory.region[i] == MergedRanges::none) continue;
    detail::PtrValue& value = arguments_[i].pointer;
    value.pointer = reinterpret_cast<void*>(copies[memory.region[i]] + memory.offset[i]);
    value.bytes = memory.reach[i];
    value.source = detail::PtrSource::buffer;
  }
  for (const detail::Argument& argument : arguments_) pointers_.push_back(&argument);
}

Snapshot::~Snapshot() { release(); }

void Snapshot::release() {
  for (void* allocation : allocations_) device_->release(allocation);
}

}  // namespace tessera::runtime
