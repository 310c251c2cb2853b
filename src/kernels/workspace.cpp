#include "kernels/workspace.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "jit/streams.hpp"
#include "runtime/capture.hpp"

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

// A graph uses the memory whenever it is launched, so it has its own: that of a Graph lives as long as it, that of a
// graph that another library captures as long as the process.
bool Workspace::take_for_graph(const Device& device, void* stream, std::int64_t bytes) {
  detail::DeviceState& state = *device.state();
  runtime::Recording* recording = runtime::recorded_here(state);
  if (recording == nullptr && !state.streams().capturing(stream)) return false;
  std::optional<jit::RelaxedCapture> relaxed;
  if (!state.streams().immediate()) relaxed.emplace();
  auto memory = std::make_shared<Buffer<std::uint8_t>>(device, Shape{bytes});
  memory_ = PtrArg<std::uint8_t>(*memory).value();
  if (recording != nullptr) {
    recording->keep(std::move(memory));
    return true;
  }
  static auto& mutex = *new std::mutex;
  static auto& kept = *new std::vector<std::shared_ptr<const void>>;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(memory));
  return true;
}

Workspace::Workspace(const Device& device, void* stream, WorkspaceUse use, std::int64_t bytes) {
  if (take_for_graph(device, stream, bytes)) return;
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
