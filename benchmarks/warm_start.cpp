// What a service waits for when it starts with a warm cache: the time in a fresh process from main() to the end of the
// first launch of one kernel and of a hundred, split into what CUDA takes for itself and what this library adds. Every
// sample is a process of its own; the kernels are compiled before, by processes that are not measured.
//   warm_start_benchmark [--kernels 100] [--repeats 20] [--stand-in] [--json FILE]
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cuda/printer.hpp"
#include "hopper_matmul/matmul_v0.hpp"
#include "hopper_matmul/matmul_v3.hpp"
#include "hopper_matmul/matmul_v6.hpp"
#include "hopper_matmul/matmul_v7.hpp"
#include "jit/compiler.hpp"
#include "jit/driver_api.hpp"
#include "runtime/cache.hpp"
#include "runtime/launchable.hpp"
#include "runtime/toolchain.hpp"
#include "runtime/variant.hpp"
#include "tessera/tessera.hpp"

namespace {

using namespace tessera;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using nlohmann::ordered_json;

constexpr int m = 128, k = 256;
// Far enough apart that each has another number of tiles, which is in the text of the kernel.
constexpr int n_of(int i) { return 256 * (1 + i / 4); }

// Milliseconds since the last call, or since this was made.
class Lap {
 public:
  double operator()() {
    const auto now = Clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return ms;
  }

 private:
  Clock::time_point last_ = Clock::now();
};

struct Operands {
  Buffer<float16> a, b, c;
};

// Kernel `i` of the many: four steps of the ladder in turn, each for another n, which is compiled in.
class Subject {
 public:
  Subject() = default;
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;
  virtual ~Subject() = default;
  virtual void prepare(const Operands& operands) = 0;
  virtual void launch(const Operands& operands) = 0;
  virtual Report report() const = 0;
  virtual std::string function(const Operands& operands) = 0;
  virtual const detail::Program& program() const = 0;
  virtual std::vector<std::int64_t> constants() const = 0;
};

template <class Script>
class SubjectOf final : public Subject {
 public:
  explicit SubjectOf(int n)
      : n_(n),
        program_(detail::config_program<Script>(typename Script::Config{}, SourceLoc::here())),
        kernel_(config()) {}
  void prepare(const Operands& o) override { kernel_.compile(m, n_, k, o.a, o.b, o.c); }
  void launch(const Operands& o) override { kernel_(m, n_, k, o.a, o.b, o.c); }
  Report report() const override { return kernel_.report(); }
  std::string function(const Operands& o) override {
    const std::array<detail::Argument, 6> flat = {
        detail::ScalarArg<std::int32_t>(m).argument(), detail::ScalarArg<int>(n_).argument(),
        detail::ScalarArg<int>(k).argument(),          detail::to_argument(PtrArg<float16>(o.a)),
        detail::to_argument(PtrArg<float16>(o.b)),     detail::to_argument(PtrArg<float16>(o.c))};
    return cuda::function_name(*kernel_.impl().launchable(flat, nullptr).kernel);
  }
  const detail::Program& program() const override { return program_; }
  std::vector<std::int64_t> constants() const override { return {0, n_, k, 0, 0, 0}; }

