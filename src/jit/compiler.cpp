#include "jit/compiler.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "jit/build_id.hpp"
#include "jit/cubin_facts.hpp"
#include "jit/dynamic_library.hpp"
#include "jit/library_file.hpp"
#include "tessera/core/error.hpp"

namespace tessera::jit {
namespace {

using Program = void*;  // nvrtcProgram

// -fmad=false: every operation rounds by itself, as the IR says and the simulator does. -v is where the facts come
// from.
constexpr std::array flags = {"--gpu-architecture=sm_90a", "--std=c++17", "--fmad=false", "--generate-line-info",
                              "--ptxas-options=-v"};
// Where a driver is present newer versions keep a cache of their own, and what comes from there has an empty log.
constexpr const char* no_cache = "--no-cache";
// The ones among the variables that NVRTC reads which can change the code.
constexpr std::array own_variables = {"NV_NVVM_VERSION", "NVRTC_PREPEND_FLAGS", "NVRTC_APPEND_FLAGS", "NVRTCWIZ"};
constexpr int invalid_option = 5;  // NVRTC_ERROR_INVALID_OPTION

const DynamicLibrary::Request& request() {
  static const DynamicLibrary::Request instance{
      "TESSERA_NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, true};
  return instance;
}

// What can be said of NVRTC without opening it, which takes the loader tens of milliseconds (a hundred megabytes with
// two hundred thousand addresses to set): a process that finds all its kernels in the cache never needs more.
struct NvrtcFile {
  std::string path;
  int major = 0, minor = 0;
};

// The version is that of the library with the built-in functions, which NVRTC opens by the name that its own version
// gives. Nothing where that is not clear: then NVRTC itself is asked.
std::optional<NvrtcFile> find_nvrtc() {
  NvrtcFile found{find_library(request())};
  if (found.path.empty()) return std::nullopt;
  int companions = 0;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(found.path).parent_path(), ignored)) {
    int major = 0, minor = 0, end = 0;
    const std::string name = entry.path().filename().string();
    if (std::sscanf(name.c_str(), "libnvrtc-builtins.so.%d.%d%n", &major, &minor, &end) != 2) continue;
    if (static_cast<std::size_t>(end) != name.size()) continue;
    found.major = major;
    found.minor = minor;
    ++companions;
  }
  if (companions != 1) return std::nullopt;
  return found;
}

const std::optional<NvrtcFile>& nvrtc_file() {
  static const std::optional<NvrtcFile> instance = find_nvrtc();
  return instance;
}

// The file that was found, where one was: what was said of it then holds for what compiles.
DynamicLibrary::Request opened() {
  DynamicLibrary::Request result = request();
  if (const auto& file = nvrtc_file()) result = {result.variable, {file->path}, false};
  return result;
}

struct Nvrtc {
  DynamicLibrary library{opened()};
  int (*version)(int*, int*) = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*cubin_size)(Program, std::size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
  const char* (*error_string)(int) = nullptr;

  Nvrtc() {
    library.bind(version, "nvrtcVersion");
    library.bind(create, "nvrtcCreateProgram");
    library.bind(destroy, "nvrtcDestroyProgram");
    library.bind(compile, "nvrtcCompileProgram");
    library.bind(log_size, "nvrtcGetProgramLogSize");
    library.bind(log, "nvrtcGetProgramLog");
    library.bind(cubin_size, "nvrtcGetCUBINSize");
    library.bind(cubin, "nvrtcGetCUBIN");
    library.bind(error_string, "nvrtcGetErrorString");
  }

  bool usable() const { return library.loaded() && library.missing().empty(); }

  std::string why_not() const {
    if (!library.loaded() && nvrtc_file()) {
      return fmt::format("NVRTC, CUDA's run-time compiler, cannot be opened: {}", library.reason());
    }
    if (!library.loaded()) {
      return fmt::format("NVRTC, CUDA's run-time compiler, was not found: looked for {}", library.looked_for());
    }
    return fmt::format("the library found as NVRTC has no {}: looked for {}", library.missing(), library.looked_for());
  }
};

const Nvrtc& nvrtc() {
  static const Nvrtc instance;
  return instance;
}

const Nvrtc& require_nvrtc() {
  const Nvrtc& n = nvrtc();
  if (n.usable()) return n;
  throw Error(ErrorKind::unsupported, {}, n.why_not(),
              "install the CUDA toolkit 12.6 or newer, set TESSERA_NVRTC to the path of libnvrtc.so, or run on the "
              "simulated Hopper, which needs no compiler");
}

void check(const Nvrtc& n, int code, const char* what) {
  if (code == 0) return;
  throw Error(ErrorKind::device, {}, fmt::format("NVRTC failed in {}: {}", what, n.error_string(code)));
}

class ProgramHolder {
 public:
  ProgramHolder(const Nvrtc& n, const std::string& source, const std::string& name) : nvrtc_(n) {
    check(n, n.create(&program_, source.c_str(), (name + ".cu").c_str(), 0, nullptr, nullptr), "nvrtcCreateProgram");
  }
  ~ProgramHolder() { nvrtc_.destroy(&program_); }
  ProgramHolder(const ProgramHolder&) = delete;
  ProgramHolder& operator=(const ProgramHolder&) = delete;
  Program get() const { return program_; }

