// NAME.json: what the files are, for programs and for people.
#include <nlohmann/json.hpp>

#include "export/model.hpp"
#include "ir/thread.hpp"
#include "runtime/hash.hpp"
#include "tessera/version.hpp"

namespace tessera::exporter {
using detail::ParamKind;
using nlohmann::ordered_json;

namespace {

constexpr int format_version = 1;

ordered_json parameters(const Model& model) {
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
    if (!model.in_signature[i]) one["value"] = model.variants.front().constants[i];
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

ordered_json bucket(const Model& model, const Entry& entry) {
  const Variant& variant = model.variants[entry.variant];
  const ir::thread::Kernel& kernel = *variant.kernel;
  ordered_json constants = ordered_json::object();
  for (std::size_t i = 0; i < model.params.size(); ++i) {
    if (model.params[i].kind == ParamKind::constant) constants[model.params[i].name] = variant.constants[i];
  }
  return {{"sizes", entry.bucket},
          {"constants", constants},
          {"config", variant.config},
          {"chosen", entry.chosen},
          {"function", variant.function},
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

}  // namespace

std::string manifest_text(const Model& model, const std::vector<std::pair<std::string, std::string>>& files) {
  ordered_json json = {{"format", format_version},
                       {"name", model.options.name},
                       {"kernel", model.script},
                       {"tessera", version()},
                       {"compiler", model.compiler},
                       {"target", "sm_90a"},
                       {"dispatch", model.options.dispatch == ExportOptions::Dispatch::exact ? "exact" : "nearest"},
                       {"embedded", model.options.embed},
                       {"parameters", parameters(model)}};
  for (const Entry& entry : model.entries) json["buckets"].push_back(bucket(model, entry));
  for (const auto& [name, content] : files)
    json["files"][name] = {{"bytes", content.size()}, {"xxh3", runtime::hash_hex(content)}};
  return json.dump(2) + "\n";
}

}  // namespace tessera::exporter
