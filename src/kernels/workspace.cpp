#include "kernels/workspace.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace tessera::kernels {

namespace {

struct Stream {
  std::mutex mutex;
  std::optional<Buffer<std::uint8_t>> buffer;
};

// Never destroyed: at the end of the process the driver may be gone already.
Stream& stream_of(const void* device, void* stream, WorkspaceUse use) {
  static auto& mutex = *new std::mutex;
  static auto& streams = *new std::map<std::tuple<const void*, void*, WorkspaceUse>, Stream>;
  const std::lock_guard lock(mutex);
  return streams[{device, stream, use}];
}

}  // namespace

Workspace::Workspace(const Device& device, void* stream, WorkspaceUse use, std::int64_t bytes) {
  std::optional<Buffer<std::uint8_t>>* buffer = &own_;
  if (!device.is_simulated()) {
    Stream& shared = stream_of(device.state().get(), stream, use);
    lock_ = std::unique_lock(shared.mutex);
    buffer = &shared.buffer;
  }
  if (!*buffer || static_cast<std::int64_t>((*buffer)->size()) < bytes) {
    const std::int64_t least = std::int64_t{4} << 20;
    buffer->reset();
    buffer->emplace(device, Shape{device.is_simulated() ? bytes : std::max(bytes, least)});
  }
  memory_ = PtrArg<std::uint8_t>(**buffer).value();
}

}  // namespace tessera::kernels
