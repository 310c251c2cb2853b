// Kernels whose candidates are lines for the driver of trial_driver.cpp, tuned on Device::cuda over that driver.
#pragma once

#include <dlfcn.h>
#include <sys/wait.h>

#include <numeric>

#include "runtime/device_state.hpp"
#include "trial/session.hpp"
#include "unit/runtime_fixture.hpp"

namespace tessera::test {

// Sets an environment variable for the life of the object.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  ~Environment() { ::unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
};

inline std::size_t open_descriptors() {
  const auto files = fs::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}
inline bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

// One kernel: y[0..n) from x[0..n), its candidates by name; what each of them does is its `text`.
struct Subject {
  std::shared_ptr<FakeWorld> world = std::make_shared<FakeWorld>();
  DType type = DType::f32;
  bool always_measured = false;  // as of the Program

  explicit Subject(DType t = DType::f32) : type(t) {
    world->build = [t](const std::string& config, ir::thread::Kernel& kernel) {
      build_vector_kernel_of(t, kernel);
      if (config == "far") kernel.views[1].elements = kernel.context->expr.i64(std::int64_t{1} << 31);
    };
  }
  Subject& candidate(const std::string& name, const std::string& act) {
    world->behaviours[name].text = act;
    return *this;
  }
  std::unique_ptr<detail::KernelImpl> make() const {
    using detail::ParamKind;
    auto chain = std::make_shared<runtime::Toolchain>(*fake_toolchain(world));
    chain->compile = [inner = chain->compile, world = world](const std::string& source, const std::string& name) {
      jit::Compiled compiled = inner(source, name);
      const std::string& act = world->behaviours.at(source.substr(0, source.find('\n'))).text;
      compiled.cubin.assign(act.c_str(), act.c_str() + act.size() + 1);
      return compiled;
    };
    detail::Program program = fake_program(
        world,
        {{ParamKind::scalar, DType::i32, "n"}, {ParamKind::pointer, type, "x"}, {ParamKind::pointer, type, "y"}});
    program.always_measured = always_measured;
    return std::make_unique<detail::KernelImpl>(std::move(program), chain);
  }
};

inline Subject with_every_fault() {
  Subject subject;
  subject.candidate("good", "add time=1").candidate("good and slower", "add time=1.2");
  subject.candidate("trap", "trap").candidate("hang", "hang").candidate("crash", "crash").candidate("exit", "exit");
  subject.candidate("garble", "garble").candidate("wrong", "wrong").candidate("half", "half");
  subject.candidate("behind", "behind").candidate("before", "before").candidate("touch", "touch");
  subject.candidate("damaged", "damaged");
  auto& behaviours = subject.world->behaviours;
  behaviours["trace"].trace_error = Error(ErrorKind::user, {}, "it does not trace");
  behaviours["lower"].lower_error = Error(ErrorKind::user, {}, "it does not lower");
  behaviours["compile"].compile_error = Error(ErrorKind::device, {}, "it does not compile");
  behaviours["large"].shared_bytes = 300000;
  return subject;
}

constexpr int n = 1000;
inline std::vector<float> counted() {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

template <class T>
std::array<detail::Argument, 3> arguments(int n, const PtrArg<T>& x, const PtrArg<T>& y) {
  std::array<detail::Argument, 3> result;
  result[0].integer = n;
  result[1].pointer = x.value();
  result[2].pointer = y.value();
  return result;
}

inline const CandidateReport& row_of(const Report& report, const std::string& config) {
  for (const CandidateReport& row : report.candidates) {
    if (row.config == config) return row;
  }
  ADD_FAILURE() << "no candidate " << config;
  static const CandidateReport none;
  return none;
}

class TrialTest : public RuntimeTest {
 protected:
  static void SetUpTestSuite() {
    ::setenv("TESSERA_LIBCUDA", TESSERA_TRIAL_DRIVER, 1);
    ::setenv("TESSERA_NVRTC", TESSERA_TRIAL_DRIVER, 1);
    driver = ::dlopen(TESSERA_TRIAL_DRIVER, RTLD_NOW);
    ASSERT_NE(driver, nullptr) << ::dlerror();
  }
  void SetUp() override {
    RuntimeTest::SetUp();
    reset();
  }
  static void reset() { reinterpret_cast<void (*)()>(::dlsym(driver, "field_reset"))(); }
  // What ran in this process.
  static std::string launched_here() {
    return reinterpret_cast<const char* (*)()>(::dlsym(driver, "field_launched"))();
  }
  static std::size_t allocations_here() {
    return reinterpret_cast<std::size_t (*)()>(::dlsym(driver, "field_allocations"))();
  }
  static inline void* driver = nullptr;
};

// With what a Subject reads and writes.
class VectorTrialTest : public TrialTest {
 protected:
  Device device = Device::cuda(0);
  Buffer<float> x = device.from_host(counted(), {n});
  Buffer<float> y = device.full<float>({n}, -5.0F);
};

}  // namespace tessera::test
