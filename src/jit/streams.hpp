// Streams, events and graphs of the driver (CUstream, CUevent, CUgraph and CUgraphExec as plain handles). Every failure
// is a device Error.
#pragma once

#include <cstddef>

#include "jit/driver.hpp"

namespace tessera::jit {

void* create_stream(int device, bool independent);  // independent: CU_STREAM_NON_BLOCKING
// The ordinal of the device that a stream belongs to, as far as its context is the primary one of a device; -1 if not.
int device_of_stream(int device, void* stream);
bool stream_finished(int device, void* stream);
void wait_event(int device, void* stream, void* event);
bool event_finished(int device, void* event);
void synchronize_event(int device, void* event);

// Whether somebody, this library or another one, captures the stream.
bool is_capturing(int device, void* stream);
void begin_capture(int device, void* stream);
void* end_capture(int device, void* stream);  // a CUgraph
// Gives up: whatever has been captured is dropped. Never throws.
void abandon_capture(int device, void* stream) noexcept;
void* instantiate(int device, void* graph);  // a CUgraphExec
// False if the new graph has another form, so that it has to be instantiated.
bool update_graph(int device, void* exec, void* graph);
void launch_graph(int device, void* exec, void* stream, const LaunchOrigin& origin);
void destroy_graph(int device, void* graph) noexcept;
void destroy_graph_exec(int device, void* exec) noexcept;

// While it lives, this thread may allocate although a stream of it is being captured.
class RelaxedCapture {
 public:
  RelaxedCapture();
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  int mode_;
};

}  // namespace tessera::jit
