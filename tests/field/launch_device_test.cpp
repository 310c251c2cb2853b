// Launches through the real driver layer, on a driver of our own: addresses in tensor maps, streams, graphs, contexts,
// devices, and errors that surface later.
#include <thread>

#include "fake_gpu.hpp"
#include "jit/driver_api.hpp"

namespace tessera {
namespace {
using test::error_of;
using test::Scale;
using test::TmaScale;
using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using ::testing::Not;

struct LaunchOnDevice : test::FakeGpuTest {
  Device device() const { return Device::cuda(0); }
};

TEST_F(LaunchOnDevice, AChangedPointerReplacesTheAddressInItsTensorMap) {
  const Device gpu = device();
  auto x = gpu.zeros<float>({256}), u = gpu.zeros<float>({256}), y = gpu.zeros<float>({256});
  Kernel<TmaScale> scale;
  scale(256, x, y);
  forget();
  set("words", 4);  // n, x, y, the map's first word
  scale(256, x, y);
  EXPECT_THAT(record(), HasSubstr(address(x) + address(y) + address(x)));
  EXPECT_EQ(count("replace") + count("encode"), 0);
  scale(256, u, y);
  EXPECT_THAT(record(), HasSubstr(address(u) + address(y) + address(u)));
  EXPECT_EQ(count("replace"), 1);
  EXPECT_EQ(count("encode"), 0);
  scale(255, u, y);  // another shape: its map is encoded
  EXPECT_EQ(count("encode"), 1);
}

TEST_F(LaunchOnDevice, TheDriverIsAskedOnceForARawPointer) {
  const Device gpu = device();
  auto x = gpu.zeros<float>({256}), y = gpu.zeros<float>({256});
  Kernel<Scale> scale;
  scale.on(gpu);
  for (int i = 0; i < 5; ++i) scale(256, 2, x.data(), y.data());
  std::vector<float> host(256);
  EXPECT_THAT(error_of([&] { scale(256, 2, host.data(), y.data()); }).what(),
              HasSubstr("the argument for x_ptr is ordinary host memory"));
}

TEST_F(LaunchOnDevice, ContextsAreLeftAsFound) {
  std::thread([&] {
    auto* other = function<void*(int)>("fake_context")(1);
    ASSERT_EQ(jit::driver_api().context_set(other), 0);
    auto x = device().zeros<float>({64}), y = device().zeros<float>({64});
    Kernel<Scale> scale;
    scale(64, 2, x, y);
    const Stream stream(device());
    stream.synchronize();
    void* now = nullptr;
    ASSERT_EQ(jit::driver_api().context_get(&now), 0);
    EXPECT_EQ(now, other);
  }).join();
}

TEST_F(LaunchOnDevice, OneKernelOnTwoDevices) {
  const Device gpus[] = {Device::cuda(0), Device::cuda(1)};
  Kernel<Scale> scale;
  std::vector<std::thread> threads;
  for (const Device& gpu : gpus) {
    threads.emplace_back([&scale, gpu] {
      auto x = gpu.zeros<float>({64}), y = gpu.zeros<float>({64});
      for (int i = 0; i < 100; ++i) scale(64, 2, x, y);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(scale.report().counters.launched, 200U);
  EXPECT_EQ(scale.report().counters.traced, 1U);
  EXPECT_EQ(scale.report().counters.planned, 2U);
  auto x = gpus[0].zeros<float>({64}), y = gpus[1].zeros<float>({64});
  EXPECT_THAT(error_of([&] { scale(64, 2, x, y); }).what(), HasSubstr("another device of the same name"));
  const Stream second(gpus[1]);
  auto z = gpus[0].zeros<float>({64});
  EXPECT_THAT(error_of([&] { scale.launch({.stream = second}, 64, 2, x, z); }).what(),
              HasSubstr("Scale: the stream is of Fake H200, but the memory or the launch is of Fake H200 (another"));
  EXPECT_THAT(error_of([&] { static_cast<void>(Stream::wrap(gpus[0], second.handle())); }).what(),
              HasSubstr("Stream::wrap: the stream is of device 1, not of 0"));
  EXPECT_EQ(Stream::wrap(gpus[1], second.handle()).handle(), second.handle());
  Event event(gpus[0]);
  EXPECT_THAT(error_of([&] { event.record(second); }).what(), HasSubstr("make the event with the stream's device"));
}

TEST_F(LaunchOnDevice, StreamsAndEvents) {
  const Device gpu = device();
  const int before = function<int()>("fake_streams")();
  {
    const Stream one(gpu), two(gpu, {.independent = true});
    EXPECT_EQ(function<int()>("fake_streams")(), before + 2);
    Event begin(gpu), end(gpu);
    EXPECT_THAT(error_of([&] { two.wait(begin); }).what(), HasSubstr("never recorded"));
    EXPECT_THAT(error_of([&] { static_cast<void>(end.elapsed_ms_since(begin)); }).what(), HasSubstr("never recorded"));
    begin.record(one);
    end.record(one);
    EXPECT_DOUBLE_EQ(end.elapsed_ms_since(begin), 1.5);
    two.wait(one);
    EXPECT_EQ(count("wait\n"), 1);
    EXPECT_TRUE(one.finished());
    set("query", 600);
    EXPECT_FALSE(one.finished());
    EXPECT_FALSE(end.finished());
    set("query", 0);
    auto x = gpu.from_host(std::vector<float>(64, 3.0F), {64});
    auto y = gpu.empty<float>({64}), small = gpu.empty<float>({63});
    copy_on(one, x, y);
    EXPECT_EQ(y.to_host()[63], 3.0F);
    fill_on(one, y, 0);
    EXPECT_EQ(y.to_host()[63], 0.0F);
    EXPECT_THAT(error_of([&] { copy_on(one, x, small); }).what(), HasSubstr("256 bytes into a buffer of 252"));
    Kernel<Scale> scale;
    scale.stream(one)(64, 2, x, y);
    EXPECT_THAT(record(), HasSubstr(", stream"));
    scale.stream(nullptr);
    forget();
    scale(64, 2, x, y);
    EXPECT_THAT(record(), Not(HasSubstr(", stream")));
  }
  EXPECT_EQ(function<int()>("fake_streams")(), before);
}

TEST_F(LaunchOnDevice, AGraphIsReplayedWithOtherPointers) {
  const Device gpu = device();
  const Stream stream(gpu);
  auto x = gpu.zeros<float>({256}), u = gpu.zeros<float>({256}), y = gpu.zeros<float>({256});
  Kernel<TmaScale> tma;
  Kernel<Scale> scale;
  tma.compile(256, x, y);
  scale.compile(256, 3, y, x);
  forget();
  set("words", 4);
  const auto work = [&](const Buffer<float>& in, int times) {
    return [&, times] {
      tma.launch({.stream = stream}, 256, in, y);
      for (int i = 0; i < times; ++i) scale.launch({.stream = stream}, 256, 3, y, in);
    };
  };
  set("words", 3);
  Graph graph = Graph::capture(stream, work(x, 1));
  EXPECT_EQ(graph.kernels(), 2U);
  EXPECT_EQ(record(), "instantiate 2\n") << "nothing has run";
  graph.launch();
  graph.launch(Stream(gpu));
  EXPECT_EQ(count("graph launch"), 4);
  EXPECT_EQ(count(address(x) + address(y)), 2);
  forget();
  set("words", 3);
  EXPECT_TRUE(graph.update(work(u, 1)));
  EXPECT_EQ(record(), "replace\nupdate\n") << "the tensor map is that of the new pointer";
  graph.launch();
  EXPECT_EQ(count(address(u) + address(y)), 1);
  EXPECT_EQ(count(address(x) + address(y)), 0);
  EXPECT_FALSE(graph.update(work(x, 2))) << "another form";
  EXPECT_EQ(count("instantiate 3"), 1);
  const Device other = Device::cuda(1);
  EXPECT_THAT(error_of([&] { graph.launch(Stream(other)); }).what(), HasSubstr("Graph::launch: the stream is of"));
}

TEST_F(LaunchOnDevice, AGraphKeepsItsKernels) {
  const Device gpu = device();
  const Stream stream(gpu);
  auto x = gpu.zeros<float>({64}), y = gpu.zeros<float>({64});
  std::optional<Graph> graph;
  {
    Kernel<Scale> scale;
    scale.compile(64, 2, x, y);
    graph = Graph::capture(stream, [&] { scale.launch({.stream = stream}, 64, 2, x, y); });
  }
  EXPECT_EQ(count("unload"), 0);
  graph->launch();
  graph.reset();
  EXPECT_EQ(count("unload"), 1);
}

TEST_F(LaunchOnDevice, WhatACaptureDoesNotAllow) {
  const Device gpu = device();
  const Stream stream(gpu);
  auto x = gpu.zeros<float>({64}), y = gpu.zeros<float>({64});
  Kernel<Scale> scale;
  const auto refused = [&](const std::function<void()>& work) {
    return std::string(error_of([&] { static_cast<void>(Graph::capture(stream, work)); }).what());
  };
  EXPECT_THAT(refused([&] { scale.launch({.stream = stream}, 64, 2, x, y); }),
              HasSubstr("call kernel.compile(...) with the same arguments before the capture"));
  EXPECT_THAT(refused([&] { scale.compile(64, 2, x, y); }), HasSubstr("while its stream is being captured"));
  scale.compile(64, 2, x, y);
  EXPECT_THAT(refused([&] { scale(64, 2, x, y); }), HasSubstr("is on the default stream, which cannot be captured"));
  EXPECT_THAT(refused([&] { static_cast<void>(gpu.zeros<float>({8})); }), HasSubstr("allocate, compile, tune"));
  EXPECT_THAT(refused([&] { gpu.synchronize(); }), HasSubstr("is being captured into a graph"));
  EXPECT_THAT(refused([&] { static_cast<void>(Graph::capture(stream, [] {})); }),
              HasSubstr("a capture inside of a capture"));
  EXPECT_THAT(error_of([&] { static_cast<void>(Graph::capture(Stream::wrap(gpu, nullptr), [] {})); }).what(),
              HasSubstr("Graph::capture of the default stream"));
  EXPECT_THROW(Graph::capture(stream, [] { throw std::runtime_error("mine"); }), std::runtime_error);
  set("end_capture", 901);
  EXPECT_THAT(refused([] {}), HasSubstr("has to be joined with the captured stream"));
  set("end_capture", 0);
  Graph graph = Graph::capture(stream, [&] { scale.launch({.stream = stream}, 64, 2, x, y); });  // all is well again
  graph.launch();
  EXPECT_THAT(refused([&] { graph.launch(); }), HasSubstr("Graph::launch inside of a capture"));
  EXPECT_EQ(count("graph launch"), 1);
}

TEST_F(LaunchOnDevice, ACaptureOfAnotherLibraryIsSeen) {
  const Device gpu = device();
  const Stream own(gpu);
  const Stream stream = Stream::wrap(gpu, own.handle());
  auto x = gpu.zeros<float>({64}), y = gpu.zeros<float>({64});
  Kernel<Scale> ready, fresh;
  ready.compile(64, 2, x, y);
  set("foreign_capture", 1);
  EXPECT_NO_THROW(ready.launch({.stream = stream}, 64, 2, x, y));
  EXPECT_NO_THROW(ready.launch({.stream = stream}, 60, 2, x, y)) << "the same bucket: checked, neither tuned nor built";
  EXPECT_THAT(error_of([&] { fresh.launch({.stream = own.handle()}, 64, 2, x, y); }).what(),
              HasSubstr("call kernel.compile(...)"));
}

TEST_F(LaunchOnDevice, ALaunchErrorNamesTheKernelAndItsLine) {
  const Device gpu = device();
  auto x = gpu.zeros<float>({64}), y = gpu.zeros<float>({64});
  Kernel<Scale> scale;
  scale(64, 2, x, y);
  set("launch", 701);
  const Error error = error_of([&] { scale(64, 2, x, y); });
  EXPECT_EQ(error.kind(), ErrorKind::device);
  EXPECT_EQ(error.diagnostics()[0].loc.line, static_cast<unsigned>(__LINE__ - 2));
  EXPECT_THAT(error.what(), HasSubstr("cuLaunchKernel of kernel 'Scale' failed"));
}

// A lost context stays lost, so each of these is a process of its own.
struct LostContext : LaunchOnDevice {
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // a fresh process, not a copy of this one
    LaunchOnDevice::SetUp();
  }
};

void print(const Error& error) { std::fprintf(stderr, "%s\n", error.what()); }

TEST_F(LostContext, TheLaunchesThatMayHaveFailedAreNamedNowAndLater) {
  const auto child = [&] {
    const Device gpu = device();
    auto x = gpu.zeros<float>({64}), y = gpu.zeros<float>({64});
    Kernel<Scale> scale;
    Kernel<TmaScale> tma;
    scale(64, 2, x, y);
    gpu.synchronize();  // that one has ended well
    tma(64, x, y);
#line 1001
    for (int i = 0; i < 3; ++i) tma(64, y, x);
    scale(64, 3, x, y);
    set("synchronize", 700);
    print(error_of([&] { gpu.synchronize(); }));
    set("synchronize", 0);
    set("alloc", 700);
    const Error later = error_of([&] { static_cast<void>(gpu.zeros<float>({64})); });
    print(later);
    std::exit(later.diagnostics()[0].notes.size() == 3 ? 0 : 1);
  };
  EXPECT_EXIT(
      child(), ExitedWithCode(0),
      "cuCtxSynchronize failed: .*the failed kernel is one of the last launches: Scale at "
      "launch_device_test.cpp:1002, TmaScale at launch_device_test.cpp:1001, TmaScale at "
      "launch_device_test.cpp:[0-9]+; run with TESSERA_SYNC=1(.|\n)*"
      "cuMemAlloc failed: .*the failed kernel is one of the last launches: Scale at launch_device_test.cpp:1002");
}

TEST_F(LostContext, OneCandidateIsTheCulprit) {
  const auto child = [&] {
    const Device gpu = device();
    const Stream stream(gpu);
    auto x = gpu.zeros<float>({64}), y = gpu.zeros<float>({64});
    Kernel<Scale> scale;
#line 1101
    scale.launch({.stream = stream}, 64, 2, x, y);
    set("stream_synchronize", 719);
    print(error_of([&] { stream.synchronize(); }));
    std::exit(0);
  };
  EXPECT_EXIT(child(), ExitedWithCode(0), "the failed kernel is Scale at launch_device_test.cpp:1101 on stream 0x");
}

TEST_F(LostContext, AGraphIsNamedWithItsKernels) {
  const auto child = [&] {
    const Device gpu = device();
    const Stream stream(gpu);
    auto x = gpu.zeros<float>({64}), y = gpu.zeros<float>({64});
    Kernel<Scale> scale;
    scale(64, 2, x, y);
    Graph graph = Graph::capture(stream, [&] { scale.launch({.stream = stream}, 64, 2, x, y); });
    gpu.synchronize();
#line 1201
    graph.launch();
    set("synchronize", 700);
    print(error_of([&] { static_cast<void>(y.to_host()); }));
    std::exit(0);
  };
  EXPECT_EXIT(child(), ExitedWithCode(0), "a graph of 1 kernels .Scale. at launch_device_test.cpp:1201");
}

TEST_F(LostContext, WithWaitingLaunchesTheCulpritIsKnown) {
  const auto child = [&] {
    ::setenv("TESSERA_SYNC", "1", 1);
    const Device gpu = device();
    auto x = gpu.zeros<float>({64}), y = gpu.zeros<float>({64});
    Kernel<Scale> scale;
    scale(64, 2, x, y);
    set("stream_synchronize", 700);
#line 1301
    const Error error = error_of([&] { scale(64, 2, x, y); });
    print(error);
    set("synchronize", 700);
    print(error_of([&] { gpu.synchronize(); }));
    std::exit(error.diagnostics()[0].loc.line == 1301 ? 0 : 1);
  };
  EXPECT_EXIT(child(), ExitedWithCode(0),
              "the run of kernel 'Scale' failed: (.|\n)*cuCtxSynchronize failed: .*; the launch of Scale at "
              "launch_device_test.cpp:1301 failed while it ran");
}

}  // namespace
}  // namespace tessera
