// Where kernels run: a GPU, or the simulated Hopper on the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/core/dtype.hpp"
#include "tessera/core/schedule.hpp"
#include "tessera/core/source_loc.hpp"

namespace tessera {

// The extents of a buffer, outermost first.
using Shape = std::vector<std::int64_t>;

// The options of a simulated device.
struct SimOptions {
  Schedule schedule = {};
  int threads = 0;                                   // host threads over thread blocks; 0: all cores
  std::function<void(std::string_view)> print = {};  // takes device printf; default: standard output
  int sms = 4;                                       // multiprocessors, for grids that ask for their number
  bool check_proxy_handover = true;                  // report a tile handed to the TMA engine without a proxy fence
  // Every launch is checked for hazards of all schedules (tessera/check.hpp) and throws an Error that lists them. Also
  // on where the environment has TESSERA_CHECK=1. Costs two to four times the simulation, on one host thread.
  bool check = false;
};

template <class T>
class Buffer;

namespace detail {
class DeviceState;
}

// A cheap handle that is copied freely; the device lives as long as a handle or a buffer of it.
class Device {
 public:
  // The first GPU that can run sm_90a code, if the driver and the compiler library can be loaded, else Device::sim().
  static Device best();
  // The simulated Hopper. Its memory is host memory. Each call makes a device of its own.
  static Device sim(SimOptions options = {}, SourceLoc loc = SourceLoc::here());
  // GPU number `ordinal`. Throws an unsupported Error, which says what was looked for and what to do, if there is no
  // driver, no NVRTC, no such GPU, or the GPU cannot run sm_90a code.
  static Device cuda(int ordinal = 0, SourceLoc loc = SourceLoc::here());

  std::string name() const;  // "NVIDIA H200", "simulated Hopper (eager)"
  bool is_simulated() const;
  int ordinal() const;  // of a GPU; -1 for a simulated device
  // Waits until everything launched on the device has finished.
  void synchronize() const;

  // Memory with undefined content. On the simulated device it is filled with a NaN pattern.
  template <ElementType T>
  Buffer<T> empty(Shape shape, SourceLoc loc = SourceLoc::here()) const;
  template <ElementType T>
  Buffer<T> zeros(Shape shape, SourceLoc loc = SourceLoc::here()) const;
  template <ElementType T>
  Buffer<T> full(Shape shape, T value, SourceLoc loc = SourceLoc::here()) const;
  // Normally distributed numbers (mean 0, deviation 1). Element i depends on the seed and on i alone, so every device
  // gives the same numbers. Without a seed the n-th call on a device uses seed n, counted from 1.
  template <ElementType T>
  Buffer<T> randn(Shape shape, std::optional<std::uint64_t> seed = {}, SourceLoc loc = SourceLoc::here()) const;
  // A copy of host memory; `values` has as many elements as `shape`.
  template <ElementType T>
  Buffer<T> from_host(std::span<const T> values, Shape shape, SourceLoc loc = SourceLoc::here()) const;
  template <ElementType T>
  Buffer<T> from_host(const std::vector<T>& values, Shape shape, SourceLoc loc = SourceLoc::here()) const;

  bool operator==(const Device& other) const { return state_ == other.state_; }

  // For the library itself.
  explicit Device(std::shared_ptr<detail::DeviceState> state) : state_(std::move(state)) {}
  const std::shared_ptr<detail::DeviceState>& state() const { return state_; }

 private:
  std::shared_ptr<detail::DeviceState> state_;
};

}  // namespace tessera
