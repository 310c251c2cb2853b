// What can stand in the place of an entry, a file of it or a record: each is a miss with one line, and written anew.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache_fixture.hpp"
#include "runtime/hash.hpp"

namespace tessera::test {
namespace {
using ::testing::HasSubstr;

constexpr std::array file_names = {"kernel.cu", "kernel.cubin", "compiler.log",
                                   "tile.txt",  "thread.txt",   "manifest.json"};

struct DamageTest : CacheFieldTest {
  void expect_healed(const std::string& key, const std::string& why = "") {
    messages_.clear();
    EXPECT_FALSE(cache().load(key, true).has_value());
    EXPECT_FALSE(cache().load(key, true).has_value());
    EXPECT_THAT(messages_, HasSubstr("is damaged; it is written anew"));
    EXPECT_THAT(messages_, HasSubstr(why));
    EXPECT_EQ(warnings(), 1) << messages_;
    EXPECT_EQ(cache().store(key, sample()), cache().directory(key));
    messages_.clear();
    const auto entry = cache().load(key, true);
    ASSERT_TRUE(entry.has_value());
    EXPECT_EQ(entry->compiled.cubin, sample().compiled.cubin);
    EXPECT_EQ(messages_, "");
    EXPECT_TRUE(fs::is_empty(root_ / "drafts"));
  }
};

TEST_F(DamageTest, WhatIsNoFile) {
  for (const char* name : file_names) {
    const auto replace = [&](const char* what, const std::function<void(const fs::path&)>& make) {
      SCOPED_TRACE(std::string(name) + ": " + what);
      cache().store("k", sample());
      fs::remove_all(file("k", name));
      make(file("k", name));
      expect_healed("k");
    };
    replace("a folder", [](const fs::path& p) { fs::create_directories(p / "sub"); });
    replace("a link to itself", [](const fs::path& p) { fs::create_symlink(p.filename(), p); });
    replace("a link to nothing", [](const fs::path& p) { fs::create_symlink("nothing", p); });
    replace("an endless device", [](const fs::path& p) { fs::create_symlink("/dev/zero", p); });
    replace("a pipe that nobody writes to", [](const fs::path& p) { ASSERT_EQ(::mkfifo(p.c_str(), 0666), 0); });
  }
}

TEST_F(DamageTest, WhatIsNoEntry) {
  const fs::path path = cache().directory("k");
  const auto replace = [&](const char* what, const std::function<void()>& make) {
    SCOPED_TRACE(what);
    cache().store("k", sample());
    fs::remove_all(path);
    make();
    expect_healed("k");
  };
  replace("a file", [&] { overwrite(path, "text"); });
  replace("an empty folder", [&] { fs::create_directory(path); });
  replace("a folder of something else", [&] { fs::create_directories(path / "a" / "b" / "c"); });
  replace("a link to itself", [&] { fs::create_symlink("k", path); });
  replace("a link to nothing", [&] { fs::create_symlink("nothing", path); });
  replace("a link to a folder", [&] { fs::create_directory_symlink("/", path); });
  EXPECT_TRUE(fs::exists("/usr")) << "what a link points to is not followed";
  replace("a pipe", [&] { ASSERT_EQ(::mkfifo(path.c_str(), 0666), 0); });
}

TEST_F(DamageTest, EveryFileMissingInTurn) {
  for (const char* name : file_names) {
    SCOPED_TRACE(name);
    cache().store("k", sample());
    fs::remove(file("k", name));
    expect_healed("k", name);
  }
}

// Terabytes that take no room on the disk: reading them would take the memory and the day.
TEST_F(DamageTest, HugeFilesAreNotRead) {
  class Counting final : public HastyFileSystem {
   public:
    ssize_t read(int descriptor, void* buffer, std::size_t bytes) override {
      const ssize_t n = FileSystem::read(descriptor, buffer, bytes);
      if (n > 0) total += static_cast<std::uint64_t>(n);
      return n;
    }
    std::uint64_t total = 0;
  } counting;
  const runtime::ScopedFileSystem scope(counting);
  for (const char* name : file_names) {
    SCOPED_TRACE(name);
    cache().store("k", sample());
    ASSERT_EQ(::truncate(file("k", name).c_str(), off_t{1} << 41), 0) << std::strerror(errno);
    expect_healed("k", "File too large");
  }
  cache().store_record("r", "{}");
  ASSERT_EQ(::truncate(cache().record_path("r").c_str(), off_t{1} << 41), 0);
  EXPECT_FALSE(cache().load_record("r").has_value());
  EXPECT_LT(counting.total, 100'000U);
}

TEST_F(DamageTest, AManifestThatVouchesForHugeFiles) {
  cache().store("k", sample());
  auto manifest = nlohmann::ordered_json::parse(content(file("k", "manifest.json")));
  for (const std::uint64_t bytes : {std::uint64_t{1} << 41, ~std::uint64_t{0}}) {
    manifest["files"]["kernel.cubin"]["bytes"] = bytes;
    overwrite(file("k", "manifest.json"), runtime::seal(manifest.dump()));
    fs::create_directory(root_ / "drafts" / "x");  // another incarnation of nothing in particular
    fs::remove(root_ / "drafts" / "x");
    EXPECT_FALSE(cache().load("k", true, true).has_value());
  }
  expect_healed("k", "a length of 18446744073709551615 bytes");
}

TEST_F(DamageTest, TheFilesOfTwoEntriesExchanged) {
  for (const char* name : file_names) {
    SCOPED_TRACE(name);
    runtime::CacheEntry a = sample("a"), b = sample("b");
    for (runtime::CacheEntry* entry : {&a, &b}) {  // every file differs
      const std::string tag = entry == &a ? "a" : "b";
      entry->tile_text = "tile " + tag;
      entry->thread_text = "thread " + tag;
      entry->compiled.log = "log " + tag;
    }
    fs::remove_all(root_ / "kernels");
    cache().store("a", a);
    cache().store("b", b);
    fs::rename(file("a", name), root_ / "aside");
    fs::rename(file("b", name), file("a", name));
    fs::rename(root_ / "aside", file("b", name));
    expect_healed("a");
    expect_healed("b");
  }
}

TEST_F(DamageTest, TwoEntriesExchanged) {
  cache().store("a", sample("a"));
  cache().store("b", sample("b"));
  fs::rename(cache().directory("a"), root_ / "aside");
  fs::rename(cache().directory("b"), cache().directory("a"));
  fs::rename(root_ / "aside", cache().directory("b"));
  expect_healed("a", "the entry of another key");
  expect_healed("b", "the entry of another key");
}

TEST_F(DamageTest, RecordsThatAreNone) {
  const fs::path path = cache().record_path("r");
  const auto replace = [&](const char* what, const std::function<void()>& make) {
    SCOPED_TRACE(what);
    cache().store_record("r", "{\"winner\": \"a\"}");
    fs::remove_all(path);
    make();
    messages_.clear();
    EXPECT_FALSE(cache().load_record("r").has_value());
    EXPECT_FALSE(cache().load_record("r").has_value());
    EXPECT_EQ(warnings(), 1) << messages_;
    EXPECT_THAT(messages_, HasSubstr("is damaged; the kernel is tuned anew"));
    cache().store_record("r", "{\"winner\": \"b\"}");
    EXPECT_THAT(cache().load_record("r").value_or(""), HasSubstr("\"b\""));
    EXPECT_EQ(warnings(), 1) << messages_;
  };
  replace("empty", [&] { overwrite(path, ""); });
  replace("zeros", [&] { overwrite(path, std::string(300, '\0')); });
  replace("a folder", [&] { fs::create_directories(path / "sub"); });
  replace("a link to itself", [&] { fs::create_symlink("r.json", path); });
  replace("a pipe", [&] { ASSERT_EQ(::mkfifo(path.c_str(), 0666), 0); });
  replace("without a seal", [&] { overwrite(path, "{\"winner\": \"c\"}"); });
  replace("brackets", [&] { overwrite(path, std::string(1 << 20, '[')); });
  replace("another key's", [&] {
    cache().store_record("s", "{\"winner\": \"c\"}");
    fs::rename(cache().record_path("s"), path);
  });
}

TEST_F(DamageTest, ARecordThatIsNoJsonIsNotKept) {
  cache().store_record("r", "winner: a");
  EXPECT_THAT(messages_, HasSubstr("a tuning record is not kept"));
  EXPECT_FALSE(cache().load_record("r").has_value());
}

// A compiler's remark or a device's name need not be UTF-8; the library of JSON would throw.
TEST_F(DamageTest, BytesThatAreNoText) {
  runtime::CacheEntry entry = sample();
  entry.kernel = "K\xff\xfe";
  entry.compiled.facts.remarks = {"\xc3("};
  entry.compiled.log = "\x80\x80";
  EXPECT_FALSE(cache().store("k", entry).empty());
  const auto loaded = cache().load("k", true);
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->compiled.log, entry.compiled.log);
  EXPECT_EQ(messages_, "");
}

TEST_F(DamageTest, AnEntryWithoutABinaryIsNoHit) {
  runtime::CacheEntry entry = sample();
  entry.compiled.cubin.clear();
  cache().store("k", entry);
  EXPECT_FALSE(cache().load("k", true, true).has_value());
  cache().store("k", sample());
  EXPECT_TRUE(cache().load("k", true).has_value());
}

// The reader had the manifest when the entry was taken away: a miss, and no damage.
TEST_F(DamageTest, AnEntryThatIsEvictedWhileItIsReadIsAMiss) {
  class Evicting final : public HastyFileSystem {
   public:
    explicit Evicting(fs::path root) : root_(std::move(root)) {}
    int open(const std::string& path, int flags, int mode) override {
      if (path.ends_with("tile.txt") && (flags & O_CREAT) == 0 && !std::exchange(done, true)) {
        runtime::remove_entry(root_, root_ / "kernels" / "k");
        if (republish) runtime::Cache(root_).store("k", sample("new"));
      }
      return FileSystem::open(path, flags, mode);
    }
    bool done = false, republish = false;

   private:
    fs::path root_;
  } evicting(root_);
  const runtime::ScopedFileSystem scope(evicting);
  cache().store("k", sample());
  EXPECT_FALSE(cache().load("k", true).has_value());
  EXPECT_TRUE(evicting.done);
  cache().store("k", sample());
  evicting.done = false;
  evicting.republish = true;
  const auto entry = cache().load("k", true);
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->cuda, sample("new").cuda);
  EXPECT_EQ(messages_, "");
}

TEST_F(DamageTest, AnotherUsersEntryIsLeftAlone) {
  if (::geteuid() == 0) {  // permissions do not bind root: the system's answer is made up
    class Forbidding final : public HastyFileSystem {
      int open(const std::string& path, int flags, int mode) override {
        return path.ends_with("/kernels/k/manifest.json") ? -EACCES : FileSystem::open(path, flags, mode);
      }
    } forbidding;
    cache().store("k", sample());
    const runtime::ScopedFileSystem scope(forbidding);
    EXPECT_FALSE(cache().load("k", true).has_value());
    EXPECT_TRUE(cache().store("k", sample("mine")).empty());
    EXPECT_EQ(warnings(), 1) << messages_;
    EXPECT_THAT(messages_, HasSubstr("cannot be read"));
  }
  cache().store("k", sample());
  EXPECT_TRUE(cache().load("k", true).has_value());
}

}  // namespace
}  // namespace tessera::test
