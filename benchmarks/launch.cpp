// Host time of a launch after the first: on a GPU the time until the call returns, on the simulated Hopper the whole
// run of a kernel that does next to nothing.
#include <benchmark/benchmark.h>

#include "hopper_matmul/matmul_v0.hpp"
#include "jit/compiler.hpp"
#include "jit/driver.hpp"

namespace {

using namespace tessera;

struct Empty : Script {
  void operator()(Int32) {
    attrs.blocks = {1};
    attrs.warps = 1;
  }
};

// Calls `launch` once an iteration, and lets the device catch up outside the measured time before its queue is full.
template <class Launch>
void measure(benchmark::State& state, const Device& device, const Launch& launch) {
  launch();
  device.synchronize();
  int queued = 0;
  for (auto _ : state) {
    launch();
    if (++queued == 256) {
      state.PauseTiming();
      device.synchronize();
      queued = 0;
      state.ResumeTiming();
    }
  }
  device.synchronize();
  state.SetLabel(device.name());
}

// The driver's own launch call of an empty kernel: the others beside it show what Tessera adds.
void driver_call(benchmark::State& state) {
  const Device device = Device::best();
  if (device.is_simulated()) {
    state.SkipWithError("no GPU");
    return;
  }
  const auto compiled = jit::compile("extern \"C\" __global__ void empty(int) {}", "empty");
  const jit::Module module(device.ordinal(), compiled.cubin, "empty", 0);
  const unsigned grid[3] = {1, 1, 1};
  int argument = 1;
  void* arguments[] = {&argument};
  measure(state, device, [&] { module.launch(grid, 32, arguments, nullptr); });
}
BENCHMARK(driver_call);

void empty_kernel(benchmark::State& state) {
  const Device device = Device::best();
  Kernel<Empty> kernel;
  kernel.on(device);
  measure(state, device, [&] { kernel(1); });
}
BENCHMARK(empty_kernel);

// One tile of the product, so that the queue of a GPU drains as fast as it is filled.
void matmul_v0(benchmark::State& state) {
  const Device device = Device::best();
  const int m = 64, n = 128, k = 64;
  const auto a = device.randn<float16>({m, k}), b = device.randn<float16>({n, k});
  const auto c = device.empty<float16>({m, n});
  Kernel<hopper_matmul::MatmulTma<float16>> kernel{{.block_m = 64, .block_n = 128, .block_k = 64}};
  measure(state, device, [&] { kernel(m, n, k, a, b, c); });
}
BENCHMARK(matmul_v0);

}  // namespace

BENCHMARK_MAIN();
