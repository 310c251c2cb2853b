// What a launch costs the host: the time until a call returns, beside the driver's own calls with the same parameters,
// in one run. The kernels do next to nothing, so that the queue never fills.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "cuda/printer.hpp"
#include "hopper_matmul/matmul_v0.hpp"
#include "jit/compiler.hpp"
#include "jit/driver_api.hpp"
#include "runtime/device_state.hpp"
#include "runtime/launchable.hpp"
#include "tessera/tessera.hpp"

namespace {

using namespace tessera;
using Clock = std::chrono::steady_clock;

struct Empty : Script {
  void operator()(Int32) {
    attrs.blocks = {1};
    attrs.warps = 1;
  }
};

// Twelve scalars and eight pointers.
struct Twenty : Script {
  void operator()(Int32, Int32, Int32, Int32, Int32, Int32, Int64, Int64, Float32, Float32, Float32, Float32,
                  Ptr<float>, Ptr<float>, Ptr<float>, Ptr<float>, Ptr<float16>, Ptr<float16>, Ptr<float16>,
                  Ptr<float16>) {
    attrs.blocks = {1};
    attrs.warps = 1;
  }
};

struct Options {
  int repeats = 200;   // medians are over these
  int launches = 100;  // of a repeat, between two synchronisations
  std::string json, device;
};

struct Row {
  std::string name;
  double median_us = 0, low_us = 0, high_us = 0;  // of a launch; 10 % and 90 %
};

Row measure(const Options& options, const Device& device, const std::string& name,
            const std::function<void()>& launch) {
  for (int i = 0; i < 3 * options.launches; ++i) launch();
  device.synchronize();
  std::vector<double> times;
  for (int r = 0; r < options.repeats; ++r) {
    const auto begin = Clock::now();
    for (int i = 0; i < options.launches; ++i) launch();
    const double us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    times.push_back(us / options.launches);
    device.synchronize();
  }
  std::sort(times.begin(), times.end());
  const Row row{name, times[times.size() / 2], times[times.size() / 10], times[times.size() * 9 / 10]};
  fmt::print("{:44} {:7.3f} us  ({:.3f} to {:.3f})\n", row.name, row.median_us, row.low_us, row.high_us);
  return row;
}

// The same kernel with the same parameters through nothing but the driver.
class Raw {
 public:
  Raw(const Device& device, const detail::KernelImpl::Launchable& launch, std::span<void* const> maps)
      : scope_(device.ordinal()), values_(launch.values), threads_(static_cast<unsigned>(launch.kernel->warps) * 32) {
    const jit::DriverApi& api = jit::driver_api();
    const auto compiled = jit::compile(cuda::print(*launch.kernel), cuda::function_name(*launch.kernel));
    jit::CuHandle module = nullptr;
    jit::check_cuda(api.module_load(&module, compiled.cubin.data()), "cuModuleLoadData");
    jit::check_cuda(api.module_function(&function_, module, cuda::function_name(*launch.kernel).c_str()),
                    "cuModuleGetFunction");
    shared_ = launch.kernel->shared_bytes;
    if (shared_ > 0) jit::check_cuda(api.function_set(function_, 8, static_cast<int>(shared_)), "cuFuncSetAttribute");
    for (std::int64_t& value : values_) params_.push_back(&value);
    params_.insert(params_.end(), maps.begin(), maps.end());
  }
  void launch() {
    jit::check_cuda(
        jit::driver_api().launch(function_, 1, 1, 1, threads_, 1, 1, shared_, nullptr, params_.data(), nullptr),
        "cuLaunchKernel");
  }
  void launch_ex() {
    jit::CuLaunchConfig config;
    config.grid[0] = config.grid[1] = config.grid[2] = config.block[1] = config.block[2] = 1;
    config.block[0] = threads_;
    config.shared_bytes = shared_;
    jit::check_cuda(jit::driver_api().launch_with_attributes(&config, function_, params_.data(), nullptr),
                    "cuLaunchKernelEx");
  }

 private:
  jit::ContextScope scope_;
  std::vector<std::int64_t> values_;
  std::vector<void*> params_;
  unsigned threads_;
  unsigned shared_ = 0;
  jit::CuHandle function_ = nullptr;
};

template <class S, class... H>
detail::KernelImpl::Launchable launchable_of(Kernel<S, std::tuple<H...>>& kernel,
                                             std::type_identity_t<typename detail::LaunchArgument<H>::type>... a) {
  const std::array<detail::Argument, sizeof...(H)> flat = {detail::to_argument(a)...};
  return kernel.impl().launchable(flat, kernel.device());
}

std::vector<jit::EncodedTensorMap> encoded_maps(const Device& device, const detail::KernelImpl::Launchable& launch) {
  std::vector<std::int64_t> scalars = launch.values;
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    if (launch.kernel->params[i].is_pointer) scalars[i] = 0;
  }
  std::vector<jit::EncodedTensorMap> maps;
  for (const ir::thread::TensorMap& map : launch.kernel->tensor_maps) {
    auto* pointer = reinterpret_cast<void*>(static_cast<std::uintptr_t>(launch.values[map.param]));
    device.state()->encode(map, runtime::resolve(map, scalars, pointer), &maps.emplace_back());
  }
  return maps;
}

class Bench {
 public:
  Bench(Options options, Device device) : options_(std::move(options)), device_(std::move(device)) {}

