// What the runtime needs of a device. There are two kinds, the simulated Hopper and a GPU; tests bring others.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/thread.hpp"
#include "jit/driver.hpp"
#include "runtime/stream_ops.hpp"
#include "runtime/tensor_map.hpp"
#include "tessera/runtime/device.hpp"

namespace tessera::trial {
class Session;
}

namespace tessera::runtime {

// Everything about a launch that follows from the values of its arguments.
struct LaunchPlan {
  std::array<std::int64_t, 3> grid{};
  bool empty = false;                // a grid dimension is 0: nothing runs
  std::vector<std::int64_t> values;  // one a kernel parameter: a scalar's bits or an address
  std::vector<std::size_t> bytes;    // one a kernel parameter: how far a pointer may be followed
  std::vector<jit::EncodedTensorMap> maps;
  std::vector<std::uint64_t> bases;  // that `maps` are encoded for; only in the runtime's cache of plans
  std::vector<void*> params;         // addresses of `values`, then of `maps`
  jit::LaunchOrigin origin;          // for errors

  // Sets `params` anew, which copying and growing need.
  void point() {
    params.clear();
    for (std::int64_t& value : values) params.push_back(&value);
    for (jit::EncodedTensorMap& map : maps) params.push_back(&map);
  }
  // Keeps the memory that this plan has.
  void copy_from(const LaunchPlan& other) {
    grid = other.grid;
    empty = other.empty;
    values = other.values;
    bytes = other.bytes;
    maps = other.maps;
    origin = other.origin;
    point();
  }
};

// A kernel, ready to run on a device.
class Executable {
 public:
  virtual ~Executable() = default;
  virtual void launch(const LaunchPlan& plan, void* stream) const = 0;
  // Whether `launch` returns when the kernel has finished, so that the caller need not keep its locks.
  virtual bool blocking() const = 0;
  // The cubin that another process can load; empty where there is none.
  virtual std::span<const char> image() const { return {}; }
};

// Measures launches on a device that has a clock, in its default stream.
class Timer {
 public:
  virtual ~Timer() = default;
  // Device time of one launch with a cold L2 cache; may launch more often.
  virtual double milliseconds(const Executable& executable, const LaunchPlan& plan) = 0;
  // The same of all that `launch` enqueues in the default stream, the same each time.
  virtual double milliseconds_of(const std::function<void()>& launch) = 0;
};

}  // namespace tessera::runtime

namespace tessera::detail {

class DeviceState : public std::enable_shared_from_this<DeviceState> {
 public:
  virtual ~DeviceState() = default;
  virtual std::string name() const = 0;
  virtual bool simulated() const = 0;
  virtual int ordinal() const { return -1; }
  virtual std::string driver() const = 0;  // for records; empty for a simulated device
  virtual int multiprocessors() const = 0;
  // As many as a kernel's grid may ask for (sm_count): the device's, or a number that is quick to simulate.
  virtual int sm_count() const { return multiprocessors(); }
  virtual bool needs_cubin() const = 0;
  // Host code may read and write the memory of the device.
  virtual bool host_memory() const = 0;

  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* pointer) noexcept = 0;
  virtual void copy_in(void* to, const void* from, std::size_t bytes) = 0;
  virtual void copy_out(void* to, const void* from, std::size_t bytes) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void fill(void* to, unsigned char value, std::size_t bytes) = 0;
  virtual void synchronize() = 0;
  // Whether a pointer of unknown origin can be used by kernels; if not, `what` says what it is.
  virtual bool usable(const void* pointer, std::string* what) const = 0;
  // From the pointer to the end of the memory that holds it, as far as that is known.
  virtual std::size_t bytes_from(const void*) const { return std::numeric_limits<std::size_t>::max(); }
  // The same; a pointer that was found usable is not asked for again until 256 others may have taken its place.
  bool known_usable(const void* pointer) const;

  // Streams, events and graphs.
  virtual runtime::StreamOps& streams() { return immediate_; }
  // As `copy` and `fill`, in the order of a stream.
  virtual void copy_on(void* stream, void* to, const void* from, std::size_t bytes) {
    static_cast<void>(stream);
    copy(to, from, bytes);
  }
  virtual void fill_on(void* stream, void* to, unsigned char value, std::size_t bytes) {
    static_cast<void>(stream);
    fill(to, value, bytes);
  }

  // Encodes a validated map; devices that read the IR's own maps do nothing.
  virtual void encode(const ir::thread::TensorMap& map, const runtime::ResolvedMap& resolved,
                      jit::EncodedTensorMap* out) const = 0;
  // Makes an encoded map begin at `base`; all else of it is as in `resolved`.
  virtual void rebase(const ir::thread::TensorMap& map, const runtime::ResolvedMap& resolved, std::uint64_t base,
                      jit::EncodedTensorMap* encoded) const {
    runtime::ResolvedMap moved = resolved;
    moved.base = base;
    encode(map, moved, encoded);
  }
  virtual std::unique_ptr<runtime::Executable> load(std::shared_ptr<const ir::thread::Kernel> kernel,
                                                    const std::vector<char>& cubin) = 0;
  // Null for a device without a clock.
  virtual std::unique_ptr<runtime::Timer> make_timer() = 0;
  // A process in which candidates can trap and hang without harm, on its way up; null where candidates run in this one.
  // Throws a user Error for environment variables that say nothing.
  virtual std::unique_ptr<trial::Session> start_trial();

  std::atomic<std::uint64_t> seeds{0};  // default seeds handed out so far

 private:
  runtime::StreamOps immediate_;
  mutable std::array<std::atomic<const void*>, 256> usable_{};
};

std::shared_ptr<DeviceState> make_sim_device(SimOptions options, SourceLoc loc = {});
// Throws an unsupported Error if there is no such GPU or it cannot run sm_90a code.
std::shared_ptr<DeviceState> make_cuda_device(int ordinal, SourceLoc loc);

}  // namespace tessera::detail
