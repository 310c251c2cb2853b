// Hand-made programs, a device whose kernels are C++ functions, and a cache folder of the test's own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/device_state.hpp"
#include "runtime/toolchain.hpp"
#include "tessera/core/error.hpp"
#include "tessera/runtime/runtime.hpp"

namespace tessera::test {

namespace fs = std::filesystem;

// Runs `action`, which must throw, and hands its Error to the checks.
template <class Action>
Error error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ErrorKind::internal, {}, "nothing was thrown");
}

// A fresh TESSERA_CACHE_DIR for each test, and what the library says in `messages`.
class RuntimeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tessera-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    ::setenv("TESSERA_CACHE_DIR", root_.c_str(), 1);
    set_message_sink([this](std::string_view text) { messages_ += text; });
  }
  void TearDown() override {
    set_message_sink(nullptr);
    set_progress(Progress::automatic);
    std::error_code ignored;
    fs::permissions(root_, fs::perms::owner_all, ignored);
    fs::remove_all(root_, ignored);
    ::unsetenv("TESSERA_CACHE_DIR");
  }
  fs::path root_;
  std::string messages_;
};

// What a candidate does on the fake device.
struct Behaviour {
  std::function<void(const runtime::LaunchPlan&)> run = {};
  double milliseconds = 1.0;
  int spill_bytes = 0;
  std::vector<std::string> remarks = {};
  std::uint32_t shared_bytes = 0;
  int register_estimate = 32;
  std::optional<Error> trace_error = {}, lower_error = {}, compile_error = {};
  std::string text = {};  // stands for the emitted code; the config by default
};

// Shared by the fake toolchain and the fake device.
struct FakeWorld {
  std::map<std::string, Behaviour> behaviours;  // by config
  // The kernel's thread IR for a config; parameters must match the program's.
  std::function<void(const std::string& config, ir::thread::Kernel& kernel)> build;
  std::mutex mutex;
  std::vector<std::string> compiled, launched, timed;  // configs, in order
  std::atomic<int> encoded_maps = 0, rebased_maps = 0;
  fs::path compile_log;  // every compilation appends a line here, for tests with several processes
};

class FakeExecutable final : public runtime::Executable {
 public:
  FakeExecutable(std::shared_ptr<FakeWorld> world, std::string config)
      : world_(std::move(world)), config_(std::move(config)) {}
  void launch(const runtime::LaunchPlan& plan, void*) const override {
    {
      const std::lock_guard lock(world_->mutex);
      if (recording) world_->launched.push_back(config_);
    }
    const auto& run = world_->behaviours[config_].run;
    if (run) run(plan);
  }
  bool blocking() const override { return false; }
  const std::string& config() const { return config_; }
  static inline bool recording = true;

 private:
  std::shared_ptr<FakeWorld> world_;
  std::string config_;
};

class FakeTimer final : public runtime::Timer {
 public:
  explicit FakeTimer(std::shared_ptr<FakeWorld> world) : world_(std::move(world)) {}
  double milliseconds(const runtime::Executable& executable, const runtime::LaunchPlan& plan) override {
    const std::string& config = static_cast<const FakeExecutable&>(executable).config();
    {
      const std::lock_guard lock(world_->mutex);
      world_->timed.push_back(config);
    }
    executable.launch(plan, nullptr);
    return world_->behaviours[config].milliseconds;
  }
  double milliseconds_of(const std::function<void()>& launch) override { return launch(), 1; }

 private:
  std::shared_ptr<FakeWorld> world_;
};

