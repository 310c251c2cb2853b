// What a launch takes for a stream: a Stream, or a raw CUDA stream of whoever made it.
#pragma once

#include <cstddef>

namespace tessera {

class Stream;
namespace detail {
class DeviceState;
}

// Refers to a stream and does not own it. Nothing (or a null handle) is the default stream of the launch's device.
class StreamArg {
 public:
  StreamArg() = default;
  StreamArg(std::nullptr_t) {}                            // NOLINT: implicit on purpose
  StreamArg(void* cuda_stream) : handle_(cuda_stream) {}  // NOLINT: a CUstream or a cudaStream_t
  StreamArg(const Stream& stream);                        // NOLINT
  void* handle() const { return handle_; }
  detail::DeviceState* device() const { return device_; }  // null where the caller gave a raw handle

 private:
  void* handle_ = nullptr;
  detail::DeviceState* device_ = nullptr;
};

}  // namespace tessera