 private:
  static typename Script::Config config() { return {}; }
  int n_;
  detail::Program program_;
  Kernel<Script> kernel_;
};

std::unique_ptr<Subject> make_subject(int i) {
  const int n = n_of(i);
  switch (i % 4) {
    case 0: return std::make_unique<SubjectOf<hopper_matmul::MatmulPersistent<float16>>>(n);
    case 1: return std::make_unique<SubjectOf<hopper_matmul::MatmulTma<float16>>>(n);
    case 2: return std::make_unique<SubjectOf<hopper_matmul::MatmulWarpSpecialised<float16>>>(n);
    default: return std::make_unique<SubjectOf<hopper_matmul::MatmulPingPong<float16>>>(n);
  }
}

// What any CUDA program does before its first launch: opens the driver, cuInit, the primary context, and a first
// allocation, for some of the context is made only then.
void start_cuda() {
  const jit::DriverApi& api = jit::require_device(0);
  const jit::ContextScope scope(0);
  jit::CuPointer memory = 0;
  jit::check_cuda(api.mem_alloc(&memory, 1 << 20), "cuMemAlloc");
  jit::check_cuda(api.mem_free(memory), "cuMemFree");
  jit::check_cuda(api.context_synchronize(), "cuCtxSynchronize");
}

Operands make_operands(const Device& device, int kernels) {
  const int n = n_of(kernels - 1);
  return {device.zeros<float16>({m, k}), device.zeros<float16>({n, k}), device.zeros<float16>({m, n})};
}

ordered_json sample_first_launches(int kernels, Lap& lap) {
  ordered_json row;
  start_cuda();
  row["CUDA's start-up"] = lap();
  const Device device = Device::cuda(0);
  row["the device object"] = lap();
  const Operands operands = make_operands(device, kernels);
  device.synchronize();
  row["buffers of the caller"] = lap();
  double preparing = 0, launching = 0;
  std::uint64_t compiled = 0;
  std::vector<std::unique_ptr<Subject>> subjects;
  for (int i = 0; i < kernels; ++i) {
    subjects.push_back(make_subject(i));
    subjects.back()->prepare(operands);
    preparing += lap();
    subjects.back()->launch(operands);
    device.synchronize();
    launching += lap();
    compiled += subjects.back()->report().counters.compiled;
    lap();
  }
  row["trace, key, cache, load"] = preparing;
  row["first launches"] = launching;
  row["beside CUDA's start-up"] = row["the device object"].get<double>() + preparing + launching;
  std::timespec used{};
  if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0) {
    row["processor time of the process"] =
        static_cast<double>(used.tv_sec) * 1e3 + static_cast<double>(used.tv_nsec) * 1e-6;
  }
  if (compiled != 0) throw Error(ErrorKind::internal, {}, fmt::format("{} kernels were not in the cache", compiled));
  return row;
}

// The same steps one by one, by the library's own parts.
ordered_json sample_steps(int kernels, Lap& lap) {
  start_cuda();
  const Device device = Device::cuda(0);
  const auto chain = runtime::real_toolchain();
  const runtime::Cache cache(runtime::Cache::default_root());
  lap();
  std::map<std::string, double> sums;
  for (int i = 0; i < kernels; ++i) {
    const auto subject = make_subject(i);
    lap();
    auto lowered = std::make_shared<runtime::LoweredVariant>();
    const auto traced =
        runtime::trace_candidate(subject->program().candidates[0], subject->constants(), 7, lowered.get());
    sums["step: trace"] += lap();
    runtime::lower_candidate(*traced, *chain, lowered.get());
    sums["step: lower and print"] += lap();
    const std::string target = runtime::target_text(*chain, *device.state());
    sums["step: identify the compiler"] += lap();
    const std::string key = runtime::entry_key(*lowered, target);
    sums["step: hash"] += lap();
    const auto entry = cache.load(key, true);
    sums["step: read the cache"] += lap();
    if (!entry)
      throw Error(ErrorKind::internal, {}, "a kernel is not in the cache: the steps are not those of a launch");
    runtime::Variant variant;
    variant.lowered = lowered;
    const auto executable = runtime::load(variant, *device.state(), entry->compiled.cubin);
    sums["step: load the module"] += lap();
  }
  return sums;
}

// The driver alone with the same cubins.
ordered_json sample_driver(int kernels, const fs::path& list, Lap& lap) {
  const jit::DriverApi& api = jit::require_device(0);
  start_cuda();
  const auto all = ordered_json::parse(std::ifstream(list));
  const jit::ContextScope scope(0);
  double loading = 0;
  for (int i = 0; i < kernels; ++i) {
    std::ifstream file(all.at(static_cast<std::size_t>(i)).at("cubin").get<std::string>(), std::ios::binary);
    const std::vector<char> cubin((std::istreambuf_iterator<char>(file)), {});
    const auto name = all.at(static_cast<std::size_t>(i)).at("function").get<std::string>();
    jit::CuHandle module = nullptr, function = nullptr;
    lap();
    jit::check_cuda(api.module_load(&module, cubin.data()), "cuModuleLoadData");
    jit::check_cuda(api.module_function(&function, module, name.c_str()), "cuModuleGetFunction");
    loading += lap();
  }
  return {{"the driver alone: load the modules", loading}};
}

