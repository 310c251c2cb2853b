// Measuring a record again with candidates that fail in every way: the command, the other candidates and the record are
// not harmed, and each row says why.
#include <cstdio>

#include "runtime/files.hpp"
#include "runtime/hash.hpp"
#include "runtime/rerun.hpp"
#include "trial_fixture.hpp"
#include "tune/record.hpp"

namespace tessera {
namespace {
using test::arguments;
using test::counted;
using test::Environment;
using test::error_of;
using test::n;
using test::Subject;
using test::with_every_fault;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using Status = CandidateReport::Status;

struct Ran {
  int status = -1;
  std::string text;  // both streams
};

struct TrialRerun : test::VectorTrialTest {
  // Leaves a record, and nothing of it in this process.
  void tune(const Subject& subject) { tune(subject, arguments<float>(n, x, y)); }
  void tune(const Subject& subject, const std::array<detail::Argument, 3>& with) {
    subject.make()->launch(with, nullptr, nullptr);
    before_ = record();
    reset();
    allocated_ = allocations_here();
  }
  test::fs::path file() const {
    const test::fs::directory_iterator files(root_ / "tuning");
    for (const auto& one : files) {
      if (one.path().extension() == ".json") return one.path();
    }
    ADD_FAILURE() << "there is no record";
    return {};
  }
  std::string record_text() const { return *runtime::read_file(file()); }
  tune::Record record() const { return *tune::parse_record(*runtime::Cache(root_).load_record(file().stem())); }
  runtime::Rerun again(std::optional<double> seconds = {}) const {
    return runtime::rerun(before_, device.state(), runtime::Cache(root_), seconds, nullptr);
  }
  Ran command() const {
    Ran result;
    const std::string line = TESSERA_TUNE " rerun " + file().stem().string().substr(0, 12) + " 2>&1";
    FILE* pipe = ::popen(line.c_str(), "r");
    if (pipe == nullptr) return result;
    char buffer[4096];
    for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) result.text.append(buffer, got);
    const int status = ::pclose(pipe);
    if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
    return result;
  }
  static const CandidateReport& row_of(const tune::Record& record, const std::string& config) {
    for (const tune::RecordRow& row : record.rows) {
      if (row.report.config == config) return row.report;
    }
    ADD_FAILURE() << "no candidate " << config;
    static const CandidateReport none;
    return none;
  }
  // The cache forgets what this candidate was compiled to.
  void drop_cubin(const std::string& config) const {
    for (const tune::RecordRow& row : before_.rows) {
      if (row.report.config == config) test::fs::remove_all(root_ / "kernels" / row.launch->entry);
    }
  }
  void expect_nothing_here() const {
    EXPECT_EQ(launched_here(), "");
    EXPECT_EQ(allocations_here(), allocated_);
    EXPECT_FALSE(test::has_children());
    EXPECT_EQ(x.to_host(), counted());
  }

