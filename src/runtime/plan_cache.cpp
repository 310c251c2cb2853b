#include "runtime/plan_cache.hpp"

#include <algorithm>
#include <cstring>

namespace tessera::runtime {
using detail::Argument;
using detail::DeviceState;
using detail::ParamInfo;
using detail::ParamKind;
using detail::PtrValue;

ArgumentShape::ArgumentShape(std::span<const ParamInfo> params, std::span<const Argument> arguments,
                             const DeviceState* device)
    : device_(device), words_(inline_) {
  if (2 * arguments.size() > inline_words) {
    more_.resize(2 * arguments.size());
    words_ = more_.data();
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (params[i].kind != ParamKind::pointer) {
      add(arguments[i].integer);
      continue;
    }
    const PtrValue& pointer = arguments[i].pointer;
    const auto address = reinterpret_cast<std::uintptr_t>(pointer.pointer);
    add(static_cast<std::int64_t>(pointer.bytes));
    add(static_cast<std::int64_t>(address % 16 * 8 + static_cast<std::uintptr_t>(pointer.source) * 2 +
                                  (pointer.read_only ? 1 : 0)));
    doubtful_ = doubtful_ || pointer.pointer == nullptr;
    if (pointer.device == nullptr || pointer.device == device_) continue;
    doubtful_ = doubtful_ || device_ != nullptr;
    device_ = pointer.device;
  }
  // `words` tells by the number which memory is in use.
  if (words_ != inline_ && used_ <= inline_words) std::copy_n(words_, used_, inline_);
}

void CheckedPlan::take_key(const ArgumentShape& shape) {
  hash = shape.hash();
  key_device = shape.device();
  key.assign(shape.words().begin(), shape.words().end());
}

bool CheckedPlan::matches(const ArgumentShape& shape) const {
  const std::span<const std::int64_t> words = shape.words();
  return hash == shape.hash() && key_device == shape.device() && key.size() == words.size() &&
         std::memcmp(key.data(), words.data(), words.size_bytes()) == 0;
}

void CheckedPlan::resolve_maps() {
  const ir::thread::Kernel& kernel = *prepared.kernel;
  std::vector<std::int64_t> scalars = prepared.plan.values;
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    if (kernel.params[i].is_pointer) scalars[i] = 0;
  }
  for (const ir::thread::TensorMap& map : kernel.tensor_maps) {
    maps.push_back(resolve(map, scalars, nullptr, device->sm_count()));
    prepared.plan.bases.push_back(static_cast<std::uint64_t>(prepared.plan.values[map.param]) + maps.back().base);
  }
}

const std::shared_ptr<CheckedPlan>* PlanCache::find(const ArgumentShape& shape) {
  if (last_ < plans_.size() && hashes_[last_] == shape.hash() && plans_[last_]->matches(shape)) return &plans_[last_];
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    if (hashes_[i] != shape.hash() || !plans_[i]->matches(shape)) continue;
    last_ = i;
    return &plans_[i];
  }
  return nullptr;
}

void PlanCache::insert(std::shared_ptr<CheckedPlan> plan) {
  const std::size_t slot = plans_.size() < capacity ? plans_.size() : next_;
  if (slot == plans_.size()) {
    plans_.emplace_back();
  } else {
    next_ = (next_ + 1) % capacity;
  }
  hashes_[slot] = plan->hash;
  plans_[slot] = std::move(plan);
  last_ = slot;
}

void PlanCache::clear() {
  plans_.clear();
  last_ = next_ = 0;
}

namespace {
struct Frames {
  std::vector<std::unique_ptr<LaunchPlan>> plans;
  std::size_t used = 0;
};
Frames& frames() {
  thread_local Frames frames;
  return frames;
}
}  // namespace

PlanFrame::PlanFrame() {
  Frames& all = frames();
  if (all.used == all.plans.size()) all.plans.push_back(std::make_unique<LaunchPlan>());
  plan_ = all.plans[all.used++].get();
}
PlanFrame::~PlanFrame() { --frames().used; }

}  // namespace tessera::runtime
