// tessera::matmul on streams and in graphs, on the simulated device: its memory for partial sums and for packed
// operands belongs to the graph.
#include "fake_gpu.hpp"
#include "tessera/matmul.hpp"

namespace tessera {
namespace {
using test::error_of;
using ::testing::HasSubstr;

struct MatmulGraph : test::RuntimeTest {
  void SetUp() override {
    RuntimeTest::SetUp();
    set_progress(Progress::quiet);
  }
  // Small integers, whose sums are exact.
  Buffer<float16> numbers(std::int64_t rows, std::int64_t columns, int seed) const {
    std::vector<float16> values;
    for (std::int64_t i = 0; i < rows * columns; ++i) values.emplace_back(static_cast<float>((i * 7 + seed) % 5 - 2));
    return device.from_host(values, {rows, columns});
  }
  std::vector<float> product(const Buffer<float16>& a, const Buffer<float16>& b, std::int64_t b_row,
                             std::int64_t b_column) const {
    const auto x = a.to_host(), y = b.to_host();
    std::vector<float> result;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (std::int64_t p = 0; p < k; ++p)
          sum += static_cast<float>(x[static_cast<std::size_t>(i * k + p)]) *
                 static_cast<float>(y[static_cast<std::size_t>(j * b_row + p * b_column)]);
        result.push_back(sum);
      }
    }
    return result;
  }
  // Captures, replays on other numbers, updates to another result.
  void check(const Matrix<float16>& b, const std::function<std::vector<float>()>& expected) {
    const auto work = [&](Buffer<float>& into) { return [&] { matmul(a, b, into, {.stream = stream}); }; };
    const Error error = error_of([&] { static_cast<void>(Graph::capture(stream, work(c))); });
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_THAT(error.what(), HasSubstr("call matmul once with the same operands before the capture"));
    matmul(a, b, c);
    fill_on(nullptr, c, 0);
    Graph graph = Graph::capture(stream, work(c));
    EXPECT_EQ(c.to_host(), std::vector<float>(static_cast<std::size_t>(m * n)));
    a.copy_from_host(numbers(m, k, 3).to_host());
    graph.launch();
    EXPECT_EQ(c.to_host(), expected());
    auto other = device.zeros<float>({m, n});
    EXPECT_TRUE(graph.update(work(other)));
    graph.launch();
    EXPECT_EQ(other.to_host(), expected());
  }

  static constexpr std::int64_t m = 8, n = 64, k = 16384;  // so long that partial sums go through memory
  Device device = Device::sim({.threads = 1});
  Stream stream{device};
  Buffer<float16> a = numbers(m, k, 1), b = numbers(n, k, 2);
  Buffer<float> c = device.zeros<float>({m, n});
};

TEST_F(MatmulGraph, PartialSumsAreTheGraphs) {
  check(b, [&] { return product(a, b, k, 1); });
  EXPECT_THAT(last_matmul_report().kernel, HasSubstr("splits")) << "otherwise this test sees no partial sums";
}

TEST_F(MatmulGraph, PackedOperandsAreTheGraphs) {
  const auto padded = numbers(n, k + 1, 5);
  check(Matrix<float16>(padded, n, k, k + 1, 1), [&] { return product(a, padded, k + 1, 1); });
  EXPECT_THAT(last_matmul_report().kernel, HasSubstr("PackRows")) << "otherwise this test sees no packed operand";
}

TEST_F(MatmulGraph, AStreamOfAnotherDeviceIsRefused) {
  const Device other = Device::sim();
  EXPECT_THAT(error_of([&] { matmul(a, b, c, {.stream = Stream(other)}); }).what(),
              HasSubstr("matmul: the stream is of simulated Hopper (eager), but the memory or the launch is of"));
}

}  // namespace
}  // namespace tessera
