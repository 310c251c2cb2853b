#include "export/records.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

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
std::string beginning(const detail::Program& program, const RecordKey& key) {
  return fmt::format("script {}\nconstants {}\nalignment {:#x}\nbucket {}\n", program.name,
                     fmt::join(key.constants, " "), key.alignment, fmt::join(key.bounds, " "));
}

}  // namespace

Record find_record(const std::string& path, const detail::Program& program, const RecordKey& key) {
  const std::string wanted = beginning(program, key);
  bool any = false;
  for (const fs::path& file : record_files(path)) {
    const std::optional<tune::Record> record = read_record(file);
    any = any || record;
    if (!record || !record->identity.starts_with(wanted)) continue;
    const bool known = std::any_of(program.candidates.begin(), program.candidates.end(),
                                   [&](const detail::Candidate& c) { return c.config == record->winner; });
    if (known) return {record->winner, fmt::format("{}, {}", record->device, record->driver)};
  }
  if (!any) {
    throw Error(ErrorKind::user, {}, fmt::format("{} holds no tuning record", path),
                "name a record, or a folder with records: \"tuning\" of the kernel cache of the machine with the GPU");
  }
  return {};
}

}  // namespace tessera::exporter
