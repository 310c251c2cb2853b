// From steps to files: their kernels are collected script by script, then written as one module.
#include "export/sequence.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/launchable.hpp"
#include "runtime/specialisation.hpp"
#include "tessera/core/error.hpp"

namespace tessera::exporter {
using detail::ParamInfo;
using detail::ParamKind;
using From = StepArgument::From;

namespace {

std::vector<Step*> steps_of(Sequence& sequence) {
  std::vector<Step*> steps;
  for (SizedSteps& sized : sequence.all) {
    for (Step& step : sized.steps) steps.push_back(&step);
  }
  return steps;
}

std::string script_of(const Step& step) { return step.call.kernel->launchable({}, nullptr).program->name; }

class Assembler {
 public:
  Assembler(Sequence sequence, const ExportOptions& options) {
    m_.sequence = std::move(sequence);
    m_.whole.options = options;
  }

  SequenceModel run(const Device* device) {
    std::vector<StepKernel> kernels = collect_parts(device);
    std::size_t next = 0;
    for (const SizedSteps& sized : m_.sequence.all) {
      auto& list = m_.kernels.emplace_back();
      for (const Step& step : sized.steps) {
        StepKernel& kernel = kernels[next++];
        kernel.plan = plan_of(step, kernel);
        kernel.variant += first_variant_[kernel.part];
        list.push_back(kernel);
      }
    }
    describe();
    return std::move(m_);
  }

 private:
  // For each step its kernel, whose variant is one of the part's.
  std::vector<StepKernel> collect_parts(const Device* device) {
    const std::vector<Step*> steps = steps_of(m_.sequence);
    std::vector<StepKernel> kernels(steps.size());
    std::vector<std::string> scripts;
    for (const Step* step : steps) {
      const std::string script = script_of(*step);
      if (std::find(scripts.begin(), scripts.end(), script) == scripts.end()) scripts.push_back(script);
    }
    for (std::size_t part = 0; part < scripts.size(); ++part) {
      std::vector<Call> calls;
      std::vector<StepKernel*> of_part;
      for (std::size_t i = 0; i < steps.size(); ++i) {
        if (script_of(*steps[i]) != scripts[part]) continue;
        calls.push_back(steps[i]->call);
        of_part.push_back(&kernels[i]);
      }
      add_part(collect(calls, device, m_.whole.options));
      for (std::size_t i = 0; i < of_part.size(); ++i) {
        const Entry& entry = m_.parts.back().of_calls[i];
        *of_part[i] = {.part = part, .variant = entry.variant, .plan = 0, .chosen = entry.chosen};
      }
    }
    return kernels;
  }

  void add_part(Model part) {
    for (std::size_t i = 0; i < part.params.size(); ++i)
      part.in_signature[i] = part.params[i].kind != ParamKind::constant;
    Model& whole = m_.whole;
    first_variant_.push_back(whole.variants.size());
    for (Variant variant : part.variants) {
      const std::vector<char>& cubin = part.cubins[variant.cubin];
      const auto found = std::find(whole.cubins.begin(), whole.cubins.end(), cubin);
      variant.cubin = static_cast<std::size_t>(found - whole.cubins.begin());
      if (found == whole.cubins.end()) whole.cubins.push_back(cubin);
      whole.variants.push_back(std::move(variant));
    }
    whole.compiler = part.compiler;
    m_.parts.push_back(std::move(part));
  }

  std::size_t plan_of(const Step& step, const StepKernel& kernel) {
    const std::vector<ParamInfo>& params = m_.parts[kernel.part].params;
    StepPlan plan{kernel.part, kernel.variant, {}};
    for (std::size_t i = 0; i < params.size(); ++i) {
      if (params[i].kind == ParamKind::constant) continue;
      const StepArgument& from = step.arguments[i];
      plan.shown.push_back(from.from == From::parameter ? m_.sequence.params[from.index].name
                           : from.from == From::region  ? "the workspace"
                                                        : params[i].name);
    }
    const auto found = std::find(m_.plans.begin(), m_.plans.end(), plan);
    const auto index = static_cast<std::size_t>(found - m_.plans.begin());
    if (found == m_.plans.end()) m_.plans.push_back(std::move(plan));
    return index;
  }

