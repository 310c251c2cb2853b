// Random damage to a cache's files: truncated, flipped, spliced, exchanged; JSON of other types and values with its
// checksum made good again, so that what parses it is reached. Nothing crashes, and what is loaded is what was stored.
// TESSERA_CACHE_FUZZ asks for another number of inputs.
#include <map>
#include <random>

#include "cache_fixture.hpp"
#include "runtime/cache_upkeep.hpp"
#include "runtime/hash.hpp"
#include "tune/record.hpp"

namespace tessera::test {
namespace {
using nlohmann::ordered_json;

std::string text_of(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

class Fuzzer {
 public:
  explicit Fuzzer(unsigned seed) : random_(seed) {}
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }

  // Bytes of `text` changed in one of several ways; `other` is what may be spliced in.
  std::string damaged(std::string text, const std::string& other) {
    const std::size_t at = below(text.size() + 1), length = below(std::min<std::size_t>(text.size() - at + 1, 200));
    switch (below(8)) {
      case 0: return text.substr(0, at);
      case 1: return text.substr(0, at) + std::string(text.size() - at, '\0');
      case 2: return text.replace(at, length, other.substr(below(other.size()), below(200)));
      case 3: return text.insert(at, text.substr(below(text.size() + 1), below(200)));
      case 4: return text.erase(at, length);
      case 5: return text + other;
      case 6: return other;
      default:
        for (std::size_t n = 1 + below(8); n > 0 && !text.empty(); --n) {
          char& c = text[below(text.size())];
          c = static_cast<char>(c ^ (1 << below(8)));
        }
        return text;
    }
  }

  // A value of another type, or of the same one and strange.
  ordered_json strange() {
    switch (below(14)) {
      case 0: return nullptr;
      case 1: return true;
      case 2: return -1;
      case 3: return 0;
      case 4: return std::int64_t{1} << below(63);
      case 5: return ~std::uint64_t{0};
      case 6: return std::numeric_limits<std::int64_t>::min();
      case 7: return 1e308;
      case 8: return 0.5;
      case 9: return "";
      case 10: return std::string(below(3000), 'x');
      case 11: return ordered_json::array({1, "two", {3}});
      case 12: return ordered_json{{"bytes", 1}, {"xxh3", "0"}};
      default: return nested(below(60));
    }
  }
  static ordered_json nested(std::size_t depth) {
    ordered_json json = 1;
    for (std::size_t i = 0; i < depth; ++i) json = ordered_json::array({json});
    return json;
  }

  // One place of the tree, changed or removed.
  void mutate(ordered_json& json) {
    ordered_json* at = &json;
    while (at->is_structured() && !at->empty() && below(4) != 0) {
      auto child = at->begin();
      std::advance(child, static_cast<std::ptrdiff_t>(below(at->size())));
      at = &*child;
    }
    if (at->is_object() && !at->empty() && below(2) == 0) {
      auto child = at->begin();
      std::advance(child, static_cast<std::ptrdiff_t>(below(at->size())));
      at->erase(child.key());
    } else if (at->is_array() && !at->empty() && below(2) == 0) {
      at->erase(below(at->size()));
    } else if (at != &json) {
      *at = strange();
    } else if (json.is_object()) {
      json["x"] = strange();
    }
  }

  // Well sealed, of another shape.
  std::string resealed(const std::string& sealed) {
    ordered_json json = ordered_json::parse(sealed);
    for (std::size_t n = 1 + below(3); n > 0; --n) mutate(json);
    return runtime::seal(text_of(json));
  }

  // What strains a parser of JSON.
  std::string hostile() {
    switch (below(6)) {
      case 0: return std::string(1 + below(300'000), below(2) == 0 ? '[' : '{');
      case 1: return "{\"checksum\": \"0\", \"a\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}";
      case 2: return "{\"format\": 1e999999, \"checksum\": \"0\"}";
      case 3: return "{\"format\": " + std::string(5000, '9') + ", \"checksum\": \"0\"}";
      case 4: return "{\"checksum\": \"\xff\xfe\xed\xa0\x80\", \"format\": 1}";
      default: return "{\"checksum\": {}, \"checksum\": [\"\\ud800\"], \"\\u0000\": 1}";
    }
  }

 private:
  std::mt19937 random_;
};

struct FuzzTest : CacheFieldTest {
  void SetUp() override {
    CacheFieldTest::SetUp();
    for (const char* name : {"a", "b", "c"}) {
      const std::string key = runtime::hash_hex(name);
      runtime::CacheEntry entry = sample(name);
      entry.tile_text = std::string("tile ") + name;
      entry.thread_text = std::string("thread ") + name;
      entry.compiled.log = std::string("log ") + name;
      cache().store(key, entry);
      truth[key] = entry;
      tune::Record record;
      record.identity = std::string("script ") + name + "\n";
      record.kernel = record.winner = name;
      record.chosen = true;
      record.text_hash = runtime::hash_hex(name);
      record.rows.resize(2);
      for (tune::RecordRow& row : record.rows) {
        row.report.config = name + std::string(&row == &record.rows[0] ? "" : " of another kind");
        row.report.remarks = {"a remark"};
        row.text_hash = record.text_hash;
      }
      record.rows[0].report.status = CandidateReport::Status::chosen;
      cache().store_record(key, tune::to_json(record));
    }
    for (const auto& file : fs::recursive_directory_iterator(root_)) {
      if (!file.is_regular_file() || file.path().filename() == "ledger") continue;
      files[file.path()] = content(file.path());
      names.push_back(file.path());
    }
    std::sort(names.begin(), names.end());
  }

  // Loads everything, or what the files at the two paths belong to; what is returned must be what was stored.
  void load_all(const std::string& one = "", const std::string& other = "") {
    for (const auto& [key, expected] : truth) {
      if (!one.empty() && one.find(key) == std::string::npos && other.find(key) == std::string::npos) continue;
      const auto entry = cache().load(key, true);
      ++(entry ? hits : misses);
      if (entry) {
        ASSERT_EQ(entry->compiled.cubin, expected.compiled.cubin);
        ASSERT_EQ(entry->cuda, expected.cuda);
        ASSERT_EQ(entry->tile_text + entry->thread_text + entry->compiled.log,
                  expected.tile_text + expected.thread_text + expected.compiled.log);
      }
      const auto text = cache().load_record(key);
      if (text && tune::parse_record(*text)) ++records;
    }
  }
  void heal() {
    for (const auto& [key, entry] : truth) {
      ASSERT_FALSE(cache().store(key, entry).empty());
      ASSERT_TRUE(cache().load(key, true).has_value());
    }
  }

  std::map<std::string, runtime::CacheEntry> truth;
  std::map<fs::path, std::string> files;
  std::vector<fs::path> names;
  int hits = 0, misses = 0, records = 0;
};

TEST_F(FuzzTest, TenThousandInputs) {
  const char* wanted = ::getenv("TESSERA_CACHE_FUZZ");
  const int inputs = wanted == nullptr ? 10'000 : std::atoi(wanted);
  Fuzzer fuzzer(7);
  for (int i = 0; i < inputs; ++i) {
    const fs::path &one = names[fuzzer.below(names.size())], &other = names[fuzzer.below(names.size())];
    const bool json = one.extension() == ".json";
    std::string text;
    switch (fuzzer.below(json ? 4 : 2)) {
      case 0: text = fuzzer.damaged(files[one], files[other]); break;
      case 1:
        text = files[other];
        overwrite(other, files[one]);  // exchanged
        break;
      case 2: text = fuzzer.resealed(files[one]); break;
      default: text = fuzzer.hostile();
    }
    overwrite(one, text);
    messages_.clear();
    load_all(one, other);
    if (HasFatalFailure()) FAIL() << "input " << i << ", " << one << ": " << text.substr(0, 2000);
    ASSERT_LE(warnings(), 2) << messages_;
    if (i % 20 == 0) {
      heal();
      if (HasFatalFailure()) FAIL() << "input " << i << ", " << one;
    }
    for (const fs::path& path : {one, other}) overwrite(path, files[path]);
  }
  messages_.clear();
  hits = misses = records = 0;
  load_all();
  EXPECT_EQ(hits, 3);
  EXPECT_EQ(records, 3);
  EXPECT_EQ(messages_, "");
}

TEST_F(FuzzTest, LedgersAndLocks) {
  Fuzzer fuzzer(11);
  const std::string ledger = "tessera-cache 1 1700000000 12345\n678\n910\n";
  fs::create_directories(root_ / "locks");
  for (int i = 0; i < 2000; ++i) {
    overwrite(root_ / "ledger", fuzzer.damaged(ledger, fuzzer.hostile()));
    runtime::read_ledger(root_);
    runtime::note_stored(root_, 1);
    overwrite(root_ / "locks" / "k.lock", fuzzer.damaged(runtime::private_name(), fuzzer.hostile()));
    ASSERT_TRUE(cache().lock("k").held());
  }
  runtime::keep_up(root_, ~std::uint64_t{0});
  EXPECT_EQ(runtime::items_of(root_).size(), 6U);
  EXPECT_EQ(messages_, "");
}

// What a record says is read through the tuner's own parser, with every field changed in turn.
TEST_F(FuzzTest, RecordsOfEveryShape) {
  Fuzzer fuzzer(13);
  const std::string record = files[cache().record_path(truth.begin()->first)];
  int parsed = 0, refused = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::optional<std::string> text = runtime::unseal(fuzzer.resealed(record));
    if (!text) continue;
    ++(tune::parse_record(*text) ? parsed : refused);
  }
  EXPECT_GT(parsed, 0);
  EXPECT_GT(refused, 0);
  EXPECT_FALSE(tune::parse_record("\xff").has_value());
}

}  // namespace
}  // namespace tessera::test
