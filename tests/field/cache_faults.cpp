// Every operation on files that the cache makes fails in turn, once or from then on. The kernel runs, its result is
// right, at most one line is said, and the next healthy start finds or makes a whole cache.
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache_fixture.hpp"
#include "runtime/cache_upkeep.hpp"
#include "runtime/hash.hpp"

namespace tessera::test {
namespace {
using ::testing::HasSubstr;

struct FaultTest : CacheFieldTest {
  std::vector<std::string> configs = {"a", "b"};
  int most_warnings = 1;
  const std::string old_key = runtime::hash_hex("old");

  std::size_t compiled(const FieldKernel& kernel) { return kernel.world->compiled.size(); }

  void expect_every_entry_whole(const std::string& what) {
    for (const std::string& key : keys()) {
      runtime::CacheEntry entry;
      const auto check = runtime::read_entry(cache().directory(key), key, runtime::Cubin::required, &entry);
      EXPECT_EQ(check.state, runtime::EntryCheck::State::whole) << what << ": " << key << ": " << check.why;
      EXPECT_EQ(std::string(entry.compiled.cubin.begin(), entry.compiled.cubin.end()), entry.config) << what;
    }
  }

  // `prepare` leaves the cache as the scenario wants it. Returns how many operations failed in turn.
  int fail_each(const std::function<void()>& prepare, bool persistent, unsigned choices) {
    int tried = 0;
    for (int nth = 1;; ++nth) {
      bool reached = false;
      for (unsigned choice = 0; choice < choices; ++choice) {
        fs::remove_all(root_);
        fs::create_directories(root_);
        prepare();
        messages_.clear();
        FaultyFileSystem faulty;
        {
          const runtime::ScopedFileSystem scope(faulty);
          faulty.fail(nth, static_cast<unsigned>(nth) + choice, persistent);
          EXPECT_EQ(FieldKernel(configs, 3.0F).result(), 3.0F) << faulty.failed();
        }
        reached = reached || !faulty.failed().empty();
        EXPECT_LE(warnings(), most_warnings) << faulty.failed() << "\n" << messages_;
        heal(faulty.failed());
        ++tried;
        if (HasFailure()) return tried;  // the first failure is enough to read
      }
      if (!reached) {
        RecordProperty(persistent ? "operations_failed_for_good" : "operations_failed_once", nth - 1);
        return nth - 1;
      }
    }
  }

  void heal(const std::string& what) {
    messages_.clear();
    EXPECT_EQ(FieldKernel(configs, 3.0F).result(), 3.0F) << what;
    EXPECT_LE(warnings(), 1) << what << "\n" << messages_;
    messages_.clear();
    const FieldKernel third(configs, 3.0F);
    EXPECT_EQ(third.result(), 3.0F) << what;
    EXPECT_EQ(compiled(third), 0U) << what;
    EXPECT_EQ(messages_, "") << what;
    expect_every_entry_whole(what);
  }