  // What the launch's parameters are, and what the header says.
  void describe() {
    Model& whole = m_.whole;
    const std::vector<SizedSteps>& all = m_.sequence.all;
    whole.script = m_.sequence.script;
    whole.params = m_.sequence.params;
    whole.notes = m_.sequence.notes;
    whole.decides.assign(whole.params.size(), false);
    for (std::size_t i = 0; i < whole.params.size(); ++i) {
      const bool constant = whole.params[i].kind == ParamKind::constant;
      const bool differs = std::any_of(all.begin(), all.end(),
                                       [&](const SizedSteps& x) { return x.constants[i] != all.front().constants[i]; });
      whole.in_signature.push_back(!constant || differs || whole.options.keep_constants);
      whole.decides[i] = constant;
    }
    for (const SizedSteps& sized : all) {
      for (const auto& [p, size] : sized.sizes) whole.decides[p] = true;
    }
    for (std::size_t i = 0; i < all.size(); ++i) add_launch_lines(i);
    for (std::size_t i = 0; i < whole.params.size(); ++i) {
      if (!whole.in_signature[i]) {
        whole.notes.insert(whole.notes.begin(), fmt::format("{} = {} is compiled in, the same for all.",
                                                            whole.params[i].name, all.front().constants[i]));
      }
    }
  }

  void add_launch_lines(std::size_t i) {
    const SizedSteps& sized = m_.sequence.all[i];
    std::vector<std::string>& lines = m_.whole.launches;
    const std::size_t count = sized.steps.size();
    lines.push_back(
        fmt::format("{}: {}", sizes_text(m_, i, false), count == 1 ? "one kernel" : fmt::format("{} kernels", count)));
    for (std::size_t s = 0; s < count; ++s) {
      const StepKernel& kernel = m_.kernels[i][s];
      const std::string& config = m_.whole.variants[kernel.variant].config;
      lines.push_back(fmt::format("  {}. {}: {}{}{}", s + 1, m_.parts[kernel.part].script, sized.steps[s].what,
                                  config.empty() ? "" : "; " + config, s == sized.main ? ", " + kernel.chosen : ""));
    }
    for (const Region& region : sized.regions) lines.push_back("  workspace: " + region.text(m_.whole.params));
  }

  SequenceModel m_;
  std::vector<std::size_t> first_variant_;  // of each part, in the whole
};

ExportReport report_of(const SequenceModel& m, const Files& files) {
  ExportReport report;
  report.name = m.whole.options.name;
  report.kernel = m.whole.script;
  report.directory = m.whole.options.directory;
  for (const auto& [name, content] : files) report.files.push_back(name);
  for (std::size_t i = 0; i < m.sequence.all.size(); ++i) {
    const SizedSteps& sized = m.sequence.all[i];
    ExportReport::Bucket bucket;
    bucket.sizes = sizes_text(m, i, true);
    for (std::size_t s = 0; s < sized.steps.size(); ++s) {
      const StepKernel& kernel = m.kernels[i][s];
      const Variant& v = m.whole.variants[kernel.variant];
      bucket.steps.push_back({m.parts[kernel.part].script, sized.steps[s].what, v.config, v.registers, v.spill_bytes,
                              v.kernel->shared_bytes});
    }
    const ExportReport::Step& main = bucket.steps[sized.main];
    bucket.config = main.config;
    bucket.chosen = m.kernels[i][sized.main].chosen;
    bucket.registers = main.registers;
    bucket.spill_bytes = main.spill_bytes;
    bucket.shared_bytes = main.shared_bytes;
    for (const Region& region : sized.regions) bucket.workspace.push_back(region.text(m.whole.params));
    report.buckets.push_back(std::move(bucket));
  }
  return report;
}

}  // namespace

std::string Region::text(const std::vector<ParamInfo>& params) const {
  return fmt::format("{}, {} rows of {} bytes", what, parameter ? params[*parameter].name : std::to_string(rows),
                     row_bytes);
}

std::string sizes_text(const SequenceModel& m, std::size_t sized, bool all_constants) {
  const SizedSteps& one = m.sequence.all[sized];
  const std::vector<ParamInfo>& params = m.whole.params;
  std::vector<std::string> texts;
  for (const auto& [p, size] : one.sizes) {
    const std::int64_t bound = runtime::bucket_bound(size);
    texts.push_back(bound <= 1 ? fmt::format("{} = {}", params[p].name, bound)
                               : fmt::format("{} in ({}, {}]", params[p].name, bound / 2, bound));
  }
  for (std::size_t p = 0; p < params.size(); ++p) {
    if (params[p].kind == ParamKind::constant && (all_constants || m.whole.in_signature[p]))
      texts.push_back(fmt::format("{} = {}", params[p].name, one.constants[p]));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

ExportReport write_sequence(Sequence sequence, const Device* device, const ExportOptions& given) {
  require_name(given);
  ExportOptions options = given;
  if (options.name.empty()) options.name = snake(sequence.script);
  if (options.directory.empty()) options.directory = options.name;
  const SequenceModel model = Assembler(std::move(sequence), options).run(device);
  Files files = files_of(model.whole, header_text(model.whole), sequence_source(model));
  files.emplace_back(options.name + ".json", sequence_manifest(model, files));
  write_files(options.directory, files);
  return report_of(model, files);
}

}  // namespace tessera::exporter
