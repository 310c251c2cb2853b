// Speed of the simulated Hopper: a whole V0 matmul, by host threads.
#include <benchmark/benchmark.h>

#include "hopper_matmul/matmul_v0.hpp"

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

}  // namespace

BENCHMARK_MAIN();
