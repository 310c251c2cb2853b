// Many processes and threads on one cache: who starts together compiles once, who is killed leaves nothing that
// matters, who stops holds nobody up for ever.
#include <iterator>
#include <random>

#include "cache_fixture.hpp"
#include "runtime/cache_upkeep.hpp"
#include "workers.hpp"

namespace tessera::test {
namespace {
using std::chrono::milliseconds;
using ::testing::HasSubstr;

// Processes of cache_worker.
class CacheWorkers : public Workers {
 public:
  using Workers::Workers;
  pid_t start(int kernels, int threads, int compile_ms, bool at_the_gate = true) {
    return Workers::start({TESSERA_CACHE_WORKER, std::to_string(kernels), std::to_string(threads),
                           std::to_string(compile_ms), log().string()},
                          at_the_gate);
  }
};

struct ProcessTest : CacheFieldTest {
  void SetUp() override {
    CacheFieldTest::SetUp();
    folder_ = root_;
    root_ = folder_ / "cache";
    ::setenv("TESSERA_CACHE_DIR", root_.c_str(), 1);
  }
  void TearDown() override {
    root_ = folder_;
    ::unsetenv("TESSERA_CACHE_WAIT");
    CacheFieldTest::TearDown();
  }
  std::map<std::string, int> compilations() const { return counted_lines(folder_ / "log"); }
  void await_compilation(const std::string& config) const {
    while (!compilations().contains(config)) std::this_thread::sleep_for(milliseconds(2));
  }
  void expect_clean(int kernels) {
    EXPECT_EQ(keys().size(), static_cast<std::size_t>(kernels));
    EXPECT_TRUE(fs::is_empty(root_ / "drafts"));
    EXPECT_TRUE(fs::is_empty(root_ / "locks"));
  }
  int sound_entries() {
    int sound = 0;
    for (const std::string& key : keys()) {
      runtime::CacheEntry entry;
      const auto check = runtime::read_entry(cache().directory(key), key, runtime::Cubin::required, &entry);
      EXPECT_EQ(check.state, runtime::EntryCheck::State::whole) << key << ": " << check.why;
      EXPECT_EQ(std::string(entry.compiled.cubin.begin(), entry.compiled.cubin.end()), entry.config);
      ++sound;
    }
    return sound;
  }
  fs::path folder_;
};

TEST_F(ProcessTest, SixteenProcessesCompileTwentyKernelsOnce) {
  CacheWorkers workers(folder_, folder_ / "log");
  for (int i = 0; i < 16; ++i) workers.start(20, 2, 5);
  workers.open_gate();
  workers.collect();
  for (const auto& [pid, status] : workers.status()) {
    EXPECT_EQ(status, 0);
    EXPECT_EQ(workers.output(pid), "");
  }
  const auto counts = compilations();
  EXPECT_EQ(counts.size(), 20U);
  for (const auto& [config, count] : counts) EXPECT_EQ(count, 1) << config;
  expect_clean(20);
  EXPECT_EQ(sound_entries(), 20);
}

TEST_F(ProcessTest, SixteenThreadsWithObjectsOfTheirOwnCompileOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&] {
      const FieldKernel kernel({"a"}, 5.0F, milliseconds(20));
      kernel.world->compile_log = folder_ / "log";
      right += kernel.result() == 5.0F ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 16);
  EXPECT_EQ(compilations(), (std::map<std::string, int>{{"a", 1}}));
  EXPECT_EQ(messages_, "");
  expect_clean(1);
}

// Rounds in which processes are killed at random times, each followed by a healthy start. TESSERA_CACHE_ROUNDS asks for
// more of them.
TEST_F(ProcessTest, KilledProcessesLeaveNothingThatMatters) {
  constexpr int processes = 8, kernels = 20;
  const char* wanted = ::getenv("TESSERA_CACHE_ROUNDS");
  const int rounds = wanted == nullptr ? 6 : std::atoi(wanted);
  std::mt19937 random(20240521);
  int killed = 0, unfinished = 0;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    std::error_code ignored;
    if (round % 2 == 0) fs::remove_all(root_ / "kernels", ignored);  // in between they find a part of it there
    for (const std::string& key : keys()) {
      if (random() % 2 == 0) fs::remove_all(cache().directory(key));
    }
    {
      CacheWorkers workers(folder_, folder_ / "log");
      std::set<pid_t> victims;
      for (int i = 0; i < processes; ++i) {
        const pid_t pid = workers.start(kernels, 2, 1);
        if (random() % 2 == 0) victims.insert(pid);
      }
      workers.open_gate();
      for (const pid_t pid : victims) {
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 30000));
        ::kill(pid, SIGKILL);
      }
      killed += workers.collect_killed(victims);
    }
    unfinished += static_cast<int>(std::distance(fs::directory_iterator(root_ / "drafts"), {}));
    CacheWorkers next(folder_, folder_ / "log");
    const pid_t pid = next.start(kernels, 1, 0, false);
    EXPECT_EQ(next.wait(pid), 0);
    EXPECT_EQ(next.output(pid), "");
    EXPECT_EQ(sound_entries(), kernels);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(killed, rounds / 2);
  RecordProperty("killed", killed);
  RecordProperty("drafts_left_over_all_rounds", unfinished);
  // What they left is swept up once it is old enough; the makers are gone.
  const auto later = runtime::now_ns() + std::int64_t{3601} * 1'000'000'000;
  runtime::sweep(root_, later);
  expect_clean(kernels);
}

