#include "runtime/capture.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tessera/core/error.hpp"

namespace tessera::runtime {
namespace {
thread_local Recording* recording_of_thread = nullptr;
}

bool Recording::add(std::shared_ptr<const Executable> executable, const LaunchPlan& plan) {
  form_.push_back(executable.get());
  names_.push_back(plan.origin.kernel);
  if (!device_.streams().immediate()) {  // the driver has the arguments, the code has to stay
    keep(std::move(executable));
    return false;
  }
  auto own = std::make_shared<LaunchPlan>();
  own->copy_from(plan);
  work_.emplace_back([executable = std::move(executable), own = std::move(own)] { executable->launch(*own, nullptr); });
  return true;
}

bool Recording::add(std::function<void()> work) {
  if (!device_.streams().immediate()) return false;
  work_.push_back(std::move(work));
  return true;
}

void Recording::replay() const {
  for (const auto& work : work_) work();
}

std::string Recording::names() const {
  constexpr std::size_t shown = 3;
  return fmt::format("{}{}", fmt::join(names_.begin(), names_.begin() + std::min(shown, names_.size()), ", "),
                     names_.size() > shown ? ", ..." : "");
}

Recording* current_recording() { return recording_of_thread; }

RecordingScope::RecordingScope(Recording& recording) { recording_of_thread = &recording; }
RecordingScope::~RecordingScope() { recording_of_thread = nullptr; }

void check_stream(const char* what, const StreamArg& stream, const detail::DeviceState& device, SourceLoc call) {
  const detail::DeviceState* other = stream.device();
  if (other != nullptr && other != &device) {
    throw Error(ErrorKind::user, call,
                fmt::format("{}: the stream is of {}, but the memory or the launch is of {}{}", what, other->name(),
                            device.name(), other->name() == device.name() ? " (another device of the same name)" : ""),
                "use a stream of the device that the buffers are of");
  }
  if (stream.handle() != nullptr || recorded_here(device) == nullptr) return;
  throw Error(ErrorKind::user, call,
              fmt::format("{} inside of Graph::capture is on the default stream, which cannot be captured", what),
              "pass the captured stream: kernel.launch({.stream = stream}, ...), or kernel.stream(stream) before");
}

}  // namespace tessera::runtime