  tune::Record before_;
  std::size_t allocated_ = 0;
};

void expect_every_reason(const tune::Record& record, const std::string& limit) {
  EXPECT_EQ(record.winner, "good");
  EXPECT_EQ(TrialRerun::row_of(record, "good and slower").status, Status::ranked);
  EXPECT_NEAR(TrialRerun::row_of(record, "good and slower").time_us, 1200, 0.1);
  const auto reason = [&](const char* config, Status status) {
    EXPECT_EQ(TrialRerun::row_of(record, config).status, status) << config;
    return TrialRerun::row_of(record, config).reason;
  };
  EXPECT_EQ(reason("trap", Status::failed),
            "stopped by the device: CUDA_ERROR_MISALIGNED_ADDRESS (716: misaligned address)");
  EXPECT_EQ(reason("hang", Status::failed), "did not finish within " + limit + " s (a wait that nobody answers?)");
  EXPECT_EQ(reason("crash", Status::failed), "the trial process died with signal 6 (Aborted)");
  EXPECT_EQ(reason("exit", Status::failed), "the trial process ended with exit code 3");
  EXPECT_EQ(reason("garble", Status::failed), "the trial process answered what nobody understands");
  EXPECT_EQ(reason("behind", Status::failed), "writes outside its outputs: 512 bytes behind parameter y");
  EXPECT_EQ(reason("before", Status::failed), "writes outside its outputs: 512 bytes before parameter y");
  EXPECT_THAT(reason("touch", Status::failed), HasSubstr("writes to parameter x, which no candidate is supposed to"));
  EXPECT_THAT(reason("damaged", Status::failed), HasSubstr("cuModuleLoadData"));
  EXPECT_THAT(reason("wrong", Status::rejected), HasSubstr("1 of 1000 elements differ, the first at 999"));
  EXPECT_THAT(reason("half", Status::rejected), HasSubstr("500 of 1000 elements differ, the first at 500: -nan"));
}

TEST_F(TrialRerun, EveryFaultIsOneCandidatesOwn) {
  const Environment limit("TESSERA_TRIAL_SECONDS", "0.3");
  tune(with_every_fault());
  const std::size_t descriptors = test::open_descriptors();
  // Of what the record says of them nothing is left over.
  for (tune::RecordRow& row : before_.rows) {
    if (row.report.status == Status::failed) row.report.reason = "an old reason";
  }
  const runtime::Rerun outcome = again();
  expect_every_reason(outcome.record, "0.3");
  EXPECT_EQ(outcome.remark, "");
  EXPECT_TRUE(tune::parse_record(tune::to_json(outcome.record)).has_value());
  expect_nothing_here();
  EXPECT_EQ(test::open_descriptors(), descriptors);
  EXPECT_THAT(messages_, Not(HasSubstr("warning")));
  // What never came to be a program keeps what it said.
  EXPECT_EQ(row_of(outcome.record, "compile").reason, "an old reason");
  EXPECT_THAT(row_of(outcome.record, "large").reason, HasSubstr("300000 bytes of shared memory"));
}

// As users run it: the process of the command lives, and writes the record.
TEST_F(TrialRerun, TheCommandSurvivesAndSaysWhy) {
  const Environment limit("TESSERA_TRIAL_SECONDS", "0.2");
  tune(with_every_fault());
  const Ran ran = command();
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_THAT(ran.text, AllOf(HasSubstr("Fake: good\n"), HasSubstr("did not finish within 0.2 s"),
                              HasSubstr("512 bytes behind parameter y"), HasSubstr("died with signal 6 (Aborted)")));
  expect_every_reason(record(), "0.2");
  EXPECT_GE(record().updated, before_.updated);
}

TEST_F(TrialRerun, AFaultWhileItIsTimed) {
  tune(Subject().candidate("a", "add time=2").candidate("b", "add time=1").candidate("late", "late_trap time=0.5"));
  const runtime::Rerun outcome = again();
  EXPECT_EQ(outcome.record.winner, "b");
  EXPECT_THAT(row_of(outcome.record, "late").reason, HasSubstr("stopped by the device: CUDA_ERROR_MISALIGNED_ADDRESS"));
  EXPECT_GE(row_of(outcome.record, "a").rounds, 2);
  expect_nothing_here();
}

// Its time is wanted, though there is nobody to compare it with.
TEST_F(TrialRerun, AnOnlyCandidateIsTimedAgain) {
  Subject subject;
  subject.always_measured = true;
  tune(subject.candidate("only", "add time=2"));
  EXPECT_NEAR(before_.rows.at(0).report.time_us, 2000, 1);
  before_.rows.at(0).report.time_us = 5;
  const runtime::Rerun outcome = again();
  EXPECT_EQ(outcome.record.winner, "only");
  EXPECT_NEAR(row_of(outcome.record, "only").time_us, 2000, 1);
  expect_nothing_here();
}

TEST_F(TrialRerun, TheOnlyOneWithACubinIsTimedAgain) {
  tune(Subject().candidate("a", "add time=2").candidate("b", "add time=1"));
  drop_cubin("b");
  const runtime::Rerun outcome = again();
  EXPECT_EQ(outcome.record.winner, "a");
  EXPECT_GE(row_of(outcome.record, "a").rounds, 2);
}

// If nobody is left, the record is as it was.
TEST_F(TrialRerun, WhereAllFailTheRecordStays) {
  const Environment limit("TESSERA_TRIAL_SECONDS", "0.2");
  tune(Subject().candidate("a", "add").candidate("b", "add").candidate("hang", "hang").candidate("trap", "trap"));
  drop_cubin("a");
  drop_cubin("b");
  const std::string text = record_text();
  const Error error = error_of([&] { again(); });
  EXPECT_THAT(error.what(), AllOf(HasSubstr("hang: did not finish within 0.2 s"),
                                  HasSubstr("trap: stopped by the device: CUDA_ERROR_MISALIGNED_ADDRESS")));
  const Ran ran = command();
  EXPECT_EQ(ran.status, 3);
  EXPECT_THAT(ran.text, HasSubstr("did not finish within 0.2 s"));
  EXPECT_EQ(record_text(), text);
  expect_nothing_here();
}

TEST_F(TrialRerun, AnUpdateInPlaceBeginsWithItsContentEachTime) {
  for (const char* here : {"1", "0"}) {
    const Environment where("TESSERA_TRIAL", here);
    tune(Subject()
             .candidate("a", std::string("add time=1.2 # ") + here)
             .candidate("b", std::string("add time=1 # ") + here)
             .candidate("c", std::string("half time=0.5 # ") + here),
         arguments<float>(n, y, y));
    const runtime::Rerun outcome = again();
    EXPECT_EQ(outcome.record.winner, "b") << "the final check has found the result of the first run";
    EXPECT_EQ(row_of(outcome.record, "c").status, Status::rejected);
    EXPECT_EQ(row_of(outcome.record, "c").reason.find("nan"), std::string::npos) << "it begins with numbers";
    test::fs::remove_all(root_ / "tuning");
  }
}

// Whoever leaves integers unwritten leaves a number that nobody computes.
TEST_F(TrialRerun, HalfOfAnIntegerOutputIsFound) {
  auto in = device.zeros<std::int32_t>({n}), out = device.zeros<std::int32_t>({n});
  for (const char* here : {"1", "0"}) {
    const Environment where("TESSERA_TRIAL", here);
    tune(Subject(DType::i32).candidate("a", "add_int").candidate("b", "add_int").candidate("c", "half_int time=0.1"),
         arguments<std::int32_t>(n, in, out));
    const runtime::Rerun outcome = again();
    EXPECT_EQ(row_of(outcome.record, "c").status, Status::rejected);
    EXPECT_THAT(row_of(outcome.record, "c").reason, HasSubstr("the first at 500: -1515870811 instead of 1"));
  }
}

TEST_F(TrialRerun, ABudgetHoldsThereToo) {
  const Environment limit("TESSERA_TRIAL_SECONDS", "0.2");
  tune(Subject().candidate("a", "add time=2").candidate("b", "add time=1").candidate("hang", "hang"));
  const runtime::Rerun outcome = again(0);
  EXPECT_EQ(outcome.record.winner, "b");
  EXPECT_EQ(row_of(outcome.record, "hang").status, Status::unused);
  EXPECT_EQ(row_of(outcome.record, "hang").reason, "the budget of 0 s was spent");
  expect_nothing_here();
}

// --- Where it cannot be

TEST_F(TrialRerun, SwitchedOffItMeasuresHere) {
  tune(Subject().candidate("a", "add time=1.1").candidate("b", "add time=1").candidate("damaged", "damaged"));
  const Environment off("TESSERA_TRIAL", "0");
  const runtime::Rerun outcome = again();
  EXPECT_EQ(outcome.record.winner, "b");
  EXPECT_THAT(row_of(outcome.record, "damaged").reason, HasSubstr("cuModuleLoadData"));
  EXPECT_THAT(launched_here(), MatchesRegex("(add ){20,}"));
  EXPECT_EQ(allocations_here(), allocated_);
  EXPECT_EQ(outcome.remark, "its candidates ran in this process (TESSERA_TRIAL=0)");
  EXPECT_THAT(command().text, HasSubstr("its candidates ran in this process (TESSERA_TRIAL=0)\n"));
}

TEST_F(TrialRerun, WithoutATrialProcessItMeasuresHereAndSaysSo) {
  tune(Subject().candidate("a", "add time=1.1").candidate("b", "add time=1"));
  const Environment variable("FIELD_OTHER_BUS", "7");
  const runtime::Rerun outcome = again();
  EXPECT_EQ(outcome.record.winner, "b");
  EXPECT_THAT(launched_here(), MatchesRegex("(add ){20,}"));
  EXPECT_THAT(outcome.remark, HasSubstr("does not see the device 0000:3b:00"));
  EXPECT_THAT(messages_, HasSubstr("warning: candidates are tuned in this process"));
  EXPECT_FALSE(test::has_children());
}

TEST_F(TrialRerun, RefusesALimitThatIsNone) {
  tune(Subject().candidate("a", "add").candidate("b", "add"));
  const std::string text = record_text();
  const Environment limit("TESSERA_TRIAL_SECONDS", "soon");
  EXPECT_THAT(error_of([&] { again(); }).what(), HasSubstr("TESSERA_TRIAL_SECONDS is \"soon\""));
  EXPECT_EQ(command().status, 3);
  EXPECT_EQ(record_text(), text);
}

}  // namespace
}  // namespace tessera
