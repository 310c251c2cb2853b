#include "runtime/tune_executor.hpp"

namespace tessera::runtime {

TuneExecutor::TuneExecutor(detail::DeviceState& device, std::unique_ptr<Timer> timer, RuntimeArguments arguments,
                           std::vector<Entry> entries, SourceLoc call)
    : LocalExecutor(device, std::move(timer)), entries_(std::move(entries)) {
  const CandidateMemory memory = find_memory(arguments, entries_, device);
  make_copies(memory);
  make_plans(memory, arguments, call);
  expect_outputs(outputs_of(memory, any_kernel(entries_)));
}

void TuneExecutor::make_copies(const CandidateMemory& memory) {
  for (std::size_t i = 0; i < memory.regions.size(); ++i) {
    const CandidateMemory::Region& region = memory.regions[i];
    if (!region.written) continue;
    make_copy(i, region.range.bytes, region.range.begin);
    if (region.read) {
      restore_from(i, region.range.begin);
    } else {
      poison_with(i, region.poison);
    }
  }
}

void TuneExecutor::make_plans(const CandidateMemory& memory, RuntimeArguments arguments, SourceLoc call) {
  for (const detail::Argument* argument : arguments) substitutes_.push_back(*argument);
  for (std::size_t i = 0; i < substitutes_.size(); ++i) {
    const std::size_t region = memory.region[i];
    if (region == MergedRanges::none || !memory.regions[region].written) continue;
    detail::PtrValue& value = substitutes_[i].pointer;
    value.pointer = reinterpret_cast<void*>(copy(region) + memory.offset[i]);
    value.source = detail::PtrSource::buffer;
  }
  std::vector<const detail::Argument*> pointers;
  for (const detail::Argument& argument : substitutes_) pointers.push_back(&argument);
  plans_.resize(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].kernel) make_plan(*entries_[i].kernel, pointers, device(), call, &plans_[i]);
  }
}

}  // namespace tessera::runtime
