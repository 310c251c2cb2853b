// tessera::matmul against cuBLAS over the shapes of models: squares, short and long K, few rows, odd sizes. Each result
// is compared with cuBLAS's before anything is measured.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <tessera/matmul.hpp>
#include <tessera/tessera.hpp>

#include "common/bench.hpp"
#include "jit/cublas.hpp"
#include "jit/cublas_lt.hpp"
#include "kernels/options.hpp"
#include "runtime/device_state.hpp"

namespace {

using namespace tessera;

struct Size {
  std::int64_t m, n, k;
};

std::vector<Size> all_sizes() {
  std::vector<Size> sizes;
  for (const std::int64_t s : {1024, 2048, 4096, 8192, 16384}) sizes.push_back({s, s, s});
  for (const std::int64_t k : {512, 1024, 2048}) sizes.push_back({8192, 8192, k});
  const std::pair<std::int64_t, std::int64_t> wide[] = {{2112, 7168},  {24576, 1536}, {32768, 512},
                                                        {7168, 16384}, {4096, 7168},  {7168, 2048}};
  for (const auto& [n, k] : wide) sizes.push_back({4096, n, k});
  const std::pair<std::int64_t, std::int64_t> few[] = {{7168, 16384}, {2112, 7168}, {7168, 2048}};
  for (const std::int64_t m : {128, 64, 16, 1}) {
    for (const auto& [n, k] : few) sizes.push_back({m, n, k});
  }
  for (const Size& s : {Size{8192, 1280, 8192}, Size{8192, 28672, 4096}, Size{8192, 4096, 14336},
                        Size{4096, 4095, 4096}, Size{3000, 1000, 2000}, Size{384, 2048, 2048}}) {
    sizes.push_back(s);
  }
  return sizes;
}

// A configuration that was not chosen, beside the chosen one.
struct Leader {
  std::string config;
  double us = 0;
};

struct Line {
  Size size;
  std::vector<Leader> leaders;
  double cublas_us = 0, best_us = 0, ours_us = 0;
  int algorithms = 0, best = 0;
  std::int64_t wrong = 0;
  double first_call_seconds = 0;
  MatmulReport report;
  double ratio() const { return std::min(cublas_us, best_us) / ours_us; }
};

// Elements that are further from cuBLAS's than rounding of the result and another order of summation explain.
template <class Out>
std::int64_t differences(const Buffer<Out>& ours, const Buffer<Out>& theirs, std::int64_t k) {
  const auto x = ours.to_host(), y = theirs.to_host();
  const double scale = std::sqrt(static_cast<double>(k));
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double a = static_cast<double>(static_cast<float>(x[i])), b = static_cast<double>(static_cast<float>(y[i]));
    if (!(std::fabs(a - b) <= 0.01 * std::fabs(b) + 0.002 * scale)) ++wrong;
  }
  return wrong;
}

// The `count` configurations of the chosen kernel that were the fastest in tuning, each prepared for that call alone.
std::vector<std::pair<std::string, std::unique_ptr<kernels::Executor>>> leaders(const kernels::Call& call,
                                                                                const MatmulReport& report,
                                                                                std::size_t count) {
  std::vector<CandidateReport> rows;
  for (const CandidateReport& row : report.report.candidates) {
    if (row.time_us > 0) rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(), [](const auto& x, const auto& y) { return x.time_us < y.time_us; });
  rows.resize(std::min(rows.size(), count));
  std::vector<std::pair<std::string, std::unique_ptr<kernels::Executor>>> result;
  for (const kernels::Option& option :
       kernels::options_for(call.problem, call.device.state()->multiprocessors(), kernels::Consider::what_may_win)) {
    if (option.choice.kernel != report.kernel) continue;
    const std::vector<std::string> configs = option.configs();
    for (const CandidateReport& row : rows) {
      const auto found = std::find(configs.begin(), configs.end(), row.config);
      if (found == configs.end()) continue;
      result.emplace_back(row.config, option.make({static_cast<std::size_t>(found - configs.begin())}));
      result.back().second->prepare(call);
    }
  }
  return result;
}

struct Protocol {
  int rounds = 30;
  std::size_t leaders = 0;
};

