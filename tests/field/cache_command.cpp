// tessera-cache, run as a process.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "cache_fixture.hpp"
#include "runtime/hash.hpp"
#include "tune/record.hpp"

namespace tessera::test {
namespace {
using nlohmann::ordered_json;
using std::chrono::hours;
using ::testing::HasSubstr;
using ::testing::Not;

struct CommandTest : CacheFieldTest {
  struct Outcome {
    int status = -1;
    std::string text;  // both streams
  };
  static Outcome run(const std::string& arguments) {
    std::FILE* pipe = ::popen((std::string("'") + TESSERA_CACHE_COMMAND + "' " + arguments + " 2>&1").c_str(), "r");
    Outcome outcome;
    std::array<char, 4096> buffer;
    while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) outcome.text += buffer.data();
    const int raw = ::pclose(pipe);
    outcome.status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
    return outcome;
  }
  static std::string key(const std::string& name) { return runtime::hash_hex(name); }
  void store(const std::string& name, int hours_ago, std::size_t bytes = 1000) {
    runtime::CacheEntry entry = sample(name);
    entry.kernel = "Kernel_" + name;
    entry.compiled.facts.spill_store_bytes = 24;
    entry.tile_text = std::string(bytes, 't');
    cache().store(key(name), entry);
    fs::last_write_time(file(key(name), "manifest.json"), fs::file_time_type::clock::now() - hours(hours_ago));
  }
  void store_record(const std::string& name, int hours_ago) {
    tune::Record record;
    record.identity = "script Kernel_" + name + "\nconstants 1\n";
    record.kernel = "Kernel_" + name;
    record.winner = "block=32";
    record.chosen = true;
    record.rows.resize(1);
    record.rows[0].report.config = record.winner;
    record.rows[0].report.status = CandidateReport::Status::chosen;
    record.device = "a GPU";
    record.bucket = "m in (64, 128]";
    cache().store_record(key(name), tune::to_json(record));
    fs::last_write_time(cache().record_path(key(name)), fs::file_time_type::clock::now() - hours(hours_ago));
  }
  bool there(const std::string& name) const { return fs::exists(cache().directory(key(name))); }
};

TEST_F(CommandTest, ListsWhatIsThere) {
  store("old", 30);
  store("new", 1);
  store_record("tuned", 5);
  overwrite(file(key("old"), "kernel.cubin"), "garbage");
  const Outcome outcome = run("list");
  EXPECT_EQ(outcome.status, 0);
  const std::size_t fresh = outcome.text.find("Kernel_new"), tuned = outcome.text.find("Kernel_tuned"),
                    damaged = outcome.text.find("damaged: kernel.cubin");
  ASSERT_NE(fresh, std::string::npos) << outcome.text;
  EXPECT_LT(fresh, tuned);
  EXPECT_LT(tuned, damaged);
  EXPECT_NE(damaged, std::string::npos) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr(key("new").substr(0, 12) + "  kernel"));
  EXPECT_THAT(outcome.text, HasSubstr("block=64"));
  EXPECT_THAT(outcome.text, HasSubstr("block=32"));
  EXPECT_THAT(outcome.text, HasSubstr("3 in " + root_.string()));
}

TEST_F(CommandTest, ListsAsJson) {
  store("a", 3);
  store_record("r", 5);
  const Outcome outcome = run("list --json");
  EXPECT_EQ(outcome.status, 0);
  const ordered_json json = ordered_json::parse(outcome.text);
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0]["key"], key("a"));
  EXPECT_EQ(json[0]["kernel"], "Kernel_a");
  EXPECT_EQ(json[0]["state"], "whole");
  EXPECT_EQ(json[0]["registers"], 77);
  EXPECT_EQ(json[0]["spill_bytes"], 24);
  EXPECT_EQ(json[1]["kind"], "record");
  EXPECT_EQ(json[1]["device"], "a GPU");
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(cache().directory(key("a")))) bytes += entry.file_size();
  EXPECT_EQ(json[0]["bytes"], bytes);
  EXPECT_EQ(run("list --json --cache " + root_.string()).text, outcome.text);
}

TEST_F(CommandTest, ShowsAnEntryByTheBeginningOfItsKey) {
  store("a", 3);
  store_record("r", 3);
  const Outcome outcome = run("show " + key("a").substr(0, 8));
  EXPECT_EQ(outcome.status, 0);
  for (const char* part : {"Kernel_a", "whole", "77", "24 B stored, 0 B loaded", "a remark", "compiler 1"}) {
    EXPECT_THAT(outcome.text, HasSubstr(part));
  }
  EXPECT_THAT(outcome.text, HasSubstr(file(key("a"), "kernel.cu").string()));
  EXPECT_EQ(ordered_json::parse(run("show --json " + key("a")).text)["key"], key("a"));
  EXPECT_THAT(run("show " + key("r")).text, HasSubstr("m in (64, 128]"));
}

