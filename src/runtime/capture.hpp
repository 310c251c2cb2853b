// A capture that is under way on this thread, and what it has recorded.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/device_state.hpp"
#include "tessera/runtime/stream_arg.hpp"

namespace tessera::runtime {

// What a graph needs beside the driver's own graph: what has to live as long, and, on a device that runs everything at
// once, the work itself.
class Recording {
 public:
  explicit Recording(detail::DeviceState& device) : device_(device) {}

  detail::DeviceState& device() const { return device_; }
  // A launch. True if the recording has it and nothing is to be executed.
  bool add(std::shared_ptr<const Executable> executable, const LaunchPlan& plan);
  // Other work; the same result.
  bool add(std::function<void()> work);
  // Lives as long as the graph.
  void keep(std::shared_ptr<const void> thing) { kept_.push_back(std::move(thing)); }

  void replay() const;
  std::size_t kernels() const { return form_.size(); }
  std::string names() const;  // of the first kernels, for messages
  // Whether both have the same kernels in the same order.
  bool same_form(const Recording& other) const { return form_ == other.form_ && work_.size() == other.work_.size(); }

 private:
  detail::DeviceState& device_;
  std::vector<std::shared_ptr<const void>> kept_;
  std::vector<std::function<void()>> work_;
  std::vector<const Executable*> form_;
  std::vector<const char*> names_;
};

// The recording of this thread; null outside of a capture.
Recording* current_recording();

// Makes `recording` that of the thread while it lives.
class RecordingScope {
 public:
  explicit RecordingScope(Recording& recording);
  ~RecordingScope();
  RecordingScope(const RecordingScope&) = delete;
  RecordingScope& operator=(const RecordingScope&) = delete;
};

// The recording of this thread, if it is of this device.
inline Recording* recorded_here(const detail::DeviceState& device) {
  Recording* recording = current_recording();
  return recording != nullptr && &recording->device() == &device ? recording : nullptr;
}

// A user Error at `call` for a stream of another device than that of the work (`what`), and, in a capture of this
// thread, for the default stream.
void check_stream(const char* what, const StreamArg& stream, const detail::DeviceState& device, SourceLoc call);

}  // namespace tessera::runtime
