#include "support/source_file.hpp"

#include <filesystem>
#include <system_error>

namespace tessera::support {

std::ifstream open_source(const char* path) {
  namespace fs = std::filesystem;
  std::ifstream file(path);
  if (file.is_open() || fs::path(path).is_absolute()) return file;
  std::error_code failed;
  for (fs::path folder = fs::current_path(failed); !failed && folder.has_relative_path();
       folder = folder.parent_path()) {
    const fs::path candidate = folder / path;
    if (!fs::is_regular_file(candidate, failed)) {
      failed.clear();
      continue;
    }
    file.open(candidate);
    break;
  }
  return file;
}

}  // namespace tessera::support
