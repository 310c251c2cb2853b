// The cache's size: what is evicted and what is not, how use is noted, and what the environment may say.
#include <fcntl.h>

#include "cache_fixture.hpp"
#include "runtime/cache_settings.hpp"
#include "runtime/cache_upkeep.hpp"
#include "runtime/hash.hpp"

namespace tessera::test {
namespace {
using runtime::parse_age;
using runtime::parse_size;
using std::chrono::hours;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct LimitTest : CacheFieldTest {
  void TearDown() override {
    ::unsetenv("TESSERA_CACHE_SIZE");
    CacheFieldTest::TearDown();
  }
  static std::string key(int i) { return runtime::hash_hex(std::to_string(i)); }
  // An entry of about 10 KB that was last used some hours ago.
  void store(int i, int hours_ago) {
    runtime::CacheEntry entry = sample(std::to_string(i));
    entry.tile_text = std::string(10'000, 'x');
    ASSERT_FALSE(cache().store(key(i), entry).empty());
    used(i, hours_ago);
  }
  void used(int i, int hours_ago) {
    fs::last_write_time(file(key(i), "manifest.json"), fs::file_time_type::clock::now() - hours(hours_ago));
  }
  bool there(int i) const { return fs::exists(cache().directory(key(i))); }
  std::string which(int count) const {
    std::string text;
    for (int i = 0; i < count; ++i) text += there(i) ? '1' : '0';
    return text;
  }
};

TEST_F(LimitTest, TheLeastRecentlyUsedGo) {
  for (const int i : {3, 0, 5, 1, 4, 2}) store(i, 10 - i);  // 5 was used last
  runtime::keep_up(root_, 40'000);
  EXPECT_EQ(which(6), "000111");
  const auto ledger = runtime::read_ledger(root_);
  ASSERT_TRUE(ledger.has_value());
  EXPECT_EQ(ledger->bytes, runtime::total_bytes(runtime::items_of(root_)));
  EXPECT_EQ(messages_, "");
}

TEST_F(LimitTest, RecordsAreCountedAndGoToo) {
  store(0, 2);
  cache().store_record(key(7), "{\"winner\": \"" + std::string(20'000, 'w') + "\"}");
  fs::last_write_time(cache().record_path(key(7)), fs::file_time_type::clock::now() - hours(3));
  EXPECT_EQ(runtime::items_of(root_).size(), 2U);
  runtime::keep_up(root_, 20'000);
  EXPECT_FALSE(fs::exists(cache().record_path(key(7))));
  EXPECT_TRUE(there(0));
}

TEST_F(LimitTest, WhatWasJustPublishedOrIsLockedStays) {
  store(0, 5);
  store(1, 4);
  store(2, 0);
  store(3, 0);
  {
    const runtime::FileLock lock = cache().lock(key(0));
    runtime::keep_up(root_, 1000);
  }
  EXPECT_EQ(which(4), "1011");
  runtime::keep_up(root_, 1000);
  EXPECT_EQ(which(4), "0011");
}

TEST_F(LimitTest, WhatIsUsedAfterItWasListedStays) {
  store(0, 5);
  const auto items = runtime::items_of(root_);
  ASSERT_EQ(items.size(), 1U);
  EXPECT_TRUE(cache().load(key(0), true).has_value());
  EXPECT_FALSE(runtime::evict(root_, items.front()));
  EXPECT_TRUE(there(0));
}

TEST_F(LimitTest, ALoadNotesUseAtMostOnceAnHour) {
  class Counting final : public HastyFileSystem {
   public:
    int touch(const std::string& path) override {
      ++touched;
      return FileSystem::touch(path);
    }
    int touched = 0;
  } counting;
  const runtime::ScopedFileSystem scope(counting);
  store(0, 5);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(cache().load(key(0), true).has_value());
  EXPECT_EQ(counting.touched, 1);
  EXPECT_LT(std::chrono::abs(fs::file_time_type::clock::now() - fs::last_write_time(file(key(0), "manifest.json"))),
            hours(1));
}

TEST_F(LimitTest, AFolderThatItSharesKeepsTheRest) {
  store(0, 5);
  fs::create_directories(root_ / "kernels" / "mine");
  fs::create_directories(root_ / "drafts" / "a letter");
  overwrite(root_ / "tuning.txt", "mine");
  overwrite(root_ / "kernels" / "notes.txt", "mine");
  fs::last_write_time(root_ / "kernels" / "mine", fs::file_time_type::clock::now() - hours(1000));
  fs::last_write_time(root_ / "drafts" / "a letter", fs::file_time_type::clock::now() - hours(1000));
  runtime::keep_up(root_, 1);
  EXPECT_FALSE(there(0));
  EXPECT_TRUE(fs::exists(root_ / "kernels" / "mine"));
  EXPECT_TRUE(fs::exists(root_ / "kernels" / "notes.txt"));
  EXPECT_TRUE(fs::exists(root_ / "drafts" / "a letter"));
}

// Not every store looks at everything that is there.
TEST_F(LimitTest, StoresDoNotScan) {
  class Counting final : public HastyFileSystem {
   public:
    int list(const std::string& path, std::vector<std::string>* names) override {
      ++listed;
      return FileSystem::list(path, names);
    }
    int listed = 0;
  } counting;
  FieldKernel({"first"}, 2.0F).result();  // counts, for there is no ledger yet
  const runtime::ScopedFileSystem scope(counting);
  for (int i = 0; i < 20; ++i) FieldKernel({"k" + std::to_string(i)}, 2.0F).result();
  EXPECT_EQ(counting.listed, 0);
  const auto ledger = runtime::read_ledger(root_);
  ASSERT_TRUE(ledger.has_value());
  EXPECT_EQ(ledger->bytes, runtime::total_bytes(runtime::items_of(root_))) << "and yet it is known what is there";
}

TEST_F(LimitTest, AProgramStaysBelowTheLimit) {
  ::setenv("TESSERA_CACHE_SIZE", "10K", 1);
  for (int i = 0; i < 30; ++i) {
    FieldKernel({"k" + std::to_string(i)}, 2.0F).result();
    for (const std::string& name : keys()) {  // an hour passes
      const fs::path manifest = file(name, "manifest.json");
      fs::last_write_time(manifest, fs::last_write_time(manifest) - hours(1));
    }
    overwrite(root_ / "ledger", "tessera-cache 1 0 0\n");
  }
  EXPECT_LT(runtime::total_bytes(runtime::items_of(root_)), (10U << 10) + 2000U);
  const FieldKernel last({"k29"}, 2.0F), first({"k0"}, 2.0F);
  EXPECT_EQ(last.result(), 2.0F);
  EXPECT_EQ(last.world->compiled.size(), 0U);
  EXPECT_EQ(first.result(), 2.0F);
  EXPECT_EQ(first.world->compiled.size(), 1U);
  EXPECT_EQ(messages_, "");
}

TEST_F(LimitTest, TheLedgerSaysWhenToLook) {
  const std::int64_t now = 1'000'000;
  const auto due = [&](std::int64_t scanned, std::uint64_t bytes, std::uint64_t length = 100) {
    return runtime::upkeep_is_due(runtime::Ledger{scanned, 0, bytes, length}, 1000, now);
  };
  EXPECT_TRUE(runtime::upkeep_is_due(std::nullopt, 1000, now));
  EXPECT_FALSE(due(now - 20, 1000));
  EXPECT_TRUE(due(now - 20, 1001));
  EXPECT_FALSE(due(now - 5, 1001)) << "what could go has just gone";
  EXPECT_TRUE(due(now - 3600, 0));
  EXPECT_TRUE(due(now + 50, 0)) << "of a clock that was wrong";
  EXPECT_TRUE(due(now - 20, 0, 200'000)) << "a line for each store is long by now";
  for (const char* text : {"", "tessera-cache 1 ", "tessera-cache 1 5", "tessera-cache 1 5 6", "tessera-cache 1 5 6\n7",
                           "tessera-cache 1 5 6\nx\n", "tessera-cache 2 5 6\n", "tessera-cache 1 -5 6\n",
                           "tessera-cache 1 5 99999999999999999999999\n"}) {
    overwrite(root_ / "ledger", text);
    EXPECT_FALSE(runtime::read_ledger(root_).has_value()) << text;
  }
  overwrite(root_ / "ledger", "tessera-cache 1 5 6\n7\n8\n");
  EXPECT_EQ(runtime::read_ledger(root_)->bytes, 21U);
}

TEST(CacheSettings, Sizes) {
  EXPECT_EQ(parse_size("1048576"), 1048576U);
  EXPECT_EQ(parse_size("500M"), 500U << 20);
  EXPECT_EQ(parse_size("2g"), std::uint64_t{2} << 30);
  EXPECT_EQ(parse_size("1.5GB"), std::uint64_t{3} << 29);
  EXPECT_EQ(parse_size("1TiB"), std::uint64_t{1} << 40);
  EXPECT_EQ(parse_size("unlimited"), runtime::no_size_limit);
  for (const char* text : {"", "0", "-1", "2 G", "G", "2X", "2GG", "1e9", "inf", "nan", "0x10", "9999999999T", "2G ",
                           " 2G", "+2G", "0.2", "a lot", "2Gi"}) {
    EXPECT_FALSE(parse_size(text).has_value()) << text;
  }
}

TEST(CacheSettings, Ages) {
  EXPECT_EQ(parse_age("90m"), std::chrono::minutes(90));
  EXPECT_EQ(parse_age("12h"), hours(12));
  EXPECT_EQ(parse_age("30d"), hours(720));
  EXPECT_EQ(parse_age("2w"), hours(336));
  for (const char* text : {"", "30", "d", "-1d", "1y", "1dd", "99999999999999d"}) EXPECT_FALSE(parse_age(text)) << text;
  EXPECT_EQ(runtime::size_text(1023), "1023 B");
  EXPECT_EQ(runtime::size_text(std::uint64_t{3} << 29), "1.5 GiB");
}

TEST_F(LimitTest, AMalformedLimitIsNamedOnce) {
  ::setenv("TESSERA_CACHE_SIZE", "lots", 1);
  EXPECT_EQ(runtime::cache_size_limit(), runtime::default_size_limit);
  EXPECT_EQ(runtime::cache_size_limit(), runtime::default_size_limit);
  EXPECT_THAT(messages_, HasSubstr("TESSERA_CACHE_SIZE is 'lots'; it can be bytes, or a number with K, M, G or T"));
  EXPECT_THAT(messages_, HasSubstr("the limit is 2.0 GiB"));
  EXPECT_EQ(warnings(), 1);
}

}  // namespace
}  // namespace tessera::test