TEST_F(CommandTest, AnAmbiguousPrefixListsTheCandidates) {
  std::map<char, std::string> first_of;
  std::string one, other;
  for (int i = 0; other.empty(); ++i) {  // among seventeen keys two begin alike
    const std::string name = "n" + std::to_string(i);
    const auto [at, fresh] = first_of.emplace(key(name).front(), name);
    if (fresh) continue;
    one = at->second;
    other = name;
  }
  store(one, 2);
  store(other, 1);
  const Outcome outcome = run("show " + key(one).substr(0, 1));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.text, HasSubstr("begins 2 keys; give more digits"));
  EXPECT_THAT(outcome.text, HasSubstr(key(one)));
  EXPECT_THAT(outcome.text, HasSubstr(key(other)));
}

TEST_F(CommandTest, VerifyFindsAndRemovesWhatIsDamaged) {
  store("a", 1);
  store("b", 1);
  store_record("r", 1);
  store_record("s", 1);
  Outcome outcome = run("verify");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.text, HasSubstr("4 looked at, 0 not whole"));
  overwrite(file(key("a"), "tile.txt"), "x");
  overwrite(cache().record_path(key("r")), runtime::seal("{\"format\": 1}"));
  outcome = run("verify");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.text, HasSubstr("kernel " + cache().directory(key("a")).string() + ": damaged: tile.txt"));
  EXPECT_THAT(outcome.text,
              HasSubstr("record " + cache().record_path(key("r")).string() + ": damaged: of another form"));
  EXPECT_THAT(outcome.text, HasSubstr("4 looked at, 2 not whole"));
  EXPECT_TRUE(there("a"));
  outcome = run("verify --remove");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.text, HasSubstr("2 removed"));
  EXPECT_FALSE(there("a"));
  EXPECT_FALSE(fs::exists(cache().record_path(key("r"))));
  EXPECT_TRUE(there("b"));
  EXPECT_EQ(run("verify").status, 0);
}

TEST_F(CommandTest, PruneByAgeSizeAndAll) {
  store("a", 100, 20'000);
  store("b", 50, 20'000);
  store("c", 10, 20'000);
  store("d", 1, 20'000);
  Outcome outcome = run("prune --older-than 3d --dry-run");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.text, HasSubstr("would remove kernel " + key("a")));
  EXPECT_THAT(outcome.text, HasSubstr("would remove 1 of 4"));
  EXPECT_TRUE(there("a"));
  outcome = run("prune --older-than 3d");
  EXPECT_THAT(outcome.text, HasSubstr("removed kernel " + key("a")));
  EXPECT_FALSE(there("a"));
  EXPECT_TRUE(there("b"));
  outcome = run("prune --size 60K");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_FALSE(there("b")) << outcome.text;
  EXPECT_TRUE(there("c"));
  {
    const runtime::FileLock lock = cache().lock(key("c"));
    outcome = run("prune --all");
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.text, HasSubstr("kept kernel " + key("c")));
  }
  EXPECT_TRUE(there("c"));
  EXPECT_FALSE(there("d"));
  outcome = run("prune --all");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(keys().empty());
  EXPECT_THAT(run("list").text, HasSubstr("0 in "));
}

TEST_F(CommandTest, WrongUseIsSaid) {
  store("a", 1);
  const auto refused = [&](const std::string& arguments, const std::string& message, int status = 2) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, status) << arguments;
    EXPECT_THAT(outcome.text, HasSubstr(message)) << arguments;
  };
  refused("", "A subcommand is required");
  refused("bogus", "");
  refused("prune", "--size, --older-than or --all");
  refused("prune --size lots", "--size is 'lots'; it can be bytes, or a number with K, M, G or T");
  refused("prune --older-than 3", "--older-than is '3'; it can be a number with m, h, d or w");
  refused("show xyz", "'xyz' is no beginning of a key");
  refused("show", "key is required");
  refused("list --cache " + (root_ / "nothing").string(), "which is no folder");
  refused("show " + std::string(32, '0'), "no key in", 1);
  EXPECT_TRUE(there("a"));
  const Outcome help = run("--help");
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.text, HasSubstr("Exit status: 0 done; 1"));
}

TEST_F(CommandTest, ACacheThatIsNotThereIsEmpty) {
  ::setenv("TESSERA_CACHE_DIR", (root_ / "nowhere").c_str(), 1);
  EXPECT_THAT(run("list").text, HasSubstr("0 in "));
  EXPECT_EQ(run("list --json").text, "[]\n");
  EXPECT_EQ(run("verify").status, 0);
  EXPECT_EQ(run("prune --all").status, 0);
  EXPECT_FALSE(fs::exists(root_ / "nowhere")) << "looking makes nothing";
}

}  // namespace
}  // namespace tessera::test
