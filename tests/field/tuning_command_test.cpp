// tessera-tune as a process, and what `rerun` does on a device with a clock.
#include <sys/wait.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "runtime/record_store.hpp"
#include "runtime/rerun.hpp"
#include "tuning_fixture.hpp"

namespace tessera {
namespace {
using nlohmann::ordered_json;
using test::error_of;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Status = CandidateReport::Status;

struct Ran {
  int status = -1;
  std::string text;  // both streams
};

struct Command : test::TuningTest {
  Ran tune(const std::string& arguments, const std::string& environment = "") const {
    Ran result;
    const std::string line = environment + " " TESSERA_TUNE " " + arguments + " 2>&1";
    FILE* pipe = ::popen(line.c_str(), "r");
    if (pipe == nullptr) return result;
    char buffer[4096];
    for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) result.text.append(buffer, n);
    const int status = ::pclose(pipe);
    if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
    return result;
  }
  // Tunes two buckets, so that there are two records.
  void make_records() {
    auto kernel = make();
    call(*kernel, 100);
    call(*kernel, 1000);
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> result;
    for (const auto& file : test::fs::directory_iterator(root_ / "tuning"))
      result.push_back(file.path().stem().string());
    std::sort(result.begin(), result.end());
    return result;
  }
  tune::Record record_of(const std::string& key) const {
    return *tune::parse_record(*runtime::Cache(root_).load_record(key));
  }
  std::string in_another_cache() const { return "TESSERA_CACHE_DIR=" + (root_ / "other").string(); }
  std::string file(const char* name) const { return (root_ / name).string(); }
};

TEST_F(Command, ListAndItsJson) {
  EXPECT_THAT(tune("list").text, HasSubstr("no tuning records in"));
  make_records();
  const Ran plain = tune("list");
  EXPECT_EQ(plain.status, 0);
  for (const std::string& key : keys()) EXPECT_THAT(plain.text, HasSubstr(key.substr(0, 12)));
  EXPECT_THAT(plain.text, AllOf(HasSubstr("Fake  m in (64, 128]  on fake GPU: c  1000.0 us"), HasSubstr("whole")));
  const Ran json = tune("list --json");
  EXPECT_EQ(json.status, 0);
  const ordered_json list = ordered_json::parse(json.text);
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0]["winner"], "c");
  EXPECT_EQ(list[0]["complete"], true);
  EXPECT_EQ(list[0]["candidates"], 4);
  EXPECT_EQ(ordered_json::parse(tune("list --json --kernel Other").text).size(), 0U);
  EXPECT_EQ(ordered_json::parse(tune("list --json --kernel Fake").text).size(), 2U);
}

TEST_F(Command, ARecordThatIsNoneIsPassedOver) {
  make_records();
  std::ofstream(root_ / "tuning" / "0123.json") << runtime::seal(R"({"format": 1})");
  EXPECT_EQ(ordered_json::parse(tune("list --json").text).size(), 2U);
}

TEST_F(Command, ShowPrintsTheCandidatesWithTheirReasons) {
  world->behaviours["d"].run = doubling(9);
  make_records();
  const Ran shown = tune("show " + keys()[0].substr(0, 8));
  EXPECT_EQ(shown.status, 0);
  EXPECT_THAT(shown.text, AllOf(HasSubstr("Fake: c"), HasSubstr("fake driver 1"), HasSubstr("buffer    x (float32)")));
  EXPECT_THAT(shown.text, AllOf(HasSubstr("rejected"), HasSubstr("wrong result"), HasSubstr("launches")));
  EXPECT_EQ(tune("show ffffffff").status, 1);
  EXPECT_THAT(tune("show ffffffff").text, HasSubstr("no record in"));
  const Ran both = tune("show ''");
  EXPECT_EQ(both.status, 1);
  EXPECT_THAT(both.text, HasSubstr("2 records have keys that begin with"));
}

TEST_F(Command, ExportAndImport) {
  make_records();
  EXPECT_EQ(tune("export " + file("all.json")).status, 0);
  EXPECT_EQ(tune("export " + file("none.json") + " --kernel Other").status, 1);
  EXPECT_FALSE(test::fs::exists(file("none.json")));
  const Ran first = tune("import " + file("all.json"), in_another_cache());
  EXPECT_EQ(first.status, 0) << first.text;
  EXPECT_THAT(first.text, HasSubstr("new, 4 candidates"));
  EXPECT_EQ(ordered_json::parse(tune("list --json", in_another_cache()).text).size(), 2U);
  const Ran again = tune("import " + file("all.json"), in_another_cache());
  EXPECT_THAT(again.text, AllOf(HasSubstr("refused, what is here is as good"), Not(HasSubstr("new"))));
}

TEST_F(Command, ImportMergesWhatIsBetter) {
  make_records();
  tune::Record better = record_of(keys()[0]);
  better.rows[1].report.rounds = 70;
  better.rows[1].report.time_us = 500;
  better.rows[1].report.status = Status::chosen;
  better.rows[2].report.status = Status::ranked;
  better.winner = "b";
  better.text_hash = better.rows[1].text_hash;
  std::ofstream(file("better.json")) << tune::to_archive({better});
  const Ran ran = tune("import " + file("better.json"));
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.text, HasSubstr("the choice is now b"));
  EXPECT_EQ(record_of(keys()[0]).winner, "b");
  forget();
  auto kernel = make();
  call(*kernel, record_of(keys()[0]).bucket == "m in (64, 128]" ? 100 : 1000);
  EXPECT_EQ(kernel->report().config, "b") << "a program takes what was imported";
  EXPECT_TRUE(world->timed.empty());
}

