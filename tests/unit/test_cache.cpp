#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "runtime/cache.hpp"
#include "runtime/hash.hpp"
#include "runtime_fixture.hpp"

namespace tessera::runtime {
namespace {
using ::testing::HasSubstr;
namespace fs = std::filesystem;

CacheEntry sample(const std::string& tag = "") {
  CacheEntry entry;
  entry.kernel = "Sample";
  entry.config = "block=64";
  entry.target = "compiler 1";
  entry.cuda = "extern \"C\" __global__ void sample() {} // " + tag;
  entry.tile_text = "tile";
  entry.thread_text = "thread";
  entry.compiled.log = "log";
  entry.compiled.cubin = {'\x7f', 'E', 'L', 'F', '\0', 'x'};
  for (const char c : tag) entry.compiled.cubin.push_back(c);
  entry.compiled.facts.registers = 77;
  entry.compiled.facts.spill_load_bytes = 8;
  entry.compiled.facts.remarks = {"a remark"};
  return entry;
}

struct CacheTest : test::RuntimeTest {
  Cache cache() const { return Cache(root_ / "cache"); }
  fs::path file(const std::string& key, const char* name) const { return cache().directory(key) / name; }
  static std::string content(const fs::path& path) { return read_file(path).value_or("(missing)"); }
  static void overwrite(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  }
  // A damaged entry is a miss with one warning, and the next store makes it whole.
  void expect_healed(const std::string& key) {
    messages_.clear();
    EXPECT_FALSE(cache().load(key, true).has_value());
    EXPECT_THAT(messages_, HasSubstr("is damaged; it is written anew"));
    EXPECT_EQ(std::count(messages_.begin(), messages_.end(), '\n'), 1);
    EXPECT_EQ(cache().store(key, sample()), cache().directory(key));
    messages_.clear();
    EXPECT_TRUE(cache().load(key, true).has_value());
    EXPECT_EQ(messages_, "");
    EXPECT_TRUE(fs::is_empty(root_ / "cache" / "drafts"));
  }
};

TEST_F(CacheTest, GivesBackWhatWasStored) {
  EXPECT_FALSE(cache().load("k", true).has_value());
  const fs::path directory = cache().store("k", sample());
  EXPECT_EQ(directory, root_ / "cache" / "kernels" / "k");
  const auto entry = cache().load("k", true);
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->kernel, "Sample");
  EXPECT_EQ(entry->config, "block=64");
  EXPECT_EQ(entry->cuda, sample().cuda);
  EXPECT_EQ(entry->thread_text, "thread");
  EXPECT_EQ(entry->compiled.cubin, sample().compiled.cubin);
  EXPECT_EQ(entry->compiled.facts.registers, 77);
  EXPECT_EQ(entry->compiled.facts.spill_load_bytes, 8);
  EXPECT_EQ(entry->compiled.facts.remarks, sample().compiled.facts.remarks);
  EXPECT_EQ(entry->directory, directory);
  EXPECT_EQ(content(directory / "kernel.cu"), sample().cuda);
  EXPECT_TRUE(fs::is_empty(root_ / "cache" / "drafts"));
  EXPECT_EQ(messages_, "");
}

TEST_F(CacheTest, EveryWayOfDamagingEveryFileIsFound) {
  for (const char* name : {"kernel.cu", "kernel.cubin", "compiler.log", "tile.txt", "thread.txt", "manifest.json"}) {
    const auto damage = [&](const char* what, const std::function<std::string(std::string)>& change) {
      SCOPED_TRACE(std::string(name) + ": " + what);
      cache().store("k", sample());
      const fs::path path = file("k", name);
      overwrite(path, change(content(path)));
      expect_healed("k");
    };
    damage("emptied", [](const std::string&) { return std::string(); });
    damage("halved", [](const std::string& s) { return s.substr(0, s.size() / 2); });
    damage("longer", [](const std::string& s) { return s + "x"; });
    for (const std::size_t at : {0, 1, 2}) {
      damage("one bit flipped", [&](std::string s) {
        const std::size_t where = at * (s.size() - 1) / 2;
        s[where] = static_cast<char>(s[where] ^ 1);
        return s;
      });
    }
    SCOPED_TRACE(std::string(name) + ": deleted");
    cache().store("k", sample());
    fs::remove(file("k", name));
    expect_healed("k");
  }
}

TEST_F(CacheTest, ADigitChangedInTheManifestIsFound) {
  cache().store("k", sample());
  std::string text = content(file("k", "manifest.json"));
  const std::size_t at = text.find("77");
  ASSERT_NE(at, std::string::npos);
  overwrite(file("k", "manifest.json"), text.replace(at, 2, "76"));
  expect_healed("k");
}

TEST_F(CacheTest, WellFormedJsonOfAnotherShapeIsDamage) {
  cache().store("k", sample());
  overwrite(file("k", "manifest.json"), seal("{\"format\": 1, \"key\": \"k\"}"));
  expect_healed("k");
  overwrite(file("k", "manifest.json"), "[1, 2]");
  expect_healed("k");
}

TEST_F(CacheTest, SwappedEntriesAreFound) {
  cache().store("a", sample("a"));
  cache().store("b", sample("b"));
  const fs::path other = root_ / "other";
  fs::rename(file("a", "kernel.cubin"), other);
  fs::rename(file("b", "kernel.cubin"), file("a", "kernel.cubin"));
  fs::rename(other, file("b", "kernel.cubin"));
  expect_healed("a");
  cache().store("b", sample("b"));
  fs::rename(cache().directory("a"), other);  // whole directories under each other's names
  fs::rename(cache().directory("b"), cache().directory("a"));
  expect_healed("a");
}

TEST_F(CacheTest, AnEmptyDirectoryAndAFileOfTheRightNameAreDamage) {
  fs::create_directories(cache().directory("k"));
  expect_healed("k");
  fs::remove_all(cache().directory("k"));
  overwrite(cache().directory("k"), "not a directory");
  expect_healed("k");
}

TEST_F(CacheTest, AWholeEntryStaysWhenAnotherProcessStoresIt) {
  cache().store("k", sample());
  const auto before = fs::last_write_time(file("k", "manifest.json"));
  EXPECT_EQ(cache().store("k", sample()), cache().directory("k"));
  EXPECT_EQ(fs::last_write_time(file("k", "manifest.json")), before);
  EXPECT_TRUE(fs::is_empty(root_ / "cache" / "drafts"));
}

TEST_F(CacheTest, SourcesWithoutACubin) {
  CacheEntry entry = sample();
  entry.compiled = {};
  cache().store("k", entry);
  EXPECT_TRUE(cache().load("k", false).has_value());
  EXPECT_FALSE(fs::exists(file("k", "kernel.cubin")));
  EXPECT_FALSE(cache().load("k", true, true).has_value());
}

TEST_F(CacheTest, AnUnwritableCacheCostsOneWarning) {
  overwrite(root_ / "cache", "a file where the folder should be");  // fails for root too, unlike permissions
  EXPECT_FALSE(cache().load("k", true).has_value());
  EXPECT_TRUE(cache().store("k", sample()).empty());
  EXPECT_TRUE(cache().store("k2", sample()).empty());
  cache().store_record("r", "{}");
  EXPECT_FALSE(cache().lock("k").held());
  EXPECT_THAT(messages_, HasSubstr("cannot be written"));
  EXPECT_EQ(std::count(messages_.begin(), messages_.end(), '\n'), 1);
}

TEST_F(CacheTest, AReadOnlyCacheIsStillRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "permissions do not bind root";
  cache().store("k", sample());
  fs::permissions(root_ / "cache" / "kernels", fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_TRUE(cache().load("k", true).has_value());
  EXPECT_TRUE(cache().store("new", sample()).empty());
  EXPECT_THAT(messages_, HasSubstr("cannot be written"));
  fs::permissions(root_ / "cache" / "kernels", fs::perms::owner_all);
}

TEST_F(CacheTest, WithoutARootThereIsNoCacheAndNoWarning) {
  const Cache off{fs::path()};
  EXPECT_FALSE(off.load("k", true).has_value());
  EXPECT_TRUE(off.store("k", sample()).empty());
  EXPECT_EQ(messages_, "");
}

TEST_F(CacheTest, RootFollowsTheEnvironment) {
  const auto value = [](const char* name) { return std::string(::getenv(name) != nullptr ? ::getenv(name) : ""); };
  const std::string xdg = value("XDG_CACHE_HOME"), home = value("HOME");
  EXPECT_EQ(Cache::default_root(), root_);
  ::unsetenv("TESSERA_CACHE_DIR");
  ::setenv("XDG_CACHE_HOME", "/x/cache", 1);
  EXPECT_EQ(Cache::default_root(), "/x/cache/tessera");
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", "/home/someone", 1);
  EXPECT_EQ(Cache::default_root(), "/home/someone/.cache/tessera");
  ::unsetenv("HOME");
  EXPECT_EQ(Cache::default_root(), "");
  if (!xdg.empty()) ::setenv("XDG_CACHE_HOME", xdg.c_str(), 1);
  if (!home.empty()) ::setenv("HOME", home.c_str(), 1);
}

TEST_F(CacheTest, DamagedRecordsAreMisses) {
  cache().store_record("r", "{\"winner\": \"a\"}");
  EXPECT_THAT(cache().load_record("r").value_or(""), HasSubstr("\"a\""));
  const fs::path path = cache().record_path("r");
  std::string text = content(path);
  overwrite(path, text.replace(text.find("\"a\""), 3, "\"b\""));
  EXPECT_FALSE(cache().load_record("r").has_value());
  EXPECT_THAT(messages_, HasSubstr("the kernel is tuned anew"));
  overwrite(path, "");
  EXPECT_FALSE(cache().load_record("r").has_value());
}

TEST_F(CacheTest, ALockIsExclusiveAndEndsWithItsOwner) {
  const pid_t child = ::fork();
  if (child == 0) {
    const FileLock lock = cache().lock("k");
    ::usleep(200000);
    ::_exit(lock.held() ? 0 : 1);  // without unlocking: the system does
  }
  ::usleep(50000);
  const auto begin = std::chrono::steady_clock::now();
  {
    const FileLock lock = cache().lock("k");
    EXPECT_TRUE(lock.held());
  }
  EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(80));
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Hash, DependsOnEveryByteAndOnTheBoundaries) {
  EXPECT_EQ(hash_hex("abc").size(), 32U);
  EXPECT_NE(hash_hex("abc"), hash_hex("abd"));
  EXPECT_NE(Hasher().add("ab").add("c").hex(), Hasher().add("a").add("bc").hex());
  EXPECT_EQ(Hasher().add("ab").add("c").hex(), Hasher().add("ab").add("c").hex());
}

}  // namespace
}  // namespace tessera::runtime
