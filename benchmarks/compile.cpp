// What the compiler itself costs before NVRTC is asked: tracing, lowering and printing all candidates of V0.
#include <benchmark/benchmark.h>

#include <array>

#include "cuda/printer.hpp"
#include "hopper_matmul/matmul_v0.hpp"
#include "passes/pipeline.hpp"

namespace {

using Matmul = hopper_matmul::MatmulTma<tessera::float16>;

constexpr std::array<std::int64_t, 6> constants = {0, 8192, 8192, 0, 0, 0};

void trace(benchmark::State& state) {
  const auto configs = Matmul::space().configs();
  for (auto _ : state) {
    for (const auto& config : configs)
      benchmark::DoNotOptimize(tessera::detail::trace<Matmul>(Matmul(config), constants));
  }
  state.counters["candidates"] = static_cast<double>(configs.size());
}
BENCHMARK(trace)->Unit(benchmark::kMillisecond);

void trace_lower_print(benchmark::State& state) {
  const auto configs = Matmul::space().configs();
  std::size_t bytes = 0, refused = 0;
  for (auto _ : state) {
    bytes = refused = 0;
    for (const auto& config : configs) {
      const auto kernel = tessera::detail::trace<Matmul>(Matmul(config), constants);
      try {
        bytes += tessera::cuda::print(tessera::passes::lower(*kernel).kernel).size();
      } catch (const tessera::Error&) {
        ++refused;  // its accumulator does not fit in the registers
      }
    }
  }
  state.counters["candidates"] = static_cast<double>(configs.size());
  state.counters["refused"] = static_cast<double>(refused);
  state.counters["CUDA_bytes"] = static_cast<double>(bytes);
}
BENCHMARK(trace_lower_print)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