  std::string log() const {
    std::size_t size = 0;
    check(nvrtc_, nvrtc_.log_size(program_, &size), "nvrtcGetProgramLogSize");
    std::string text(size, '\0');
    if (size > 0) check(nvrtc_, nvrtc_.log(program_, text.data()), "nvrtcGetProgramLog");
    while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
    return text;
  }

 private:
  const Nvrtc& nvrtc_;
  Program program_ = nullptr;
};

// Major and minor.
std::optional<std::pair<int, int>> version_of_compiler() {
  if (const auto& file = nvrtc_file()) return std::pair(file->major, file->minor);
  const Nvrtc& n = nvrtc();
  int major = 0, minor = 0;
  if (!n.usable() || n.version(&major, &minor) != 0) return std::nullopt;
  return std::pair(major, minor);
}

}  // namespace

bool available(std::string* reason) {
  if (nvrtc_file()) return true;
  const Nvrtc& n = nvrtc();
  if (!n.usable() && reason != nullptr) *reason = n.why_not();
  return n.usable();
}

std::string compiler_version() {
  const auto version = version_of_compiler();
  return version ? fmt::format("NVRTC {}.{}", version->first, version->second) : std::string();
}

std::string compiler_library() {
  if (const auto& file = nvrtc_file()) return file->path;
  return nvrtc().usable() ? file_of(reinterpret_cast<const void*>(nvrtc().compile)) : std::string();
}

std::string compiler_build() {
  const auto version = version_of_compiler();
  if (!version) return {};
  static const std::string builds = [&] {
    const std::string path = compiler_library();
    const auto beside = std::filesystem::path(path).parent_path();
    const std::string builtins =
        build_id(beside / fmt::format("libnvrtc-builtins.so.{}.{}", version->first, version->second));
    return fmt::format("build {}, builtins {}", build_id(path), builtins.empty() ? "elsewhere" : builtins);
  }();
  std::string text = builds;
  for (const char* name : own_variables) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') text += fmt::format(", {}={}", name, value);
  }
  return text;
}

std::string compiler_flags() { return fmt::format("{}", fmt::join(flags, " ")); }

Compiled compile(const std::string& source, const std::string& kernel_name) {
  const Nvrtc& n = require_nvrtc();
  const ProgramHolder program(n, source, kernel_name);
  std::vector<const char*> options(flags.begin(), flags.end());
  options.push_back(no_cache);
  int code = n.compile(program.get(), static_cast<int>(options.size()), options.data());
  if (code == invalid_option) {  // a version without such a cache
    options.pop_back();
    code = n.compile(program.get(), static_cast<int>(options.size()), options.data());
  }
  Compiled out;
  out.log = program.log();
  if (code != 0) {
    throw Error(
        ErrorKind::device, {},
        fmt::format("NVRTC does not compile the kernel '{}' ({}):\n{}", kernel_name, n.error_string(code), out.log),
        "the generated text lies in the cache folder; TESSERA_DUMP=cuda prints it");
  }
  std::size_t size = 0;
  check(n, n.cubin_size(program.get(), &size), "nvrtcGetCUBINSize");
  out.cubin.resize(size);
  check(n, n.cubin(program.get(), out.cubin.data()), "nvrtcGetCUBIN");
  if (size == 0 || !parse_facts(out.log, kernel_name, &out.facts)) {
    throw Error(ErrorKind::device, {},
                fmt::format("NVRTC's log does not describe the kernel '{}':\n{}", kernel_name, out.log),
                "this version of NVRTC is not one that Tessera knows; CUDA 12.6 to 13.x are");
  }
  return out;
}

}  // namespace tessera::jit
