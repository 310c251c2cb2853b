// A cache folder, kernels whose compiler is a C++ function, and a file system that fails when it is told to.
#pragma once

#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "../unit/runtime_fixture.hpp"
#include "runtime/cache.hpp"
#include "runtime/cache_entry.hpp"
#include "tessera/runtime/program.hpp"

namespace tessera::test {

// Waiting for the disk costs milliseconds a file and matters to power cuts only.
class HastyFileSystem : public runtime::FileSystem {
 public:
  int sync(int) override { return 0; }
};

// Counts the operations and fails some of them. Candidates are compiled by several threads, which may ask at the same
// time.
class FaultyFileSystem final : public HastyFileSystem {
 public:
  // The n-th operation from now on (from 1) fails, all that follow, too, if `persistent`; 0: none. `choice` picks one
  // of the errors that such an operation gives.
  void fail(int nth, unsigned choice, bool persistent) {
    const std::lock_guard lock(mutex_);
    count_ = 0;
    nth_ = nth;
    choice_ = choice;
    persistent_ = persistent;
    failed_.clear();
  }
  // The first operation that failed, or "".
  std::string failed() const {
    const std::lock_guard lock(mutex_);
    return failed_;
  }
  int count() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }

  int open(const std::string& path, int flags, int mode) override {
    const int error = failing("open " + path, {EIO, EACCES, ENOSPC, EMFILE, ENOENT});
    return error != 0 ? -error : FileSystem::open(path, flags, mode);
  }
  ssize_t read(int descriptor, void* buffer, std::size_t bytes) override {
    const int error = failing("read", {EIO, ESTALE});
    return error != 0 ? -error : FileSystem::read(descriptor, buffer, bytes);
  }
  ssize_t write(int descriptor, const void* buffer, std::size_t bytes) override {
    const int error = failing("write", {ENOSPC, EIO, EDQUOT});
    if (error == 0) return FileSystem::write(descriptor, buffer, bytes);
    if (bytes > 1) FileSystem::write(descriptor, buffer, bytes / 2);  // the disk is full in the middle of the file
    return -error;
  }
  int sync(int) override { return -failing("sync", {EIO, ENOSPC, EDQUOT}); }
  int close(int descriptor) override {
    const int error = failing("close", {EIO, EDQUOT});
    const int real = FileSystem::close(descriptor);  // a descriptor is gone even where closing fails
    return error != 0 ? -error : real;
  }
  int lock(int descriptor, int operation) override {
    const int error = operation == LOCK_UN ? 0 : failing("lock", {ENOLCK, ENOTSUP, EIO});
    return error != 0 ? -error : FileSystem::lock(descriptor, operation);
  }
  int facts_of(int descriptor, runtime::FileFacts* out) override {
    const int error = failing("facts_of", {EIO, ESTALE});
    return error != 0 ? -error : FileSystem::facts_of(descriptor, out);
  }
  int facts(const std::string& path, bool follow, runtime::FileFacts* out) override {
    const int error = failing("facts " + path, {ENOENT, EIO, ESTALE, EACCES});
    return error != 0 ? -error : FileSystem::facts(path, follow, out);
  }
  int rename(const std::string& from, const std::string& to) override {
    const int error = failing("rename to " + to, {EXDEV, EBUSY, ENOTEMPTY, EIO, ENOENT, ENOSPC});
    return error != 0 ? -error : FileSystem::rename(from, to);
  }
  int make_directory(const std::string& path) override {
    const int error = failing("make_directory " + path, {EROFS, ENOSPC, EACCES, EEXIST});
    return error != 0 ? -error : FileSystem::make_directory(path);
  }
  int remove_file(const std::string& path) override {
    const int error = failing("remove_file " + path, {EBUSY, EROFS, EACCES});
    return error != 0 ? -error : FileSystem::remove_file(path);
  }
  int remove_directory(const std::string& path) override {
    const int error = failing("remove_directory " + path, {ENOTEMPTY, EBUSY, EACCES});
    return error != 0 ? -error : FileSystem::remove_directory(path);
  }
  int list(const std::string& path, std::vector<std::string>* names) override {
    const int error = failing("list " + path, {EIO, ESTALE});
    return error != 0 ? -error : FileSystem::list(path, names);
  }
  int touch(const std::string& path) override {
    const int error = failing("touch " + path, {EPERM, EROFS});
    return error != 0 ? -error : FileSystem::touch(path);
  }

