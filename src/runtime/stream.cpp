#include "tessera/runtime/stream.hpp"

#include <fmt/format.h>

#include "runtime/capture.hpp"
#include "tessera/core/error.hpp"

namespace tessera {

struct Stream::State {
  State(const Device& d, void* h, bool o) : device(d), handle(h), owned(o) {}
  ~State() {
    if (owned) device.state()->streams().destroy_stream(handle);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  Device device;
  void* handle;
  bool owned;
};

struct Event::State {
  explicit State(const Device& d) : device(d), handle(d.state()->streams().create_event()) {}
  ~State() { device.state()->streams().destroy_event(handle); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  Device device;
  void* handle;
  bool recorded = false;
};

namespace {

void require_same_kind(const Device& one, const Device& other, const char* what, SourceLoc loc) {
  if (one.is_simulated() == other.is_simulated()) return;
  throw Error(ErrorKind::user, loc,
              fmt::format("{} of {} and of {} cannot wait for each other", what, one.name(), other.name()),
              "synchronise the host between work on a GPU and work on the simulated device");
}

}  // namespace

StreamArg::StreamArg(const Stream& stream) : handle_(stream.handle()), device_(stream.device().state().get()) {}

Stream::Stream(const Device& device, StreamOptions options, SourceLoc) {
  void* handle = device.state()->streams().create_stream(options.independent);
  state_ = std::make_shared<State>(device, handle, true);
}

Stream Stream::wrap(const Device& device, void* cuda_stream, SourceLoc loc) {
  runtime::StreamOps& ops = device.state()->streams();
  if (cuda_stream != nullptr && !ops.immediate()) {
    const int ordinal = ops.device_of(cuda_stream);
    if (ordinal != device.ordinal()) {
      throw Error(ErrorKind::user, loc,
                  fmt::format("Stream::wrap: the stream is of {}, not of {} ({})",
                              ordinal < 0 ? std::string("a context that is no device's primary one")
                                          : fmt::format("device {}", ordinal),
                              device.ordinal(), device.name()),
                  "give the device that the stream was made on: Device::cuda(ordinal)");
    }
  }
  return Stream(std::make_shared<State>(device, cuda_stream, false));
}

const Device& Stream::device() const { return state_->device; }
void* Stream::handle() const { return state_->handle; }
void Stream::synchronize() const { state_->device.state()->streams().synchronize(state_->handle); }
bool Stream::finished() const { return state_->device.state()->streams().finished(state_->handle); }

void Stream::wait(const Event& event, SourceLoc loc) const {
  require_same_kind(state_->device, event.state()->device, "a stream and an event", loc);
  if (!event.state()->recorded) {
    throw Error(ErrorKind::user, loc, "Stream::wait for an event that was never recorded",
                "record it first: event.record(stream)");
  }
  state_->device.state()->streams().wait(state_->handle, event.state()->handle);
}

void Stream::wait(const Stream& other, SourceLoc loc) const {
  Event event(other.device(), loc);
  event.record(other, loc);
  wait(event, loc);
}

Event::Event(const Device& device, SourceLoc) : state_(std::make_shared<State>(device)) {}

void Event::record(const Stream& stream, SourceLoc loc) {
  if (!(stream.device() == state_->device)) {
    throw Error(
        ErrorKind::user, loc,
        fmt::format("Event::record: the stream is of {}, the event of {}{}", stream.device().name(),
                    state_->device.name(),
                    stream.device().name() == state_->device.name() ? " (another device of the same name)" : ""),
        "make the event with the stream's device");
  }
  state_->device.state()->streams().record(state_->handle, stream.handle());
  state_->recorded = true;
}

namespace {
void require_recorded(const std::shared_ptr<Event::State>& event, const char* what, SourceLoc loc) {
  if (event->recorded) return;
  throw Error(ErrorKind::user, loc, fmt::format("{} of an event that was never recorded", what),
              "record it first: event.record(stream)");
}
}  // namespace

void Event::synchronize(SourceLoc loc) const {
  require_recorded(state_, "Event::synchronize", loc);
  state_->device.state()->streams().synchronize_event(state_->handle);
}

bool Event::finished(SourceLoc loc) const {
  require_recorded(state_, "Event::finished", loc);
  return state_->device.state()->streams().event_finished(state_->handle);
}

double Event::elapsed_ms_since(const Event& begin, SourceLoc loc) const {
  require_recorded(begin.state_, "Event::elapsed_ms_since", loc);
  require_recorded(state_, "Event::elapsed_ms_since", loc);
  if (!(begin.state_->device == state_->device)) {
    throw Error(ErrorKind::user, loc, "Event::elapsed_ms_since: the two events are of different devices",
                "record both on streams of one device");
  }
  return state_->device.state()->streams().elapsed_ms(begin.state_->handle, state_->handle);
}

namespace detail {
namespace {

DeviceState& device_of(const PtrValue& memory, const char* what, SourceLoc loc) {
  if (memory.device != nullptr) return *memory.device;
  throw Error(ErrorKind::user, loc, fmt::format("{} of a buffer without memory", what),
              "make the buffer with a device");
}

// Does it now, or records it.
template <class Work>
void run_or_record(DeviceState& device, const Work& work) {
  runtime::Recording* recording = runtime::recorded_here(device);
  if (recording == nullptr || !recording->add(work)) work();
}

}  // namespace

void copy_on_stream(const StreamArg& stream, const PtrValue& to, const PtrValue& from, SourceLoc loc) {
  DeviceState& device = device_of(to, "copy_on", loc);
  if (&device_of(from, "copy_on", loc) != &device) {
    throw Error(ErrorKind::user, loc,
                fmt::format("copy_on: from a buffer of {} to one of {}", from.device->name(), device.name()),
                "copy through the host: to.copy_from_host(from.to_host())");
  }
  if (to.bytes != from.bytes) {
    throw Error(ErrorKind::user, loc, fmt::format("copy_on: {} bytes into a buffer of {}", from.bytes, to.bytes),
                "use buffers of one size");
  }
  runtime::check_stream("copy_on", stream, device, loc);
  run_or_record(device, [&device, to, from, handle = stream.handle()] {
    device.copy_on(handle, to.pointer, from.pointer, to.bytes);
  });
}

void fill_on_stream(const StreamArg& stream, const PtrValue& to, unsigned char value, SourceLoc loc) {
  DeviceState& device = device_of(to, "fill_on", loc);
  runtime::check_stream("fill_on", stream, device, loc);
  run_or_record(
      device, [&device, to, value, handle = stream.handle()] { device.fill_on(handle, to.pointer, value, to.bytes); });
}

}  // namespace detail
}  // namespace tessera