  template <class K, class... A>
  void kernel(const std::string& name, K& kernel, A&&... arguments) {
    kernel.on(device_)(arguments...);
    row(name, [&] { kernel(arguments...); });
    if (device_.is_simulated()) return;
    const auto launch = launchable_of(kernel, arguments...);
    auto maps = encoded_maps(device_, launch);
    std::vector<void*> addresses;
    for (jit::EncodedTensorMap& map : maps) addresses.push_back(&map);
    Raw raw(device_, launch, addresses);
    row(name + ", cuLaunchKernel", [&] { raw.launch(); });
    row(name + ", cuLaunchKernelEx", [&] { raw.launch_ex(); });
  }

  // What a changed pointer costs: the driver's two ways to a tensor map, one map each.
  template <class K, class... A>
  void maps(K& kernel, A&&... arguments) {
    if (device_.is_simulated()) return;
    const auto launch = launchable_of(kernel, arguments...);
    const ir::thread::TensorMap& map = launch.kernel->tensor_maps.front();
    auto encoded = encoded_maps(device_, launch);
    std::vector<std::int64_t> scalars = launch.values;
    for (std::size_t i = 0; i < scalars.size(); ++i) scalars[i] = launch.kernel->params[i].is_pointer ? 0 : scalars[i];
    const auto base = static_cast<std::uint64_t>(launch.values[map.param]);
    const runtime::ResolvedMap resolved = runtime::resolve(map, scalars, reinterpret_cast<void*>(base));
    row("one tensor map, cuTensorMapReplaceAddress",
        [&] { device_.state()->rebase(map, resolved, base, &encoded.front()); });
    row("one tensor map, cuTensorMapEncodeTiled", [&] { device_.state()->encode(map, resolved, &encoded.front()); });
  }

  void row(const std::string& name, const std::function<void()>& launch) {
    rows_.push_back(measure(options_, device_, name, launch));
  }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  Options options_;
  Device device_;
  std::vector<Row> rows_;
};

void run(Bench& bench, const Device& device) {
  Kernel<Empty> empty;
  bench.kernel("empty kernel", empty, 1);

  const int m = 64, n = 128, k = 64;
  std::vector<Buffer<float16>> a, b, c;
  for (int i = 0; i < 4; ++i) {
    a.push_back(device.randn<float16>({m, k}));
    b.push_back(device.randn<float16>({n, k}));
    c.push_back(device.empty<float16>({m, n}));
  }
  Kernel<hopper_matmul::MatmulTma<float16>> v0{{.block_m = 64, .block_n = 128, .block_k = 64}};
  bench.kernel("V0, three pointers", v0, m, n, k, a[0], b[0], c[0]);
  std::size_t turn = 0;
  bench.row("V0, three pointers that change", [&] {
    turn = (turn + 1) % 4;
    v0(m, n, k, a[turn], b[turn], c[turn]);
  });
  bench.row("V0, three raw pointers", [&] { v0(m, n, k, a[0].data(), b[0].data(), c[0].data()); });
  bench.maps(v0, m, n, k, a[0], b[0], c[0]);

  auto f = device.zeros<float>({16});
  auto h = device.zeros<float16>({16});
  Kernel<Twenty> twenty;
  bench.kernel("20 arguments", twenty, 1, 2, 3, 4, 5, 6, 7, 8, 9.0F, 10.0F, 11.0F, 12.0F, f, f, f, f, h, h, h, h);

  const Stream stream(device);
  const auto ten = [&](std::size_t i) {
    return [&, i] {
      for (int launch = 0; launch < 10; ++launch) v0.launch({.stream = stream}, m, n, k, a[i], b[i], c[i]);
    };
  };
  Graph graph = Graph::capture(stream, ten(0));
  bench.row("a graph of ten V0, replayed", [&] { graph.launch(); });
  bench.row("a graph of ten V0, updated and replayed", [&] {
    turn = (turn + 1) % 4;
    graph.update(ten(turn));
    graph.launch();
  });
}

void write_json(const Options& options, const Device& device, const std::vector<Row>& rows) {
  nlohmann::json rows_json = nlohmann::json::array();
  for (const Row& row : rows)
    rows_json.push_back(
        {{"name", row.name}, {"median_us", row.median_us}, {"low_us", row.low_us}, {"high_us", row.high_us}});
  const nlohmann::json all = {
      {"device", device.name()},
      {"driver", device.state()->driver()},
      {"protocol",
       fmt::format("host time of a call: {} repeats of {} calls after {} to warm up, the device synchronised between "
                   "repeats outside of the time; medians, and the 10th and 90th percentiles, of the repeats' means",
                   options.repeats, options.launches, 3 * options.launches)},
      {"rows", rows_json}};
  std::ofstream(options.json) << all.dump(2) << "\n";
}

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  CLI::App app("Host time of launches");
  app.add_option("--repeats", options.repeats)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--launches", options.launches, "of a repeat")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--device", options.device, "cuda or sim; default: the best")->check(CLI::IsMember({"cuda", "sim"}));
  app.add_option("--json", options.json, "write the rows to this file");
  CLI11_PARSE(app, argc, argv);
  const Device device = options.device == "cuda"  ? Device::cuda(0)
                        : options.device == "sim" ? Device::sim({.threads = 1})
                                                  : Device::best();
  fmt::print("{}\n", device.name());
  Bench bench(options, device);
  run(bench, device);
  if (!options.json.empty()) write_json(options, device, bench.rows());
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 3;
}
