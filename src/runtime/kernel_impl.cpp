#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "runtime/capture.hpp"
#include "runtime/device_state.hpp"
#include "runtime/launchable.hpp"
#include "runtime/plan_cache.hpp"
#include "runtime/toolchain.hpp"
#include "runtime/tuning_settings.hpp"
#include "tessera/core/error.hpp"
#include "tessera/runtime/kernel.hpp"

namespace tessera::detail {
using runtime::ArgumentShape;
using runtime::CheckedPlan;
using runtime::LaunchPlan;
using runtime::Prepared;
using runtime::Specialisation;

// Two locks. `planning` is held while arguments are checked, kernels are built and tuned, which may take seconds;
// `quick` while a checked launch is looked up and its numbers are copied. A launch of known arguments takes the second
// one alone, and both are free while the driver (or the simulator) has the launch.
struct KernelImpl::State {
  State(Program p, std::shared_ptr<const runtime::Toolchain> t)
      : program(std::move(p)),
        name(jit::intern(program.name)),
        toolchain(t ? std::move(t) : runtime::real_toolchain()),
        cache(runtime::Cache::default_root()) {}

  const Program program;
  const char* const name;
  const std::shared_ptr<const runtime::Toolchain> toolchain;
  const runtime::Cache cache;

  std::mutex planning;
  Report::Counters counters;
  std::vector<std::unique_ptr<Specialisation>> specialisations;
  std::shared_ptr<DeviceState> default_device, default_host_device;

  // Of the call that is planned.
  std::vector<const Argument*> arguments;
  std::vector<std::int64_t> constants;
  std::uint64_t alignment = 0;
  SourceLoc call;

  std::mutex quick;
  runtime::PlanCache plans;
  const Specialisation* last = nullptr;
  const runtime::Bucket* last_bucket = nullptr;
  std::uint64_t launched = 0;

  // With `planning` locked.
  Prepared prepare(std::span<const Argument> all, const Device* device, const StreamArg* stream);
  bool plan(const ArgumentShape& shape, std::span<const Argument> all, const Device* device, const StreamArg* stream);

  bool known(const ArgumentShape& shape);
  std::shared_ptr<CheckedPlan> fill_known(const ArgumentShape& shape, std::span<const Argument> all, LaunchPlan* frame);
  bool usable_pointers(const CheckedPlan& checked, const LaunchPlan& frame) const;
  void rebase(CheckedPlan& checked, LaunchPlan* frame);
  void check_count(std::span<const Argument> all) const;
  SourceLoc place(std::span<const Argument> all) const;

  Tuning tuning;
  // Of what is tuned beside launches: their choice has changed.
  const std::function<void()> forget_plans = [this] {
    const std::lock_guard lock(quick);
    plans.clear();
  };
  runtime::Background background;  // the last member: it ends first

