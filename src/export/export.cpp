// From calls to files.
#include "tessera/export.hpp"

#include <fmt/format.h>

#include <cctype>
#include <filesystem>
#include <optional>
#include <string_view>

#include "export/model.hpp"
#include "runtime/files.hpp"
#include "tessera/core/error.hpp"

namespace tessera {
namespace fs = std::filesystem;

namespace exporter {
namespace {

bool is_identifier(const std::string& name) {
  if (name.empty() || std::isalpha(static_cast<unsigned char>(name.front())) == 0) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; });
}

// The project of a folder that was not made by an export is somebody else's.
void require_own(const fs::path& project) {
  const std::string_view ours = cmake_project;
  const std::string_view first = ours.substr(0, ours.find('\n'));
  const std::optional<std::string> text = runtime::read_file(project);
  if (!text || text->starts_with(first)) return;
  throw Error(ErrorKind::user, {},
              fmt::format("{} is not of an export, and an export would replace it", project.string()),
              "name another folder for the exported files");
}

ExportReport report_of(const Model& model, const Files& files) {
  ExportReport report;
  report.name = model.options.name;
  report.kernel = model.script;
  report.directory = model.options.directory;
  for (const auto& [name, content] : files) report.files.push_back(name);
  bool estimated = false;
  for (const Entry& entry : model.entries) {
    const Variant& variant = model.variants[entry.variant];
    std::string sizes = entry.bucket;
    for (std::size_t i = 0; i < model.params.size(); ++i) {
      if (model.params[i].kind != detail::ParamKind::constant) continue;
      sizes += fmt::format("{}{} = {}", sizes.empty() ? "" : ", ", model.params[i].name, variant.constants[i]);
    }
    report.buckets.push_back(
        {sizes, variant.config, entry.chosen, variant.registers, variant.spill_bytes, variant.kernel->shared_bytes});
    estimated = estimated || entry.chosen.find("estimate") != std::string::npos;
  }
  if (estimated) {
    report.remarks.emplace_back(
        "chosen by a static estimate, since nothing was measured: tune on a GPU (ExportOptions::device), take a tuning "
        "record of one (--tuning), or pin a configuration (--config)");
  }
  return report;
}

}  // namespace

std::string snake(const std::string& name) {
  std::string result;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isupper(letter) != 0 && !result.empty() && result.back() != '_') result += '_';
    result += std::isalnum(letter) != 0 ? static_cast<char>(std::tolower(letter)) : '_';
  }
  return result;
}

void require_name(const ExportOptions& options) {
  if (!options.name.empty() && !is_identifier(options.name)) {
    throw Error(ErrorKind::user, {}, fmt::format("'{}' cannot be the prefix of C names", options.name),
                "give a name of letters, digits and underscores that begins with a letter");
  }
}

void write_files(const std::string& into, const Files& files) {
  const fs::path directory = into;
  require_own(directory / "CMakeLists.txt");
  std::error_code code;
  fs::create_directories(directory, code);
  std::string why = code.message();
  bool good = !code;
  for (const auto& [name, content] : files) good = good && runtime::replace_file(directory / name, content, &why);
  if (good) return;
  throw Error(ErrorKind::user, {}, fmt::format("the export cannot be written to {}: {}", directory.string(), why),
              "name a folder of yours");
}

Files files_of(const Model& model, std::string header, std::string source) {
  const std::string& name = model.options.name;
  Files files = {{name + ".h", std::move(header)},
                 {name + ".c", std::move(source)},
                 {"tessera_cuda.h", cuda_declarations},
                 {"CMakeLists.txt", cmake_project}};
  for (std::size_t i = 0; i < model.cubins.size(); ++i)
    files.emplace_back(cubin_file(model, i), std::string(model.cubins[i].begin(), model.cubins[i].end()));
  return files;
}

ExportReport write_calls(const std::vector<Call>& calls, const Device* device, const ExportOptions& given,
                         std::vector<std::string> notes) {
  require_name(given);
  Model model = collect(calls, device, given);
  if (model.options.name.empty()) model.options.name = snake(model.script);
  if (model.options.directory.empty()) model.options.directory = model.options.name;
  model.notes = std::move(notes);
  Files files = files_of(model, header_text(model), source_text(model));
  files.emplace_back(model.options.name + ".json", manifest_text(model, files));
  write_files(model.options.directory, files);
  return report_of(model, files);
}

}  // namespace exporter

ExportReport detail::export_calls(KernelImpl& kernel, const Device* device, const ExportOptions& options,
                                  const std::vector<std::vector<Argument>>& calls) {
  std::vector<exporter::Call> all;
  for (const std::vector<Argument>& call : calls) all.push_back({&kernel, call});
  return exporter::write_calls(all, device, options);
}

namespace {

std::string resources(int registers, int spill_bytes, std::uint32_t shared_bytes) {
  return fmt::format("{} registers, {} bytes of shared memory{}", registers, shared_bytes,
                     spill_bytes > 0 ? fmt::format(", spills {} bytes", spill_bytes) : "");
}

std::string steps_text(const ExportReport::Bucket& bucket) {
  std::string result = bucket.steps.size() == 1 ? fmt::format("one kernel, {}\n", bucket.chosen)
                                                : fmt::format("{} kernels, {}\n", bucket.steps.size(), bucket.chosen);
  for (const ExportReport::Step& step : bucket.steps) {
    result += fmt::format("    {}: {}{}{}; {}\n", step.kernel, step.what, step.config.empty() ? "" : "; ", step.config,
                          resources(step.registers, step.spill_bytes, step.shared_bytes));
  }
  for (const std::string& region : bucket.workspace) result += fmt::format("    workspace: {}\n", region);
  return result;
}

}  // namespace

std::string ExportReport::text() const {
  std::string result = fmt::format("{} of {} in {}\n", name, kernel, directory);
  for (const Bucket& bucket : buckets) {
    result += fmt::format("  {}: ", bucket.sizes.empty() ? "all sizes" : bucket.sizes);
    if (!bucket.steps.empty()) {
      result += steps_text(bucket);
      continue;
    }
    result += fmt::format("{}{}{}; {}\n", bucket.config, bucket.config.empty() ? "" : ", ", bucket.chosen,
                          resources(bucket.registers, bucket.spill_bytes, bucket.shared_bytes));
  }
  for (const std::string& remark : remarks) result += "  " + remark + "\n";
  result += "  files:";
  for (const std::string& file : files) result += " " + file;
  return result + "\n";
}

}  // namespace tessera
