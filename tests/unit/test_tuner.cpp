#include <limits>

#include "runtime_fixture.hpp"
#include "tune/tuner.hpp"

namespace tessera::tune {
namespace {
using ::testing::Each;
using ::testing::HasSubstr;
using Status = CandidateReport::Status;
using test::error_of;

template <class T>
Output output_of(std::vector<T> values) {
  Output output;
  output.type = dtype_of<T>;
  output.bytes.resize(values.size() * sizeof(T));
  std::memcpy(output.bytes.data(), values.data(), output.bytes.size());
  return output;
}

// Candidates with given results and times; a run may fail.
struct FakeExecutor : Executor {
  struct One {
    std::vector<float> result = {1, 2, 3, 4};
    double ms = 1;
    std::optional<Error> error = {};
    std::vector<float> later = {};  // result after the first run, if it changes
  };
  std::vector<One> all;
  std::vector<int> runs, times;
  std::vector<std::size_t> order;
  explicit FakeExecutor(std::vector<One> list) : all(std::move(list)), runs(all.size()), times(all.size()) {}
  std::vector<Output> run(std::size_t i, std::vector<Output>) override {
    if (all[i].error) throw Error(*all[i].error);
    const bool changed = runs[i]++ > 0 && !all[i].later.empty();
    return {output_of(changed ? all[i].later : all[i].result)};
  }
  double time(std::size_t i) override {
    ++times[i];
    order.push_back(i);
    return all[i].ms;
  }
};

std::vector<CandidateReport> rows_for(std::size_t count) {
  std::vector<CandidateReport> rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    rows[i].config = "c=" + std::to_string(i);
    rows[i].status = Status::ranked;
  }
  return rows;
}

std::size_t tune(std::vector<CandidateReport>& rows, FakeExecutor& executor) {
  return measure(rows, executor, "Fake", SourceLoc::here());
}

TEST(Tuner, TheFastestRightOneWins) {
  FakeExecutor executor({{.ms = 2}, {.ms = 1.5}, {.ms = 1.8}});
  auto rows = rows_for(3);
  EXPECT_EQ(tune(rows, executor), 1U);
  EXPECT_EQ(rows[1].status, Status::chosen);
  EXPECT_EQ(rows[0].status, Status::ranked);
  EXPECT_DOUBLE_EQ(rows[0].time_us, 2000);
}

TEST(Tuner, WrongButFastIsRejectedAndNamed) {
  FakeExecutor executor({{.ms = 2}, {.result = {1, 2, 3.5, 4}, .ms = 0.1}, {.ms = 3}});
  auto rows = rows_for(3);
  EXPECT_EQ(tune(rows, executor), 0U);
  EXPECT_EQ(rows[1].status, Status::rejected);
  EXPECT_THAT(rows[1].reason, HasSubstr("1 of 4 elements differ, the first at 2: 3.5 instead of 3"));
  EXPECT_EQ(executor.times[1], 0) << "a wrong candidate is not timed";
}

TEST(Tuner, LeftOverPoisonIsWrong) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  FakeExecutor executor({{.result = {1, nan, 3, 4}, .ms = 0.1}, {.ms = 1}});
  auto rows = rows_for(2);
  EXPECT_EQ(tune(rows, executor), 1U) << "of two classes of equal size the one without NaNs is right";
  EXPECT_EQ(rows[0].status, Status::rejected);
}

TEST(Tuner, NoMajorityIsAnError) {
  FakeExecutor executor({{.result = {1, 2, 3, 9}}, {.result = {1, 2, 3, 4}}});
  auto rows = rows_for(2);
  const Error error = error_of([&] { tune(rows, executor); });
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(), HasSubstr("no majority"));
  EXPECT_EQ(error.diagnostics()[0].notes.size(), 2U);
}

TEST(Tuner, AFailingCandidateIsNotFatal) {
  FakeExecutor executor({{.error = Error(ErrorKind::user, {}, "barrier deadlock")}, {.ms = 5}});
  auto rows = rows_for(2);
  EXPECT_EQ(tune(rows, executor), 1U);
  EXPECT_EQ(rows[0].status, Status::failed);
  EXPECT_EQ(rows[0].reason, "barrier deadlock");
}

TEST(Tuner, AllFailingListsEachWithItsReason) {
  FakeExecutor executor({{.error = Error(ErrorKind::user, {}, "first reason")},
                         {.error = Error(ErrorKind::device, {}, "second reason")}});
  auto rows = rows_for(2);
  const Error error = error_of([&] { tune(rows, executor); });
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(), HasSubstr("none of its 2 candidates can be used"));
  EXPECT_EQ(error.diagnostics()[0].notes[0].message, "c=0: first reason");
  EXPECT_EQ(error.diagnostics()[0].notes[1].message, "c=1: second reason");
}

TEST(Tuner, AnInternalErrorIsNeverHidden) {
  FakeExecutor executor({{.error = Error(ErrorKind::internal, {}, "bug")}, {.ms = 5}});
  auto rows = rows_for(2);
  EXPECT_EQ(error_of([&] { tune(rows, executor); }).kind(), ErrorKind::internal);
}