 private:
  void take(std::span<const Argument> all);
  DeviceState* device_of_call(const Device* given);
  Specialisation& specialisation(DeviceState* device);
  std::string name_of_argument(const Argument* argument) const;
};

void KernelImpl::State::check_count(std::span<const Argument> all) const {
  if (all.size() == program.params.size()) return;
  throw Error(ErrorKind::internal, program.loc,
              fmt::format("{} arguments for {} parameters", all.size(), program.params.size()));
}

SourceLoc KernelImpl::State::place(std::span<const Argument> all) const {
  for (const Argument& argument : all) {
    if (argument.pointer.loc.known()) return argument.pointer.loc;
  }
  return program.loc;
}

void KernelImpl::State::take(std::span<const Argument> all) {
  arguments.clear();
  constants.assign(all.size(), 0);
  alignment = 0;
  call = place(all);
  unsigned pointer = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
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
  const Specialisation::Environment environment{program, *toolchain, cache,    counters,
                                                tuning,  background, planning, forget_plans};
  auto made = std::make_unique<Specialisation>(environment, device->shared_from_this(), constants, alignment);
  for (const auto& other : specialisations) {
    if (other->same_program(constants, alignment)) made->share(*other);
  }
  specialisations.push_back(std::move(made));
  return *specialisations.back();
}

Prepared KernelImpl::State::prepare(std::span<const Argument> all, const Device* device, const StreamArg* stream) {
  take(all);
  Specialisation& one = specialisation(device_of_call(device));
  if (stream != nullptr) runtime::check_stream(name, *stream, one.device(), call);
  Prepared result = one.prepare(arguments, call, stream != nullptr ? stream->handle() : nullptr, [&] {
    return runtime::recorded_here(one.device()) ||
           (stream != nullptr && one.device().streams().capturing(stream->handle()));
  });
  const std::lock_guard lock(quick);
  last = &one;
  last_bucket = result.bucket;
  return result;
}

// The slow half of a launch. False: nothing runs.
bool KernelImpl::State::plan(const ArgumentShape& shape, std::span<const Argument> all, const Device* device,
                             const StreamArg* stream) {
  auto made = std::make_shared<CheckedPlan>();
  made->prepared = prepare(all, device, stream);
  if (!made->prepared.executable) return false;
  made->take_key(shape);
  made->device = &made->prepared.owner->device();
  made->resolve_maps();
  for (std::uint32_t i = 0; i < arguments.size(); ++i) {
    const bool asked = made->prepared.kernel->params[i].is_pointer && !made->device->host_memory() &&
                       arguments[i]->pointer.source == PtrSource::device_pointer;
    if (asked) made->raw.push_back(i);
  }
  const std::lock_guard lock(quick);
  plans.insert(std::move(made));
  return true;
}

bool KernelImpl::State::known(const ArgumentShape& shape) {
  const std::lock_guard lock(quick);
  const std::shared_ptr<CheckedPlan>* found = shape.doubtful() ? nullptr : plans.find(shape);
  if (found == nullptr) return false;
  last = (*found)->prepared.owner;
  last_bucket = (*found)->prepared.bucket;
  return true;
}

// Puts the launch into `frame`. Null if its shape is not known.
std::shared_ptr<CheckedPlan> KernelImpl::State::fill_known(const ArgumentShape& shape, std::span<const Argument> all,
                                                           LaunchPlan* frame) {
  if (shape.doubtful()) return nullptr;
  std::shared_ptr<CheckedPlan> checked;
  {
    const std::lock_guard lock(quick);
    const std::shared_ptr<CheckedPlan>* found = plans.find(shape);
    if (found == nullptr) return nullptr;
    checked = *found;
    frame->maps = checked->prepared.plan.maps;  // of some earlier launch, and so are their addresses
    frame->bases = checked->prepared.plan.bases;
    last = checked->prepared.owner;
    last_bucket = checked->prepared.bucket;
    ++launched;
  }
  frame->grid = checked->prepared.plan.grid;
  frame->empty = false;
  frame->bytes = checked->prepared.plan.bytes;
  frame->values.resize(frame->bytes.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (program.params[i].kind == ParamKind::constant) continue;
    frame->values[next++] = program.params[i].kind == ParamKind::pointer
                                ? static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(all[i].pointer.pointer))
                                : all[i].integer;
  }
  frame->origin = {name, place(all), false};
  frame->point();
  return checked;
}

bool KernelImpl::State::usable_pointers(const CheckedPlan& checked, const LaunchPlan& frame) const {
  return std::all_of(checked.raw.begin(), checked.raw.end(), [&](std::uint32_t i) {
    const auto address = static_cast<std::uintptr_t>(frame.values[i]);
    return checked.device->known_usable(reinterpret_cast<const void*>(address));
  });
}

// Tensor maps hold addresses. Those of this launch's pointers are written into the frame's copies, and kept for the
// next launch, which will most likely have the same ones.
void KernelImpl::State::rebase(CheckedPlan& checked, LaunchPlan* frame) {
  bool changed = false;
  for (std::size_t i = 0; i < frame->maps.size(); ++i) {
    const ir::thread::TensorMap& map = checked.prepared.kernel->tensor_maps[i];
    const std::uint64_t base = static_cast<std::uint64_t>(frame->values[map.param]) + checked.maps[i].base;
    if (base == frame->bases[i]) continue;
    if (!checked.maps[i].empty) checked.device->rebase(map, checked.maps[i], base, &frame->maps[i]);
    frame->bases[i] = base;
    changed = true;
  }
  if (!changed) return;
  const std::lock_guard lock(quick);
  checked.prepared.plan.maps = frame->maps;
  checked.prepared.plan.bases = frame->bases;
}

