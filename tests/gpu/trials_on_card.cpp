// Tuning on a card with candidates that trap, hang, compute nonsense or do not compile, and what the process for them
// costs. A program and not a test: it takes a card, and prints figures.
//   trials_on_card            everything; exits with 1 if a check fails
//   trials_on_card --lower    without a card: which candidates can be lowered
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string_view>

#include "background_round.hpp"
#include "harness.hpp"
#include "hopper_matmul/matmul_v0.hpp"
#include "passes/pipeline.hpp"
#include "runtime/device_state.hpp"
#include "runtime/toolchain.hpp"
#include "tessera/core/error.hpp"
#include "tessera/tessera.hpp"
#include "trial/session.hpp"

namespace tessera::gpu_tests {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

int failures = 0;
void expect(bool good, const std::string& what) {
  fmt::print("  {}  {}\n", good ? "ok    " : "FAILED", what);
  failures += good ? 0 : 1;
}
double milliseconds_of(const std::function<void()>& action) {
  const auto start = Clock::now();
  action();
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

enum Fault : int { none, trap, hang, wrong, half, behind, no_cuda };
const char* const fault_names[] = {"none", "trap", "hang", "wrong", "half", "behind", "no_cuda"};
constexpr int far_away = 1 << 30;
constexpr int warps_of_no_cuda = 8;  // how the compiler below knows it

struct AddOneConfig {
  int block = 1024, fault = none;
};

// y = x + 1.
struct AddOne : Script {
  using Config = AddOneConfig;
  static Space<Config> space() {
    return Space<Config>{}.choices<&Config::block, &Config::fault>({{1024, none},
                                                                    {512, none},
                                                                    {1024, trap},
                                                                    {1024, hang},
                                                                    {1024, wrong},
                                                                    {1024, half},
                                                                    {1024, behind},
                                                                    {1024, no_cuda}});
  }
  Config config;
  explicit AddOne(Config c) : config(c) {}
  static constexpr auto params = names("n", "x", "y");

  void operator()(Int32 n, Ptr<float> x_ptr, Ptr<float> y_ptr) {
    const int block = config.block;
    attrs.blocks = {cdiv(n, config.fault == half ? 2 * block : block)};
    attrs.warps = config.fault == no_cuda ? warps_of_no_cuda : 4;
    Int32 offset = block * blockIdx.x;
    if (config.fault == hang) {
      auto never = mbarrier.alloc(1);
      mbarrier.wait(never, 0u);
    }
    auto x = load_global(global_view(x_ptr, {n}), {offset}, {block});
    auto y = x + (config.fault == wrong ? 2.0f : 1.0f);
    store_global(global_view(y_ptr, {n}), y, {offset});
    // Pointers without a length: the views promise more than there is.
    if (config.fault == trap) store_global(global_view(y_ptr, {n + far_away + block}), y, {offset + far_away});
    if (config.fault == behind) store_global(global_view(y_ptr, {n + block}), y, {offset + block});
  }
};

struct IncrementConfig {
  int block = 1024;
};
struct Increment : Script {
  using Config = IncrementConfig;
  static Space<Config> space() { return Space<Config>{}.choices<&Config::block>({256, 512, 1024}); }
  Config config;
  explicit Increment(Config c) : config(c) {}
  void operator()(Int32 n, Ptr<float> x_ptr) {
    attrs.blocks = {cdiv(n, config.block)};
    attrs.warps = 4;
    Int32 offset = config.block * blockIdx.x;
    auto view = global_view(x_ptr, {n});
    store_global(view, load_global(view, {offset}, {config.block}) + 1.0f, {offset});
  }
};

// The real one, but that it lets hazards pass that the text shows, and breaks the text of one candidate.
std::shared_ptr<const runtime::Toolchain> faulty_toolchain() {
  auto chain = std::make_shared<runtime::Toolchain>(*runtime::real_toolchain());
  chain->lower = [](ir::tile::Kernel& kernel) { return passes::lower(kernel, {}); };
  chain->print_cuda = [print = chain->print_cuda](const ir::thread::Kernel& kernel, bool readable) {
    return print(kernel, readable) + (kernel.warps == warps_of_no_cuda ? "\nthis is no CUDA\n" : "");
  };
  return chain;
}

detail::Argument number(std::int64_t value) {
  detail::Argument argument;
  argument.integer = value;
  return argument;
}
detail::Argument address(float* pointer) {
  detail::Argument argument;
  argument.pointer = PtrArg<float>(pointer).value();
  return argument;
}

const CandidateReport* find_row(const Report& report, Fault fault) {
  for (const CandidateReport& row : report.candidates) {
    if (row.config.find(fmt::format("fault={}", static_cast<int>(fault))) != std::string::npos) return &row;
  }
  return nullptr;
}

void check_faults(const Device& device) {
  fmt::print("\nTuning with every fault, limit 2 s a launch\n");
  ::setenv("TESSERA_TRIAL_SECONDS", "2", 1);
  constexpr int n = 1 << 20;
  auto x = device.randn<float>({n}, 1), y = device.full<float>({n}, -5.0f);
  detail::KernelImpl kernel(detail::space_program<AddOne>(AddOne::space(), SourceLoc::here()), faulty_toolchain());
  const detail::Argument arguments[] = {number(n), address(x.data()), address(y.data())};
  const auto in = x.to_host();
  double ms = milliseconds_of([&] { kernel.prepare(arguments, &device); });
  fmt::print("  {:.0f} ms for tracing, compiling and tuning\n{}", ms, kernel.report().to_string());
  ::unsetenv("TESSERA_TRIAL_SECONDS");
  expect(x.to_host() == in && y.to_host() == std::vector<float>(n, -5.0f), "tuning left the buffers as they were");
  for (int launch = 0; launch < 100; ++launch) kernel.launch(arguments, &device, nullptr);
  device.synchronize();
  const auto out = y.to_host();
  int differ = 0;
  for (std::size_t i = 0; i < out.size(); ++i) differ += out[i] == in[i] + 1.0f ? 0 : 1;
  expect(differ == 0, fmt::format("100 launches later {} of {} elements are wrong", differ, n));
  const Report report = kernel.report();
  expect(report.config.find("fault=0") != std::string::npos && report.remarks.empty(), "a good one won, in isolation");
  const std::pair<Fault, const char*> reasons[] = {
      {trap, "stopped by the device"}, {hang, "did not finish within 2 s"}, {wrong, "wrong result"},
      {half, "wrong result"},          {behind, "writes outside"},          {no_cuda, "NVRTC does not compile"}};
  for (const auto& [fault, reason] : reasons) {
    const CandidateReport* row = find_row(report, fault);
    expect(row != nullptr && row->reason.find(reason) != std::string::npos,
           fmt::format("{}: {}", fault_names[fault],
                       row == nullptr ? "not in the report" : row->reason.substr(0, row->reason.find('\n'))));
  }
}

void check_increment(const Device& device) {
  fmt::print("\nx += 1\n");
  constexpr int n = 100003;
  auto x = device.full<float>({n}, 10.0f);
  Kernel<Increment> kernel;
  for (int calls = 1; calls <= 3; ++calls) {
    kernel(n, x);
    expect(x.to_host() == std::vector<float>(n, 10.0f + static_cast<float>(calls)),
           fmt::format("after {} call(s) x has grown by {}", calls, calls));
  }
  fmt::print("{}", kernel.report().to_string());
}

// Candidates that trap and hang, beside a caller that goes on.
void check_background(const Device& device) {
  fmt::print("\nTuning in the background with candidates that trap and hang, limit 2 s a launch\n");
  ::setenv("TESSERA_TRIAL_SECONDS", "2", 1);
  constexpr int n = 1 << 20;
  auto x = device.randn<float>({n}, 3), y = device.zeros<float>({n});
  // None that is right by the estimate and not by its results: the guess is launched as it is.
  const auto space = Space<AddOneConfig>{}.choices<&AddOneConfig::block, &AddOneConfig::fault>(
      {{1024, none}, {512, none}, {1024, trap}, {1024, hang}});
  detail::KernelImpl kernel(detail::space_program<AddOne>(space, SourceLoc::here()), faulty_toolchain());
  const detail::Argument arguments[] = {number(n), address(x.data()), address(y.data())};
  auto expected = x.to_host();
  for (float& value : expected) value += 1.0f;
  const BackgroundRound round = tune_in_background(kernel, arguments, device, 100, [&] {
    const bool right = y.to_host() == expected;
    device.state()->fill(y.data(), 0xff, n * sizeof(float));  // what the next call does not write is not a number
    return right;
  });
  ::unsetenv("TESSERA_TRIAL_SECONDS");
  fmt::print(
      "  the first call returned after {:.0f} ms with {}; tuned after {:.0f} ms, {} calls, the longest {:.2f} ms\n{}",
      round.first_call_ms, round.guess, round.tuned_after_ms, round.during, round.longest_call_ms,
      round.last.to_string());
  expect(round.first.ranking == Report::Ranking::estimated && round.guess.find("fault=0") != std::string::npos,
         "the first call went ahead with the guess");
  expect(round.during > 1, fmt::format("{} calls while candidates trapped and hung", round.during));
  expect(round.wrong == 0, fmt::format("{} results are wrong", round.wrong));
  expect(round.last.ranking == Report::Ranking::measured && round.last.config.find("fault=0") != std::string::npos,
         "a good one took over");
  for (const auto& [fault, reason] : {std::pair(trap, "stopped by the device"), std::pair(hang, "did not finish")}) {
    const CandidateReport* row = find_row(round.last, fault);
    expect(row != nullptr && row->reason.find(reason) != std::string::npos,
           fmt::format("{} is named", fault_names[fault]));
  }
}

// A whole space of products: what the caller notices of it, and that every result is exact. Sums of small integers have
// one value in whatever order they are made.
void measure_background(const Device& device, const fs::path& cache) {
  constexpr int size = 2048;
  fmt::print("\nTuning V0's space at {}^3 in the background, compiled before\n", size);
  std::vector<float16> numbers(std::size_t{size} * size);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = float16(static_cast<float>(i * 2654435761U % 5) - 2.0f);
  auto a = device.from_host(numbers, {size, size}), b = device.from_host(numbers, {size, size});
  auto c = device.zeros<float16>({size, size});
  using Script = hopper_matmul::MatmulTma<float16>;
  const std::array<detail::Argument, 6> arguments = {number(size),
                                                     number(size),
                                                     number(size),
                                                     detail::to_argument(PtrArg<float16>(a)),
                                                     detail::to_argument(PtrArg<float16>(b)),
                                                     detail::to_argument(PtrArg<float16>(c))};
  const auto bits = [&] {
    std::vector<std::uint16_t> result;
    for (const float16 value : c.to_host()) result.push_back(value.bits);
    return result;
  };
  std::vector<std::uint16_t> expected;
  {
    detail::KernelImpl first(detail::space_program<Script>(Script::space(), SourceLoc::here()));
    first.launch(arguments, &device, {});
    expected = bits();
  }
  for (int repeat = 0; repeat < 3; ++repeat) {
    fs::remove_all(cache / "tuning");
    detail::KernelImpl kernel(detail::space_program<Script>(Script::space(), SourceLoc::here()));
    const BackgroundRound round = tune_in_background(kernel, arguments, device, 20, [&] {
      const bool right = bits() == expected;
      device.state()->fill(c.data(), 0xff, numbers.size() * sizeof(float16));
      return right;
    });
    fmt::print(
        "  first call {:.1f} ms with {}; {} measured and chosen after {:.0f} ms and {} calls, the longest {:.2f} ms\n",
        round.first_call_ms, round.guess, round.last.config, round.tuned_after_ms, round.during, round.longest_call_ms);
    expect(round.wrong == 0, fmt::format("{} results are wrong", round.wrong));
    expect(round.last.ranking == Report::Ranking::measured && round.last.remarks.empty(), "tuned in the trial process");
  }
}

void measure_process() {
  fmt::print("\nThe process\n");
  for (int repeat = 0; repeat < 3; ++repeat) {
    trial::Settings settings;
    settings.bus = jit::device_bus(0);
    std::unique_ptr<trial::Session> session;
    const double spawn = milliseconds_of([&] { session = std::make_unique<trial::Session>(settings); });
    const double ready = milliseconds_of([&] {
      session->set_memory({});
      session->set_jobs({});
      session->begin();
    });
    const double end = milliseconds_of([&] { session.reset(); });
    fmt::print("  started in {:.1f} ms, ready after {:.0f} ms more, gone {:.0f} ms after the end\n", spawn, ready, end);
  }
}

void measure_v0(const Device& device, const fs::path& cache) {
  constexpr int size = 2048;
  fmt::print("\nTuning V0's space at {}^3, candidates compiled before\n", size);
  auto a = device.randn<float16>({size, size}, 1), b = device.randn<float16>({size, size}, 2);
  auto c = device.empty<float16>({size, size});
  const auto tune = [&] {
    fs::remove_all(cache / "tuning");
    Kernel<hopper_matmul::MatmulTma<float16>> kernel;
    const double ms = milliseconds_of([&] { kernel.compile(size, size, size, a, b, c); });
    return std::pair(ms, kernel.report());
  };
  const auto first = tune();
  fmt::print("  {:.0f} ms with compiling {} candidates\n", first.first, first.second.counters.compiled);
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (const char* trial : {"1", "0"}) {
      ::setenv("TESSERA_TRIAL", trial, 1);
      const auto [ms, report] = tune();
      fmt::print("  {}: {:.0f} ms, {} timed launches, chose {}\n",
                 *trial == '1' ? "in the trial process" : "in this process", ms, report.counters.timed, report.config);
      for (const CandidateReport& row : report.candidates) {
        if (row.status == CandidateReport::Status::chosen) fmt::print("    its median is {:.1f} us\n", row.time_us);
      }
      expect(report.remarks.empty() == (*trial == '1'), "tuned where it should be");
    }
  }
  ::unsetenv("TESSERA_TRIAL");
}

int run_all() {
  if (const std::string why = why_no_card(); !why.empty()) {
    fmt::print(stderr, "{}\n", why);
    return 2;
  }
  std::string pattern = (fs::temp_directory_path() / "tessera-trials-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) return 2;
  ::setenv("TESSERA_CACHE_DIR", pattern.c_str(), 1);
  const Device device = Device::cuda(0);
  fmt::print("{}\n", device.name());
  measure_process();
  check_faults(device);
  check_increment(device);
  check_background(device);
  measure_v0(device, pattern);
  measure_background(device, pattern);
  fs::remove_all(pattern);
  fmt::print("\n{}\n", failures == 0 ? "all is well" : "something is wrong");
  return failures == 0 ? 0 : 1;
}

int lower_only() {
  const auto chain = faulty_toolchain();
  for (const AddOneConfig& config : AddOne::space().configs()) {
    const auto traced = detail::trace(AddOne(config), std::vector<std::int64_t>{0, 0, 0});
    const passes::Lowered lowered = chain->lower(*traced);
    fmt::print("{}: {} bytes of CUDA\n", AddOne::space().text(config), chain->print_cuda(lowered.kernel, true).size());
  }
  return 0;
}

}  // namespace
}  // namespace tessera::gpu_tests

int main(int argc, char** argv) try {
  if (argc > 1 && std::string_view(argv[1]) == "--lower") return tessera::gpu_tests::lower_only();
  return tessera::gpu_tests::run_all();
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 3;
}
