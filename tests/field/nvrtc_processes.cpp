// Many processes that start with an empty cache and compile real kernels with the real NVRTC: each kernel once, and
// everybody launches the bytes that belong to the kernel. What they launch on says which bytes those were.
#include <dlfcn.h>

#include <chrono>
#include <random>
#include <set>

#include "cache_fixture.hpp"
#include "jit/compiler.hpp"
#include "runtime/cache_upkeep.hpp"
#include "workers.hpp"

namespace tessera::test {
namespace {
using Clock = std::chrono::steady_clock;

constexpr int kernels = 20;

struct NvrtcProcessTest : CacheFieldTest {
  void SetUp() override {
    CacheFieldTest::SetUp();
    folder_ = root_;
    std::string reason;
    if (!jit::available(&reason)) GTEST_SKIP() << "what is proved here is about the real compiler: " << reason;
    ::setenv("TESSERA_LIBCUDA", TESSERA_IMAGE_DRIVER, 1);
    use_cache("cache");
  }
  void TearDown() override {
    ::unsetenv("TESSERA_LIBCUDA");
    root_ = folder_;
    CacheFieldTest::TearDown();
  }
  void use_cache(const char* name) {
    root_ = folder_ / name;
    ::setenv("TESSERA_CACHE_DIR", root_.c_str(), 1);
  }
  fs::path log() const { return folder_ / "log"; }
  fs::path results() const { return folder_ / "results"; }
  std::vector<std::string> worker(int threads) const {
    return {TESSERA_NVRTC_WORKER, std::to_string(kernels), std::to_string(threads), log(), results()};
  }
  // Starts so many together and waits for them; the seconds that it took.
  double run_together(int processes, int threads) {
    Workers workers(folder_, log());
    for (int i = 0; i < processes; ++i) workers.start(worker(threads), true);
    const auto begin = Clock::now();
    workers.open_gate();
    workers.collect();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    for (const auto& [pid, status] : workers.status()) {
      EXPECT_EQ(status, 0);
      EXPECT_EQ(workers.output(pid), "");
    }
    return seconds;
  }
  // What one process compiles, with a cache of its own, and what the driver launches for each kernel then. (A kernel
  // whose registers do not suffice for as many CTAs as was hoped for is compiled again for fewer.)
  struct Alone {
    std::map<std::string, int> compiled, launched;
  };
  const Alone& reference() {
    static std::optional<Alone> known;
    if (known) return *known;
    use_cache("alone");
    run_together(1, 1);
    use_cache("cache");
    Alone& alone = known.emplace(Alone{counted_lines(log()), counted_lines(results())});
    std::set<std::string> images;
    for (const auto& [line, count] : alone.launched) images.insert(line.substr(line.find(' ') + 1));
    EXPECT_EQ(alone.compiled.size(), static_cast<std::size_t>(kernels));
    EXPECT_EQ(alone.launched.size(), static_cast<std::size_t>(kernels));
    EXPECT_EQ(images.size(), alone.launched.size()) << "two kernels have the same bytes: a mix-up would not show";
    forget_logs();
    return alone;
  }
  void forget_logs() const {
    fs::remove(log());
    fs::remove(results());
  }
  // Nothing but the launches of one process alone, each so many times.
  void expect_launched(const Alone& alone, int times) const {
    std::map<std::string, int> expected = alone.launched;
    for (auto& [line, count] : expected) count = times;
    EXPECT_EQ(counted_lines(results()), expected);
  }
  // The entries whose cubin is whole.
  int sound_entries() const {
    int sound = 0;
    for (const std::string& key : keys()) {
      runtime::CacheEntry entry;
      const auto check = runtime::read_entry(cache().directory(key), key, runtime::Cubin::required, &entry);
      EXPECT_EQ(check.state, runtime::EntryCheck::State::whole) << key << ": " << check.why;
      ++sound;
    }
    return sound;
  }
  fs::path folder_;
};

TEST_F(NvrtcProcessTest, SixteenProcessesCompileTwentyKernelsOnce) {
  constexpr int processes = 16, threads = 2;
  const Alone& alone = reference();
  const double cold = run_together(processes, threads);
  EXPECT_EQ(counted_lines(log()), alone.compiled) << "each kernel is compiled by one of the processes";
  expect_launched(alone, processes * threads);
  EXPECT_EQ(sound_entries(), kernels);
  EXPECT_TRUE(fs::is_empty(root_ / "drafts"));
  EXPECT_TRUE(fs::is_empty(root_ / "locks"));

  forget_logs();
  const double warm = run_together(processes, threads);
  EXPECT_EQ(counted_lines(log()), (std::map<std::string, int>{})) << "the second start compiles nothing";
  expect_launched(alone, processes * threads);
  std::printf("%d processes x %d kernels: %.2f s cold, %.2f s warm\n", processes, kernels, cold, warm);
}

// TESSERA_CACHE_ROUNDS asks for more of them.
TEST_F(NvrtcProcessTest, KilledProcessesLeaveNothingThatMatters) {
  constexpr int processes = 6;
  const Alone& alone = reference();
  const char* wanted = ::getenv("TESSERA_CACHE_ROUNDS");
  const int rounds = wanted == nullptr ? 4 : std::atoi(wanted);
  std::mt19937 random(20240612);
  int killed = 0, compiling = 0;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    for (const std::string& key : keys()) {
      if (random() % 2 == 0) fs::remove_all(cache().directory(key));
    }
    {
      Workers workers(folder_, log());
      std::set<pid_t> victims;
      for (int i = 0; i < processes; ++i) {
        const pid_t pid = workers.start(worker(1), true);
        if (i % 3 != 0) victims.insert(pid);
      }
      workers.open_gate();
      for (const pid_t pid : victims) {
        std::this_thread::sleep_for(std::chrono::milliseconds(random() % 900));
        ::kill(pid, SIGKILL);
      }
      killed += workers.collect_killed(victims);
    }
    compiling += static_cast<int>(counted_lines(log()).size());
    for (const auto& [line, count] : counted_lines(results())) EXPECT_TRUE(alone.launched.contains(line)) << line;
    forget_logs();
    run_together(1, 1);
    expect_launched(alone, 1);
    EXPECT_EQ(sound_entries(), kernels);
    ASSERT_FALSE(HasFailure());
    forget_logs();
  }
  EXPECT_GT(killed, rounds);
  EXPECT_GT(compiling, rounds) << "nobody was killed near a compilation";
  runtime::sweep(root_, runtime::now_ns() + std::int64_t{3601} * 1'000'000'000);
  EXPECT_TRUE(fs::is_empty(root_ / "drafts"));
}

// The driver stand-in sees what it has to see: otherwise the launches above prove nothing.
TEST_F(NvrtcProcessTest, TheDriverRefusesWhatIsNoImageOfTheKernel) {
  void* driver = ::dlopen(TESSERA_IMAGE_DRIVER, RTLD_NOW);
  ASSERT_NE(driver, nullptr) << ::dlerror();
  const auto load = reinterpret_cast<int (*)(void**, const void*)>(::dlsym(driver, "cuModuleLoadData"));
  const auto function = reinterpret_cast<int (*)(void**, void*, const char*)>(::dlsym(driver, "cuModuleGetFunction"));
  const jit::Compiled compiled = jit::compile("extern \"C\" __global__ void here() {}", "here");
  void *module = nullptr, *f = nullptr;
  ASSERT_EQ(load(&module, compiled.cubin.data()), 0);
  EXPECT_EQ(function(&f, module, "here"), 0);
  EXPECT_EQ(function(&f, module, "elsewhere"), 500);
  std::vector<char> other = compiled.cubin;
  other[1] = 'e';
  EXPECT_EQ(load(&module, other.data()), 200);
}

}  // namespace
}  // namespace tessera::test