// Compiles every `stride`-th kernel from `first` on.
ordered_json compile_some(int kernels, int first, int stride) {
  const Device device = Device::cuda(0);
  const Operands operands = make_operands(device, kernels);
  ordered_json list = ordered_json::array();
  for (int i = first; i < kernels; i += stride) {
    const auto subject = make_subject(i);
    subject->prepare(operands);
    list.push_back({{"number", i},
                    {"cubin", (fs::path(subject->report().directory) / "kernel.cubin").string()},
                    {"function", subject->function(operands)}});
  }
  return list;
}

struct Options {
  int kernels = 100, repeats = 20, first = 0, stride = 1;
  bool stand_in = false;
  std::string json, sample, list;
};

int run_child(const Options& options, Lap& lap) {
  set_progress(Progress::quiet);
  ordered_json result;
  if (options.sample == "launches") result = sample_first_launches(options.kernels, lap);
  if (options.sample == "steps") result = sample_steps(options.kernels, lap);
  if (options.sample == "driver") result = sample_driver(options.kernels, options.list, lap);
  if (options.sample == "compile") result = compile_some(options.kernels, options.first, options.stride);
  fmt::print("{}\n", result.dump());
  return 0;
}

// Runs this program with `arguments` and gives what it prints.
class Child {
 public:
  explicit Child(const std::string& arguments) {
    const std::string self = fs::read_symlink("/proc/self/exe").string();
    pipe_ = ::popen(fmt::format("exec '{}' {}", self, arguments).c_str(), "r");
    if (pipe_ == nullptr) throw Error(ErrorKind::internal, {}, "no process could be started");
  }
  ordered_json result() {
    std::string text;
    std::array<char, 4096> part;
    while (const std::size_t n = std::fread(part.data(), 1, part.size(), pipe_)) text.append(part.data(), n);
    const int status = ::pclose(pipe_);
    if (status != 0) throw Error(ErrorKind::internal, {}, "a measured process failed; it has said why");
    return ordered_json::parse(text);
  }

 private:
  std::FILE* pipe_ = nullptr;
};

void prepare_cache(const Options& options, const fs::path& list) {
  Lap lap;
  const int processes = std::max(1, static_cast<int>(std::min(8L, ::sysconf(_SC_NPROCESSORS_ONLN))));
  std::vector<Child> children;
  for (int p = 0; p < processes; ++p) {
    children.emplace_back(
        fmt::format("--sample compile --kernels {} --first {} --stride {}", options.kernels, p, processes));
  }
  std::vector<ordered_json> all(static_cast<std::size_t>(options.kernels));
  for (Child& child : children) {
    for (ordered_json& one : child.result()) all[one.at("number").get<std::size_t>()] = one;
  }
  std::set<std::string> files;
  for (const ordered_json& one : all) files.insert(one.at("cubin").get<std::string>());
  if (files.size() != all.size()) {
    throw Error(ErrorKind::internal, {}, fmt::format("{} kernels have {} texts", all.size(), files.size()));
  }
  std::ofstream(list) << ordered_json(all).dump();
  fmt::print("{} kernels compiled by {} processes in {:.1f} s\n", options.kernels, processes, lap() / 1e3);
}

using Samples = std::map<std::string, std::vector<double>>;

ordered_json rows_of(int kernels, Samples& samples, const std::vector<std::string>& order) {
  ordered_json rows = ordered_json::array();
  for (const std::string& name : order) {
    std::vector<double>& times = samples.at(name);
    std::sort(times.begin(), times.end());
    const double median = times[times.size() / 2], low = times[times.size() / 10], high = times[times.size() * 9 / 10];
    fmt::print("  {:36} {:9.3f} ms  ({:.3f} to {:.3f})\n", name, median, low, high);
    rows.push_back({{"kernels", kernels}, {"name", name}, {"median_ms", median}, {"low_ms", low}, {"high_ms", high}});
  }
  return rows;
}