TEST_F(Command, ADamagedFileChangesNothing) {
  make_records();
  tune("export " + file("all.json"));
  std::string text = *runtime::read_file(file("all.json"));
  text[text.size() / 2] ^= 1;
  std::ofstream(file("damaged.json")) << text;
  std::ofstream(file("other.json")) << "[]";
  const Ran ran = tune("import " + file("damaged.json") + " " + file("other.json"), in_another_cache());
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.text, AllOf(HasSubstr("damaged.json is refused: it is damaged"), HasSubstr("other.json is refused")));
  EXPECT_FALSE(test::fs::exists(root_ / "other" / "tuning"));
  EXPECT_EQ(tune("import " + file("not there")).status, 3);
}

TEST_F(Command, WrongUsage) {
  EXPECT_EQ(tune("").status, 2);
  EXPECT_EQ(tune("shout").status, 2);
  EXPECT_EQ(tune("show").status, 2);
  EXPECT_EQ(tune("rerun abc --seconds -1").status, 2);
  EXPECT_EQ(tune("--help").status, 0);
  EXPECT_THAT(tune("--help").text, HasSubstr("Exit status"));
}

TEST_F(Command, RerunWithoutAGpuSaysSo) {
  make_records();
  const std::string before = tune::to_json(record_of(keys()[0]));
  const Ran ran = tune("rerun " + keys()[0], "TESSERA_LIBCUDA=/nonexistent/libcuda.so");
  EXPECT_EQ(ran.status, 3);
  EXPECT_THAT(ran.text, HasSubstr("no CUDA driver"));
  EXPECT_EQ(tune::to_json(record_of(keys()[0])), before);
}

// The fake device runs C++ functions; a recorded launch gives them what a call would.
struct Rerun : Command {
  tune::Record again(std::optional<double> seconds = {}) {
    return runtime::rerun(record_of(keys()[0]), state, runtime::Cache(root_), seconds, nullptr).record;
  }
  void SetUp() override {
    Command::SetUp();
    auto kernel = make();
    call(*kernel, 100);
    forget();
  }
};

TEST_F(Rerun, MeasuresTheCandidatesAnew) {
  world->behaviours["d"].milliseconds = 0.5;
  std::vector<float> seen;
  const auto run = world->behaviours["a"].run;
  world->behaviours["a"].run = [&](const runtime::LaunchPlan& plan) {
    const auto* in = *static_cast<const float* const*>(plan.params[1]);
    seen.assign(in, in + 100);
    run(plan);
  };
  const tune::Record record = again();
  EXPECT_EQ(record.winner, "d");
  EXPECT_EQ(record.winning_row()->report.time_us, 500);
  EXPECT_TRUE(record.complete);
  EXPECT_TRUE(tune::parse_record(tune::to_json(record)).has_value());
  ASSERT_EQ(seen.size(), 100U);
  double sum = 0, squares = 0;
  for (const float v : seen) {
    sum += v;
    squares += v * v;
  }
  EXPECT_NEAR(sum / 100, 0, 0.4);
  EXPECT_NEAR(squares / 100, 1, 0.5);
  EXPECT_EQ(state->live_allocations, 2);
}

TEST_F(Rerun, AWrongResultIsRejected) {
  world->behaviours["c"].run = doubling(3);
  const tune::Record record = again();
  EXPECT_EQ(record.rows[2].report.status, Status::rejected);
  EXPECT_EQ(record.winner, "b");
}

TEST_F(Rerun, WithoutACubinARowStaysAsItIs) {
  tune::Record before = record_of(keys()[0]);
  test::fs::remove_all(root_ / "kernels" / before.rows[2].launch->entry);
  const tune::Record record = again();
  EXPECT_EQ(record.winner, "b");
  EXPECT_EQ(record.rows[2].report.status, Status::ranked);
  EXPECT_EQ(record.rows[2].report.time_us, 1000);
  EXPECT_THAT(world->launched, Not(Contains("c")));
  test::fs::remove_all(root_ / "kernels");
  EXPECT_THAT(error_of([&] { again(); }).what(), HasSubstr("the cache has no cubin of them"));
}

TEST_F(Rerun, ABudgetBeginsWithTheFastest) {
  const tune::Record record = again(0);
  EXPECT_THAT(world->launched, ElementsAre("c", "c")) << "its result, and the final check";
  EXPECT_EQ(record.winner, "c");
  EXPECT_FALSE(record.complete);
  EXPECT_EQ(record.rows[0].report.reason, "the budget of 0 s was spent");
}

TEST_F(Rerun, NotOnAnotherDevice) {
  state->driver_text = "fake driver 2";
  EXPECT_THAT(error_of([&] { again(); }).what(), HasSubstr("was made on fake GPU with driver fake driver 1"));
  EXPECT_TRUE(world->launched.empty());
}

}  // namespace
}  // namespace tessera