  static bool HasFailure() { return ::testing::Test::HasFailure(); }
  void fill() { FieldKernel(configs, 3.0F).result(); }
  // A cache in which everything is old, without a ledger and with what a killed process left: the next upkeep has work.
  void age() {
    const auto old = fs::file_time_type::clock::now() - std::chrono::hours(48);
    fs::create_directories(root_ / "drafts" / "elsewhere_7_0_abc");
    fs::create_directories(root_ / "locks");
    overwrite(root_ / "locks" / (old_key + ".lock"), "");
    fs::last_write_time(root_ / "drafts" / "elsewhere_7_0_abc", old);
    fs::last_write_time(root_ / "locks" / (old_key + ".lock"), old);
    fs::remove(root_ / "ledger");
  }
};

TEST_F(FaultTest, WithAnEmptyCache) {
  EXPECT_GT(fail_each([] {}, false, 2), 60);
  EXPECT_GT(fail_each([] {}, true, 2), 60);
}

TEST_F(FaultTest, WithAFullCache) {
  EXPECT_GT(fail_each([&] { fill(); }, false, 3), 15);
  EXPECT_GT(fail_each([&] { fill(); }, true, 3), 15);
}

// One line for the damage, one for a cache that cannot be used.
TEST_F(FaultTest, WithADamagedEntry) {
  most_warnings = 2;
  configs = {"a"};
  const auto damage = [&] {
    fill();
    for (const std::string& key : keys()) overwrite(file(key, "kernel.cubin"), "garbage");
  };
  EXPECT_GT(fail_each(damage, false, 3), 60);
  EXPECT_GT(fail_each(damage, true, 3), 60);
}

TEST_F(FaultTest, WithADamagedRecord) {
  most_warnings = 3;  // of the record and of each candidate's entry
  const auto damage = [&] {
    fill();
    for (const auto& record : fs::directory_iterator(root_ / "tuning")) overwrite(record.path(), "{}");
  };
  EXPECT_GT(fail_each(damage, false, 2), 30);
  EXPECT_GT(fail_each(damage, true, 2), 30);
}

TEST_F(FaultTest, WithAnUpkeepThatHasWork) {
  const auto old_and_over = [&] {
    cache().store(old_key, sample("old"));
    const auto old = fs::file_time_type::clock::now() - std::chrono::hours(48);
    fs::last_write_time(file(old_key, "manifest.json"), old);
    age();
  };
  ::setenv("TESSERA_CACHE_SIZE", "1K", 1);
  for (int nth = 1; nth < 600; ++nth) {
    fs::remove_all(root_);
    fs::create_directories(root_);
    old_and_over();
    messages_.clear();
    FaultyFileSystem faulty;
    {
      const runtime::ScopedFileSystem scope(faulty);
      faulty.fail(nth, static_cast<unsigned>(nth), false);
      ASSERT_EQ(FieldKernel({"a"}, 3.0F).result(), 3.0F) << faulty.failed();
    }
    EXPECT_LE(warnings(), 1) << faulty.failed() << "\n" << messages_;
    for (const auto& lock : fs::directory_iterator(root_ / "locks")) {  // one that could not be removed: an hour later
      fs::last_write_time(lock.path(), fs::file_time_type::clock::now() - std::chrono::hours(2));
    }
    runtime::keep_up(root_, 100);
    EXPECT_FALSE(fs::exists(cache().directory(old_key))) << faulty.failed();
    EXPECT_FALSE(fs::exists(root_ / "locks" / (old_key + ".lock"))) << faulty.failed();
    EXPECT_FALSE(fs::exists(root_ / "drafts" / "elsewhere_7_0_abc")) << faulty.failed();
    ASSERT_FALSE(HasFailure());
    if (faulty.failed().empty()) break;
    ASSERT_LT(nth, 599);
  }
  ::unsetenv("TESSERA_CACHE_SIZE");
}

TEST_F(FaultTest, WithoutLocksItIsSlowerAndSaysSoOnce) {
  class Lockless final : public HastyFileSystem {
    int lock(int, int operation) override { return operation == LOCK_UN ? 0 : -ENOLCK; }
  } lockless;
  const runtime::ScopedFileSystem scope(lockless);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back(
        [&] { right += FieldKernel({"a"}, 3.0F, std::chrono::milliseconds(20)).result() == 3.0F ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 4);
  EXPECT_THAT(messages_, HasSubstr("has no locks"));
  EXPECT_EQ(warnings(), 1) << messages_;
  expect_every_entry_whole("without locks");
}

// The name is not there for who asks and there for who renames, as with a network file system's memory of absence.
TEST_F(FaultTest, AFileSystemThatForgetsWhatIsThere) {
  fill();
  class Forgetful final : public HastyFileSystem {
   public:
    int facts(const std::string& path, bool follow, runtime::FileFacts* out) override {
      return path.find("/kernels/") != std::string::npos ? -ENOENT : FileSystem::facts(path, follow, out);
    }
  } forgetful;
  {
    const runtime::ScopedFileSystem scope(forgetful);
    const FieldKernel kernel(configs, 3.0F);
    EXPECT_EQ(kernel.result(), 3.0F);
    EXPECT_GT(compiled(kernel), 0U);
  }
  EXPECT_EQ(messages_, "");
  heal("a forgetful file system");
}

// With a limit on the size of files the disk is full in the middle of one.
TEST_F(FaultTest, AFileThatCannotGrow) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100, 100};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const bool right = FieldKernel(configs, 3.0F).result() == 3.0F;
    ::_exit(right && warnings() == 1 && messages_.find("File too large") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(keys().empty());
  EXPECT_TRUE(!fs::exists(root_ / "drafts") || fs::is_empty(root_ / "drafts"));
  heal("files that cannot grow");
}

// A disk of 256 KiB. In a name space of its own, which not every machine allows.
TEST_F(FaultTest, ADiskThatIsFull) {
  constexpr int not_available = 77;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", root_.c_str(), "tmpfs", 0, "size=256k") != 0) {
      ::_exit(not_available);
    }
    overwrite(root_ / "filler", std::string(180 << 10, 'x'));
    runtime::CacheEntry big = sample("big");
    big.compiled.cubin.assign(100 << 10, 'c');
    const bool refused = cache().store("big", big).empty() && warnings() == 1;
    const bool told = messages_.find("No space left on device") != std::string::npos;
    const bool clean = fs::is_empty(root_ / "drafts") && keys().empty();
    const bool right = FieldKernel(configs, 3.0F).result() == 3.0F;
    fs::remove(root_ / "filler");
    messages_.clear();
    const bool again = !cache().store("big", big).empty() && cache().load("big", true).has_value();
    ::_exit((refused ? 0 : 1) | (told ? 0 : 2) | (clean ? 0 : 4) | (right ? 0 : 8) | (again ? 0 : 16));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == not_available) GTEST_SKIP() << "mounting is not available here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(FaultTest, AMissingFolderIsMade) {
  ::setenv("TESSERA_CACHE_DIR", (root_ / "a" / "b" / "c").c_str(), 1);
  EXPECT_EQ(FieldKernel(configs, 3.0F).result(), 3.0F);
  EXPECT_TRUE(fs::exists(root_ / "a" / "b" / "c" / "kernels"));
  EXPECT_EQ(messages_, "");
}

}  // namespace
}  // namespace tessera::test
