// NAME.json: what the files are, for programs and for people.
#include <nlohmann/json.hpp>

#include "export/sequence.hpp"
#include "ir/thread.hpp"
#include "runtime/hash.hpp"
#include "tessera/version.hpp"

namespace tessera::exporter {
using detail::ParamKind;
using nlohmann::ordered_json;

namespace {

constexpr int format_version = 1;

ordered_json parameters(const Model& model, const std::vector<std::int64_t>& constants) {
  const std::vector<std::string> names = c_names(model);
  ordered_json list = ordered_json::array();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const detail::ParamInfo& param = model.params[i];
    const char* kind = param.kind == ParamKind::constant ? "constant" : is_sized(param) ? "size" : "value";
    ordered_json one = {{"name", param.name},
                        {"c_name", names[i]},
                        {"kind", param.kind == ParamKind::pointer ? "pointer" : kind},
                        {"type", name_of(param.type)},
                        {"c_type", c_type(param)},
                        {"in_signature", static_cast<bool>(model.in_signature[i])}};
    if (!model.in_signature[i]) one["value"] = constants[i];
    list.push_back(std::move(one));
  }
  return list;
}

ordered_json alignments(const Variant& variant) {
  ordered_json result = ordered_json::object();
  for (const ir::Param& param : variant.kernel->params) {
    if (param.is_pointer) result[param.name] = param.alignment;
  }
  return result;
}

ordered_json constants(const std::vector<detail::ParamInfo>& params, const std::vector<std::int64_t>& values) {
  ordered_json result = ordered_json::object();
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (params[i].kind == ParamKind::constant) result[params[i].name] = values[i];
  }
  return result;
}

// What is known of a kernel, whoever launches it.
ordered_json kernel_of(const Model& model, const Variant& variant) {
  const ir::thread::Kernel& kernel = *variant.kernel;
  return {{"function", variant.function},
          {"cubin", cubin_file(model, variant.cubin)},
          {"threads", kernel.warps * 32},
          {"shared_bytes", kernel.shared_bytes},
          {"cluster", kernel.cluster},
          {"dependent_launch", kernel.dependent_launch},
          {"tensor_maps", kernel.tensor_maps.size()},
          {"registers", variant.registers},
          {"spill_bytes", variant.spill_bytes},
          {"pointer_alignment", alignments(variant)}};
}

ordered_json bucket(const Model& model, const Entry& entry) {
  const Variant& variant = model.variants[entry.variant];
  ordered_json result = {{"sizes", entry.bucket},
                         {"constants", constants(model.params, variant.constants)},
                         {"config", variant.config},
                         {"chosen", entry.chosen}};
  result.update(kernel_of(model, variant));
  return result;
}

ordered_json bucket(const SequenceModel& model, std::size_t index) {
  const SizedSteps& sized = model.sequence.all[index];
  ordered_json result = {{"sizes", sizes_text(model, index, false)},
                         {"constants", constants(model.whole.params, sized.constants)},
                         {"steps", ordered_json::array()},
                         {"workspace", ordered_json::array()}};
  for (std::size_t s = 0; s < sized.steps.size(); ++s) {
    const StepKernel& kernel = model.kernels[index][s];
    const Model& part = model.parts[kernel.part];
    const Variant& variant = model.whole.variants[kernel.variant];
    ordered_json step = {{"kernel", part.script},
                         {"what", sized.steps[s].what},
                         {"constants", constants(part.params, variant.constants)},
                         {"config", variant.config},
                         {"chosen", kernel.chosen}};
    step.update(kernel_of(model.whole, variant));
    result["steps"].push_back(std::move(step));
  }
  for (const Region& region : sized.regions) {
    ordered_json one = {{"what", region.what}, {"row_bytes", region.row_bytes}};
    if (region.parameter)
      one["rows"] = model.whole.params[*region.parameter].name;
    else
      one["rows"] = region.rows;
    result["workspace"].push_back(std::move(one));
  }
  return result;
}

ordered_json beginning(const Model& model, const std::vector<std::int64_t>& constants) {
  return {{"format", format_version},
          {"name", model.options.name},
          {"kernel", model.script},
          {"tessera", version()},
          {"compiler", model.compiler},
          {"target", "sm_90a"},
          {"dispatch", model.options.dispatch == ExportOptions::Dispatch::exact ? "exact" : "nearest"},
          {"embedded", model.options.embed},
          {"parameters", parameters(model, constants)}};
}

std::string ended(ordered_json json, const Files& files) {
  for (const auto& [name, content] : files)
    json["files"][name] = {{"bytes", content.size()}, {"xxh3", runtime::hash_hex(content)}};
  return json.dump(2) + "\n";
}

}  // namespace

std::string manifest_text(const Model& model, const Files& files) {
  ordered_json json = beginning(model, model.variants.front().constants);
  for (const Entry& entry : model.entries) json["buckets"].push_back(bucket(model, entry));
  return ended(std::move(json), files);
}

std::string sequence_manifest(const SequenceModel& model, const Files& files) {
  ordered_json json = beginning(model.whole, model.sequence.all.front().constants);
  json["workspace_alignment"] = workspace_alignment;
  for (std::size_t i = 0; i < model.sequence.all.size(); ++i) json["buckets"].push_back(bucket(model, i));
  return ended(std::move(json), files);
}

}  // namespace tessera::exporter
