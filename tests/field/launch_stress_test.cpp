// Many launches, threads, streams and kernels: right results, and memory that stays where it is.
#include <malloc.h>
#include <unistd.h>

#include <numeric>
#include <thread>

#include "fake_gpu.hpp"
#include "sanitizers.hpp"

namespace tessera {
namespace {
using test::Scale;
using test::TmaScale;

// y[i] += x[i] + step, of which nothing may be lost or done twice.
struct Step : Script {
  void operator()(Int32 n, Int32 step, Ptr<std::int32_t> x_ptr, Ptr<std::int32_t> y_ptr) {
    attrs.blocks = {cdiv(n, 32)};
    attrs.warps = 1;
    auto y = global_view(y_ptr, {n});
    auto sum =
        load_global(global_view(x_ptr, {n}), {blockIdx.x * 32}, {32}) + load_global(y, {blockIdx.x * 32}, {32}) + step;
    store_global(y, sum, {blockIdx.x * 32});
  }
};

struct Stress : test::RuntimeTest {
  void SetUp() override {
    RuntimeTest::SetUp();
    set_progress(Progress::quiet);
  }
};

TEST_F(Stress, TenThousandLaunchesOfEightThreadsOnFourStreams) {
  constexpr int threads = 8, launches = 1250, n = 32;
  const Device device = Device::sim({.threads = 1});
  std::vector<Stream> streams;
  for (int i = 0; i < 4; ++i) streams.emplace_back(device);
  Kernel<Step> step;  // one object for all
  std::vector<std::vector<std::int32_t>> result(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      const auto x = device.full<std::int32_t>({n}, t);
      Buffer<std::int32_t> y[2] = {device.zeros<std::int32_t>({n}), device.zeros<std::int32_t>({n})};
      for (int i = 0; i < launches; ++i)
        step.launch({.stream = streams[static_cast<std::size_t>(t + i) % 4]}, n, i % 7, x, y[i % 2]);
      const auto even = y[0].to_host(), odd = y[1].to_host();
      for (std::size_t i = 0; i < n; ++i) result[static_cast<std::size_t>(t)].push_back(even[i] + odd[i]);
    });
  }
  for (std::thread& worker : workers) worker.join();
  int steps = 0;
  for (int i = 0; i < launches; ++i) steps += i % 7;
  for (int t = 0; t < threads; ++t)
    EXPECT_EQ(result[static_cast<std::size_t>(t)], std::vector<std::int32_t>(n, launches * t + steps));
  EXPECT_EQ(step.report().counters.launched, 10000U);
  EXPECT_EQ(step.report().counters.traced, 1U);
}

struct FlatMemory : test::FakeGpuTest {
  void SetUp() override {
    FakeGpuTest::SetUp();
    if (test::thread_sanitizer) GTEST_SKIP() << "memory in use is not available under the thread sanitizer";
  }
  static std::size_t in_use() { return ::mallinfo2().uordblks; }
  static std::size_t resident() {
    if (test::address_sanitizer) return 0;  // which keeps what was freed
    std::ifstream file("/proc/self/statm");
    std::size_t size = 0, pages = 0;
    file >> size >> pages;
    return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  }
};

TEST_F(FlatMemory, OverAHundredThousandLaunches) {
  const Device gpu = Device::cuda(0);
  const Stream stream(gpu);
  set("quiet", 1);
  std::vector<Buffer<float>> memory;
  for (int i = 0; i < 100; ++i) memory.push_back(gpu.zeros<float>({256}));
  Kernel<TmaScale> tma;
  Kernel<Scale> scale;
  scale.on(gpu);
  const auto some = [&](std::size_t launches) {
    for (std::size_t i = 0; i < launches; ++i) {
      const Buffer<float>&x = memory[i % 100], &y = memory[(i * 7 + 1) % 100];
      tma.launch({.stream = stream}, 129 + static_cast<int>(i % 100), x, y);  // more sizes than are kept
      scale(256, 2, x.data(), y.data());
    }
  };
  some(5000);
  const std::size_t before = in_use(), pages = resident();
  some(50000);
  EXPECT_LE(in_use(), before + 4096);
  EXPECT_LE(resident(), pages + (std::size_t{4} << 20));
  EXPECT_EQ(tma.report().counters.launched + scale.report().counters.launched, 110000U);
}

TEST_F(FlatMemory, OverAThousandKernelsAndGraphs) {
  const Device gpu = Device::cuda(0);
  const Stream stream(gpu);
  set("quiet", 1);
  auto x = gpu.zeros<float>({64}), y = gpu.zeros<float>({64});
  const auto some = [&](int kernels) {
    for (int i = 0; i < kernels; ++i) {
      Kernel<Scale> scale;
      scale(64, 2, x, y);
      Event event(gpu);
      event.record(Stream(gpu));
      Graph graph = Graph::capture(stream, [&] { scale.launch({.stream = stream}, 64, 2, x, y); });
      graph.update([&] { scale.launch({.stream = stream}, 64, 2, y, x); });
      graph.launch();
    }
  };
  some(100);
  const std::size_t before = in_use();
  const int allocations = function<int()>("fake_allocations")(), streams = function<int()>("fake_streams")();
  some(1000);
  EXPECT_LE(in_use(), before + 16384);
  EXPECT_EQ(function<int()>("fake_allocations")(), allocations);
  EXPECT_EQ(function<int()>("fake_streams")(), streams);
}

}  // namespace
}  // namespace tessera
