// Kernels written in the language, called through the public surface, on the simulated Hopper.
#include <sys/wait.h>
#include <unistd.h>

#include "jit/compiler.hpp"
#include "runtime_fixture.hpp"
#include "tessera/tessera.hpp"

namespace tessera {
namespace {
using test::error_of;
using ::testing::HasSubstr;

struct Scale : Script {
  struct Config {
    int block = 128;
  };
  static Space<Config> space() { return Space<Config>{}.choices<&Config::block>({64, 128, 256}); }
  static constexpr auto params = names("n", "factor", "x_ptr", "y_ptr");

  Config config;
  explicit Scale(Config c) : config(c) {}
  void operator()(Int32 n, int factor, Ptr<float> x_ptr, Ptr<float> y_ptr) {
    attrs.blocks = {cdiv(n, config.block)};
    attrs.warps = 2;
    auto gx = global_view(x_ptr, {n});
    auto gy = global_view(y_ptr, {n});
    Int32 offset = blockIdx.x * config.block;
    auto x = load_global(gx, {offset}, {config.block});
    store_global(gy, x * static_cast<float>(factor), {offset});
  }
};

// No Config; a member decides the block.
struct Fill : Script {
  int block;
  explicit Fill(int b) : block(b) {}
  void operator()(Int32 n, Float32 value, Ptr<float> y_ptr) {
    attrs.blocks = {cdiv(n, block)};
    attrs.warps = 1;
    auto gy = global_view(y_ptr, {n});
    auto tile = register_tensor<float>({block}, 0.0f);
    store_global(gy, tile + value, {blockIdx.x * block});
  }
};

enum class Rounding : std::uint8_t { none, up };

// An enumeration is a compile-time constant as an int is.
struct Round : Script {
  void operator()(Rounding rounding, Ptr<float> y_ptr) {
    attrs.blocks = {1};
    attrs.warps = 1;
    store_global(global_view(y_ptr, {32}), register_tensor<float>({32}, rounding == Rounding::up ? 2.0f : 1.0f), {0});
  }
};

struct KernelTemplateTest : test::RuntimeTest {
  Device device = Device::sim({.threads = 1});
  std::vector<float> expected(const Buffer<float>& x, float factor) const {
    std::vector<float> values = x.to_host();
    for (float& v : values) v *= factor;
    return values;
  }
};

TEST_F(KernelTemplateTest, ComputesAndReports) {
  auto x = device.randn<float>({1000}), y = device.empty<float>({1000});
  Kernel<Scale> scale;
  EXPECT_EQ(scale.report().to_string(), "not called yet\n");
  scale(1000, 3, x, y);
  EXPECT_EQ(y.to_host(), expected(x, 3));
  const Report report = scale.report();
  EXPECT_EQ(report.kernel, "Scale");
  EXPECT_EQ(report.ranking, Report::Ranking::estimated);
  EXPECT_EQ(report.candidates.size(), 3U);
  EXPECT_EQ(report.bucket, "n in (512, 1024]");
  EXPECT_THAT(report.device, HasSubstr("simulated Hopper"));
  std::ifstream file(report.cuda_path);
  const std::string cuda{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(cuda, HasSubstr("__global__"));
  EXPECT_THAT(report.to_string(), HasSubstr("the simulated device has no clock"));
  scale(999, 3, x, y);
  scale(900, 3, x, y);
  EXPECT_EQ(scale.report().counters.traced, 3U);
  scale(900, 4, x, y);
  EXPECT_EQ(scale.report().counters.traced, 6U);
}

TEST_F(KernelTemplateTest, OneConfigSpacesAndScripts) {
  auto x = device.randn<float>({77}), y = device.zeros<float>({77});
  Kernel<Scale> pinned{{.block = 64}};
  pinned(77, 2, x, y);
  EXPECT_EQ(y.to_host(), expected(x, 2));
  EXPECT_EQ(pinned.report().config, "block=64");
  EXPECT_EQ(pinned.report().ranking, Report::Ranking::single);

  Kernel<Scale> parsed{Scale::space().parse("block=256")};
  parsed(77, 5, x, y);
  EXPECT_EQ(y.to_host(), expected(x, 5));
  EXPECT_EQ(parsed.report().config, "block=256");

  Kernel<Scale> smaller(Scale::space().where([](const Scale::Config& c) { return c.block < 200; }));
  smaller(77, 6, x, y);
  EXPECT_EQ(smaller.report().candidates.size(), 2U);

  Kernel<Fill> fill{Fill(32)};
  fill(70, 2.5, y);
  EXPECT_EQ(y.to_host()[69], 2.5F);
  EXPECT_EQ(y.to_host()[70], expected(x, 6)[70]);
}

TEST_F(KernelTemplateTest, EnumerationsAreConstants) {
  Kernel<Round> round;
  auto y = device.empty<float>({32});
  round(Rounding::none, y);
  EXPECT_EQ(y.to_host(), std::vector<float>(32, 1.0f));
  round(Rounding::up, y);
  EXPECT_EQ(y.to_host(), std::vector<float>(32, 2.0f));
  EXPECT_EQ(round.report().counters.traced, 2U);
}

TEST_F(KernelTemplateTest, PointersOfEveryKind) {
  std::vector<float> x(100, 2.0F), y(100, 0.0F);
  const std::vector<float> constant(100, 4.0F);
  Kernel<Scale> scale;
  scale(100, 2, x, y);
  EXPECT_EQ(y[99], 4.0F);
  scale(100, 2, constant, std::span<float>(y));
  EXPECT_EQ(y[99], 8.0F);
  scale.on(device);
  scale(100, 3, x.data(), y.data());
  EXPECT_EQ(y[99], 6.0F);
  auto buffer = device.zeros<float>({100});
  scale(50, 3, x, buffer.from(50));
  EXPECT_EQ(buffer.to_host()[49], 0.0F);
  EXPECT_EQ(buffer.to_host()[50], 6.0F);
  buffer = device.zeros<float>({101});
  scale(99, 3, x, buffer.from(1));  // not aligned to 16 bytes: a kernel of its own
  EXPECT_EQ(buffer.to_host()[0], 0.0F);
  EXPECT_EQ(buffer.to_host()[99], 6.0F);
  const Error error = error_of([&] { scale(100, 3, x, constant); });
  EXPECT_THAT(error.what(), HasSubstr("the argument for y_ptr is read-only memory"));
}

TEST_F(KernelTemplateTest, MistakesAreReportedAtTheCall) {
  auto x = device.randn<float>({100}), y = device.zeros<float>({100});
  Kernel<Scale> scale;
  const Error small = error_of([&] { scale(101, 2, x, y); });
  EXPECT_EQ(small.kind(), ErrorKind::user);
  EXPECT_EQ(small.diagnostics()[0].loc.line, static_cast<unsigned>(__LINE__ - 2));
  EXPECT_THAT(small.what(), HasSubstr("the argument for x_ptr has 400 bytes, but the view \"gx\" float32[101]"));
  EXPECT_EQ(small.diagnostics()[0].notes.size(), 1U);
  EXPECT_THAT(error_of([&] { scale(-1, 2, x, y); }).what(), HasSubstr("negative extent -1"));
  EXPECT_THAT(error_of([&] { scale(100, 2, nullptr, y); }).what(), HasSubstr("x_ptr is a null pointer"));
  EXPECT_THAT(error_of([&] { scale(std::int64_t{1} << 32, 2, x, y); }).what(),
              HasSubstr("the value 4294967296 does not fit into a kernel parameter of type int32"));
  EXPECT_THAT(error_of([&] { scale(10, 2, Buffer<float>(), y); }).what(), HasSubstr("null pointer"));
  auto other = Device::sim().zeros<float>({100});
  EXPECT_THAT(error_of([&] { scale(100, 2, x, other); }).what(), HasSubstr("another device of the same name"));
  scale(0, 2, x, y);  // nothing to do, no error
  EXPECT_EQ(y.to_host()[0], 0.0F);
}

TEST_F(KernelTemplateTest, SchedulesShareTheLoweredKernels) {
  Kernel<Scale> scale;
  for (const Schedule& schedule : {Schedule::eager(), Schedule::lazy(), Schedule::random(3)}) {
    const Device one = Device::sim({.schedule = schedule, .threads = 1});
    auto x = one.randn<float>({300}), y = one.empty<float>({300});
    scale(300, 2, x, y);
    EXPECT_EQ(y.to_host(), expected(x, 2));
  }
  EXPECT_EQ(scale.report().counters.traced, 3U);
}

TEST_F(KernelTemplateTest, CompileDoesNotLaunch) {
  auto x = device.randn<float>({100}), y = device.zeros<float>({100});
  Kernel<Scale> scale;
  scale.compile(100, 2, x, y);
  EXPECT_EQ(y.to_host()[0], 0.0F);
  EXPECT_EQ(scale.report().counters.launched, 0U);
  scale.launch({.device = device}, 100, 2, x, y);
  EXPECT_EQ(y.to_host(), expected(x, 2));
}

// NVRTC without a GPU: a device that takes cubins and runs nothing.
TEST_F(KernelTemplateTest, CubinsAreCompiledOnceAndCached) {
  std::string reason;
  if (!jit::available(&reason)) GTEST_SKIP() << reason;
  const Device gpu{std::make_shared<test::FakeDevice>(std::make_shared<test::FakeWorld>())};
  auto x = gpu.zeros<float>({1000}), y = gpu.zeros<float>({1000});
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    Kernel<Scale> scale{{.block = 64}};
    scale(1000, 3, x, y);
    ::_exit(static_cast<int>(scale.report().counters.compiled));
  }
  int compiled = 0;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    compiled += WEXITSTATUS(status);
  }
  EXPECT_EQ(compiled, 1);
  Kernel<Scale> all;
  all(1000, 3, x, y);
  const Report report = all.report();
  EXPECT_EQ(report.counters.compiled, 2U);
  EXPECT_EQ(report.counters.cache_hits, 1U);
  EXPECT_EQ(report.ranking, Report::Ranking::measured);
  for (const CandidateReport& row : report.candidates) {
    EXPECT_GT(row.registers, 0);
    EXPECT_EQ(row.spill_bytes, 0) << row.config;
  }
  EXPECT_TRUE(std::filesystem::file_size(report.directory + "/kernel.cubin") > 1000);
  Kernel<Scale> again;
  again(900, 3, x, y);
  EXPECT_EQ(again.report().counters.traced, 1U);
  EXPECT_EQ(again.report().counters.compiled, 0U);
  EXPECT_EQ(again.report().ranking, Report::Ranking::recorded);
}

struct Broken : Script {
  struct Config {
    int warps = 1;
  };
  static Space<Config> space() { return Space<Config>{}.choices<&Config::warps>({33, 40}); }
  Config config;
  explicit Broken(Config c) : config(c) {}
  void operator()(Int32 n) {
    attrs.blocks = {n};
    attrs.warps = config.warps;
  }
};

TEST_F(KernelTemplateTest, ASpaceThatFailsAsAWholeListsTheReasons) {
  Kernel<Broken> broken;
  const Error error = error_of([&] { broken.on(device)(4); });
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(), HasSubstr("warps=33"));
  EXPECT_THAT(error.what(), HasSubstr("warps=40"));
}

}  // namespace
}  // namespace tessera
