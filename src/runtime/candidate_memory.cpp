#include "runtime/candidate_memory.hpp"

#include <algorithm>
#include <limits>

namespace tessera::runtime {
using namespace ir;

namespace {

void mark_reads(const Block& body, const thread::Kernel& kernel, std::vector<bool>& read) {
  for (const Stmt* s : body) {
    if (const auto* loop = as<control::For>(s)) mark_reads(loop->body, kernel, read);
    if (const auto* loop = as<control::Loop>(s)) mark_reads(loop->body, kernel, read);
    if (const auto* branch = as<control::If>(s)) {
      mark_reads(branch->then_body, kernel, read);
      mark_reads(branch->else_body, kernel, read);
    }
    if (const auto* load = as<thread::LoadGlobalVector>(s)) read[load->param] = true;
    if (const auto* copy = as<thread::TmaLoadBox>(s)) read[kernel.tensor_maps[copy->map].param] = true;
    if (const auto* copy = as<thread::TmaStoreBox>(s); copy != nullptr && copy->add)
      read[kernel.tensor_maps[copy->map].param] = true;
  }
}

constexpr std::size_t all_there_is = std::numeric_limits<std::size_t>::max();

// Bytes that the kernel's views of a parameter reach; all there is where only the kernel knows a view's place.
std::size_t reach_of(const thread::Kernel& kernel, std::span<const std::int64_t> values, std::uint32_t param, int sms) {
  const auto& open = kernel.open_params;
  return std::find(open.begin(), open.end(), param) != open.end() ? all_there_is
                                                                  : reached_bytes(kernel, values, param, sms);
}

// A view may promise more than there is; what is not memory cannot be copied. 0 if nobody knows where it ends.
std::size_t within_memory(const detail::PtrValue& value, std::size_t bytes, const detail::DeviceState& device) {
  const bool known = value.bytes != detail::PtrValue::unknown_bytes;
  const std::size_t there = std::min(bytes, known ? value.bytes : device.bytes_from(value.pointer));
  return there == all_there_is ? 0 : there;
}

}  // namespace

std::uintptr_t copy_address(const void* allocation, std::uintptr_t original) {
  constexpr std::uintptr_t alignment = trial::copy_alignment;
  const auto base = reinterpret_cast<std::uintptr_t>(allocation);
  return (base + alignment - 1) / alignment * alignment + original % alignment;
}

CandidateMemory find_memory(RuntimeArguments arguments, const std::vector<Entry>& entries,
                            const detail::DeviceState& device) {
  CandidateMemory result;
  result.reach.resize(arguments.size());
  result.written.resize(arguments.size());
  std::vector<bool> read(arguments.size()), floating(arguments.size());
  const std::vector<std::int64_t> values = scalar_values(arguments);
  for (const Entry& entry : entries) {
    if (!entry.kernel) continue;
    mark_reads(entry.kernel->body, *entry.kernel, read);
    for (const std::uint32_t param : entry.kernel->written_params) result.written[param] = true;
    for (std::uint32_t i = 0; i < arguments.size(); ++i) {
      if (!entry.kernel->params[i].is_pointer) continue;
      floating[i] = is_float(entry.kernel->params[i].type);
      result.reach[i] = std::max(result.reach[i], reach_of(*entry.kernel, values, i, device.sm_count()));
    }
  }
  std::vector<ByteRange> pieces(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (result.reach[i] == 0) continue;
    const detail::PtrValue& value = arguments[i]->pointer;
    result.reach[i] = within_memory(value, result.reach[i], device);
    pieces[i] = {reinterpret_cast<std::uintptr_t>(value.pointer), result.reach[i]};
  }
  MergedRanges merged = merge_overlapping(pieces);
  for (const ByteRange& range : merged.ranges) result.regions.push_back({.range = range});
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (merged.of[i] == MergedRanges::none) continue;
    CandidateMemory::Region& region = result.regions[merged.of[i]];
    region.read = region.read || read[i];
    region.written = region.written || result.written[i];
    if (floating[i]) region.poison = trial::nan_poison;
  }
  result.region = std::move(merged.of);
  result.offset = std::move(merged.offset);
  return result;
}

const ir::thread::Kernel& any_kernel(const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) {
    if (entry.kernel) return *entry.kernel;
  }
  throw Error(ErrorKind::internal, {}, "no candidate takes part in tuning");
}

std::vector<trial::OutputPlace> outputs_of(const CandidateMemory& memory, const ir::thread::Kernel& kernel) {
  std::vector<trial::OutputPlace> result;
  for (std::uint32_t i = 0; i < memory.region.size(); ++i) {
    if (memory.written[i] && memory.region[i] != MergedRanges::none)
      result.push_back({i, kernel.params[i].type, memory.region[i], memory.offset[i], memory.reach[i]});
  }
  return result;
}

}  // namespace tessera::runtime
