// The simulated Hopper as a device: memory is host memory, kernels run to completion inside the launch.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/device_state.hpp"
#include "sim/simulator.hpp"
#include "tessera/core/error.hpp"

namespace tessera::detail {
namespace {

constexpr std::align_val_t alignment{256};
constexpr int multiprocessors_of_h200 = 132;
constexpr int most_sms = 1024;

class SimExecutable final : public runtime::Executable {
 public:
  SimExecutable(std::shared_ptr<const ir::thread::Kernel> kernel, sim::Options options, bool check)
      : kernel_(std::move(kernel)), options_(std::move(options)), check_(check) {}

  void launch(const runtime::LaunchPlan& plan, void*) const override {
    std::vector<sim::Argument> arguments(plan.values.size());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (kernel_->params[i].is_pointer) {
        arguments[i].data = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(plan.values[i]));
        arguments[i].bytes = plan.bytes[i];
      } else {
        arguments[i].integer = plan.values[i];
      }
    }
    if (!check_) {
      sim::run(*kernel_, arguments, options_);
      return;
    }
    std::vector<Finding> findings;
    sim::Options options = options_;
    options.findings = &findings;
    sim::run(*kernel_, arguments, options);
    if (findings.empty()) return;
    std::vector<Diagnostic> diagnostics;
    for (Finding& f : findings) {
      f.diagnostic.message = fmt::format("{}: {}", name_of(f.hazard), f.diagnostic.message);
      diagnostics.push_back(std::move(f.diagnostic));
    }
    throw Error(ErrorKind::user, std::move(diagnostics));
  }
  bool blocking() const override { return true; }

 private:
  std::shared_ptr<const ir::thread::Kernel> kernel_;
  sim::Options options_;
  bool check_;
};

bool check_by_environment() {
  const char* value = std::getenv("TESSERA_CHECK");
  return value != nullptr && *value != 0 && std::string_view(value) != "0";
}

class SimDevice final : public DeviceState {
 public:
  explicit SimDevice(SimOptions options) : options_(std::move(options)) {}

  std::string name() const override { return fmt::format("simulated Hopper ({})", options_.schedule.to_string()); }
  bool simulated() const override { return true; }
  std::string driver() const override { return {}; }
  int multiprocessors() const override { return multiprocessors_of_h200; }
  int sm_count() const override { return options_.sms; }
  bool needs_cubin() const override { return false; }
  bool host_memory() const override { return true; }

  void* allocate(std::size_t bytes) override {
    void* pointer = ::operator new(bytes, alignment);
    std::memset(pointer, 0xff, bytes);  // a NaN in every floating-point type
    return pointer;
  }
  void release(void* pointer) noexcept override { ::operator delete(pointer, alignment); }
  void copy_in(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void copy_out(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void copy(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void fill(void* to, unsigned char value, std::size_t bytes) override { std::memset(to, value, bytes); }
  void synchronize() override {}
  bool usable(const void*, std::string*) const override { return true; }

  void encode(const ir::thread::TensorMap&, const runtime::ResolvedMap&, jit::EncodedTensorMap*) const override {}
  void rebase(const ir::thread::TensorMap&, const runtime::ResolvedMap&, std::uint64_t,
              jit::EncodedTensorMap*) const override {}
  std::unique_ptr<runtime::Executable> load(std::shared_ptr<const ir::thread::Kernel> kernel,
                                            const std::vector<char>&) override {
    sim::Options options;
    options.schedule = options_.schedule;
    options.threads = options_.threads;
    options.sms = options_.sms;
    options.print = options_.print;
    options.check_proxy_handover = options_.check_proxy_handover;
    return std::make_unique<SimExecutable>(std::move(kernel), std::move(options),
                                           options_.check || check_by_environment());
  }
  std::unique_ptr<runtime::Timer> make_timer() override { return nullptr; }

 private:
  SimOptions options_;
};

}  // namespace

std::shared_ptr<DeviceState> make_sim_device(SimOptions options, SourceLoc loc) {
  if (options.sms < 1 || options.sms > most_sms) {
    throw Error(ErrorKind::user, loc, fmt::format("Device::sim: sms = {}", options.sms),
                fmt::format("give a number of multiprocessors from 1 to {}", most_sms));
  }
  return std::make_shared<SimDevice>(std::move(options));
}

}  // namespace tessera::detail