KernelImpl::KernelImpl(Program program, std::shared_ptr<const runtime::Toolchain> toolchain)
    : state_(std::make_unique<State>(std::move(program), std::move(toolchain))) {}
KernelImpl::~KernelImpl() = default;
KernelImpl::KernelImpl(KernelImpl&&) noexcept = default;
KernelImpl& KernelImpl::operator=(KernelImpl&&) noexcept = default;

void KernelImpl::launch(std::span<const Argument> arguments, const Device* device, const StreamArg& stream) {
  State& state = *state_;
  state.check_count(arguments);
  const ArgumentShape shape(state.program.params, arguments, device != nullptr ? device->state().get() : nullptr);
  runtime::PlanFrame frame;
  LaunchPlan& plan = frame.plan();
  std::shared_ptr<CheckedPlan> checked = state.fill_known(shape, arguments, &plan);
  while (!checked) {
    const std::lock_guard lock(state.planning);
    if (!state.known(shape) && !state.plan(shape, arguments, device, &stream)) return;
    checked = state.fill_known(shape, arguments, &plan);  // null: others have filled the cache since
  }
  runtime::check_stream(state.name, stream, *checked->device, plan.origin.call);
  if (!state.usable_pointers(*checked, plan)) {
    const std::lock_guard lock(state.planning);
    static_cast<void>(state.prepare(arguments, device, &stream));  // throws with the pointer's name
  }
  state.rebase(*checked, &plan);
  if (runtime::Recording* recording = runtime::recorded_here(*checked->device)) {
    plan.origin.recorded = true;
    if (recording->add(checked->prepared.executable, plan)) return;
  }
  checked->prepared.executable->launch(plan, stream.handle());
}

void KernelImpl::prepare(std::span<const Argument> arguments, const Device* device) {
  State& state = *state_;
  state.check_count(arguments);
  const ArgumentShape shape(state.program.params, arguments, device != nullptr ? device->state().get() : nullptr);
  const std::lock_guard lock(state.planning);
  if (!state.known(shape)) state.plan(shape, arguments, device, nullptr);
}

KernelImpl::Launchable KernelImpl::launchable(std::span<const Argument> arguments, const Device* device) {
  State& state = *state_;
  Launchable result;
  result.program = &state.program;
  result.toolchain = state.toolchain;
  if (arguments.empty() && !state.program.params.empty()) return result;
  state.check_count(arguments);
  const std::lock_guard lock(state.planning);
  const Prepared prepared = state.prepare(arguments, device, nullptr);
  result.simulated = prepared.owner->device().simulated();
  result.device = prepared.owner->device().name();
  result.call = state.call;
  if (prepared.plan.empty) return result;
  const runtime::Variant& winner = prepared.owner->winner(*prepared.bucket);
  result.kernel = winner.lowered->kernel;
  result.findings = winner.lowered->findings;
  result.config = winner.row.config;
  result.values = {prepared.plan.values.begin(), prepared.plan.values.end()};
  result.bytes = {prepared.plan.bytes.begin(), prepared.plan.bytes.end()};
  return result;
}

void KernelImpl::tuning(const Tuning& tuning, SourceLoc loc) {
  runtime::check_tuning(tuning, loc);
  const std::lock_guard lock(state_->planning);
  state_->tuning = tuning;
}

void KernelImpl::wait_for_tuning() { state_->background.wait(); }

Report KernelImpl::report() const {
  const std::lock_guard planning(state_->planning);  // also the reports' rows change under it
  const std::lock_guard quick(state_->quick);
  Report report;
  if (state_->last != nullptr) report = state_->last->report(state_->last_bucket);
  report.counters = state_->counters;
  report.counters.launched = state_->launched;
  return report;
}

void scalar_out_of_range(const std::string& value, const char* type, SourceLoc loc) {
  throw Error(ErrorKind::user, loc,
              fmt::format("the value {} does not fit into a kernel parameter of type {}", value, type),
              "pass a smaller value, or give the script a parameter of a wider type");
}

}  // namespace tessera::detail
