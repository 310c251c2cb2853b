// Processes that are killed while they tune, that tune at once, and what a record depends on.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "runtime/record_store.hpp"
#include "tuning_fixture.hpp"

namespace tessera {
namespace {
using detail::KernelImpl;
using detail::ParamKind;
using test::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Status = CandidateReport::Status;

struct Resume : test::TuningTest {
  // Runs `work` in another process and returns how that ended.
  template <class Work>
  static int in_process(const Work& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      work();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }
  std::vector<tune::Record> records() const {
    std::vector<tune::Record> result;
    for (const auto& file : test::fs::directory_iterator(root_ / "tuning")) {
      const auto text = runtime::read_file(file.path());
      const auto plain = runtime::unseal(*text);
      EXPECT_TRUE(plain.has_value()) << file.path();
      auto record = tune::parse_record(*plain);
      EXPECT_TRUE(record.has_value()) << file.path();
      if (record) result.push_back(std::move(*record));
    }
    return result;
  }
};

std::function<void(const runtime::LaunchPlan&)> deadly() {
  return [](const runtime::LaunchPlan&) { ::kill(::getpid(), SIGKILL); };
}

TEST_F(Resume, KilledWhileItChecksResults) {
  const int status = in_process([&] {
    world->behaviours["d"].run = deadly();
    auto kernel = make();
    call(*kernel);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(records().size(), 1U);
  EXPECT_FALSE(records()[0].complete);
  auto kernel = make();
  call(*kernel);
  EXPECT_THAT(world->compiled, IsEmpty());
  EXPECT_EQ(runs("a"), 1) << "for the result of its class";
  EXPECT_EQ(runs("b"), 0);
  EXPECT_EQ(runs("c"), 2) << "the final check, and the caller's launch";
  EXPECT_EQ(runs("d"), 1) << "the candidate that was in hand";
  EXPECT_EQ(kernel->report().config, "c");
  EXPECT_TRUE(records()[0].complete);
}

TEST_F(Resume, KilledWhileItMeasures) {
  int launches = 0;
  const int status = in_process([&] {
    const auto run = world->behaviours["b"].run;
    world->behaviours["b"].run = [&launches, run](const runtime::LaunchPlan& plan) {
      if (++launches == 8) ::kill(::getpid(), SIGKILL);
      run(plan);
    };
    auto kernel = make();
    call(*kernel);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  auto kernel = make();
  call(*kernel);
  EXPECT_EQ(runs("a") + runs("b") + runs("d"), 1);
  EXPECT_EQ(kernel->report().config, "c");
}

TEST_F(Resume, FailedAndWrongOnesAreNotTriedAgain) {
  const auto wrong = doubling(9.0F);
  const int status = in_process([&] {
    world->behaviours["a"].run = [](const runtime::LaunchPlan&) { throw Error(ErrorKind::device, {}, "a fault"); };
    world->behaviours["d"].run = deadly();
    auto kernel = make();
    call(*kernel);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  world->behaviours["a"].milliseconds = 0.1;  // it would win
  auto kernel = make();
  call(*kernel);
  EXPECT_EQ(runs("a"), 0);
  EXPECT_EQ(kernel->report().candidates[0].status, Status::failed);
  EXPECT_EQ(kernel->report().candidates[0].reason, "a fault");
  EXPECT_EQ(kernel->report().config, "c");
}

TEST_F(Resume, KilledInTheBackground) {
  const int status = in_process([&] {
    world->behaviours["d"].run = deadly();
    auto kernel = make({.mode = Tuning::background});
    call(*kernel);
    kernel->wait_for_tuning();
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  auto kernel = make({.mode = Tuning::background});
  call(*kernel);
  kernel->wait_for_tuning();
  EXPECT_THAT(world->compiled, IsEmpty());
  EXPECT_EQ(runs("b"), 0);
  EXPECT_EQ(kernel->report().config, "c");
}

TEST_F(Resume, ATuningThatFailedLeavesNothingBehindThatCouldFailAgain) {
  for (auto& [config, behaviour] : world->behaviours)
    behaviour.run = [](const runtime::LaunchPlan&) { throw Error(ErrorKind::device, {}, "a fault"); };
  auto kernel = make();
  EXPECT_THAT(error_of([&] { call(*kernel); }).what(), HasSubstr("a fault"));
  for (auto& [config, behaviour] : world->behaviours) behaviour.run = doubling(2.0F);
  auto again = make();
  call(*again);
  EXPECT_EQ(again->report().config, "c");
  EXPECT_EQ(again->report().candidates[0].status, Status::ranked);
}

TEST_F(Resume, AnEditedCandidateIsMeasuredAnew) {
  {
    auto first = make();
    call(*first);
  }
  forget();
  world->behaviours["c"].text = "edited";
  world->behaviours["c"].milliseconds = 9;
  auto second = make();
  call(*second);
  EXPECT_EQ(second->report().config, "b");
  EXPECT_EQ(records()[0].winner, "b");
  forget();
  auto third = make();
  call(*third);
  EXPECT_THAT(world->timed, IsEmpty());
  EXPECT_EQ(third->report().config, "b");
}

TEST_F(Resume, ProcessesThatTuneTheSameBucketAtOnceAllFinish) {
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(gate[1]);
      char byte = 0;
      [[maybe_unused]] const ssize_t n = ::read(gate[0], &byte, 1);  // returns when the parent closes the gate
      auto kernel = make();
      call(*kernel);
      ::_exit(kernel->report().config == "c" && y.to_host()[99] == 3.0F ? 0 : 1);
    }
    children.push_back(child);
  }
  ::close(gate[0]);
  ::close(gate[1]);
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  ASSERT_EQ(records().size(), 1U);
  EXPECT_TRUE(records()[0].complete);
  EXPECT_EQ(records()[0].winner, "c");
}

// A launch is written down so that it can be made again.
TEST_F(Resume, TheRecordHoldsTheLaunches) {
  auto kernel = make();
  kernel->launch(arguments(1, 100, x.from(4), y), nullptr, nullptr);
  const tune::Record record = records()[0];
  ASSERT_EQ(record.buffers.size(), 2U);
  for (const tune::RecordBuffer& buffer : record.buffers) {
    EXPECT_EQ(buffer.region.bytes, 400U);
    EXPECT_EQ(buffer.type, DType::f32);
    EXPECT_EQ(buffer.region.read, buffer.region.name == "x");
    EXPECT_EQ(buffer.region.written, buffer.region.name == "y");
    EXPECT_EQ(buffer.region.misalignment, buffer.region.name == "x" ? 16U : 0U);
  }
  for (const tune::RecordRow& row : record.rows) {
    ASSERT_TRUE(row.launch.has_value());
    EXPECT_TRUE(test::fs::exists(root_ / "kernels" / row.launch->entry / "kernel.cubin"));
    EXPECT_EQ(row.launch->job.grid[0], 100U);
    EXPECT_EQ(row.launch->job.threads, 32U);
    ASSERT_EQ(row.launch->job.params.size(), 3U);
    EXPECT_EQ(row.launch->job.params[0].region, trial::no_region);
    EXPECT_EQ(row.launch->job.params[0].value, 100);
    EXPECT_NE(row.launch->job.params[1].region, row.launch->job.params[2].region);
    EXPECT_GT(row.measured, 1600000000);
  }
}

// The key of a record: every ingredient changes it, nothing else does.
struct Identity : test::TuningTest {
  std::string key(const std::shared_ptr<test::FakeDevice>& on, detail::Program program, int scale, int m,
                  std::int64_t offset, const std::string& compiler = "fake compiler 1") {
    const Device where(on);
    auto in = where.zeros<float>({4096}), out = where.zeros<float>({4096});
    auto chain = std::make_shared<runtime::Toolchain>(*test::fake_toolchain(world));
    chain->compiler = [compiler] { return compiler; };
    KernelImpl kernel(std::move(program), chain);
    kernel.launch(arguments(scale, m, in.from(static_cast<std::size_t>(offset)), out), nullptr, nullptr);
    return kernel.report().record_path;
  }
};

TEST_F(Identity, EveryIngredientChangesTheKey) {
  const std::string plain = key(state, program(), 1, 100, 0);
  EXPECT_THAT(plain, HasSubstr("/tuning/"));
  const auto differs = [&](const char* what, const std::string& other) { EXPECT_NE(other, plain) << what; };
  const auto device_with = [&](const std::string& name, const std::string& driver, int sms) {
    auto result = std::make_shared<test::FakeDevice>(world, name);
    result->driver_text = driver;
    result->sms = sms;
    return result;
  };
  differs("device", key(device_with("other GPU", "fake driver 1", 4), program(), 1, 100, 0));
  differs("driver", key(device_with("fake GPU", "fake driver 2", 4), program(), 1, 100, 0));
  differs("multiprocessors", key(device_with("fake GPU", "fake driver 1", 5), program(), 1, 100, 0));
  differs("compiler", key(state, program(), 1, 100, 0, "fake compiler 2"));
  differs("constant", key(state, program(), 2, 100, 0));
  differs("bucket", key(state, program(), 1, 129, 0));
  differs("alignment", key(state, program(), 1, 100, 1));
  detail::Program named = program();
  named.name = "Other";
  differs("script", key(state, named, 1, 100, 0));
  detail::Program renamed = program();
  renamed.params[1].name = "n";
  differs("parameter name", key(state, renamed, 1, 100, 0));
  detail::Program smaller = program();
  smaller.candidates.pop_back();
  differs("space", key(state, smaller, 1, 100, 0));
}

TEST_F(Identity, NothingElseDoes) {
  const std::string plain = key(state, program(), 1, 100, 0);
  EXPECT_EQ(key(std::make_shared<test::FakeDevice>(world), program(), 1, 100, 0), plain) << "another handle";
  EXPECT_EQ(key(state, program(), 1, 65, 0), plain) << "another size of the bucket";
  EXPECT_EQ(key(state, program(), 1, 100, 4), plain) << "another address of that alignment";
  detail::Program moved = program();
  moved.loc = SourceLoc::here();
  EXPECT_EQ(key(state, moved, 1, 100, 0), plain) << "another line";
  world->behaviours["b"].text = "edited";
  EXPECT_EQ(key(state, program(), 1, 100, 0), plain) << "the text is looked at when the record is read";
}

}  // namespace
}  // namespace tessera