// The holder of the lock has stopped (a debugger, a suspended shell): the others wait as long as they are told to, one
// takes over and compiles, and the rest take its result.
TEST_F(ProcessTest, AStoppedHolderCostsOneBoundedWait) {
  CacheWorkers holder(folder_, folder_ / "log");
  const pid_t stopped = holder.start(1, 1, 600000, false);
  await_compilation("k0");
  ::kill(stopped, SIGSTOP);
  ::setenv("TESSERA_CACHE_WAIT", "1.5", 1);
  CacheWorkers others(folder_, folder_ / "log");
  for (int i = 0; i < 4; ++i) others.start(1, 1, 0);
  others.open_gate();
  others.collect();
  int said = 0;
  for (const auto& [pid, status] : others.status()) {
    EXPECT_EQ(status, 0);
    const std::string output = others.output(pid);
    const std::size_t warning = output.find("warning");
    if (warning == std::string::npos) continue;
    ++said;
    EXPECT_THAT(output, HasSubstr("may have stopped"));
    EXPECT_EQ(output.find("warning", warning + 1), std::string::npos) << output;
  }
  EXPECT_GE(said, 1);
  EXPECT_LT(compilations().at("k0"), 5) << "that of the holder and that of who took over, not one a process";
  EXPECT_EQ(sound_entries(), 1);
  ::kill(stopped, SIGCONT);
}

// The compiler hangs: the others go on, and what the cache knows by then is used.
TEST_F(ProcessTest, AHangingCompilerCostsOneBoundedWait) {
  CacheWorkers holder(folder_, folder_ / "log");
  holder.start(1, 1, 600000, false);
  await_compilation("k0");
  ::setenv("TESSERA_CACHE_WAIT", "0.3", 1);
  CacheWorkers others(folder_, folder_ / "log");
  const pid_t first = others.start(3, 1, 0, false);
  EXPECT_EQ(others.wait(first), 0);
  EXPECT_THAT(others.output(first), HasSubstr("TESSERA_CACHE_WAIT"));
  const pid_t second = others.start(3, 1, 0, false);
  EXPECT_EQ(others.wait(second), 0);
  EXPECT_EQ(others.output(second), "");
  EXPECT_EQ(sound_entries(), 3);
}

TEST_F(ProcessTest, AKilledHolderFreesItsLock) {
  pid_t pid = 0;
  {
    CacheWorkers holder(folder_, folder_ / "log");
    pid = holder.start(1, 1, 600000, false);
    await_compilation("k0");
    ::kill(pid, SIGKILL);
    holder.wait(pid);
  }
  EXPECT_EQ(FieldKernel({"k0"}, 2.0F).result(), 2.0F);  // would wait for a minute
  EXPECT_EQ(messages_, "");
  expect_clean(1);
}

TEST_F(ProcessTest, LocksExcludeThreads) {
  std::atomic<int> inside{0}, most{0}, passed{0};  // atomic, since no tool sees that the system's locks order anything
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const runtime::FileLock lock = cache().lock("k");
        if (!lock.held()) continue;
        const int now = ++inside;
        if (now > most) most = now;
        std::this_thread::yield();
        ++passed;
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(passed, 160);
  EXPECT_TRUE(fs::is_empty(root_ / "locks"));
}

// A child that was forked while the lock was held has the open file, too.
TEST_F(ProcessTest, AChildDoesNotInheritTheLock) {
  pid_t child = 0;
  {
    const runtime::FileLock lock = cache().lock("k");
    child = ::fork();
    if (child == 0) {
      ::pause();
      ::_exit(0);
    }
  }
  EXPECT_TRUE(runtime::FileLock::attempt(root_ / "locks" / "k.lock").held());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_F(ProcessTest, WhatIsNoFileIsNoLock) {
  fs::create_directories(root_ / "locks" / "k.lock" / "something");
  EXPECT_TRUE(cache().lock("k").held());
  fs::create_symlink("loop.lock", root_ / "locks" / "loop.lock");
  EXPECT_TRUE(cache().lock("loop").held());
  EXPECT_EQ(messages_, "");
}

TEST_F(ProcessTest, AWaitOfNoKnownFormIsRefused) {
  ::setenv("TESSERA_CACHE_WAIT", "soon", 1);
  EXPECT_TRUE(cache().lock("k").held());
  EXPECT_THAT(messages_, HasSubstr("TESSERA_CACHE_WAIT is 'soon'; it can be a number of seconds from 0 to 86400"));
}

TEST_F(ProcessTest, DraftsAreSweptByAgeAndMaker) {
  const std::string mine = runtime::private_name();
  const auto maker = runtime::maker_of(mine);
  ASSERT_TRUE(maker.has_value());
  EXPECT_EQ(maker->process, ::getpid());
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  const std::string dead = maker->host + "_" + std::to_string(gone) + "_0_1f";
  const std::string elsewhere = "another-machine_" + std::to_string(gone) + "_0_1f";
  const fs::path drafts = root_ / "drafts";
  for (const std::string& name : {mine, dead, elsewhere, std::string("strange")}) {
    fs::create_directories(drafts / name / "sub");
  }
  const auto after = [&](std::int64_t seconds) {
    runtime::sweep(root_, runtime::now_ns() + seconds * 1'000'000'000);
    std::set<std::string> left;
    for (const auto& entry : fs::directory_iterator(drafts)) left.insert(entry.path().filename());
    return left;
  };
  EXPECT_EQ(after(0), (std::set<std::string>{mine, dead, elsewhere, "strange"})) << "everything is young";
  EXPECT_EQ(after(3600), (std::set<std::string>{mine, elsewhere, "strange"})) << "its maker is gone";
  EXPECT_EQ(after(2 * 86400), std::set<std::string>{"strange"}) << "no store takes a day; the last one is not ours";
}

}  // namespace
}  // namespace tessera::test
