// From calls to compiled kernels: which candidate each bucket gets, and its cubin.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "cuda/printer.hpp"
#include "export/model.hpp"
#include "export/offline_device.hpp"
#include "export/records.hpp"
#include "runtime/launchable.hpp"
#include "runtime/specialisation.hpp"
#include "tessera/core/error.hpp"

namespace tessera::exporter {
using detail::Argument;
using detail::KernelImpl;
using detail::ParamInfo;
using detail::ParamKind;
using detail::Program;
using detail::PtrSource;
using detail::PtrValue;

namespace {

std::string bucket_text(const Program& program, const std::vector<std::int64_t>& bounds) {
  std::string text;
  std::size_t i = 0;
  for (const ParamInfo& param : program.params) {
    if (param.kind == ParamKind::constant) continue;
    const std::int64_t bound = bounds[i++];
    if (!is_sized(param)) continue;
    text += text.empty() ? "" : ", ";
    text += bound <= 1 ? fmt::format("{} = {}", param.name, bound)
                       : fmt::format("{} in ({}, {}]", param.name, bound / 2, bound);
  }
  return text;
}

// The same addresses, of a device on which they are only numbers.
std::vector<Argument> detached(std::vector<Argument> call) {
  for (Argument& argument : call) {
    argument.pointer.source = PtrSource::device_pointer;
    argument.pointer.device = nullptr;
    argument.pointer.bytes = PtrValue::unknown_bytes;
    argument.pointer.read_only = false;
  }
  return call;
}

class Collector {
 public:
  Collector(const Device* device, const ExportOptions& options) : device_(device), options_(options) {
    model_.options = options;
  }

  Model run(const std::vector<Call>& calls) {
    for (const Call& call : calls) {
      take(*call.kernel);
      model_.of_calls.push_back(model_.entries[add(call)]);
    }
    // Of equal distances the first entry is taken: the one that assumes most.
    std::stable_sort(model_.entries.begin(), model_.entries.end(), [&](const Entry& x, const Entry& y) {
      return std::popcount(model_.variants[x.variant].alignment) > std::popcount(model_.variants[y.variant].alignment);
    });
    for (std::size_t i = 0; i < model_.params.size(); ++i) model_.in_signature.push_back(in_signature(i));
    return std::move(model_);
  }

 private:
  void take(KernelImpl& kernel) {
    const KernelImpl::Launchable known = kernel.launchable({}, nullptr);
    kernel_ = &kernel;
    program_ = known.program;
    toolchain_ = known.toolchain;
    if (!model_.script.empty() && (model_.script != program_->name || model_.params.size() != program_->params.size()))
      throw Error(ErrorKind::internal, {}, "kernels of different scripts in one export");
    model_.script = program_->name;
    model_.params = program_->params;
    model_.compiler = toolchain_->compiler();
  }

  // The index of its entry.
  std::size_t add(const Call& of) {
    const std::vector<Argument>& call = of.arguments;
    const CallShape shape = shape_of(*program_, call);
    const auto same = [&](const Entry& entry) {
      const Variant& variant = model_.variants[entry.variant];
      return entry.bounds == shape.bounds && variant.constants == shape.constants &&
             variant.alignment == shape.alignment;
    };
    const auto known = std::find_if(model_.entries.begin(), model_.entries.end(), same);
    if (known != model_.entries.end()) return static_cast<std::size_t>(known - model_.entries.begin());
    Entry entry;
    entry.bounds = shape.bounds;
    entry.bucket = bucket_text(*program_, shape.bounds);
    const std::string config = choose(call, shape, &entry.chosen);
    if (!of.how.empty()) entry.chosen = of.how;
    entry.variant = variant_of(call, shape, config);
    model_.entries.push_back(std::move(entry));
    return model_.entries.size() - 1;
  }

  bool in_signature(std::size_t param) const {
    if (model_.params[param].kind != ParamKind::constant || options_.keep_constants) return true;
    return std::any_of(model_.variants.begin(), model_.variants.end(), [&](const Variant& v) {
      return v.constants[param] != model_.variants.front().constants[param];
    });
  }

  // The GPU that decides, if there is one.
  const Device* gpu(const std::vector<Argument>& call) {
    if (device_ != nullptr) return device_->is_simulated() ? nullptr : device_;
    for (const Argument& argument : call) {
      if (argument.pointer.device == nullptr || argument.pointer.device->simulated()) continue;
      of_arguments_ = Device(argument.pointer.device->shared_from_this());
      return &*of_arguments_;
    }
    return nullptr;
  }

