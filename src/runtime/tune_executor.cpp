#include "runtime/tune_executor.hpp"

namespace tessera::runtime {

TuneExecutor::TuneExecutor(detail::DeviceState& device, std::unique_ptr<Timer> timer, RuntimeArguments arguments,
                           std::vector<Entry> entries, SourceLoc call)
    : device_(device),
      timer_(std::move(timer)),
      arguments_(arguments),
      entries_(std::move(entries)),
      call_(call),
      memory_(find_memory(arguments_, entries_, device_)),
      copies_(memory_.regions.size()) {
  try {
    allocate_copies();
    make_plans();
  } catch (...) {
    release_copies();
    throw;
  }
}

TuneExecutor::~TuneExecutor() { release_copies(); }

void TuneExecutor::allocate_copies() {
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    const CandidateMemory::Region& region = memory_.regions[i];
    if (!region.written) continue;
    copies_[i].allocation = device_.allocate(region.range.bytes + copy_room);
    copies_[i].address = copy_address(copies_[i].allocation, region);
  }
}

void TuneExecutor::release_copies() {
  for (const Copy& copy : copies_) {
    if (copy.allocation != nullptr) device_.release(copy.allocation);
  }
}

void TuneExecutor::make_plans() {
  for (const detail::Argument* argument : arguments_) substitutes_.push_back(*argument);
  for (std::size_t i = 0; i < substitutes_.size(); ++i) {
    const std::size_t region = memory_.region[i];
    if (region == MergedRanges::none || !memory_.regions[region].written) continue;
    detail::PtrValue& value = substitutes_[i].pointer;
    value.pointer = reinterpret_cast<void*>(copies_[region].address + memory_.offset[i]);
    value.source = detail::PtrSource::buffer;
  }
  std::vector<const detail::Argument*> pointers;
  for (const detail::Argument& argument : substitutes_) pointers.push_back(&argument);
  plans_.resize(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].kernel) make_plan(*entries_[i].kernel, pointers, device_, call_, &plans_[i]);
  }
}

void TuneExecutor::restore(bool poison) {
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    const CandidateMemory::Region& region = memory_.regions[i];
    if (!region.written) continue;
    auto* copy = reinterpret_cast<void*>(copies_[i].address);
    if (region.read) {
      device_.copy(copy, reinterpret_cast<const void*>(region.range.begin), region.range.bytes);
    } else if (poison) {
      device_.fill(copy, region.poison, region.range.bytes);
    }
  }
}

std::vector<tune::Output> TuneExecutor::run(std::size_t candidate, std::vector<tune::Output> recycled) {
  restore(true);
  entries_[candidate].executable->launch(plans_[candidate], nullptr);
  device_.synchronize();
  std::vector<tune::Output> outputs;
  for (std::uint32_t i = 0; i < arguments_.size(); ++i) {
    if (!memory_.written[i] || memory_.reach[i] == 0) continue;
    tune::Output output;
    if (outputs.size() < recycled.size()) output = std::move(recycled[outputs.size()]);
    output.param = i;
    output.type = entries_[candidate].kernel->params[i].type;
    output.bytes.resize(memory_.reach[i]);
    device_.copy_out(output.bytes.data(), substitutes_[i].pointer.pointer, memory_.reach[i]);
    outputs.push_back(std::move(output));
  }
  return outputs;
}

double TuneExecutor::time(std::size_t candidate) {
  restore(false);
  ++timed_;
  return timer_->milliseconds(*entries_[candidate].executable, plans_[candidate]);
}

}  // namespace tessera::runtime
