// Tuning with candidates that fail in every way: the good one wins, and nobody else is harmed.
#include <thread>

#include "gpu/background_round.hpp"
#include "trial_fixture.hpp"

namespace tessera {
namespace {
using test::arguments;
using test::counted;
using test::Environment;
using test::error_of;
using test::n;
using test::row_of;
using test::Subject;
using test::with_every_fault;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using Status = CandidateReport::Status;

struct Trial : test::VectorTrialTest {
  void call(detail::KernelImpl& kernel) { kernel.launch(arguments<float>(n, x, y), nullptr, nullptr); }
  void expect_right() const {
    const std::vector<float> in = x.to_host(), out = y.to_host();
    EXPECT_EQ(in, counted());
    for (int i = 0; i < n; ++i) ASSERT_EQ(out[static_cast<std::size_t>(i)], static_cast<float>(i + 2)) << i;
  }
};

TEST_F(Trial, EveryFaultIsOneCandidatesOwn) {
  const Environment limit("TESSERA_TRIAL_SECONDS", "0.3");
  auto kernel = with_every_fault().make();
  call(*kernel);
  expect_right();
  const Report report = kernel->report();
  EXPECT_EQ(report.config, "good");
  EXPECT_EQ(report.ranking, Report::Ranking::measured);
  EXPECT_EQ(row_of(report, "good and slower").status, Status::ranked);
  const auto reason = [&](const char* config, Status status) {
    EXPECT_EQ(row_of(report, config).status, status) << config;
    return row_of(report, config).reason;
  };
  EXPECT_EQ(reason("trace", Status::failed), "it does not trace");
  EXPECT_EQ(reason("lower", Status::pruned), "it does not lower");
  EXPECT_EQ(reason("compile", Status::failed), "it does not compile");
  EXPECT_THAT(reason("large", Status::pruned), HasSubstr("300000 bytes of shared memory"));
  EXPECT_THAT(reason("damaged", Status::failed), HasSubstr("cuModuleLoadData"));
  EXPECT_EQ(reason("trap", Status::failed),
            "stopped by the device: CUDA_ERROR_MISALIGNED_ADDRESS (716: misaligned address)");
  EXPECT_EQ(reason("hang", Status::failed), "did not finish within 0.3 s (a wait that nobody answers?)");
  EXPECT_EQ(reason("crash", Status::failed), "the trial process died with signal 6 (Aborted)");
  EXPECT_EQ(reason("exit", Status::failed), "the trial process ended with exit code 3");
  EXPECT_EQ(reason("garble", Status::failed), "the trial process answered what nobody understands");
  EXPECT_EQ(reason("behind", Status::failed), "writes outside its outputs: 512 bytes behind parameter y");
  EXPECT_EQ(reason("before", Status::failed), "writes outside its outputs: 512 bytes before parameter y");
  EXPECT_EQ(reason("touch", Status::failed),
            "writes to parameter x, which no candidate is supposed to write: 2 bytes differ, the first is byte 2");
  EXPECT_THAT(reason("wrong", Status::rejected), HasSubstr("1 of 1000 elements differ, the first at 999"));
  EXPECT_THAT(reason("half", Status::rejected),
              HasSubstr("500 of 1000 elements differ, the first at 500: -nan instead of 502"));
  // In this process ran the winner, once.
  EXPECT_EQ(launched_here(), "add ");
  EXPECT_EQ(allocations_here(), 2U);
  call(*kernel);
  expect_right();
  EXPECT_TRUE(report.remarks.empty());
  EXPECT_THAT(messages_, Not(HasSubstr("warning")));
}

TEST_F(Trial, NothingIsLeftBehind) {
  const Environment limit("TESSERA_TRIAL_SECONDS", "0.2");
  ASSERT_FALSE(test::has_children());
  const std::size_t before = test::open_descriptors();
  for (const char* fault : {"hang", "crash", "trap"}) {
    auto kernel = Subject().candidate("a", "add").candidate("b", "add").candidate("c", fault).make();
    call(*kernel);
    EXPECT_FALSE(test::has_children());
    EXPECT_EQ(test::open_descriptors(), before);
  }
}

TEST_F(Trial, WhereAllAreBadEachSaysWhy) {
  const Environment limit("TESSERA_TRIAL_SECONDS", "0.2");
  auto kernel = Subject()
                    .candidate("trap", "trap")
                    .candidate("hang", "hang")
                    .candidate("crash", "crash")
                    .candidate("behind", "behind")
                    .make();
  const Error error = error_of([&] { call(*kernel); });
  EXPECT_THAT(error.what(), HasSubstr("none of its 4 candidates can be used"));
  EXPECT_THAT(error.what(), HasSubstr("trap: stopped by the device: CUDA_ERROR_MISALIGNED_ADDRESS"));
  EXPECT_THAT(error.what(), HasSubstr("hang: did not finish within 0.2 s"));
  EXPECT_THAT(error.what(), HasSubstr("crash: the trial process died with signal 6"));
  EXPECT_THAT(error.what(), HasSubstr("behind: writes outside its outputs: 512 bytes behind parameter y"));
  EXPECT_EQ(launched_here(), "");
  EXPECT_EQ(y.to_host(), std::vector<float>(n, -5.0F));
  EXPECT_FALSE(test::has_children());
  auto good = Subject().candidate("a", "add").candidate("b", "add").make();  // the context has not suffered
  call(*good);
  expect_right();
}

TEST_F(Trial, TuningLeavesTheBuffersAlone) {
  const Environment limit("TESSERA_TRIAL_SECONDS", "0.2");
  auto kernel = with_every_fault().make();
  kernel->prepare(arguments<float>(n, x, y), nullptr);
  EXPECT_EQ(kernel->report().config, "good");
  EXPECT_EQ(x.to_host(), counted());
  EXPECT_EQ(y.to_host(), std::vector<float>(n, -5.0F));
  EXPECT_EQ(launched_here(), "");
}

// Candidates fall over one after the other, each takes its process with it, and the caller goes on.
TEST_F(Trial, InTheBackgroundTheCallerGoesOnWithTheGuess) {
  const Environment limit("TESSERA_TRIAL_SECONDS", "0.3");
  Subject subject;
  subject.candidate("a guess", "add time=2").candidate("better", "add time=1").candidate("wrong", "wrong");
  subject.candidate("trap", "trap").candidate("hang", "hang").candidate("crash", "crash").candidate("touch", "touch");
  auto kernel = subject.make();
  const gpu_tests::BackgroundRound round =
      gpu_tests::tune_in_background(*kernel, arguments<float>(n, x, y), device, 20, [&] {
        const std::vector<float> out = y.to_host();
        bool right = x.to_host() == counted();
        for (int i = 0; i < n; ++i) right = right && out[static_cast<std::size_t>(i)] == static_cast<float>(i + 2);
        device.state()->fill(y.data(), 0xff, n * sizeof(float));
        return right;
      });
  EXPECT_EQ(round.guess, "a guess");
  EXPECT_EQ(round.first.ranking, Report::Ranking::estimated);
  EXPECT_TRUE(round.first.partial);
  EXPECT_GT(round.during, 10);
  EXPECT_EQ(round.wrong, 0);
  EXPECT_EQ(round.last.config, "better");
  EXPECT_EQ(round.last.ranking, Report::Ranking::measured);
  EXPECT_TRUE(round.last.remarks.empty());
  for (const auto& [config, reason] : {std::pair("trap", "stopped by the device"), std::pair("hang", "did not finish"),
                                       std::pair("crash", "died with signal 6"), std::pair("wrong", "elements differ"),
                                       std::pair("touch", "writes to parameter x")}) {
    EXPECT_THAT(row_of(round.last, config).reason, HasSubstr(reason));
  }
  // In this process ran the guess and the winner, and nothing but them.
  EXPECT_EQ(kernel->report().counters.launched, static_cast<std::uint64_t>(round.during) + 20U);
  EXPECT_THAT(launched_here(), MatchesRegex("(add )+"));
  EXPECT_FALSE(test::has_children());
  EXPECT_EQ(allocations_here(), 2U);
}

TEST_F(Trial, AnUpdateInPlaceHappensOncePerCall) {
  auto kernel =
      Subject().candidate("a", "add time=1.2").candidate("b", "add time=1").candidate("c", "add time=1.1").make();
  for (int calls = 1; calls <= 3; ++calls) {
    kernel->launch(arguments<float>(n, x, x), nullptr, nullptr);
    const std::vector<float> values = x.to_host();
    for (int i = 0; i < n; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], static_cast<float>(i + 1 + calls));
  }
  EXPECT_GE(kernel->report().counters.timed, 15U);
  EXPECT_EQ(kernel->report().config, "b");
}

TEST_F(Trial, BuffersThatOverlapInPartStayTogether) {
  // y begins in the middle of x: element i of y is element i + 500 of x.
  auto memory = device.from_host(std::vector<float>(2 * n, 3.0F), {2 * n});
  auto kernel = Subject().candidate("a", "add").candidate("b", "add").candidate("c", "behind").make();
  kernel->launch(arguments<float>(n, memory, memory.from(500)), nullptr, nullptr);
  const std::vector<float> values = memory.to_host();
  EXPECT_EQ(values[499], 3.0F);
  EXPECT_EQ(values[500], 4.0F);
  EXPECT_EQ(values[1000], 5.0F) << "one element after the other, as the driver does it";
  EXPECT_EQ(values[1499], 5.0F);
  EXPECT_EQ(values[1500], 3.0F);
  EXPECT_EQ(row_of(kernel->report(), "c").reason, "writes outside its outputs: 512 bytes behind parameters x, y");
}

// A pointer has no length of its own. What a view says beyond the memory is not copied, and so not found.
TEST_F(Trial, AViewThatPromisesMoreThanThereIsHarmsOnlyItself) {
  auto kernel = Subject().candidate("a", "add").candidate("b", "add").candidate("far", "far").make();
  kernel->launch(arguments<float>(n, x.data(), y.data()), &device, nullptr);
  expect_right();
  EXPECT_TRUE(kernel->report().remarks.empty());
  EXPECT_EQ(row_of(kernel->report(), "far").reason, "the trial process died with signal 11 (Segmentation fault)");
}

// Unwritten integers do not look like a number that is often right.
TEST_F(Trial, HalfOfAnIntegerOutputIsFound) {
  auto in = device.from_host(std::vector<std::int32_t>(n, -2), {n});
  auto out = device.zeros<std::int32_t>({n});
  auto kernel = Subject(DType::i32)
                    .candidate("a", "add_int")
                    .candidate("b", "add_int")
                    .candidate("c", "half_int time=0.1")
                    .make();
  kernel->launch(arguments<std::int32_t>(n, in, out), nullptr, nullptr);
  EXPECT_EQ(out.to_host(), std::vector<std::int32_t>(n, -1));
  EXPECT_EQ(row_of(kernel->report(), "c").status, Status::rejected);
  EXPECT_THAT(row_of(kernel->report(), "c").reason, HasSubstr("500 of 1000 elements differ, the first at 500"));
}

TEST_F(Trial, ManyThreadsTuneAtOnce) {
  const Environment limit("TESSERA_TRIAL_SECONDS", "1");
  const std::size_t before = test::open_descriptors();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this, t] {
      auto in = device.full<float>({n}, static_cast<float>(t)), out = device.zeros<float>({n});
      const std::array<const char*, 4> faults = {"trap", "crash", "behind", "touch"};
      // A kernel of each thread's own: the cache knows them by their text.
      const std::string mark = " # " + std::to_string(t);
      auto kernel = Subject()
                        .candidate("a", "add time=2" + mark)
                        .candidate("b", "add time=1" + mark)
                        .candidate("c", faults[static_cast<std::size_t>(t) % 4] + mark)
                        .candidate("d", "wrong" + mark)
                        .make();
      kernel->launch(arguments<float>(n, in, out), nullptr, nullptr);
      EXPECT_EQ(out.to_host(), std::vector<float>(n, static_cast<float>(t + 1)));
      const Report report = kernel->report();
      EXPECT_EQ(report.config, "b");
      EXPECT_EQ(row_of(report, "c").status, Status::failed);
      EXPECT_EQ(row_of(report, "d").status, Status::rejected);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(test::has_children());
  EXPECT_EQ(test::open_descriptors(), before);
}

// --- Where it cannot be

TEST_F(Trial, SwitchedOffItTunesHere) {
  const Environment off("TESSERA_TRIAL", "0");
  auto kernel = Subject().candidate("a", "add time=1.1").candidate("b", "add time=1").make();
  call(*kernel);
  expect_right();
  EXPECT_EQ(kernel->report().config, "b");
  EXPECT_THAT(launched_here(), MatchesRegex("(add ){20,}"));
  EXPECT_THAT(kernel->report().remarks, ::testing::ElementsAre("its candidates ran in this process (TESSERA_TRIAL=0)"));
  EXPECT_THAT(messages_, Not(HasSubstr("warning")));
}

struct Unavailable {
  const char* variable;
  const char* value;
  const char* expected;
};
class TrialUnavailable : public Trial, public ::testing::WithParamInterface<Unavailable> {};

TEST_P(TrialUnavailable, ItTunesHereAndSaysSo) {
  const Environment variable(GetParam().variable, GetParam().value);
  for (const char* mark : {" # first", " # second"}) {  // no record of the first is of use to the second
    auto kernel =
        Subject().candidate("a", std::string("add time=2") + mark).candidate("b", std::string("add") + mark).make();
    call(*kernel);
    expect_right();
    const Report report = kernel->report();
    EXPECT_EQ(report.config, "b");
    EXPECT_EQ(report.ranking, Report::Ranking::measured);
    ASSERT_EQ(report.remarks.size(), 1U);
    EXPECT_THAT(report.remarks[0], AllOf(HasSubstr("ran in this process"), HasSubstr(GetParam().expected)));
  }
  EXPECT_THAT(messages_, HasSubstr("warning: candidates are tuned in this process"));
  EXPECT_THAT(messages_, HasSubstr(GetParam().expected));
  EXPECT_EQ(messages_.find("tuned in this process"), messages_.rfind("tuned in this process")) << "said once";
  EXPECT_FALSE(test::has_children());
}

INSTANTIATE_TEST_SUITE_P(Reasons, TrialUnavailable,
                         ::testing::Values(Unavailable{"FIELD_EXCLUSIVE", "1", "CUDA_ERROR_DEVICE_UNAVAILABLE"},
                                           Unavailable{"FIELD_MEMORY", "10000", "bytes of memory left"},
                                           Unavailable{"FIELD_OTHER_BUS", "7", "does not see the device 0000:3b:00"}));

TEST_F(Trial, RefusesVariablesThatSayNothing) {
  auto kernel = Subject().candidate("a", "add").candidate("b", "add").make();
  for (const char* value : {"abc", "-1", "0", "inf", "nan", "10s", "1e9"}) {
    const Environment variable("TESSERA_TRIAL_SECONDS", value);
    const Error error = error_of([&] { call(*kernel); });
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_THAT(error.what(), HasSubstr("TESSERA_TRIAL_SECONDS is \"" + std::string(value) + "\""));
    EXPECT_THAT(error.what(), HasSubstr("help: the seconds that a candidate may take"));
  }
  const Environment variable("TESSERA_TRIAL", "no");
  EXPECT_THAT(error_of([&] { call(*kernel); }).what(), HasSubstr("TESSERA_TRIAL is \"no\""));
}

}  // namespace
}  // namespace tessera
