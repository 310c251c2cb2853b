// Exports in a folder of the test's own, compiled by the host's C compiler and launched through the recording driver,
// beside the library's own launch through the same driver.
#pragma once

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "tessera/export.hpp"
#include "unit/runtime_fixture.hpp"

namespace tessera::test {

inline std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The exit code of a command; its output goes to `output`.
inline int run_command(const std::string& command, std::string* output) {
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return -1;
  char buffer[4096];
  output->clear();
  while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) output->append(buffer, n);
  const int status = ::pclose(pipe);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

constexpr const char* strict = " -Wall -Wextra -Wpedantic -Werror ";

// The driver stand-in; both sides use the one instance in this process.
class RecordingDriver {
 public:
  static RecordingDriver& get() {
    static RecordingDriver instance;
    return instance;
  }
  template <class F>
  F* symbol(const char* name) const {
    void* found = ::dlsym(handle_, name);
    EXPECT_NE(found, nullptr) << name;
    return reinterpret_cast<F*>(found);
  }
  void clear() const { symbol<void()>("recording_clear")(); }
  std::string text() const { return symbol<const char*()>("recording_text")(); }
  int loaded() const { return symbol<int()>("recording_loaded")(); }
  void parameters(const std::vector<int>& bytes) const {
    symbol<void(const int*, int)>("recording_parameters")(bytes.data(), static_cast<int>(bytes.size()));
  }
  void set(const char* name, int value) const { symbol<void(const char*, int)>("fake_set")(name, value); }
  void reset() const {
    symbol<void()>("fake_reset")();
    clear();
  }
  void make_current(int device) const {
    symbol<int(void*)>("cuCtxSetCurrent")(symbol<void*(int)>("fake_context")(device));
  }
  void make_none_current() const { symbol<int(void*)>("cuCtxSetCurrent")(nullptr); }
  // The last launch that was recorded; empty if there is none.
  std::string last_launch() const {
    const std::string all = text();
    const std::size_t at = all.rfind("launch ");
    if (at == std::string::npos) return {};
    const std::size_t line = all.rfind('\n', at);
    return all.substr(line == std::string::npos ? 0 : line + 1);
  }

 private:
  RecordingDriver() : handle_(::dlopen(TESSERA_RECORDING_DRIVER, RTLD_NOW | RTLD_GLOBAL)) {
    EXPECT_NE(handle_, nullptr) << ::dlerror();
  }
  void* handle_;
};

// An exported kernel as a library of this process.
class Exported {
 public:
  struct Module {
    void* opaque[64];
  };
  Exported(const ExportReport& report, const std::string& compiler = "cc -std=c99") : name_(report.name) {
    static int count = 0;
    const fs::path folder = report.directory;
    const fs::path library = folder / (name_ + std::to_string(count++) + ".so");
    std::string output;
    const int code = run_command(compiler + strict + "-O1 -DTESSERA_WITHOUT_CUDA_H -shared -fPIC -o " +
                                     library.string() + " " + (folder / (name_ + ".c")).string(),
                                 &output);
    EXPECT_EQ(code, 0) << output;
    handle_ = ::dlopen(library.c_str(), RTLD_NOW);
    EXPECT_NE(handle_, nullptr) << ::dlerror();
  }
  Exported(const Exported&) = delete;
  Exported& operator=(const Exported&) = delete;
  ~Exported() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }

  template <class... A>
  int load(A... arguments) {
    return symbol<int(Module*, A...)>("_load")(&module_, arguments...);
  }
  int unload() { return symbol<int(Module*)>("_unload")(&module_); }
  // The types of the arguments are those of the C function.
  template <class... A>
  int launch(A... arguments) {
    return symbol<int(const Module*, A..., void*)>("_launch")(&module_, arguments..., stream);
  }
  template <class... A>
  int launch_without_module(A... arguments) {
    return symbol<int(const Module*, A..., void*)>("_launch")(nullptr, arguments..., stream);
  }
  // Bytes, for the sizes (and constants) that they depend on.
  template <class... A>
  int workspace_bytes(std::size_t* bytes, A... sizes) {
    return symbol<int(const Module*, A..., std::size_t*)>("_workspace_bytes")(&module_, sizes..., bytes);
  }
  std::string status_text(int status) { return symbol<const char*(int)>("_status_text")(status); }
  int kind(int status) { return symbol<int(int)>("_status_kind")(status); }
  void* stream = nullptr;

 private:
  template <class F>
  F* symbol(const char* suffix) {
    void* found = ::dlsym(handle_, (name_ + suffix).c_str());
    EXPECT_NE(found, nullptr) << name_ << suffix;
    return reinterpret_cast<F*>(found);
  }
  std::string name_;
  void* handle_ = nullptr;
  Module module_{};
};

class ExportTest : public RuntimeTest {
 protected:
  static void SetUpTestSuite() {
    ::setenv("TESSERA_LIBCUDA", TESSERA_RECORDING_DRIVER, 1);
    ::setenv("TESSERA_NVRTC", TESSERA_FAKE_NVRTC, 1);
    set_progress(Progress::quiet);
  }
  void SetUp() override {
    RuntimeTest::SetUp();
    driver.reset();
    driver.parameters({});
    driver.make_current(0);
  }
  ExportOptions options(const std::string& name) const {
    ExportOptions result;
    result.name = name;
    result.directory = (root_ / name).string();
    return result;
  }
  // What the library does with a call: its launch as recorded, "" for one without blocks, "refused".
  template <class Call>
  std::string library(const Call& call) const {
    driver.clear();
    try {
      call();
    } catch (const Error& error) {
      EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
      return "refused";
    }
    return driver.last_launch();
  }
  // The same for an exported launch.
  template <class Call>
  std::string exported(const Call& call) const {
    driver.clear();
    const int status = call();
    if (status == 0) return driver.last_launch();
    EXPECT_EQ(driver.last_launch(), "") << "refused, but launched";
    EXPECT_GE(status, 65536);
    return "refused";
  }
  RecordingDriver& driver = RecordingDriver::get();
};

constexpr int kind_unit = 65536;  // statuses of NAME_status, in its order
enum Kind {
  not_exported = 1,
  negative_extent,
  negative_grid,
  arithmetic,
  grid_too_large,
  cluster_misfit,
  null_pointer,
  misaligned_pointer,
  tensor_map_rule,
  wrong_device,
  not_loaded,
  wrong_context,
  file_error,
  driver_error,
  null_workspace,
  misaligned_workspace,
  workspace_too_small
};

}  // namespace tessera::test
