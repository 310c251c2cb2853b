// Runs, checks and measures the matmul kernels: hopper_matmul --help.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>

#include "common/cublas_reference.hpp"
#include "hopper_matmul/options.hpp"
#include "hopper_matmul/results.hpp"
#include "hopper_matmul/versions.hpp"
#include "jit/cublas.hpp"
#include "jit/cublas_lt.hpp"

namespace hopper_matmul {

using namespace tessera;

namespace {

Device make_device(const Options& options) {
  const Schedule schedule = Schedule::parse(options.schedule);
  if (options.device == "cuda") return Device::cuda();
  if (options.device == "auto") {
    Device best = Device::best();
    if (!best.is_simulated()) return best;
  }
  return Device::sim({.schedule = schedule});
}

const char* why_not_measured(const Device& device) {
  return device.is_simulated() ? "nothing measured: the simulated Hopper has no clock; --bench wants a GPU\n"
                               : "nothing measured: there is nothing to multiply\n";
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// What results are judged by: all of an independent product, and on a GPU, where that is cuBLAS with its own rounding
// errors, some rows in fp64 as well.
struct Oracle {
  examples::Reference whole;
  std::vector<std::int64_t> rows;
  examples::Reference sampled;

  template <class T>
  examples::Comparison judge(std::span<const T> out) const {
    examples::Comparison result = examples::compare<T>(out, whole);
    if (rows.empty()) return result;
    const auto some = examples::take_rows<T>(out, whole.n, rows);
    return examples::worse(result, examples::compare<T>(some, sampled));
  }
};

template <class T>
Oracle make_oracle(const Device& device, const Buffer<T>& a_buffer, const Buffer<T>& b_buffer) {
  const std::vector<T> a_host = a_buffer.to_host(), b_host = b_buffer.to_host();
  const auto a = examples::to_float<T>(a_host), b = examples::to_float<T>(b_host);
  const std::int64_t m = a_buffer.shape()[0], n = b_buffer.shape()[0], k = a_buffer.shape()[1];
  if (device.is_simulated()) return {examples::reference_matmul(a, b, m, n, k), {}, {}};
  Oracle oracle{
      examples::cublas_reference(device.ordinal(), dtype_of<T>, a, b, m, n, k), examples::sample_rows(m, 64), {}};
  oracle.sampled = examples::reference_rows(a, b, n, k, oracle.rows);
  return oracle;
}

// All kernels and NVIDIA's library into the same output, in the same run: its default choice and the best of the first
// sixteen that it proposes. Shares are of the faster of these two.
template <class T>
void bench(const Device& device, std::vector<std::unique_ptr<Matmul<T>>>& kernels, const Buffer<T>& a,
           const Buffer<T>& b, Buffer<T>& c, const Options& options, Results& results) {
  const auto m = a.shape()[0], n = b.shape()[0], k = a.shape()[1];
  jit::Cublas cublas(device.ordinal());
  jit::CublasLtMatmul library(device.ordinal(), dtype_of<T>, dtype_of<T>, m, n, k);
  const auto run_library = [&](int algorithm, void* stream) {
    library.run(algorithm, a.data(), b.data(), c.data(), stream);
  };
  const int best = examples::fastest(device.ordinal(), library.algorithms(), run_library);
  std::vector<examples::Contender> contenders = {
      {"cublas", [&](void* stream) { cublas.gemm(dtype_of<T>, m, n, k, a.data(), b.data(), c.data(), stream); }},
      {"cublaslt", [&, best](void* stream) { run_library(best, stream); }}};
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    contenders.push_back({options.versions[i], [&, i](void* stream) { kernels[i]->launch(stream, m, n, k, a, b, c); }});
  }
  constexpr int rounds = 20;
  const auto timings = examples::measure(device.ordinal(), contenders, rounds);
  results.protocol = examples::protocol(device.ordinal(), rounds);
  results.baseline = timings[0].median_ms <= timings[1].median_ms ? "cublas" : "cublaslt";
  results.library = cublas.version() + " (its default choice), " + library.version() + " (the best of " +
                    std::to_string(library.algorithms()) + " proposed algorithms, number " + std::to_string(best) + ")";
  results.bench = examples::rows_of(
      timings, 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k), results.baseline);
}

// Launches into a buffer of NaN as often as asked, and judges every launch's result.
template <class T>
KernelResults check(const Device& device, Matmul<T>& matmul, const Oracle& oracle, const Buffer<T>& a,
                    const Buffer<T>& b, Buffer<T>& c, int launches) {
  const std::vector<T> poison(c.size(), T::from_bits(0x7fff));
  std::vector<T> previous;
  KernelResults results;
  for (int launch = 0; launch < launches; ++launch) {
    c.copy_from_host(poison);
    const auto begin = std::chrono::steady_clock::now();
    matmul.launch(nullptr, a.shape()[0], b.shape()[0], a.shape()[1], a, b, c);
    device.synchronize();
    if (launch == 0) results.first_call_seconds = seconds_since(begin);
    std::vector<T> out = c.to_host();
    // Equal bits need no second judgement.
    if (launch == 0 || (!out.empty() && std::memcmp(out.data(), previous.data(), c.bytes()) != 0)) {
      results.comparison = examples::worse(results.comparison, oracle.judge<T>(out));
    }
    previous = std::move(out);
  }
  results.report = matmul.report();
  return results;
}

// --check: hazards of all schedules in place of a run.
template <class T>
int check_all(const Options& options) {
  const std::int64_t m = options.size[0], n = options.size[1], k = options.size[2];
  const Device device = Device::sim();
  const auto a = device.randn<T>({m, k}, 1), b = device.randn<T>({n, k}, 2);
  auto c = device.empty<T>({m, n});
  bool clean = true;
  for (const std::string& version : options.versions) {
    const CheckReport report = make_matmul<T>(version, options.config)->check({}, m, n, k, a, b, c);
    std::printf("%s: %s", version.c_str(), report.text().c_str());
    clean = clean && report.clean();
  }
  return clean ? 0 : 1;
}

template <class T>
int run(const Options& options) {
  if (options.check) return check_all<T>(options);
  const std::int64_t m = options.size[0], n = options.size[1], k = options.size[2];
  const Device device = make_device(options);
  const auto a = device.randn<T>({m, k}, 1), b = device.randn<T>({n, k}, 2);
  auto c = device.empty<T>({m, n});
  const Oracle oracle = make_oracle(device, a, b);

  Results results;
  std::vector<std::unique_ptr<Matmul<T>>> kernels;
  for (const std::string& version : options.versions) {
    kernels.push_back(make_matmul<T>(version, options.config));
    results.kernels.push_back(check(device, *kernels.back(), oracle, a, b, c, options.launches));
    results.kernels.back().version = version;
  }
  results.reference = oracle.whole.name;
  results.device = device.name();
  const bool measurable = options.bench && !device.is_simulated() && c.size() != 0 && k != 0;
  if (measurable) bench(device, kernels, a, b, c, options, results);
  std::fputs(to_string(options, results).c_str(), stdout);
  if (options.bench && !measurable) std::fputs(why_not_measured(device), stdout);
  if (!options.json.empty()) write_json(options.json, options, results);
  return results.right() ? 0 : 1;
}

int exit_code_of(const Error& error) { return error.kind() == ErrorKind::user ? 2 : 3; }

}  // namespace
}  // namespace hopper_matmul

int main(int argc, char** argv) try {
  hopper_matmul::Options options;
  if (const auto code = hopper_matmul::parse(argc, argv, options)) return *code;
  return options.dtype == "f16" ? hopper_matmul::run<tessera::float16>(options)
                                : hopper_matmul::run<tessera::bfloat16>(options);
} catch (const tessera::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return hopper_matmul::exit_code_of(error);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 3;
}
