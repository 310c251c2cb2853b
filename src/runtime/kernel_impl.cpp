#include <fmt/format.h>

#include <mutex>

#include "runtime/device_state.hpp"
#include "runtime/launchable.hpp"
#include "runtime/specialisation.hpp"
#include "runtime/toolchain.hpp"
#include "tessera/core/error.hpp"
#include "tessera/runtime/kernel.hpp"

namespace tessera::detail {
using runtime::PlanSlot;
using runtime::Specialisation;

struct KernelImpl::State {
  State(Program p, std::shared_ptr<const runtime::Toolchain> t)
      : program(std::move(p)),
        toolchain(t ? std::move(t) : runtime::real_toolchain()),
        cache(runtime::Cache::default_root()) {}

  std::mutex mutex;
  Program program;
  std::shared_ptr<const runtime::Toolchain> toolchain;
  runtime::Cache cache;
  Report::Counters counters;
  std::vector<std::unique_ptr<Specialisation>> specialisations;
  std::shared_ptr<DeviceState> default_device, default_host_device;

  // Of the call in progress; kept so that a launch allocates nothing.
  std::vector<const Argument*> arguments;
  std::vector<std::int64_t> constants;
  std::uint64_t alignment = 0;
  SourceLoc call;

  const Specialisation* last = nullptr;
  const runtime::Bucket* last_bucket = nullptr;

  PlanSlot& prepare(std::span<const Argument> all, const Device* device);

 private:
  void take(std::span<const Argument> all);
  DeviceState* device_of_call(const Device* given);
  Specialisation& specialisation(DeviceState* device);
  std::string name_of_argument(const Argument* argument) const;
};

void KernelImpl::State::take(std::span<const Argument> all) {
  if (all.size() != program.params.size()) {
    throw Error(ErrorKind::internal, program.loc,
                fmt::format("{} arguments for {} parameters", all.size(), program.params.size()));
  }
  arguments.clear();
  constants.assign(all.size(), 0);
  alignment = 0;
  call = program.loc;
  unsigned pointer = 0;
  bool placed = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!placed && all[i].pointer.loc.known()) {
      call = all[i].pointer.loc;
      placed = true;
    }
    if (program.params[i].kind == ParamKind::constant) {
      constants[i] = all[i].integer;
      continue;
    }
    arguments.push_back(&all[i]);
    if (program.params[i].kind != ParamKind::pointer) continue;
    const bool aligned = reinterpret_cast<std::uintptr_t>(all[i].pointer.pointer) % 16 == 0;
    if (pointer < 64 && aligned) alignment |= std::uint64_t{1} << pointer;
    ++pointer;
  }
}

std::string KernelImpl::State::name_of_argument(const Argument* wanted) const {
  std::size_t i = 0;
  for (const ParamInfo& param : program.params) {
    if (param.kind == ParamKind::constant) continue;
    if (arguments[i++] == wanted) return param.name;
  }
  return "?";
}

// That of the buffers, which must agree with each other and with the device of the call; else the latter; else the
// simulated Hopper for host memory and the best device for anything else.
DeviceState* KernelImpl::State::device_of_call(const Device* given) {
  DeviceState* found = given != nullptr ? given->state().get() : nullptr;
  const Argument* from = nullptr;
  bool host = false;
  for (const Argument* argument : arguments) {
    host = host || argument->pointer.source == PtrSource::host_memory;
    DeviceState* device = argument->pointer.device;
    if (device == nullptr || device == found) continue;
    if (found == nullptr) {
      found = device;
      from = argument;
      continue;
    }
    const std::string other =
        from != nullptr ? fmt::format("the argument for {} is", name_of_argument(from)) : std::string("the launch is");
    throw Error(ErrorKind::user, call,
                fmt::format("{}: the argument for {} is a buffer of {}, but {} on {}{}", program.name,
                            name_of_argument(argument), device->name(), other, found->name(),
                            device->name() == found->name() ? " (another device of the same name)" : ""),
                "use buffers of one device, the one that the kernel is launched on");
  }
  if (found != nullptr) return found;
  std::shared_ptr<DeviceState>& fallback = host ? default_host_device : default_device;
  if (!fallback) fallback = (host ? Device::sim() : Device::best()).state();
  return fallback.get();
}