  std::string choose(const std::vector<Argument>& call, const CallShape& shape, std::string* how) {
    const std::size_t count = program_->candidates.size();
    if (count == 1) {
      *how = "the only candidate";
      return program_->candidates.front().config;
    }
    if (!options_.tuning.empty()) {
      const std::vector<Record> records = find_records(options_.tuning, *program_, call);
      if (!records.empty()) {
        *how = fmt::format("by the tuning record of {}", records.front().device);
        return records.front().config;
      }
    }
    const Device* device = gpu(call);
    if (device != nullptr) {
      KernelImpl::Launchable chosen = kernel_->launchable(call, device);
      require_work(chosen, shape);
      *how = fmt::format("measured among {} on {}", count, chosen.device);
      return chosen.config;
    }
    const KernelImpl::Launchable chosen = offline(*program_, call);
    require_work(chosen, shape);
    *how = fmt::format("by a static estimate among {}", count);
    return chosen.config;
  }

  void require_work(const KernelImpl::Launchable& launch, const CallShape& shape) const {
    if (launch.kernel) return;
    throw Error(ErrorKind::user, shape.loc, fmt::format("{}: a call that is exported has no blocks", program_->name),
                "give it the sizes that the kernel will be launched with, none of them 0");
  }

  KernelImpl::Launchable offline(const Program& program, const std::vector<Argument>& call) {
    impls_.push_back(std::make_unique<KernelImpl>(program, toolchain_));
    const Device device(offline_);
    return impls_.back()->launchable(detached(call), &device);
  }

  std::size_t variant_of(const std::vector<Argument>& call, const CallShape& shape, const std::string& config) {
    for (std::size_t i = 0; i < model_.variants.size(); ++i) {
      const Variant& v = model_.variants[i];
      if (v.config == config && v.constants == shape.constants && v.alignment == shape.alignment) return i;
    }
    Program pinned = *program_;
    std::erase_if(pinned.candidates, [&](const detail::Candidate& c) { return c.config != config; });
    const KernelImpl::Launchable launch = offline(pinned, call);
    require_work(launch, shape);
    Variant variant;
    variant.config = config;
    variant.constants = shape.constants;
    variant.alignment = shape.alignment;
    variant.kernel = launch.kernel;
    variant.function = cuda::function_name(*launch.kernel);
    variant.cubin = cubin_of(launch.kernel.get());
    const CandidateReport row = impls_.back()->report().candidates.front();
    variant.registers = row.registers;
    variant.spill_bytes = row.spill_bytes;
    model_.variants.push_back(std::move(variant));
    return model_.variants.size() - 1;
  }

  std::size_t cubin_of(const ir::thread::Kernel* kernel) {
    const std::vector<char>& cubin = offline_->cubin_of(kernel);
    const auto found = std::find(model_.cubins.begin(), model_.cubins.end(), cubin);
    if (found != model_.cubins.end()) return static_cast<std::size_t>(found - model_.cubins.begin());
    model_.cubins.push_back(cubin);
    return model_.cubins.size() - 1;
  }

  KernelImpl* kernel_ = nullptr;  // of the call that is looked at
  const Device* device_;
  const ExportOptions& options_;
  const Program* program_ = nullptr;
  std::shared_ptr<const runtime::Toolchain> toolchain_;
  std::shared_ptr<OfflineDevice> offline_ = std::make_shared<OfflineDevice>();
  std::vector<std::unique_ptr<KernelImpl>> impls_;  // keep what the offline device has loaded
  std::optional<Device> of_arguments_;
  Model model_;
};

}  // namespace

CallShape shape_of(const Program& program, const std::vector<Argument>& call) {
  CallShape shape;
  shape.constants.assign(call.size(), 0);
  unsigned pointer = 0;
  for (std::size_t i = 0; i < call.size(); ++i) {
    const ParamInfo& param = program.params[i];
    if (!shape.loc.known()) shape.loc = call[i].pointer.loc;
    if (param.kind == ParamKind::constant) {
      shape.constants[i] = call[i].integer;
      continue;
    }
    shape.bounds.push_back(is_sized(param) ? runtime::bucket_bound(call[i].integer) : 0);
    if (param.kind != ParamKind::pointer) continue;
    const bool aligned = reinterpret_cast<std::uintptr_t>(call[i].pointer.pointer) % 16 == 0;
    if (pointer < 64 && aligned) shape.alignment |= std::uint64_t{1} << pointer;
    ++pointer;
  }
  return shape;
}

bool is_sized(const ParamInfo& param) { return param.kind == ParamKind::scalar && !is_float(param.type); }

Model collect(const std::vector<Call>& calls, const Device* device, const ExportOptions& options) {
  if (calls.empty()) {
    throw Error(ErrorKind::user, {}, "an export without a call",
                "give at least one set of arguments: KernelExport(kernel, options).call(arguments...)");
  }
  return Collector(device, options).run(calls);
}

}  // namespace tessera::exporter
