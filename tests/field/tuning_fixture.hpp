// A kernel on the fake device, with candidates whose analytic order the test knows.
#pragma once

#include <algorithm>
#include <condition_variable>

#include "../unit/runtime_fixture.hpp"

namespace tessera::test {

// Opens once; whoever passes it earlier waits.
class Gate {
 public:
  void open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

// Fake(c_scale: constant, m: Int32, x: Ptr<float>, y: Ptr<float>): y[0..m) = 2 x. Grid {m}. Candidates a to d in this
// analytic order; c is the fastest.
struct TuningTest : RuntimeTest {
  void SetUp() override {
    RuntimeTest::SetUp();
    world->build = build_vector_kernel;
    add("a", 1.4, 33);
    add("b", 1.2, 34);
    add("c", 1.0, 35);
    add("d", 1.3, 36);
  }
  // As many registers as leave the estimate alone, so that they order the candidates.
  void add(const std::string& config, double milliseconds, int registers) {
    world->behaviours[config] = {.run = doubling(2.0F), .milliseconds = milliseconds, .register_estimate = registers};
  }
  static std::function<void(const runtime::LaunchPlan&)> doubling(float factor) {
    return [factor](const runtime::LaunchPlan& plan) {
      const auto* x = *static_cast<const float* const*>(plan.params[1]);
      auto* y = *static_cast<float* const*>(plan.params[2]);
      for (std::int32_t i = 0; i < *static_cast<const std::int32_t*>(plan.params[0]); ++i) y[i] = factor * x[i];
    };
  }
  detail::Program program() const {
    return fake_program(world, {{detail::ParamKind::constant, DType::i32, "c_scale"},
                                {detail::ParamKind::scalar, DType::i32, "m"},
                                {detail::ParamKind::pointer, DType::f32, "x"},
                                {detail::ParamKind::pointer, DType::f32, "y"}});
  }
  // `before_compile` runs in the compiling thread.
  std::unique_ptr<detail::KernelImpl> make(const Tuning& tuning = {},
                                           std::function<void(const std::string&)> before_compile = {}) {
    auto chain = std::make_shared<runtime::Toolchain>(*fake_toolchain(world));
    if (before_compile) {
      chain->compile = [inner = chain->compile, before_compile](const std::string& source, const std::string& name) {
        before_compile(source.substr(0, source.find('\n')));
        return inner(source, name);
      };
    }
    auto kernel = std::make_unique<detail::KernelImpl>(program(), chain);
    kernel->tuning(tuning, SourceLoc::here());
    return kernel;
  }
  std::array<detail::Argument, 4> arguments(int scale, int m, const PtrArg<float>& in, const PtrArg<float>& out) const {
    std::array<detail::Argument, 4> result;
    result[0].integer = scale;
    result[1].integer = m;
    result[2].pointer = in.value();
    result[3].pointer = out.value();
    return result;
  }
  void call(detail::KernelImpl& kernel, int m = 100, int scale = 1) {
    kernel.launch(arguments(scale, m, x, y), nullptr, nullptr);
  }
  // Launches of a candidate that were not timed.
  std::ptrdiff_t runs(const std::string& config) const {
    return std::count(world->launched.begin(), world->launched.end(), config) - times(config);
  }
  std::ptrdiff_t times(const std::string& config) const {
    return std::count(world->timed.begin(), world->timed.end(), config);
  }
  // As another process would find the world.
  void forget() {
    world->compiled.clear();
    world->launched.clear();
    world->timed.clear();
  }

  std::shared_ptr<FakeWorld> world = std::make_shared<FakeWorld>();
  std::shared_ptr<FakeDevice> state = std::make_shared<FakeDevice>(world);
  Device device{state};
  Buffer<float> x = device.from_host(std::vector<float>(4096, 1.5F), {4096});
  Buffer<float> y = device.full<float>({4096}, 7.0F);
};

}  // namespace tessera::test
