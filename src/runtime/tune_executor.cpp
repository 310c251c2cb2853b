#include "runtime/tune_executor.hpp"

#include <algorithm>

namespace tessera::runtime {
using namespace ir;

namespace {

constexpr std::uintptr_t copy_alignment = 256;
constexpr unsigned char poison_byte = 0xff;  // a NaN in every floating-point type

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

}  // namespace

TuneExecutor::TuneExecutor(detail::DeviceState& device, std::unique_ptr<Timer> timer, RuntimeArguments arguments,
                           std::vector<Entry> entries, SourceLoc call)
    : device_(device),
      timer_(std::move(timer)),
      arguments_(arguments),
      entries_(std::move(entries)),
      call_(call),
      reach_(arguments.size()),
      read_(arguments.size()),
      written_(arguments.size()) {
  find_regions();
  try {
    allocate_copies();
    make_plans();
  } catch (...) {
    for (const Region& region : regions_) {
      if (region.allocation != nullptr) device_.release(region.allocation);
    }
    throw;
  }
}

TuneExecutor::~TuneExecutor() {
  for (const Region& region : regions_) {
    if (region.allocation != nullptr) device_.release(region.allocation);
  }
}

void TuneExecutor::find_regions() {
  const std::vector<std::int64_t> values = scalar_values(arguments_);
  for (const Entry& entry : entries_) {
    if (!entry.kernel) continue;
    mark_reads(entry.kernel->body, *entry.kernel, read_);
    for (const std::uint32_t param : entry.kernel->written_params) written_[param] = true;
    for (std::uint32_t i = 0; i < arguments_.size(); ++i) {
      if (entry.kernel->params[i].is_pointer)
        reach_[i] = std::max(reach_[i], reached_bytes(*entry.kernel, values, i, device_.sm_count()));
    }
  }
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (reach_[i] == 0) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(arguments_[i]->pointer.pointer);
    regions_.push_back({begin, begin + reach_[i], read_[i], written_[i], nullptr, 0});
  }
  std::sort(regions_.begin(), regions_.end(), [](const Region& a, const Region& b) { return a.begin < b.begin; });
  std::vector<Region> merged;
  for (const Region& region : regions_) {
    if (merged.empty() || region.begin >= merged.back().end) {
      merged.push_back(region);
      continue;
    }
    merged.back().end = std::max(merged.back().end, region.end);
    merged.back().read = merged.back().read || region.read;
    merged.back().written = merged.back().written || region.written;
  }
  regions_ = std::move(merged);
}

void TuneExecutor::allocate_copies() {
  for (Region& region : regions_) {
    if (!region.written) continue;
    region.allocation = device_.allocate(region.end - region.begin + 2 * copy_alignment);
    const auto base = reinterpret_cast<std::uintptr_t>(region.allocation);
    // The same alignment as the caller's memory has.
    region.copy = (base + copy_alignment - 1) / copy_alignment * copy_alignment + region.begin % copy_alignment;
  }
}

TuneExecutor::Region* TuneExecutor::region_of(std::uintptr_t address) {
  for (Region& region : regions_) {
    if (region.written && address >= region.begin && address < region.end) return &region;
  }
  return nullptr;
}

void TuneExecutor::make_plans() {
  for (const detail::Argument* argument : arguments_) substitutes_.push_back(*argument);
  for (std::size_t i = 0; i < substitutes_.size(); ++i) {
    if (reach_[i] == 0) continue;
    detail::PtrValue& value = substitutes_[i].pointer;
    const auto address = reinterpret_cast<std::uintptr_t>(value.pointer);
    const Region* region = region_of(address);
    if (region == nullptr) continue;
    value.pointer = reinterpret_cast<void*>(region->copy + (address - region->begin));
    value.source = detail::PtrSource::buffer;
    value.bytes = reach_[i];
  }
  std::vector<const detail::Argument*> pointers;
  for (const detail::Argument& argument : substitutes_) pointers.push_back(&argument);
  plans_.resize(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].kernel) make_plan(*entries_[i].kernel, pointers, device_, call_, &plans_[i]);
  }
}

void TuneExecutor::restore(bool poison) {
  for (const Region& region : regions_) {
    if (!region.written) continue;
    auto* copy = reinterpret_cast<void*>(region.copy);
    const std::size_t bytes = region.end - region.begin;
    if (region.read) {
      device_.copy(copy, reinterpret_cast<const void*>(region.begin), bytes);
    } else if (poison) {
      device_.fill(copy, poison_byte, bytes);
    }
  }
}

std::vector<tune::Output> TuneExecutor::run(std::size_t candidate, std::vector<tune::Output> recycled) {
  restore(true);
  entries_[candidate].executable->launch(plans_[candidate], nullptr);
  device_.synchronize();
  std::vector<tune::Output> outputs;
  for (std::uint32_t i = 0; i < arguments_.size(); ++i) {
    if (!written_[i] || reach_[i] == 0) continue;
    tune::Output output;
    if (outputs.size() < recycled.size()) output = std::move(recycled[outputs.size()]);
    output.param = i;
    output.type = entries_[candidate].kernel->params[i].type;
    output.bytes.resize(reach_[i]);
    device_.copy_out(output.bytes.data(), substitutes_[i].pointer.pointer, reach_[i]);
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