 private:
  int failing(const std::string& what, const std::vector<int>& errors) {
    const std::lock_guard lock(mutex_);
    const int now = ++count_;
    if (nth_ == 0 || now < nth_ || (now > nth_ && !persistent_)) return 0;
    const int error = errors[choice_ % errors.size()];
    if (failed_.empty()) failed_ = what + ": " + runtime::error_text(error);
    return error;
  }
  mutable std::mutex mutex_;
  int count_ = 0, nth_ = 0;
  unsigned choice_ = 0;
  bool persistent_ = false;
  std::string failed_;
};

// y[i] = factor * x[i] for i < m, compiled by a function that notes each call; the "cubin" is the configuration's name,
// so that another kernel's shows in the result.
struct FieldKernel {
  // One configuration for each factor; with more than one they are tuned, and all must have the same factor.
  FieldKernel(const std::vector<std::string>& configs, float factor, std::chrono::milliseconds compile_time = {}) {
    world->build = build_vector_kernel;
    for (const std::string& config : configs) {
      world->behaviours[config].run = [factor](const runtime::LaunchPlan& plan) {
        const auto* from = *static_cast<const float* const*>(plan.params[1]);
        auto* to = *static_cast<float* const*>(plan.params[2]);
        for (std::int32_t i = 0; i < *static_cast<const std::int32_t*>(plan.params[0]); ++i) to[i] = factor * from[i];
      };
    }
    auto chain = std::make_shared<runtime::Toolchain>(*fake_toolchain(world));
    chain->compile = [compile = chain->compile, compile_time](const std::string& source, const std::string& name) {
      jit::Compiled compiled = compile(source, name);  // notes the call first
      if (compile_time.count() > 0) std::this_thread::sleep_for(compile_time);
      return compiled;
    };
    toolchain = chain;
  }
  std::unique_ptr<detail::KernelImpl> make() const {
    return std::make_unique<detail::KernelImpl>(fake_program(world, {{detail::ParamKind::scalar, DType::i32, "m"},
                                                                     {detail::ParamKind::pointer, DType::f32, "x"},
                                                                     {detail::ParamKind::pointer, DType::f32, "y"}}),
                                                toolchain);
  }
  // Launches a new kernel object and says what y[m - 1] is for x = 1.
  float result(std::int32_t m = 100) const {
    const Device device{std::make_shared<FakeDevice>(world)};
    const auto x = device.full<float>({m}, 1.0F);
    const auto y = device.zeros<float>({m});
    std::array<detail::Argument, 3> arguments;
    arguments[0].integer = m;
    arguments[1].pointer = PtrArg<float>(x).value();
    arguments[2].pointer = PtrArg<float>(y).value();
    make()->launch(arguments, nullptr, nullptr);
    return y.to_host().back();
  }

  std::shared_ptr<FakeWorld> world = std::make_shared<FakeWorld>();
  std::shared_ptr<const runtime::Toolchain> toolchain;
};

class CacheFieldTest : public RuntimeTest {
 protected:
  // In memory where the machine has such a folder: these tests write a hundred thousand files.
  void SetUp() override {
    const char* before = ::getenv("TMPDIR");
    if (before == nullptr && ::access("/dev/shm", W_OK) == 0) ::setenv("TMPDIR", "/dev/shm", 1);
    RuntimeTest::SetUp();
    if (before == nullptr) ::unsetenv("TMPDIR");
  }
  runtime::Cache cache() const { return runtime::Cache(root_); }
  fs::path file(const std::string& key, const char* name) const { return cache().directory(key) / name; }
  static std::string content(const fs::path& path) { return runtime::read_file(path).value_or("(missing)"); }
  static void overwrite(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> names;
    runtime::file_system().list(root_ / "kernels", &names);
    std::sort(names.begin(), names.end());
    return names;
  }
  std::ptrdiff_t warnings() const { return std::count(messages_.begin(), messages_.end(), '\n'); }

  static runtime::CacheEntry sample(const std::string& tag = "") {
    runtime::CacheEntry entry;
    entry.kernel = "Sample";
    entry.config = "block=64";
    entry.target = "compiler 1";
    entry.cuda = "extern \"C\" __global__ void sample() {} // " + tag;
    entry.tile_text = "tile";
    entry.thread_text = "thread";
    entry.compiled.log = "log";
    const std::string cubin =
        "\x7f"
        "ELF of " +
        tag;
    entry.compiled.cubin.assign(cubin.begin(), cubin.end());
    entry.compiled.facts.registers = 77;
    entry.compiled.facts.remarks = {"a remark"};
    return entry;
  }

  HastyFileSystem hasty_;
  std::unique_ptr<runtime::ScopedFileSystem> scope_ = std::make_unique<runtime::ScopedFileSystem>(hasty_);
};

}  // namespace tessera::test
