// The path from a call to a launch, on a device whose kernels are C++ functions.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <thread>

#include "counting_new.hpp"
#include "runtime_fixture.hpp"

namespace tessera {
namespace {
using detail::Argument;
using detail::KernelImpl;
using detail::ParamKind;
using runtime::LaunchPlan;
using test::Behaviour;
using test::error_of;
using test::FakeDevice;
using test::FakeWorld;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
using Status = CandidateReport::Status;

// Fake(c_scale: constant, m: Int32, x: Ptr<float>, y: Ptr<float>): y[0..m) = 2 x. Grid {m}.
struct KernelTest : test::RuntimeTest {
  void SetUp() override {
    RuntimeTest::SetUp();
    world->build = test::build_vector_kernel;
    world->behaviours["a"] = {.run = doubling(2.0F), .milliseconds = 3.0};
    world->behaviours["b"] = {.run = doubling(2.0F), .milliseconds = 1.0};
    world->behaviours["c"] = {.run = doubling(2.0F), .milliseconds = 2.0};
  }
  static std::function<void(const LaunchPlan&)> doubling(float factor) {
    return [factor](const LaunchPlan& plan) {
      const auto* x = *static_cast<const float* const*>(plan.params[1]);
      auto* y = *static_cast<float* const*>(plan.params[2]);
      for (std::int32_t i = 0; i < *static_cast<const std::int32_t*>(plan.params[0]); ++i) y[i] = factor * x[i];
    };
  }
  std::unique_ptr<KernelImpl> make(bool always_measured = false) {
    detail::Program program = test::fake_program(world, {{ParamKind::constant, DType::i32, "c_scale"},
                                                         {ParamKind::scalar, DType::i32, "m"},
                                                         {ParamKind::pointer, DType::f32, "x"},
                                                         {ParamKind::pointer, DType::f32, "y"}});
    program.always_measured = always_measured;
    return std::make_unique<KernelImpl>(std::move(program), test::fake_toolchain(world));
  }
  std::array<Argument, 4> arguments(int scale, int m, const PtrArg<float>& x, const PtrArg<float>& y) const {
    std::array<Argument, 4> result;
    result[0].integer = scale;
    result[1].integer = m;
    result[2].pointer = x.value();
    result[3].pointer = y.value();
    return result;
  }
  void call(KernelImpl& kernel, int scale, int m) { kernel.launch(arguments(scale, m, x, y), nullptr, nullptr); }

