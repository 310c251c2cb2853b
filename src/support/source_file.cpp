#include "support/source_file.hpp"

#include <filesystem>
#include <system_error>

namespace tessera::support {

namespace {

namespace fs = std::filesystem;

// The path below `folder` or a folder around it, the nearest one; empty if there is none.
fs::path found_upwards(fs::path folder, const fs::path& path) {
  for (; folder.has_relative_path(); folder = folder.parent_path()) {
    std::error_code failed;
    if (fs::is_regular_file(folder / path, failed)) return folder / path;
  }
  return {};
}

}  // namespace

std::ifstream open_source(const char* path) {
  std::ifstream file(path);
  if (file.is_open() || fs::path(path).is_absolute()) return file;
  std::error_code failed;
  fs::path found = found_upwards(fs::current_path(failed), path);
  if (found.empty()) found = found_upwards(fs::read_symlink("/proc/self/exe", failed).parent_path(), path);
  if (!found.empty()) file.open(found);
  return file;
}

}  // namespace tessera::support
