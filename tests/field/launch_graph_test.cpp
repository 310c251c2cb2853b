// Streams, events and graphs on the simulated device: the same calls as on a GPU, with the same mistakes reported.
#include <numeric>

#include "fake_gpu.hpp"

namespace tessera {
namespace {
using test::error_of;
using test::Scale;
using test::TmaScale;
using ::testing::HasSubstr;

struct GraphTest : test::RuntimeTest {
  void SetUp() override {
    RuntimeTest::SetUp();
    set_progress(Progress::quiet);
  }
  std::vector<float> times(float factor) const {
    std::vector<float> result = numbers;
    for (float& v : result) v *= factor;
    return result;
  }
  static std::vector<float> first_numbers() {
    std::vector<float> result(100);
    std::iota(result.begin(), result.end(), 1.0F);
    return result;
  }
  const std::vector<float> numbers = first_numbers();
  Device device = Device::sim({.threads = 1});
  Stream stream{device};
  Buffer<float> x = device.from_host(numbers, {100});
  Buffer<float> y = device.zeros<float>({100}), z = device.zeros<float>({100});
  Kernel<Scale> scale;
};

TEST_F(GraphTest, StreamsRunAtOnce) {
  scale.launch({.stream = stream}, 100, 2, x, y);
  EXPECT_EQ(y.to_host(), times(2));
  EXPECT_TRUE(stream.finished());
  const Stream other(device);
  EXPECT_NE(stream.handle(), other.handle());
  Event begin(device), end(device);
  begin.record(stream);
  scale.stream(other)(100, 3, x, y);
  end.record(other);
  stream.wait(end);
  stream.synchronize();
  EXPECT_GE(end.elapsed_ms_since(begin), 0.0);
  EXPECT_EQ(y.to_host(), times(3));
  copy_on(other, y, z);
  EXPECT_EQ(z.to_host(), times(3));
  fill_on(nullptr, z, 0);
  EXPECT_EQ(z.to_host(), std::vector<float>(100));
  const Device another = Device::sim();
  EXPECT_THAT(error_of([&] { scale.launch({.stream = Stream(another)}, 100, 2, x, y); }).what(),
              HasSubstr("(another device of the same name)"));
}

TEST_F(GraphTest, RecordsAndReplays) {
  scale.compile(100, 2, x, y);
  Graph graph = Graph::capture(stream, [&] {
    scale.launch({.stream = stream}, 100, 2, x, y);
    scale.launch({.stream = stream}, 100, 2, y, z);
    copy_on(stream, z, y);
  });
  EXPECT_EQ(graph.kernels(), 2U);
  EXPECT_EQ(z.to_host(), std::vector<float>(100)) << "nothing has run";
  graph.launch();
  EXPECT_EQ(y.to_host(), times(4));
  x.copy_from_host(times(10));
  graph.launch(Stream(device));
  EXPECT_EQ(z.to_host(), times(40)) << "memory is read when the graph runs";
}

TEST_F(GraphTest, AnUpdateTakesOtherPointersAndSizes) {
  scale.compile(100, 2, x, y);
  Graph graph = Graph::capture(stream, [&] { scale.launch({.stream = stream}, 100, 2, x, y); });
  EXPECT_TRUE(graph.update([&] { scale.launch({.stream = stream}, 99, 2, x, z); }));
  graph.launch();
  EXPECT_EQ(y.to_host(), std::vector<float>(100));
  std::vector<float> expected = times(2);
  expected.back() = 0;
  EXPECT_EQ(z.to_host(), expected);
  EXPECT_FALSE(graph.update([&] {
    scale.launch({.stream = stream}, 100, 2, x, y);
    scale.launch({.stream = stream}, 100, 2, y, z);
  }));
  graph.launch();
  EXPECT_EQ(z.to_host(), times(4));
}

TEST_F(GraphTest, AFailedUpdateLeavesTheGraph) {
  scale.compile(100, 2, x, y);
  Graph graph = Graph::capture(stream, [&] { scale.launch({.stream = stream}, 100, 2, x, y); });
  EXPECT_THROW(graph.update([] { throw std::runtime_error("mine"); }), std::runtime_error);
  graph.launch();
  EXPECT_EQ(y.to_host(), times(2));
}

TEST_F(GraphTest, MistakesAreThoseOfAGpu) {
  const auto refused = [&](const std::function<void()>& work) {
    return std::string(error_of([&] { static_cast<void>(Graph::capture(stream, work)); }).what());
  };
  EXPECT_THAT(refused([&] { scale.launch({.stream = stream}, 100, 2, x, y); }), HasSubstr("call kernel.compile(...)"));
  scale.compile(100, 2, x, y);
  EXPECT_THAT(refused([&] { scale(100, 2, x, y); }),
              HasSubstr("Scale inside of Graph::capture is on the default stream"));
  EXPECT_THAT(refused([&] { fill_on(nullptr, y, 1); }), HasSubstr("fill_on inside of Graph::capture"));
  EXPECT_THAT(refused([&] { static_cast<void>(Graph::capture(stream, [] {})); }), HasSubstr("a capture inside"));
  EXPECT_EQ(y.to_host(), std::vector<float>(100));
  scale(100, 2, x, y);
  EXPECT_EQ(y.to_host(), times(2));
}

TEST_F(GraphTest, TheGraphKeepsItsKernels) {
  std::optional<Graph> graph;
  {
    Kernel<TmaScale> tma;
    tma.compile(100, x, y);
    graph = Graph::capture(stream, [&] { tma.launch({.stream = stream}, 100, x, y); });
  }
  graph->launch();
  EXPECT_EQ(y.to_host(), times(2));
}

}  // namespace
}  // namespace tessera