  std::shared_ptr<FakeWorld> world = std::make_shared<FakeWorld>();
  std::shared_ptr<FakeDevice> state = std::make_shared<FakeDevice>(world);
  Device device{state};
  Buffer<float> x = device.from_host(std::vector<float>(4096, 1.5F), {4096});
  Buffer<float> y = device.full<float>({4096}, 7.0F);
};

TEST_F(KernelTest, TunesOnceAndLaunchesTheWinner) {
  auto kernel = make();
  call(*kernel, 1, 100);
  EXPECT_THAT(world->compiled, UnorderedElementsAre("a", "b", "c"));
  EXPECT_EQ(world->launched.back(), "b");
  EXPECT_EQ(y.to_host()[99], 3.0F);
  EXPECT_EQ(y.to_host()[100], 7.0F);
  const Report report = kernel->report();
  EXPECT_EQ(report.config, "b");
  EXPECT_EQ(report.ranking, Report::Ranking::measured);
  EXPECT_EQ(report.bucket, "m in (64, 128]");
  EXPECT_EQ(report.candidates[1].status, Status::chosen);
  EXPECT_EQ(report.candidates[0].time_us, 3000);
  EXPECT_EQ(report.candidates[0].registers, 40);
  EXPECT_TRUE(std::filesystem::exists(report.cuda_path));
  EXPECT_TRUE(std::filesystem::exists(report.record_path));
  EXPECT_THAT(report.to_string(), HasSubstr("fake GPU: b (measured now)"));
  EXPECT_EQ(state->live_allocations, 2) << "the tuner's copies are gone";
}

TEST_F(KernelTest, LaterCallsOnlyLaunch) {
  auto kernel = make();
  call(*kernel, 1, 100);
  const auto args = arguments(1, 100, x, y);
  call(*kernel, 1, 100);
  const std::size_t launches = world->launched.size(), timed = world->timed.size();
  test::FakeExecutable::recording = false;  // it appends to a list
  const std::size_t before = test::allocations;
  for (int i = 0; i < 100; ++i) kernel->launch(args, nullptr, nullptr);
  EXPECT_EQ(test::allocations, before);
  test::FakeExecutable::recording = true;
  kernel->launch(args, nullptr, nullptr);
  EXPECT_EQ(world->launched.size(), launches + 1);
  EXPECT_EQ(world->timed.size(), timed);
  const Report report = kernel->report();
  EXPECT_EQ(report.counters.traced, 3U);
  EXPECT_EQ(report.counters.planned, 1U);
  EXPECT_EQ(report.counters.launched, 103U);
}

TEST_F(KernelTest, ANewRunTimeSizeNeitherTracesNorCompiles) {
  auto kernel = make();
  call(*kernel, 1, 100);
  call(*kernel, 1, 65);
  EXPECT_EQ(kernel->report().counters.planned, 2U);
  const std::size_t timed = world->timed.size();
  world->behaviours["c"].milliseconds = 0.5;
  call(*kernel, 1, 129);  // the next bucket: tuned, not compiled
  EXPECT_GT(world->timed.size(), timed);
  EXPECT_EQ(kernel->report().config, "c");
  EXPECT_EQ(kernel->report().bucket, "m in (128, 256]");
  call(*kernel, 1, 100);
  EXPECT_EQ(kernel->report().config, "b");
  EXPECT_EQ(kernel->report().counters.traced, 3U);
  EXPECT_EQ(world->compiled.size(), 3U);
}

TEST_F(KernelTest, ANewConstantOrAlignmentCompiles) {
  auto kernel = make();
  call(*kernel, 1, 100);
  call(*kernel, 2, 100);
  EXPECT_EQ(kernel->report().counters.traced, 6U);
  kernel->launch(arguments(1, 100, x.from(1), y), nullptr, nullptr);
  EXPECT_EQ(kernel->report().counters.traced, 9U);
  EXPECT_EQ(kernel->report().counters.compiled, 6U) << "the constant does not change the fake text, the alignment does";
  kernel->launch(arguments(1, 100, x.from(4), y), nullptr, nullptr);
  EXPECT_EQ(kernel->report().counters.traced, 9U) << "16 bytes further is aligned again";
}

TEST_F(KernelTest, AnotherProcessStartsFromTheRecord) {
  {
    auto first = make();
    call(*first, 1, 100);
  }
  world->compiled.clear();
  world->timed.clear();
  auto second = make();
  call(*second, 1, 90);
  EXPECT_TRUE(world->compiled.empty());
  EXPECT_TRUE(world->timed.empty());
  const Report report = second->report();
  EXPECT_EQ(report.ranking, Report::Ranking::recorded);
  EXPECT_EQ(report.config, "b");
  EXPECT_EQ(report.counters.traced, 1U) << "the winner alone";
  EXPECT_EQ(report.counters.cache_hits, 1U);
  EXPECT_EQ(report.candidates[0].time_us, 3000) << "the table of the record";
  call(*second, 1, 1000);  // a bucket without a record: all candidates, from the cache
  EXPECT_TRUE(world->compiled.empty());
  EXPECT_FALSE(world->timed.empty());
}

TEST_F(KernelTest, ARecordOfAnotherTextIsNotUsed) {
  {
    auto first = make();
    call(*first, 1, 100);
  }
  world->timed.clear();
  world->behaviours["b"].text = "edited";
  world->behaviours["b"].milliseconds = 9;
  auto second = make();
  call(*second, 1, 100);
  EXPECT_FALSE(world->timed.empty());
  EXPECT_EQ(second->report().config, "c");
}

TEST_F(KernelTest, ARecordOfAnotherDeviceIsNotUsed) {
  {
    auto first = make();
    call(*first, 1, 100);
  }
  world->timed.clear();
  auto other = std::make_shared<FakeDevice>(world, "another GPU");
  const Device other_device{other};
  auto u = other_device.zeros<float>({128}), v = other_device.zeros<float>({128});
  auto second = make();
  second->launch(arguments(1, 100, u, v), nullptr, nullptr);
  EXPECT_FALSE(world->timed.empty());
}

TEST_F(KernelTest, ADamagedRecordIsTunedAnew) {
  std::string path;
  {
    auto first = make();
    call(*first, 1, 100);
    path = first->report().record_path;
  }
  std::ofstream(path, std::ios::trunc) << "{";
  world->timed.clear();
  auto second = make();
  call(*second, 1, 100);
  EXPECT_FALSE(world->timed.empty());
  EXPECT_THAT(messages_, HasSubstr("is damaged"));
}

TEST_F(KernelTest, WrongButFastIsRejected) {
  world->behaviours["d"] = {.run = doubling(2.5F), .milliseconds = 0.01};
  auto kernel = make();
  call(*kernel, 1, 100);
  EXPECT_EQ(kernel->report().config, "b");
  EXPECT_EQ(kernel->report().candidates[3].status, Status::rejected);
  EXPECT_EQ(y.to_host()[0], 3.0F);
}

TEST_F(KernelTest, ACandidateThatWritesTooLittleIsRejected) {
  world->behaviours["d"] = {.run = [](const LaunchPlan&) {}, .milliseconds = 0.01};
  auto kernel = make();
  call(*kernel, 1, 100);
  EXPECT_EQ(kernel->report().candidates[3].status, Status::rejected);
  EXPECT_THAT(kernel->report().candidates[3].reason, HasSubstr("nan instead of 3"));
}

TEST_F(KernelTest, AnUpdateInPlaceHappensOnce) {
  const auto build = world->build;
  world->build = [build](const std::string& config, ir::thread::Kernel& kernel) {
    build(config, kernel);
    auto& pool = kernel.context->expr;
    auto* regs = kernel.context->new_regs(DType::f32, 1, "r", {});
    kernel.body.push_back(kernel.context->arena.make<ir::thread::LoadGlobalVector>(
        SourceLoc{}, ir::thread::RegRef{regs, pool.i32(0)}, 1, 2U, pool.i64(0), nullptr));
  };
  for (auto& [config, behaviour] : world->behaviours) {
    behaviour.run = [](const LaunchPlan& plan) {
      auto* data = *static_cast<float* const*>(plan.params[2]);
      for (std::int32_t i = 0; i < *static_cast<const std::int32_t*>(plan.params[0]); ++i) data[i] += 1.0F;
    };
  }
  auto kernel = make();
  call(*kernel, 1, 100);
  EXPECT_GE(world->timed.size(), 5U);
  EXPECT_EQ(y.to_host()[50], 8.0F);
  call(*kernel, 1, 100);
  EXPECT_EQ(y.to_host()[50], 9.0F);
}

TEST_F(KernelTest, OverlappingArgumentsAreAnUpdateInPlace) {
  for (auto& [config, behaviour] : world->behaviours) behaviour.run = doubling(2.0F);
  auto kernel = make();
  kernel->launch(arguments(1, 100, x, x), nullptr, nullptr);
  EXPECT_EQ(x.to_host()[10], 3.0F);
  EXPECT_EQ(kernel->report().candidates[0].status, Status::dropped) << kernel->report().to_string();
}

TEST_F(KernelTest, PrunedAndFailedCandidatesHaveTheirReasons) {
  world->behaviours["d"] = {.run = doubling(2.0F), .shared_bytes = 232449};
  world->behaviours["e"] = {.run = doubling(2.0F), .register_estimate = 256};
  world->behaviours["f"] = {.run = doubling(2.0F), .lower_error = Error(ErrorKind::user, {}, "dot does not fit")};
  world->behaviours["g"] = {.run = doubling(2.0F), .compile_error = Error(ErrorKind::device, {}, "ptxas gave up")};
  world->behaviours["i"] = {.run = doubling(2.0F), .trace_error = Error(ErrorKind::user, {}, "no such tile")};
  world->behaviours["h"] = {.run = doubling(2.0F), .milliseconds = 0.1, .spill_bytes = 16};
  auto kernel = make();
  call(*kernel, 1, 100);
  const auto rows = kernel->report().candidates;
  EXPECT_EQ(rows[3].status, Status::pruned);
  EXPECT_THAT(rows[3].reason, HasSubstr("needs 232449 bytes of shared memory, a block has 232448"));
  EXPECT_EQ(rows[4].status, Status::pruned);
  EXPECT_THAT(rows[4].reason, HasSubstr("needs about 256 registers"));
  EXPECT_EQ(rows[5].status, Status::pruned);
  EXPECT_EQ(rows[5].reason, "dot does not fit");
  EXPECT_EQ(rows[6].status, Status::failed);
  EXPECT_EQ(rows[6].reason, "ptxas gave up");
  EXPECT_EQ(rows[7].status, Status::pruned);
  EXPECT_THAT(rows[7].reason, HasSubstr("spills 16 bytes"));
  EXPECT_EQ(rows[8].status, Status::failed);
  EXPECT_EQ(rows[8].reason, "no such tile");
  EXPECT_THAT(world->compiled, UnorderedElementsAre("a", "b", "c", "g", "h"));
  EXPECT_EQ(kernel->report().config, "b");
}

TEST_F(KernelTest, WhatTheAssemblerRemarksOnIsNotKept) {
  world->behaviours["d"] = {.run = doubling(2.0F), .milliseconds = 0.01, .remarks = {"(C7510) wgmma serialized"}};
  auto kernel = make();
  call(*kernel, 1, 100);
  const auto rows = kernel->report().candidates;
  EXPECT_EQ(rows[3].status, Status::pruned);
  EXPECT_EQ(rows[3].reason, "(C7510) wgmma serialized; others have no such remark");
  EXPECT_EQ(rows[3].remarks.size(), 1U);
  EXPECT_THAT(world->timed, ::testing::Not(::testing::Contains("d")));
}

TEST_F(KernelTest, WhereAllHaveFlawsTheyAreMeasured) {
  for (auto& [config, behaviour] : world->behaviours) behaviour.remarks = {"(C7510) wgmma serialized"};
  auto kernel = make();
  call(*kernel, 1, 100);
  EXPECT_EQ(kernel->report().config, "b");
  EXPECT_THAT(kernel->report().to_string(), HasSubstr("(C7510) wgmma serialized"));
}

TEST_F(KernelTest, ManyWarpsLeaveFewRegisters) {
  world->behaviours["d"] = {.run = doubling(2.0F), .register_estimate = 136};
  const auto build = world->build;
  world->build = [build](const std::string& config, ir::thread::Kernel& kernel) {
    build(config, kernel);
    if (config == "d") kernel.warps = 16;
  };
  auto kernel = make();
  call(*kernel, 1, 100);
  EXPECT_THAT(kernel->report().candidates[3].reason, HasSubstr("needs about 136 registers a thread, which has 128"));
}

TEST_F(KernelTest, WhenAllFailEachIsListed) {
  world->behaviours.clear();
  const SourceLoc place = SourceLoc::here();
  world->behaviours["a"] = {.shared_bytes = 300000};
  world->behaviours["b"] = {.lower_error = Error(ErrorKind::user, place, "dot does not fit")};
  auto kernel = make();
  const Error error = error_of([&] { call(*kernel, 1, 100); });
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_TRUE(error.diagnostics()[0].loc.known());
  EXPECT_THAT(error.what(), HasSubstr("none of its 2 candidates can be used"));
  EXPECT_THAT(error.what(), HasSubstr("a: needs 300000 bytes of shared memory"));
  EXPECT_THAT(error.what(), HasSubstr("b: dot does not fit"));
  EXPECT_EQ(error.diagnostics()[0].notes[1].loc.line, place.line) << "the line of the reason, not of the kernel";
}

TEST_F(KernelTest, AMistakeThatAllShareIsReportedAsItself) {
  const SourceLoc place = SourceLoc::here();
  for (auto& [config, behaviour] : world->behaviours)
    behaviour.trace_error = Error(ErrorKind::user, place, "sync inside when");
  const Error error = error_of([&] {
    auto kernel = make();
    call(*kernel, 1, 100);
  });
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_EQ(error.diagnostics()[0].message, "sync inside when");
  EXPECT_EQ(error.diagnostics()[0].loc.line, place.line);
  EXPECT_THAT(error.diagnostics()[0].notes.back().message, HasSubstr("all 3 configurations"));
}

TEST_F(KernelTest, AnInternalErrorOfAllStaysInternal) {
  for (auto& [config, behaviour] : world->behaviours)
    behaviour.lower_error = Error(ErrorKind::internal, {}, "bug in " + config);
  EXPECT_EQ(error_of([&] {
              auto kernel = make();
              call(*kernel, 1, 100);
            }).kind(),
            ErrorKind::internal);
}

TEST_F(KernelTest, OneCandidateOfAProgramThatIsComparedIsTimedOnce) {
  world->behaviours.erase("a");
  world->behaviours.erase("c");
  for (int process = 0; process < 2; ++process) {  // the second finds the record
    world->timed.clear();
    auto kernel = make(true);
    call(*kernel, 1, 100);
    EXPECT_EQ(world->timed.empty(), process == 1);
    EXPECT_GT(kernel->report().candidates.at(0).time_us, 0);
    EXPECT_EQ(kernel->report().candidates.at(0).status, CandidateReport::Status::chosen);
  }
}

TEST_F(KernelTest, OneCandidateKeepsItsOwnErrorAndIsNotTimed) {
  world->behaviours.erase("a");
  world->behaviours.erase("c");
  auto kernel = make();
  call(*kernel, 1, 100);
  EXPECT_TRUE(world->timed.empty());
  EXPECT_EQ(kernel->report().ranking, Report::Ranking::single);
  EXPECT_EQ(world->launched.size(), 1U);
  world->behaviours["b"].text = "new";
  world->behaviours["b"].compile_error = Error(ErrorKind::device, {}, "ptxas gave up");
  auto failing = make();
  const Error error = error_of([&] { call(*failing, 1, 100); });
  EXPECT_EQ(error.kind(), ErrorKind::device);
  EXPECT_EQ(error.diagnostics()[0].message, "ptxas gave up");
}

TEST_F(KernelTest, NoBlocksNoWork) {
  auto kernel = make();
  call(*kernel, 1, 0);
  EXPECT_TRUE(world->compiled.empty());
  EXPECT_TRUE(world->launched.empty());
  call(*kernel, 1, 100);
  call(*kernel, 1, 0);
  EXPECT_EQ(world->launched.back(), "b");
}

TEST_F(KernelTest, ArgumentsAreCheckedBeforeAnythingIsCompiled) {
  auto kernel = make();
  EXPECT_EQ(error_of([&] { call(*kernel, 1, -1); }).kind(), ErrorKind::user);
  const Error error = error_of([&] { kernel->launch(arguments(1, 100, nullptr, y), nullptr, nullptr); });
  EXPECT_THAT(error.what(), HasSubstr("the argument for x is a null pointer"));
  EXPECT_EQ(error.diagnostics()[0].loc.line, static_cast<unsigned>(__LINE__ - 2));
  EXPECT_TRUE(world->compiled.empty());
  call(*kernel, 1, 100);
  EXPECT_THAT(error_of([&] { call(*kernel, 1, 5000); }).what(), HasSubstr("the argument for x has 16384 bytes"));
}

TEST_F(KernelTest, BuffersOfTwoDevices) {
  const Device other{std::make_shared<FakeDevice>(world, "another GPU")};
  auto z = other.zeros<float>({4096});
  auto kernel = make();
  const Error error = error_of([&] { kernel->launch(arguments(1, 100, x, z), nullptr, nullptr); });
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(),
              HasSubstr("the argument for y is a buffer of another GPU, but the argument for x is on fake GPU"));
  EXPECT_THAT(error_of([&] { kernel->launch(arguments(1, 100, x, y), &other, nullptr); }).what(),
              HasSubstr("the argument for x is a buffer of fake GPU, but the launch is on another GPU"));
}

TEST_F(KernelTest, WithoutRoomForCopiesTheEstimateChooses) {
  state->allocation_limit = 64;
  auto kernel = make();
  call(*kernel, 1, 100);
  EXPECT_EQ(kernel->report().ranking, Report::Ranking::estimated);
  EXPECT_TRUE(world->timed.empty());
  EXPECT_THAT(messages_, HasSubstr("out of device memory"));
  EXPECT_EQ(y.to_host()[5], 3.0F);
}

TEST_F(KernelTest, ADamagedEntryIsCompiledAnew) {
  std::string directory;
  {
    auto first = make();
    call(*first, 1, 100);
    directory = first->report().directory;
  }
  std::ofstream(directory + "/kernel.cubin", std::ios::trunc) << "garbage";
  world->compiled.clear();
  auto second = make();
  call(*second, 1, 100);
  EXPECT_THAT(world->compiled, ElementsAre("b"));
  EXPECT_THAT(messages_, HasSubstr("is damaged"));
  EXPECT_EQ(y.to_host()[0], 3.0F);
}

TEST_F(KernelTest, AnUnwritableCacheChangesNothing) {
  ::setenv("TESSERA_CACHE_DIR", "/dev/null/nowhere", 1);
  auto kernel = make();
  call(*kernel, 1, 100);
  EXPECT_EQ(y.to_host()[0], 3.0F);
  EXPECT_EQ(kernel->report().directory, "");
  EXPECT_EQ(std::count(messages_.begin(), messages_.end(), '\n'), 1) << messages_;
}

TEST_F(KernelTest, ManyThreadsShareOneKernel) {
  auto kernel = make();
  std::vector<std::thread> threads;
  std::vector<Buffer<float>> outputs;
  for (int t = 0; t < 8; ++t) outputs.push_back(device.zeros<float>({4096}));
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 1; i < 50; ++i)
        kernel->launch(arguments(1, 10 * i, x, outputs[static_cast<std::size_t>(t)]), nullptr, nullptr);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(world->compiled.size(), 3U);
  for (const auto& output : outputs) EXPECT_EQ(output.to_host()[489], 3.0F);
}

TEST_F(KernelTest, ProcessesThatStartTogetherCompileOnce) {
  world->behaviours.erase("a");
  world->behaviours.erase("c");
  world->compile_log = root_ / "compiled.txt";
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
      call(*kernel, 1, 100);
      ::_exit(y.to_host()[0] == 3.0F ? 0 : 1);
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
  std::ifstream log(world->compile_log);
  const std::vector<std::string> lines{std::istream_iterator<std::string>(log), {}};
  EXPECT_THAT(lines, ElementsAre("b"));
  EXPECT_TRUE(std::filesystem::is_empty(root_ / "drafts"));
}

}  // namespace
}  // namespace tessera