// A GPU whose memory is host memory that the runtime must not touch itself.
class FakeDevice final : public detail::DeviceState {
 public:
  explicit FakeDevice(std::shared_ptr<FakeWorld> world, std::string name = "fake GPU")
      : world_(std::move(world)), name_(std::move(name)) {}
  std::string name() const override { return name_; }
  bool simulated() const override { return false; }
  std::string driver() const override { return driver_text; }
  int multiprocessors() const override { return sms; }
  bool needs_cubin() const override { return true; }
  bool host_memory() const override { return false; }
  void* allocate(std::size_t bytes) override {
    if (allocation_limit != 0 && bytes > allocation_limit) throw Error(ErrorKind::device, {}, "out of device memory");
    ++live_allocations;
    return ::operator new (bytes, std::align_val_t{256});
  }
  void release(void* pointer) noexcept override {
    --live_allocations;
    ::operator delete (pointer, std::align_val_t{256});
  }
  void copy_in(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void copy_out(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void copy(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void fill(void* to, unsigned char value, std::size_t bytes) override { std::memset(to, value, bytes); }
  void synchronize() override {}
  bool usable(const void*, std::string* what) const override {
    ++asked;
    *what = "an address that the driver does not know";
    return usable_pointers;
  }
  void encode(const ir::thread::TensorMap&, const runtime::ResolvedMap& resolved,
              jit::EncodedTensorMap* out) const override {
    ++world_->encoded_maps;
    out->words[0] = resolved.base;
  }
  void rebase(const ir::thread::TensorMap&, const runtime::ResolvedMap&, std::uint64_t base,
              jit::EncodedTensorMap* encoded) const override {
    ++world_->rebased_maps;
    encoded->words[0] = base;
  }
  std::unique_ptr<runtime::Executable> load(std::shared_ptr<const ir::thread::Kernel>,
                                            const std::vector<char>& cubin) override {
    return std::make_unique<FakeExecutable>(world_, std::string(cubin.begin(), cubin.end()));
  }
  std::unique_ptr<runtime::Timer> make_timer() override { return std::make_unique<FakeTimer>(world_); }

  std::string driver_text = "fake driver 1";
  int sms = 4;
  bool usable_pointers = true;
  mutable std::atomic<int> asked = 0;  // pointers
  std::size_t allocation_limit = 0;
  std::atomic<int> live_allocations = 0;

 private:
  std::shared_ptr<FakeWorld> world_;
  std::string name_;
};

// A kernel (Int32 m, Ptr<type> x, Ptr<type> y) of m blocks that reads x[m] and writes y[m].
inline void build_vector_kernel_of(DType type, ir::thread::Kernel& kernel) {
  auto& pool = kernel.context->expr;
  const ir::Expr* m = pool.cast(DType::i64, pool.leaf(ir::ExprKind::param, DType::i32, 0));
  kernel.grid = {m, pool.i64(1), pool.i64(1)};
  kernel.views = {{"gx", 1, type, {m}, m, SourceLoc::here()}, {"gy", 2, type, {m}, m, SourceLoc::here()}};
  kernel.written_params = {2};
  auto* regs = kernel.context->new_regs(type, 1, "r", {});
  kernel.body.push_back(kernel.context->arena.make<ir::thread::LoadGlobalVector>(
      SourceLoc{}, ir::thread::RegRef{regs, pool.i32(0)}, 1, 1U, pool.i64(0), nullptr));
}
// The same of floats, for FakeWorld::build.
inline void build_vector_kernel(const std::string&, ir::thread::Kernel& kernel) {
  build_vector_kernel_of(DType::f32, kernel);
}

inline std::shared_ptr<const runtime::Toolchain> fake_toolchain(const std::shared_ptr<FakeWorld>& world) {
  auto chain = std::make_shared<runtime::Toolchain>();
  chain->lower = [world](ir::tile::Kernel& tile) {
    const Behaviour& behaviour = world->behaviours[tile.name];
    if (behaviour.lower_error) throw Error(*behaviour.lower_error);
    passes::Lowered lowered;
    lowered.kernel.context = tile.context;
    lowered.kernel.name = "kernel";
    lowered.kernel.params = tile.params;
    lowered.kernel.warps = 1;
    lowered.kernel.shared_bytes = behaviour.shared_bytes;
    lowered.kernel.tile_program = "config " + tile.name;
    lowered.register_estimate = behaviour.register_estimate;
    world->build(tile.name, lowered.kernel);
    return lowered;
  };
  // The text carries the config, the pointers' alignment and what the test changed.
  chain->print_cuda = [world](const ir::thread::Kernel& kernel, bool) {
    const std::string config = kernel.tile_program.substr(7);
    std::string text = config + "\n" + world->behaviours[config].text;
    for (const ir::Param& param : kernel.params) text += " " + std::to_string(param.alignment);
    return text;
  };
  chain->print_thread = [](const ir::thread::Kernel& kernel) { return "thread " + kernel.tile_program; };
  chain->compile = [world](const std::string& source, const std::string&) {
    const std::string config = source.substr(0, source.find('\n'));
    {
      const std::lock_guard lock(world->mutex);
      world->compiled.push_back(config);
      if (!world->compile_log.empty()) std::ofstream(world->compile_log, std::ios::app) << config << std::endl;
    }
    const Behaviour& behaviour = world->behaviours.at(config);
    if (behaviour.compile_error) throw Error(*behaviour.compile_error);
    jit::Compiled compiled;
    compiled.cubin.assign(config.begin(), config.end());
    compiled.log = "compiled " + config;
    compiled.facts.registers = 40;
    compiled.facts.spill_store_bytes = behaviour.spill_bytes;
    compiled.facts.remarks = behaviour.remarks;
    return compiled;
  };
  chain->compiler = [] { return std::string("fake compiler 1"); };
  return chain;
}

// A program of the parameters (one is `constant` if its name begins with "c_") with a candidate for each behaviour.
inline detail::Program fake_program(const std::shared_ptr<FakeWorld>& world, std::vector<detail::ParamInfo> params,
                                    SourceLoc loc = SourceLoc::here()) {
  detail::Program program;
  program.name = "Fake";
  program.loc = loc;
  program.params = std::move(params);
  for (const auto& [config, behaviour] : world->behaviours) {
    program.candidates.push_back(
        {config, [world, config = config, infos = program.params](std::span<const std::int64_t>) {
           if (world->behaviours[config].trace_error) throw Error(*world->behaviours[config].trace_error);
           auto kernel = std::make_shared<ir::tile::Kernel>();
           kernel->name = config;
           for (const detail::ParamInfo& info : infos) {
             if (info.kind == detail::ParamKind::constant) continue;
             kernel->params.push_back({info.name, info.type, info.kind == detail::ParamKind::pointer, 0});
           }
           return kernel;
         }});
  }
  return program;
}

}  // namespace tessera::test