Specialisation& KernelImpl::State::specialisation(DeviceState* device) {
  for (auto& one : specialisations) {
    if (one->matches(device, constants, alignment)) return *one;
  }
  const Specialisation::Environment environment{program, *toolchain, cache, counters};
  auto made = std::make_unique<Specialisation>(environment, device->shared_from_this(), constants, alignment);
  for (const auto& other : specialisations) {
    if (other->same_program(constants, alignment)) made->share(*other);
  }
  specialisations.push_back(std::move(made));
  return *specialisations.back();
}

PlanSlot& KernelImpl::State::prepare(std::span<const Argument> all, const Device* device) {
  take(all);
  Specialisation& one = specialisation(device_of_call(device));
  PlanSlot& slot = one.prepare(arguments, call);
  last = &one;
  last_bucket = slot.bucket;
  return slot;
}

KernelImpl::KernelImpl(Program program, std::shared_ptr<const runtime::Toolchain> toolchain)
    : state_(std::make_unique<State>(std::move(program), std::move(toolchain))) {}
KernelImpl::~KernelImpl() = default;
KernelImpl::KernelImpl(KernelImpl&&) noexcept = default;
KernelImpl& KernelImpl::operator=(KernelImpl&&) noexcept = default;

void KernelImpl::launch(std::span<const Argument> arguments, const Device* device, void* stream) {
  std::unique_lock lock(state_->mutex);
  const PlanSlot& slot = state_->prepare(arguments, device);
  if (slot.plan.empty) return;
  ++state_->counters.launched;
  const runtime::Executable* executable = slot.executable;
  if (!executable->blocking()) {
    executable->launch(slot.plan, stream);
    return;
  }
  runtime::LaunchPlan own;  // others may use the kernel, and the slot, while this one runs
  own.grid = slot.plan.grid;
  own.values = slot.plan.values;
  own.bytes = slot.plan.bytes;
  lock.unlock();
  executable->launch(own, stream);
}

void KernelImpl::prepare(std::span<const Argument> arguments, const Device* device) {
  const std::lock_guard lock(state_->mutex);
  state_->prepare(arguments, device);
}

KernelImpl::Launchable KernelImpl::launchable(std::span<const Argument> arguments, const Device* device) {
  const std::lock_guard lock(state_->mutex);
  Launchable result;
  result.program = &state_->program;
  result.toolchain = state_->toolchain;
  if (arguments.empty() && !state_->program.params.empty()) return result;
  const PlanSlot& slot = state_->prepare(arguments, device);
  result.simulated = state_->last->device().simulated();
  result.device = state_->last->device().name();
  result.call = state_->call;
  if (slot.plan.empty) return result;
  const runtime::Variant& winner = state_->last->winner(*slot.bucket);
  result.kernel = winner.lowered->kernel;
  result.findings = winner.lowered->findings;
  result.config = winner.row.config;
  result.values = {slot.plan.values.begin(), slot.plan.values.end()};
  result.bytes = {slot.plan.bytes.begin(), slot.plan.bytes.end()};
  return result;
}

Report KernelImpl::report() const {
  const std::lock_guard lock(state_->mutex);
  if (state_->last == nullptr) {
    Report report;
    report.counters = state_->counters;
    return report;
  }
  return state_->last->report(state_->last_bucket);
}

void scalar_out_of_range(const std::string& value, const char* type, SourceLoc loc) {
  throw Error(ErrorKind::user, loc,
              fmt::format("the value {} does not fit into a kernel parameter of type {}", value, type),
              "pass a smaller value, or give the script a parameter of a wider type");
}

}  // namespace tessera::detail