ordered_json measure(const Options& options, int kernels, const fs::path& list) {
  Samples samples;
  std::vector<std::string> order;
  for (int repeat = 0; repeat <= options.repeats; ++repeat) {
    for (const char* sample : {"launches", "steps", "driver"}) {
      Child child(fmt::format("--sample {} --kernels {} --list '{}'", sample, kernels, list.string()));
      const ordered_json result = child.result();
      if (repeat == 0) continue;  // files and libraries come into memory
      for (const auto& [name, ms] : result.items()) {
        if (!samples.contains(name)) order.push_back(name);
        samples[name].push_back(ms.get<double>());
      }
    }
  }
  fmt::print("\nThe first launch of {} kernel{}\n", kernels, kernels == 1 ? "" : "s");
  return rows_of(kernels, samples, order);
}

// A card, or what stands in for one.
void choose_driver(const Options& options) {
#ifdef TESSERA_FAKE_DRIVER
  if (options.stand_in) {
    ::setenv("TESSERA_LIBCUDA", TESSERA_FAKE_DRIVER, 1);
    ::setenv("FAKE_DRIVER_QUIET", "1", 1);
    return;
  }
#endif
  if (options.stand_in) {
    throw Error(ErrorKind::user, {}, "this build has no stand-in for the driver", "configure with TESSERA_TESTS=ON");
  }
  if (std::string why; !jit::driver_available(&why)) {
    throw Error(ErrorKind::unsupported, {}, "no card: " + why, "--stand-in measures the host's part without one");
  }
}

int run(const Options& options) {
  choose_driver(options);
  std::string pattern = (fs::temp_directory_path() / "tessera-warm-start-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw Error(ErrorKind::internal, {}, "no temporary folder");
  const fs::path folder = pattern, list = folder / "kernels.json";
  ::setenv("TESSERA_CACHE_DIR", (folder / "cache").c_str(), 1);
  const Device device = Device::cuda(0);
  const char* protocol =
      "wall time from main() in fresh processes, the cache and all files in memory; medians, and the 10th and 90th "
      "percentiles; "
      "CUDA's start-up: the driver opened, cuInit, the primary context, a first allocation";
  fmt::print("{}{}\n", device.name(), options.stand_in ? ": a stand-in for the driver, host time only" : "");
  prepare_cache(options, list);
  ordered_json rows = measure(options, 1, list);
  for (const ordered_json& row : measure(options, options.kernels, list)) rows.push_back(row);
  const ordered_json all = {{"device", device.name()},
                            {"driver", device.state()->driver()},
                            {"compiler", runtime::real_toolchain()->compiler()},
                            {"host_time_only", options.stand_in},
                            {"repeats", options.repeats},
                            {"protocol", protocol},
                            {"rows", rows}};
  if (!options.json.empty()) std::ofstream(options.json) << all.dump(2) << "\n";
  fs::remove_all(folder);
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  Lap lap;
  Options options;
  CLI::App app("Time from main() to the end of first launches, with a warm cache");
  app.add_option("--kernels", options.kernels, "in the cache")->check(CLI::Range(1, 400))->capture_default_str();
  app.add_option("--repeats", options.repeats, "processes for each figure")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--stand-in", options.stand_in, "without a card: a driver that does nothing; host time only");
  app.add_option("--json", options.json, "write the rows to this file");
  // What the measured processes are told.
  app.add_option("--sample", options.sample)->group("");
  app.add_option("--first", options.first)->group("");
  app.add_option("--stride", options.stride)->group("");
  app.add_option("--list", options.list)->group("");
  CLI11_PARSE(app, argc, argv);
  return options.sample.empty() ? run(options) : run_child(options, lap);
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 3;
}
