#include "export/records.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "export/model.hpp"
#include "runtime/cache.hpp"
#include "runtime/files.hpp"
#include "tessera/core/error.hpp"
#include "tune/record.hpp"

namespace tessera::exporter {
namespace fs = std::filesystem;

namespace {

std::vector<fs::path> record_files(const fs::path& path) {
  std::error_code code;
  if (fs::is_regular_file(path, code)) return {path};
  const fs::path folder = fs::is_directory(path / "tuning", code) ? path / "tuning" : path;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());  // the same choice on every machine
  return files;
}

std::optional<tune::Record> read_record(const fs::path& path) {
  const std::optional<std::string> sealed = runtime::read_file(path);
  const std::optional<std::string> text = sealed ? runtime::unseal(*sealed) : std::nullopt;
  return text ? tune::parse_record(*text) : std::nullopt;
}

// The lines that Specialisation::identity begins with.
std::string beginning(const detail::Program& program, const CallShape& key) {
  return fmt::format("script {}\nconstants {}\nalignment {:#x}\nbucket {}\n", program.name,
                     fmt::join(key.constants, " "), key.alignment, fmt::join(key.bounds, " "));
}

// Those in its middle: two instances of one template differ in these alone.
std::string parameters(const detail::Program& program) {
  std::string text;
  for (const detail::ParamInfo& param : program.params)
    text += fmt::format("parameter {} {} {}\n", param.name, static_cast<int>(param.kind), name_of(param.type));
  return text;
}

}  // namespace

std::vector<Record> find_records(const std::string& path, const detail::Program& program,
                                 const std::vector<detail::Argument>& call) {
  const std::string wanted = beginning(program, shape_of(program, call)), types = parameters(program);
  bool any = false;
  std::vector<Record> result;
  for (const fs::path& file : record_files(path)) {
    const std::optional<tune::Record> record = read_record(file);
    any = any || record;
    if (!record || !record->chosen || !record->identity.starts_with(wanted)) continue;
    if (record->identity.find(types) == std::string::npos) continue;
    const bool known = std::any_of(program.candidates.begin(), program.candidates.end(),
                                   [&](const detail::Candidate& c) { return c.config == record->winner; });
    if (!known) continue;
    const tune::RecordRow* row = record->winning_row();
    const bool timed = row != nullptr && row->report.rounds > 0;
    result.push_back(
        {record->winner, fmt::format("{}, {}", record->device, record->driver), timed ? row->report.time_us : 0});
  }
  if (!any) {
    throw Error(ErrorKind::user, {}, fmt::format("{} holds no tuning record", path),
                "name a record, or a folder with records: \"tuning\" of the kernel cache of the machine with the GPU");
  }
  return result;
}

}  // namespace tessera::exporter
