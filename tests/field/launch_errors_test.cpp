// What a wait proves about launches: an error that a kernel leaves behind names only those that may not have ended.
#include <optional>
#include <thread>

#include "fake_gpu.hpp"
#include "jit/launch_log.hpp"
#include "tessera/runtime/graph.hpp"

namespace tessera {
namespace {
using test::error_of;
using test::Scale;
using ::testing::ElementsAre;
using ::testing::ExitedWithCode;
using ::testing::IsEmpty;

struct LaunchErrors : test::FakeGpuTest {
  void SetUp() override {
    FakeGpuTest::SetUp();
    gpu.synchronize();
    scale.compile(64, 2, x, y);
  }
  // Lines of the launches that an error would name.
  static std::vector<unsigned> candidates() {
    std::vector<unsigned> result;
    for (const jit::LaunchLog::Launch& launch : jit::launch_log(0).recent()) result.push_back(launch.origin.call.line);
    return result;
  }

  Device gpu = Device::cuda(0);
  Buffer<float> x = gpu.zeros<float>({64}), y = gpu.zeros<float>({64});
  Kernel<Scale> scale;
};

TEST_F(LaunchErrors, AWaitForAStreamProvesThatStreamsLaunches) {
  const Stream one(gpu), two(gpu);
#line 101
  scale.launch({.stream = one}, 64, 2, x, y);
  scale.launch({.stream = two}, 64, 2, x, y);
  scale(64, 2, x, y);
  EXPECT_THAT(candidates(), ElementsAre(103, 102, 101));
  one.synchronize();
  EXPECT_THAT(candidates(), ElementsAre(103, 102));
  two.synchronize();
  EXPECT_THAT(candidates(), ElementsAre(103));
  gpu.synchronize();
  EXPECT_THAT(candidates(), IsEmpty());
}

TEST_F(LaunchErrors, AWaitThatFailsProvesNothing) {
  const Stream one(gpu);
#line 201
  scale.launch({.stream = one}, 64, 2, x, y);
  set("stream_synchronize", 900);  // not the kernel's: the context is not lost
  error_of([&] { one.synchronize(); });
  set("query", 600);
  EXPECT_FALSE(one.finished());
  EXPECT_THAT(candidates(), ElementsAre(201));
  set("stream_synchronize", 0);
  set("query", 0);
  EXPECT_TRUE(one.finished());
  EXPECT_THAT(candidates(), IsEmpty());
}

TEST_F(LaunchErrors, AnEventProvesWhatCameBeforeIt) {
  const Stream one(gpu), two(gpu);
  Event middle(gpu), end(gpu);
#line 301
  scale.launch({.stream = one}, 64, 2, x, y);
  scale.launch({.stream = two}, 64, 2, x, y);
  middle.record(one);
  scale.launch({.stream = one}, 64, 2, x, y);
  middle.synchronize();
  EXPECT_THAT(candidates(), ElementsAre(304, 302));
  end.record(two);
  scale.launch({.stream = two}, 64, 2, x, y);
  set("query", 600);
  EXPECT_FALSE(end.finished());
  EXPECT_THAT(candidates(), ElementsAre(308, 304, 302));
  set("query", 0);
  EXPECT_TRUE(end.finished());
  EXPECT_THAT(candidates(), ElementsAre(308, 304));
  set("event_synchronize", 900);
  end.record(two);
  error_of([&] { end.synchronize(); });
  EXPECT_THAT(candidates(), ElementsAre(308, 304));
}

TEST_F(LaunchErrors, AnEventMeansItsLastRecording) {
  const Stream one(gpu), two(gpu);
  Event event(gpu);
#line 401
  scale.launch({.stream = one}, 64, 2, x, y);
  event.record(one);
  scale.launch({.stream = two}, 64, 2, x, y);
  event.record(two);
  event.synchronize();
  EXPECT_THAT(candidates(), ElementsAre(401));
}

TEST_F(LaunchErrors, MeasuringATimeProvesBothEnds) {
  const Stream one(gpu);
  Event begin(gpu), end(gpu);
#line 501
  scale.launch({.stream = one}, 64, 2, x, y);
  begin.record(one);
  scale.launch({.stream = one}, 64, 2, x, y);
  end.record(one);
  scale.launch({.stream = one}, 64, 2, x, y);
  static_cast<void>(end.elapsed_ms_since(begin));
  EXPECT_THAT(candidates(), ElementsAre(505));
}

// That another stream was made to wait is not followed: it proves too little rather than too much.
TEST_F(LaunchErrors, AWaitOfAStreamForAnotherProvesOnlyItsOwn) {
  const Stream one(gpu), two(gpu);
#line 601
  scale.launch({.stream = one}, 64, 2, x, y);
  two.wait(one);
  scale.launch({.stream = two}, 64, 2, x, y);
  two.synchronize();
  EXPECT_THAT(candidates(), ElementsAre(601));
}

TEST_F(LaunchErrors, TheDefaultStreamIsAStreamOfItsOwn) {
  const Stream one(gpu), standard = Stream::wrap(gpu, nullptr);
  Event event(gpu);
#line 701
  scale(64, 2, x, y);
  event.record(standard);
  scale.launch({.stream = one}, 64, 2, x, y);
  scale(64, 2, x, y);
  one.synchronize();
  EXPECT_THAT(candidates(), ElementsAre(704, 701));
  event.synchronize();
  EXPECT_THAT(candidates(), ElementsAre(704));
  scale.launch({.stream = one}, 64, 2, x, y);
  standard.synchronize();
  EXPECT_THAT(candidates(), ElementsAre(709));
}

TEST_F(LaunchErrors, AGraphIsALaunchOnItsStream) {
  const Stream one(gpu), two(gpu);
  Event middle(gpu);
  const Graph graph = Graph::capture(one, [&] { scale.launch({.stream = one}, 64, 2, x, y); });
  EXPECT_THAT(candidates(), IsEmpty()) << "what is captured does not run";
#line 801
  graph.launch();
  graph.launch(two);
  middle.record(one);
  graph.launch();
  middle.synchronize();
  EXPECT_THAT(candidates(), ElementsAre(804, 802));
  two.synchronize();
  EXPECT_THAT(candidates(), ElementsAre(804));
  one.synchronize();
  EXPECT_THAT(candidates(), IsEmpty());
}

// An event that is recorded in a capture is a node of a graph.
TEST_F(LaunchErrors, AnEventOfACaptureProvesNothing) {
  const Stream one(gpu);
  Event event(gpu);
#line 901
  scale.launch({.stream = one}, 64, 2, x, y);
  event.record(one);
  static_cast<void>(Graph::capture(one, [&] {
    scale.launch({.stream = one}, 64, 2, x, y);
    event.record(one);
  }));
  EXPECT_TRUE(event.finished());
  EXPECT_THAT(candidates(), ElementsAre(901));
}

// The driver gives handles out again.
TEST_F(LaunchErrors, ANewStreamProvesNothingAboutADestroyedOne) {
  std::optional<Stream> first(std::in_place, gpu);
  void* const handle = first->handle();
#line 1001
  scale.launch({.stream = *first}, 64, 2, x, y);
  first.reset();
  jit::launch_log(0).clear(jit::launch_log(0).place(handle));  // as a wait for a stream with this handle does
  EXPECT_THAT(candidates(), ElementsAre(1001));
}

TEST_F(LaunchErrors, ThreadsWithAStreamEachLeaveNothing) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      const Stream stream(gpu);
      auto in = gpu.zeros<float>({64}), out = gpu.zeros<float>({64});
      for (int i = 0; i < 100; ++i) {
        scale.launch({.stream = stream}, 64, 2, in, out);
        if (i % 10 == 9) stream.synchronize();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(candidates(), IsEmpty());
}

// A lost context stays lost, so each of these is a process of its own.
struct LostContextOfAStream : LaunchErrors {
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    LaunchErrors::SetUp();
  }
};

void print(const Error& error) { std::fprintf(stderr, "%s\n", error.what()); }

TEST_F(LostContextOfAStream, OnlyTheOtherStreamsLaunchIsNamed) {
  const auto child = [&] {
    const Stream one(gpu), two(gpu);
#line 1101
    scale.launch({.stream = one}, 64, 2, x, y);
    scale.launch({.stream = two}, 64, 2, x, y);
    one.synchronize();
    set("stream_synchronize", 700);
    print(error_of([&] { two.synchronize(); }));
    std::exit(0);
  };
  EXPECT_EXIT(child(), ExitedWithCode(0), "; the failed kernel is Scale at launch_errors_test.cpp:1102 on stream 0x");
}

TEST_F(LostContextOfAStream, AfterAnEventOnlyWhatCameBehindItIsNamed) {
  const auto child = [&] {
    const Stream one(gpu);
    Event middle(gpu);
#line 1201
    scale.launch({.stream = one}, 64, 2, x, y);
    middle.record(one);
    scale.launch({.stream = one}, 64, 3, x, y);
    middle.synchronize();
    set("synchronize", 719);
    print(error_of([&] { static_cast<void>(y.to_host()); }));
    std::exit(0);
  };
  EXPECT_EXIT(child(), ExitedWithCode(0), "; the failed kernel is Scale at launch_errors_test.cpp:1203 on stream 0x");
}

TEST_F(LostContextOfAStream, WhereAllHaveEndedSomebodyElseIsToBlame) {
  const auto child = [&] {
    const Stream one(gpu);
#line 1301
    scale.launch({.stream = one}, 64, 2, x, y);
    one.synchronize();
    set("synchronize", 700);
    print(error_of([&] { gpu.synchronize(); }));
    std::exit(0);
  };
  EXPECT_EXIT(child(), ExitedWithCode(0), "no launch of Tessera is unfinished");
}

}  // namespace
}  // namespace tessera