template <class In, class Out>
Line measure(const Device& device, const Size& s, const Protocol& protocol) {
  const auto a = device.randn<In>({s.m, s.k}, 1), b = device.randn<In>({s.n, s.k}, 2);
  auto c = device.zeros<Out>({s.m, s.n}), reference = device.zeros<Out>({s.m, s.n});
  Line line;
  line.size = s;
  const auto begin = std::chrono::steady_clock::now();
  matmul(a, b, c);
  device.synchronize();
  line.first_call_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  line.report = last_matmul_report();

  jit::CublasLtMatmul library(device.ordinal(), dtype_of<In>, dtype_of<Out>, s.m, s.n, s.k);
  line.algorithms = library.algorithms();
  const auto run = [&](int algorithm, void* stream) {
    library.run(algorithm, a.data(), b.data(), reference.data(), stream);
  };
  run(0, nullptr);
  device.synchronize();
  line.wrong = differences(c, reference, s.k);
  line.best = examples::fastest(device.ordinal(), line.algorithms, run, 10);
  std::vector<examples::Contender> contenders = {
      {"default", [&](void* stream) { run(0, stream); }},
      {"best", [&](void* stream) { run(line.best, stream); }},
      {"tessera", [&](void* stream) { matmul(a, b, c, {.stream = stream}); }}};
  const kernels::Problem problem =
      kernels::describe(Matrix<In>(a).value(), Matrix<In>(b).value(), Matrix<Out>(c).value(), {}, SourceLoc::here());
  const kernels::Call call{problem, device, nullptr, SourceLoc::here()};
  const auto others = leaders(call, line.report, protocol.leaders);
  for (const auto& other : others) {
    contenders.push_back({other.first, [&](void*) { other.second->launch(call); }});
  }
  const auto timings = examples::measure(device.ordinal(), contenders, protocol.rounds);
  for (std::size_t i = 3; i < timings.size(); ++i)
    line.leaders.push_back({timings[i].name, timings[i].median_ms * 1e3});
  line.cublas_us = timings[0].median_ms * 1e3;
  line.best_us = timings[1].median_ms * 1e3;
  line.ours_us = timings[2].median_ms * 1e3;
  return line;
}

// Rows that are no multiples of 16 bytes take cuBLAS off its fast path, by a factor that would rule every mean.
bool has_aligned_rows(const Size& s, std::int64_t in_bytes) { return s.k * in_bytes % 16 == 0 && s.n * 2 % 16 == 0; }

struct Means {
  std::size_t shapes = 0;
  double to_default = 0, to_best = 0;
};
Means geometric_means(const std::vector<Line>& lines) {
  double to_default = 0, to_best = 0;
  for (const Line& line : lines) {
    to_default += std::log(line.cublas_us / line.ours_us);
    to_best += std::log(line.ratio());
  }
  const auto count = static_cast<double>(std::max<std::size_t>(lines.size(), 1));
  return {lines.size(), std::exp(to_default / count), std::exp(to_best / count)};
}
void print(const char* of, const Means& means) {
  fmt::print("geometric mean of {} {}: {:.3f} to cuBLAS's first choice, {:.3f} to the best of its proposals\n",
             means.shapes, of, means.to_default, means.to_best);
}

nlohmann::ordered_json to_json(const Line& line) {
  nlohmann::ordered_json json{{"size", {line.size.m, line.size.n, line.size.k}},
                              {"cublas_default_us", line.cublas_us},
                              {"cublas_best_us", line.best_us},
                              {"cublas_algorithms", line.algorithms},
                              {"cublas_best_algorithm", line.best},
                              {"tessera_us", line.ours_us},
                              {"ratio_to_default", line.cublas_us / line.ours_us},
                              {"ratio_to_best", line.ratio()},
                              {"differing_elements", line.wrong},
                              {"first_call_seconds", line.first_call_seconds},
                              {"kernel", line.report.kernel},
                              {"config", line.report.config},
                              {"reason", line.report.reason}};
  for (const Leader& leader : line.leaders) json["leaders"].push_back({{"config", leader.config}, {"us", leader.us}});
  for (const CandidateReport& row : line.report.report.candidates) {
    if (row.time_us > 0) json["measured"].push_back({{"config", row.config}, {"us", row.time_us}});
  }
  for (const auto& choice : line.report.choices) {
    json["choices"].push_back({{"kernel", choice.kernel},
                               {"config", choice.config},
                               {"estimate_us", choice.estimate_us},
                               {"measured_us", choice.measured_us}});
  }
  return json;
}

