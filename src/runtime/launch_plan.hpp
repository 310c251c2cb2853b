// Checks a set of arguments against a kernel and works out the launch.
#pragma once

#include <span>
#include <vector>

#include "ir/thread.hpp"
#include "runtime/device_state.hpp"
#include "tessera/runtime/argument.hpp"

namespace tessera::runtime {

// The arguments of the kernel's run-time parameters, in the order of Kernel::params.
using RuntimeArguments = std::span<const detail::Argument* const>;

// Integers as ir::evaluate_on_host takes them; pointers count as 0.
std::vector<std::int64_t> scalar_values(RuntimeArguments arguments);

// Fills `plan`. Throws a user Error at `call` for: negative extents and grids, grids over the hardware's limits, null
// and unusable pointers, read-only memory that the kernel writes, buffers smaller than a view, and tensor maps that the
// TMA unit cannot address. A grid with a dimension of 0 makes an empty plan, whatever the pointers are.
void make_plan(const ir::thread::Kernel& kernel, RuntimeArguments arguments, const detail::DeviceState& device,
               SourceLoc call, LaunchPlan* plan);

// Bytes of pointer parameter `param` that the kernel's views reach; 0 if it has none.
std::size_t reached_bytes(const ir::thread::Kernel& kernel, std::span<const std::int64_t> values, std::uint32_t param,
                          int sms);

// The grid of a device of `sms` multiprocessors, checked against negative values only.
std::array<std::int64_t, 3> evaluate_grid(const ir::thread::Kernel& kernel, std::span<const std::int64_t> values,
                                          SourceLoc call, int sms);

}  // namespace tessera::runtime