TEST(Tuner, HopelessOnesLeaveEarly) {
  FakeExecutor executor({{.ms = 1}, {.ms = 1.4}, {.ms = 1.6}, {.ms = 2.6}});
  auto rows = rows_for(4);
  EXPECT_EQ(tune(rows, executor), 0U);
  EXPECT_EQ(rows[2].status, Status::dropped);
  EXPECT_EQ(rows[3].status, Status::dropped);
  EXPECT_EQ(executor.times[3], 3) << "two launches, and a second chance at the end";
  EXPECT_EQ(executor.times[2], 3);
  EXPECT_EQ(executor.times[1], Options{}.rounds);
  EXPECT_GT(rows[2].time_us, 0);
}

TEST(Tuner, TheOrderRotates) {
  FakeExecutor executor({{}, {}, {}});
  auto rows = rows_for(3);
  tune(rows, executor);
  EXPECT_THAT(std::vector<std::size_t>(executor.order.begin(), executor.order.begin() + 9),
              ::testing::ElementsAre(0, 1, 2, 1, 2, 0, 2, 0, 1));
}

TEST(Tuner, SlowKernelsGetFewerRounds) {
  FakeExecutor executor({{.ms = 500}, {.ms = 510}});
  auto rows = rows_for(2);
  tune(rows, executor);
  EXPECT_THAT(executor.times, Each(Options{}.least_rounds));
}

TEST(Tuner, FlawsDecideBetweenEquals) {
  FakeExecutor executor({{.ms = 1.00}, {.ms = 1.01}, {.ms = 0.9}});
  auto rows = rows_for(3);
  rows[0].remarks = {"wgmma serialized"};
  rows[2].status = Status::pruned;
  EXPECT_EQ(tune(rows, executor), 1U);
  EXPECT_EQ(executor.runs[2], 0);
}

TEST(Tuner, AResultThatChangesIsRejected) {
  FakeExecutor executor({{.ms = 1, .later = {1, 2, 3, 7}}, {.ms = 1.2}, {.ms = 1.3}});
  auto rows = rows_for(3);
  EXPECT_EQ(tune(rows, executor), 1U);
  EXPECT_EQ(rows[0].status, Status::rejected);
  EXPECT_THAT(rows[0].reason, HasSubstr("changes from run to run"));
}

TEST(Tuner, ASingleSurvivorIsNotTimed) {
  FakeExecutor executor({{.ms = 1}, {.ms = 1}});
  auto rows = rows_for(2);
  rows[0].status = Status::pruned;
  EXPECT_EQ(tune(rows, executor), 1U);
  EXPECT_EQ(executor.times[1], 0);
}

TEST(Compare, RoundingAndSummationOrderAreNoDifference) {
  std::vector<float16> a, b;
  for (int i = 0; i < 5000; ++i) {
    a.push_back(float16(static_cast<float>(i % 37) - 18.0F));
    b.push_back(
        float16::from_bits(static_cast<std::uint16_t>(a.back().bits + (i % 3 == 0 && a.back().bits != 0 ? 1 : 0))));
  }
  EXPECT_EQ(compare(output_of(a), output_of(b)).different, 0U);
  b[4321] = float16(static_cast<float>(a[4321]) + 1.0F);
  const Difference d = compare(output_of(a), output_of(b));
  EXPECT_EQ(d.different, 1U);
  EXPECT_EQ(d.first, 4321U);
  EXPECT_EQ(d.total, 5000U);
}

TEST(Compare, OneBlockOfAMatmulMissingIsADifference) {
  // A sum of 8192 unit normal products against the same without 64 of them: the mistake that must be found.
  std::vector<float> a, b;
  for (int i = 0; i < 4096; ++i) {
    a.push_back(90.5F * std::sin(static_cast<float>(i) * 0.7F));
    b.push_back(a.back() + 8.0F * std::cos(static_cast<float>(i) * 1.3F));
  }
  EXPECT_GT(compare(output_of(a), output_of(b)).different, 3500U);
}

TEST(Compare, Float8MayRoundTheOtherWay) {
  const auto e4m3 = [](std::uint8_t bits) { return float8_e4m3::from_bits(bits); };
  const std::vector<float8_e4m3> a = {e4m3(0x38), e4m3(0x40), e4m3(0x7e), e4m3(0x7f)};  // 1, 2, 448, NaN
  EXPECT_EQ(compare(output_of(a), output_of<float8_e4m3>({e4m3(0x39), e4m3(0x3f), e4m3(0x7d), e4m3(0xff)})).different,
            0U);
  EXPECT_EQ(compare(output_of(a), output_of<float8_e4m3>({e4m3(0x38), e4m3(0x40), e4m3(0x70), e4m3(0x38)})).different,
            2U);
  const std::vector<float8_e5m2> b(8, float8_e5m2(3.0F)), c(8, float8_e5m2(-3.0F));
  EXPECT_EQ(compare(output_of(b), output_of(c)).different, 8U);
}

TEST(Compare, NaNAndInfinity) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(compare(output_of<float>({nan, inf, -inf}), output_of<float>({-nan, inf, -inf})).different, 0U);
  EXPECT_EQ(compare(output_of<float>({nan, inf, -inf, 1}), output_of<float>({1, -inf, nan, inf})).different, 4U);
}

TEST(Compare, IntegersAreExact) {
  EXPECT_EQ(compare(output_of<std::int32_t>({1000000, 2}), output_of<std::int32_t>({1000001, 2})).different, 1U);
  EXPECT_EQ(compare(output_of<std::int64_t>({1LL << 60}), output_of<std::int64_t>({(1LL << 60) + 1})).different, 1U);
}

}  // namespace
}  // namespace tessera::tune
