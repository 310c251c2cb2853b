// Speed of the simulated Hopper: a whole V0 matmul, by host threads; and what checking adds to it, for V0 and for the
// largest kernel of the ladder.
#include <benchmark/benchmark.h>

#include "hopper_matmul/matmul_v0.hpp"
#include "hopper_matmul/matmul_v6.hpp"

namespace {

using namespace tessera;

void matmul_v0(benchmark::State& state) {
  const int size = static_cast<int>(state.range(0));
  const Device device = Device::sim({.threads = static_cast<int>(state.range(1))});
  const auto a = device.randn<float16>({size, size}, 1), b = device.randn<float16>({size, size}, 2);
  const auto c = device.empty<float16>({size, size});
  Kernel<hopper_matmul::MatmulTma<float16>> kernel{{.block_m = 128, .block_n = 128, .block_k = 64}};
  kernel.compile(size, size, size, a, b, c);
  for (auto _ : state) kernel(size, size, size, a, b, c);
  const double operations = 2.0 * size * size * size;
  state.counters["GFLOPS"] =
      benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}
BENCHMARK(matmul_v0)
    ->ArgNames({"size", "threads"})
    ->Args({256, 1})
    ->Args({512, 1})
    ->Args({512, 2})
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

// One schedule on one host thread, plain and checked.
template <class Script>
void checked(benchmark::State& state, const typename Script::Config& config) {
  const int size = static_cast<int>(state.range(0));
  const Device device = Device::sim({.schedule = Schedule::random(1), .threads = 1, .check = state.range(1) != 0});
  const auto a = device.randn<float16>({size, size}, 1), b = device.randn<float16>({size, size}, 2);
  const auto c = device.empty<float16>({size, size});
  Kernel<Script> kernel{config};
  kernel.compile(size, size, size, a, b, c);
  for (auto _ : state) kernel(size, size, size, a, b, c);
}
void checked_v0(benchmark::State& state) {
  checked<hopper_matmul::MatmulTma<float16>>(state, {.block_m = 128, .block_n = 128, .block_k = 64});
}
void checked_v6(benchmark::State& state) {
  checked<hopper_matmul::MatmulPersistent<float16>>(
      state, {.block_m = 128, .block_n = 256, .stages = 4, .cluster = 2, .group = 8});
}
BENCHMARK(checked_v0)->ArgNames({"size", "check"})->Args({256, 0})->Args({256, 1})->Unit(benchmark::kMillisecond);
BENCHMARK(checked_v6)->ArgNames({"size", "check"})->Args({256, 0})->Args({256, 1})->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
