#include "jit/dynamic_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace tessera::jit {

namespace fs = std::filesystem;

namespace {

void add_toolkit(std::vector<std::string>& folders, const fs::path& root) {
  for (const char* sub : {"lib64", "targets/x86_64-linux/lib", "lib"}) {
    const std::string folder = (root / sub).string();
    std::error_code ignored;
    if (fs::is_directory(folder, ignored) && std::find(folders.begin(), folders.end(), folder) == folders.end())
      folders.push_back(folder);
  }
}

}  // namespace

std::vector<std::string> cuda_library_folders() {
  std::vector<std::string> folders;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* root = std::getenv(variable);
    if (root != nullptr && *root != '\0') add_toolkit(folders, root);
  }
  if (const char* path = std::getenv("PATH")) {
    std::istringstream parts(path);
    for (std::string folder; std::getline(parts, folder, ':');) {
      std::error_code failed;
      const fs::path nvcc = fs::canonical(fs::path(folder) / "nvcc", failed);
      if (!failed) add_toolkit(folders, nvcc.parent_path().parent_path());
    }
  }
  add_toolkit(folders, "/usr/local/cuda");
  add_toolkit(folders, "/opt/cuda");
  std::vector<fs::path> versions;  // /usr/local/cuda-13.0 and the like, newest first
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/usr/local", ignored)) {
    if (entry.path().filename().string().rfind("cuda-", 0) == 0) versions.push_back(entry.path());
  }
  std::sort(versions.rbegin(), versions.rend());
  for (const fs::path& root : versions) add_toolkit(folders, root);
  return folders;
}

bool DynamicLibrary::open(const std::string& path) {
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    const char* why = dlerror();
    reason_ = why == nullptr ? "unknown" : why;
  }
  return handle_ != nullptr;
}

DynamicLibrary::DynamicLibrary(const Request& request) {
  const char* chosen = std::getenv(request.variable);
  if (chosen != nullptr && *chosen != '\0') {
    looked_for_ = fmt::format("{} (from {})", chosen, request.variable);
    open(chosen);
    return;
  }
  looked_for_ = fmt::format("{} where the system's loader looks", fmt::join(request.names, ", "));
  for (const std::string& name : request.names) {
    if (open(name)) return;
  }
  if (!request.in_cuda_folders) return;
  const std::vector<std::string> folders = cuda_library_folders();
  looked_for_ += folders.empty() ? " (and found no CUDA toolkit)" : fmt::format(" and in {}", fmt::join(folders, ", "));
  for (const std::string& folder : folders) {
    for (const std::string& name : request.names) {
      std::error_code ignored;
      const fs::path path = fs::path(folder) / name;
      if (fs::exists(path, ignored) && open(path.string())) return;
    }
  }
}

void* DynamicLibrary::symbol(const char* name) const { return handle_ == nullptr ? nullptr : dlsym(handle_, name); }

std::string DynamicLibrary::why_not(const char* what) const {
  if (!loaded()) {
    return fmt::format("{} was not found: looked for {} (the loader says: {})", what, looked_for_, reason_);
  }
  if (missing_.empty()) return {};
  return fmt::format("the library found as {} has no {}: looked for {}", what, missing_, looked_for_);
}

}  // namespace tessera::jit