void print(const Line& line) {
  const double flop =
      2.0 * static_cast<double>(line.size.m) * static_cast<double>(line.size.n) * static_cast<double>(line.size.k);
  fmt::print("{:>6} {:>6} {:>6}  {:>9.1f} {:>9.1f} {:>9.1f}  {:>7.1f}  {:.3f}  {:.3f}  {}{} {}\n", line.size.m,
             line.size.n, line.size.k, line.cublas_us, line.best_us, line.ours_us, flop / line.ours_us * 1e-6,
             line.cublas_us / line.ours_us, line.ratio(), line.wrong == 0 ? "" : fmt::format("WRONG {} ", line.wrong),
             line.report.kernel, line.report.config);
  for (const Leader& leader : line.leaders) fmt::print("{:42.1f}  {}\n", leader.us, leader.config);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"tessera::matmul against cuBLAS over a list of shapes, on a Hopper GPU"};
  std::string dtype = "f16", path;
  std::vector<std::int64_t> only;
  Protocol protocol;
  app.add_option("--dtype", dtype)->check(CLI::IsMember({"f16", "bf16", "f8"}))->capture_default_str();
  app.add_option("--size", only, "M N K instead of the list; several after each other");
  app.add_option("--rounds", protocol.rounds)->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--leaders", protocol.leaders,
                 "measure as many of the configurations that were the fastest in tuning, each beside the chosen one")
      ->check(CLI::Range(0, 100));
  app.add_option("--json", path, "write the results to this file");
  CLI11_PARSE(app, argc, argv);
  std::vector<Size> sizes = all_sizes();
  if (!only.empty()) sizes.clear();
  for (std::size_t i = 0; i + 2 < only.size(); i += 3) sizes.push_back({only[i], only[i + 1], only[i + 2]});

  const Device device = Device::cuda();
  fmt::print("     m      n      k    default      best   tessera   TFLOPS  to default, to best\n");
  std::vector<Line> lines;
  for (const Size& s : sizes) {
    try {
      lines.push_back(dtype == "f16"    ? measure<float16, float16>(device, s, protocol)
                      : dtype == "bf16" ? measure<bfloat16, bfloat16>(device, s, protocol)
                                        : measure<float8_e4m3, bfloat16>(device, s, protocol));
      print(lines.back());
    } catch (const Error& error) {
      fmt::print("{:>6} {:>6} {:>6}  {}\n", s.m, s.n, s.k, error.what());
    }
  }
  std::vector<Line> with_aligned_rows;
  for (const Line& line : lines) {
    if (has_aligned_rows(line.size, dtype == "f8" ? 1 : 2)) with_aligned_rows.push_back(line);
  }
  const Means all = geometric_means(lines), aligned = geometric_means(with_aligned_rows);
  print("shapes with rows of whole 16 bytes (the published figure)", aligned);
  print("shapes, those with other rows among them", all);
  if (!path.empty()) {
    nlohmann::ordered_json json{
        {"benchmark", "matmul"},
        {"dtype", dtype},
        {"device", device.name()},
        {"driver", lines.empty() ? std::string() : lines.front().report.report.driver},
        {"compiler", lines.empty() ? std::string() : lines.front().report.report.compiler},
        {"data", "normally distributed (mean 0, deviation 1), rounded to the element type"},
        {"protocol",
         examples::protocol(device.ordinal(), protocol.rounds) +
             "; default: the first algorithm that cublasLt's heuristic proposes, best: the fastest of up to 16, found "
             "by measuring all of them"},
        {"geometric_mean_to_default", all.to_default},
        {"geometric_mean_to_best", all.to_best},
        {"aligned_shapes", aligned.shapes},
        {"aligned_geometric_mean_to_default", aligned.to_default},
        {"aligned_geometric_mean_to_best", aligned.to_best}};
    for (const Line& line : lines) json["shapes"].push_back(to_json(line));
    std::ofstream(path) << json.dump(2) << '\n';
  }
  return std::all_of(lines.begin(), lines.end(), [](const Line& l) { return l.wrong == 0; }) ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 3;
}
