#include "runtime/launch_notes.hpp"

#include <fmt/format.h>

#include "cuda/printer.hpp"

namespace tessera::runtime {
namespace {

trial::Param param_at(const CandidateMemory& memory, std::size_t index, std::int64_t bytes) {
  if (memory.region[index] == MergedRanges::none) return {trial::no_region, bytes};
  return {static_cast<std::int32_t>(memory.region[index]), static_cast<std::int64_t>(memory.offset[index]) + bytes};
}

trial::MapJob note_map(const CandidateMemory& memory, const ir::thread::TensorMap& map,
                       std::span<const std::int64_t> values, int sms) {
  const ResolvedMap resolved = resolve(map, values, nullptr, sms);
  trial::MapJob job;
  job.name = map.name;
  job.type = map.type;
  job.swizzle = static_cast<std::uint8_t>(map.swizzle);
  job.box = map.box;
  job.dims = resolved.dims;
  job.strides = resolved.strides;
  job.base = param_at(memory, map.param, static_cast<std::int64_t>(resolved.base));
  job.empty = resolved.empty;
  return job;
}

}  // namespace

std::vector<tune::RecordBuffer> note_buffers(const CandidateMemory& memory, RuntimeArguments arguments,
                                             const ir::thread::Kernel& kernel) {
  std::vector<tune::RecordBuffer> result;
  for (std::size_t r = 0; r < memory.regions.size(); ++r) {
    tune::RecordBuffer buffer;
    buffer.region.bytes = memory.regions[r].range.bytes;
    buffer.region.misalignment = static_cast<std::uint32_t>(memory.regions[r].range.begin % trial::copy_alignment);
    buffer.region.read = memory.regions[r].read;
    buffer.region.written = memory.regions[r].written;
    buffer.region.poison = memory.regions[r].poison;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (memory.region[i] != r) continue;
      buffer.region.name += (buffer.region.name.empty() ? "" : ", ") + kernel.params[i].name;
      buffer.type = kernel.params[i].type;
    }
    result.push_back(std::move(buffer));
  }
  return result;
}

trial::Region watched_region(const tune::RecordBuffer& buffer) {
  trial::Region region = buffer.region;
  const bool several = region.name.find(',') != std::string::npos;
  region.name = fmt::format("parameter{} {}", several ? "s" : "", region.name);
  region.read = region.read || !region.written;
  return region;
}

trial::Job note_launch(const CandidateMemory& memory, RuntimeArguments arguments, const ir::thread::Kernel& kernel,
                       const detail::DeviceState& device, SourceLoc call) {
  const std::vector<std::int64_t> values = scalar_values(arguments);
  trial::Job job;
  job.function = cuda::function_name(kernel);
  job.shared_bytes = kernel.shared_bytes;
  job.cluster = kernel.cluster;
  job.dependent = kernel.dependent_launch;
  job.threads = static_cast<std::uint32_t>(kernel.warps) * 32;
  const std::array<std::int64_t, 3> grid = evaluate_grid(kernel, values, call, device.sm_count());
  for (std::size_t axis = 0; axis < 3; ++axis) job.grid[axis] = static_cast<std::uint32_t>(grid[axis]);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    job.params.push_back(kernel.params[i].is_pointer ? param_at(memory, i, 0)
                                                     : trial::Param{trial::no_region, values[i]});
  }
  for (const ir::thread::TensorMap& map : kernel.tensor_maps)
    job.maps.push_back(note_map(memory, map, values, device.sm_count()));
  return job;
}

}  // namespace tessera::runtime
