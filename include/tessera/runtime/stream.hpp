// Streams and events of a device: in which order work runs, and how long it took.
//   Stream stream(device);
//   kernel.launch({.stream = stream}, n, x, y);
//   stream.synchronize();
#pragma once

#include <memory>

#include "tessera/runtime/buffer.hpp"
#include "tessera/runtime/device.hpp"
#include "tessera/runtime/stream_arg.hpp"

namespace tessera {

class Event;

struct StreamOptions {
  // false: ordered with the device's default stream as CUDA's ordinary streams are, so that plain copies of buffers fit
  // in. true: runs beside the default stream (CU_STREAM_NON_BLOCKING).
  bool independent = false;
};

// Work of one stream runs in the order in which it was given. A cheap handle that is copied freely; the stream ends
// with its last handle. On a simulated device work is done when the call that gives it returns, so that every order
// that the calls ask for holds by itself.
class Stream {
 public:
  explicit Stream(const Device& device, StreamOptions options = {}, SourceLoc loc = SourceLoc::here());
  // A CUstream (or cudaStream_t) that somebody else owns; null is the device's default stream. A user Error for a
  // stream of another device.
  static Stream wrap(const Device& device, void* cuda_stream, SourceLoc loc = SourceLoc::here());

  const Device& device() const;
  void* handle() const;  // the CUstream; on a simulated device a number of its own
  // Waits until everything that the stream was given has finished.
  void synchronize() const;
  // Whether everything has finished; does not wait.
  bool finished() const;
  // What the stream is given from now on begins after what `event` was recorded behind, or what `other` has now. Both
  // may be of another device of the same kind.
  void wait(const Event& event, SourceLoc loc = SourceLoc::here()) const;
  void wait(const Stream& other, SourceLoc loc = SourceLoc::here()) const;

  // For the library itself.
  struct State;
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  explicit Stream(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

// A point in the work of a stream. A cheap handle, as Stream is.
class Event {
 public:
  explicit Event(const Device& device, SourceLoc loc = SourceLoc::here());
  // Behind what `stream` has been given; a later record replaces it.
  void record(const Stream& stream, SourceLoc loc = SourceLoc::here());
  void synchronize(SourceLoc loc = SourceLoc::here()) const;
  bool finished(SourceLoc loc = SourceLoc::here()) const;
  // Device time between two recorded events, in milliseconds; waits for this one. On a simulated device, which has no
  // clock, the time of the host.
  double elapsed_ms_since(const Event& begin, SourceLoc loc = SourceLoc::here()) const;

  struct State;
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

namespace detail {
void copy_on_stream(const StreamArg& stream, const PtrValue& to, const PtrValue& from, SourceLoc loc);
void fill_on_stream(const StreamArg& stream, const PtrValue& to, unsigned char value, SourceLoc loc);
}  // namespace detail

// Copies a buffer into another one of the same size and device, in the order of the stream.
template <class T>
void copy_on(const StreamArg& stream, const Buffer<T>& from, Buffer<T>& to, SourceLoc loc = SourceLoc::here()) {
  detail::copy_on_stream(stream, PtrArg<T>(to, loc).value(), PtrArg<T>(from, loc).value(), loc);
}
// Sets every byte of the buffer, in the order of the stream: 0 makes zeros of every type.
template <class T>
void fill_on(const StreamArg& stream, Buffer<T>& buffer, unsigned char value, SourceLoc loc = SourceLoc::here()) {
  detail::fill_on_stream(stream, PtrArg<T>(buffer, loc).value(), value, loc);
}

}  // namespace tessera
