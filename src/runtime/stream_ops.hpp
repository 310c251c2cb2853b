// Streams, events and graphs of a device, as handles. The base is a device on which work is done when the call that
// gives it returns.
#pragma once

#include <cstddef>

#include "jit/launch_log.hpp"

namespace tessera::runtime {

class StreamOps {
 public:
  virtual ~StreamOps() = default;

  // Whether work is done when the call returns, so that the library records and replays graphs itself.
  virtual bool immediate() const { return true; }

  virtual void* create_stream(bool independent);
  virtual void destroy_stream(void* stream) noexcept;
  // The ordinal of the device that a foreign stream is of; -1 if it is none of the driver's primary contexts.
  virtual int device_of(void* stream) const;
  virtual void synchronize(void* stream);
  virtual bool finished(void* stream);
  // Whether anybody captures the stream.
  virtual bool capturing(void* stream);

  virtual void* create_event();
  virtual void destroy_event(void* event) noexcept;
  virtual void record(void* event, void* stream);
  virtual void wait(void* stream, void* event);
  virtual void synchronize_event(void* event);
  virtual bool event_finished(void* event);
  virtual double elapsed_ms(void* begin, void* end);

  // Only where work is not immediate.
  virtual void begin_capture(void* stream);
  virtual void* end_capture(void* stream);
  virtual void abandon_capture(void* stream) noexcept;
  virtual void* instantiate(void* graph);
  virtual bool update(void* exec, void* graph);  // false: has to be instantiated
  virtual void launch(void* exec, void* stream, const jit::LaunchOrigin& origin);
  virtual void destroy_graph(void* graph) noexcept;
  virtual void destroy_exec(void* exec) noexcept;
};

}  // namespace tessera::runtime
