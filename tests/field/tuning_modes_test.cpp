// When candidates are measured, for how long, and what launches see of it.
#include <atomic>
#include <thread>

#include "runtime/background.hpp"
#include "runtime/tuning_settings.hpp"
#include "tuning_fixture.hpp"

namespace tessera {
namespace {
using detail::KernelImpl;
using test::error_of;
using test::Gate;
using test::TuningTest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using Status = CandidateReport::Status;

struct Never : TuningTest {};
struct InBackground : TuningTest {};
struct Budget : TuningTest {};

// Sets a variable for one test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST_F(Never, TheGuessAloneIsCompiled) {
  auto kernel = make({.mode = Tuning::never});
  call(*kernel);
  EXPECT_THAT(world->compiled, ElementsAre("a"));
  EXPECT_THAT(world->launched, ElementsAre("a"));
  EXPECT_THAT(world->timed, IsEmpty());
  EXPECT_EQ(y.to_host()[99], 3.0F);
  const Report report = kernel->report();
  EXPECT_EQ(report.ranking, Report::Ranking::estimated);
  EXPECT_EQ(report.note, "not measured: the tuning mode is never");
  EXPECT_EQ(report.candidates[0].status, Status::chosen);
  EXPECT_GT(report.candidates[1].time_us, 0) << "its estimate";
  EXPECT_EQ(report.candidates[1].rounds, 0);
  EXPECT_EQ(report.record_path, "");
  EXPECT_THAT(report.to_string(), HasSubstr("a (by a static estimate, not measured: the tuning mode is never)"));
}

TEST_F(Never, WhatDoesNotCompileGivesWayToTheNext) {
  world->behaviours["a"].compile_error = Error(ErrorKind::device, {}, "ptxas gave up");
  auto kernel = make({.mode = Tuning::never});
  call(*kernel);
  EXPECT_THAT(world->compiled, ElementsAre("a", "b"));
  EXPECT_EQ(kernel->report().config, "b");
  EXPECT_EQ(kernel->report().candidates[0].status, Status::failed);
  EXPECT_EQ(kernel->report().candidates[0].reason, "ptxas gave up");
}

TEST_F(Never, AllBadIsOneError) {
  for (auto& [config, behaviour] : world->behaviours)
    behaviour.compile_error = Error(ErrorKind::device, {}, "no " + config);
  auto kernel = make({.mode = Tuning::never});
  const Error error = error_of([&] { call(*kernel); });
  EXPECT_THAT(error.what(), HasSubstr("none of its 4 candidates can be used"));
  EXPECT_THAT(error.what(), HasSubstr("d: no d"));
}

TEST_F(Never, ARecordIsUsed) {
  {
    auto first = make();
    call(*first);
  }
  forget();
  auto kernel = make({.mode = Tuning::never});
  call(*kernel);
  EXPECT_EQ(kernel->report().config, "c");
  EXPECT_EQ(kernel->report().ranking, Report::Ranking::recorded);
}

TEST_F(InBackground, TheCallGoesAheadAndTheWinnerTakesOver) {
  Gate gate;
  auto kernel = make({.mode = Tuning::background}, [&](const std::string& config) {
    if (config != "a") gate.pass();
  });
  call(*kernel);
  call(*kernel);
  {
    const std::lock_guard lock(world->mutex);
    EXPECT_THAT(world->launched, ElementsAre("a", "a"));
  }
  EXPECT_EQ(y.to_host()[99], 3.0F);
  EXPECT_EQ(kernel->report().ranking, Report::Ranking::estimated);
  EXPECT_EQ(kernel->report().note, "tuning in the background");
  EXPECT_TRUE(kernel->report().partial);
  gate.open();
  kernel->wait_for_tuning();
  const Report report = kernel->report();
  EXPECT_EQ(report.ranking, Report::Ranking::measured);
  EXPECT_EQ(report.config, "c");
  EXPECT_EQ(report.note, "");
  EXPECT_FALSE(report.partial);
  EXPECT_TRUE(test::fs::exists(report.record_path));
  EXPECT_EQ(report.counters.compiled, 4U);
  forget();
  call(*kernel);
  EXPECT_THAT(world->launched, ElementsAre("c"));
  EXPECT_EQ(state->live_allocations, 2) << "the snapshot is gone";
}

TEST_F(InBackground, CandidatesSeeTheInputsOfTheCall) {
  Gate gate;
  std::mutex mutex;
  std::vector<float> seen;
  for (auto& [config, behaviour] : world->behaviours) {
    behaviour.run = [&, inner = behaviour.run](const runtime::LaunchPlan& plan) {
      {
        const std::lock_guard lock(mutex);
        seen.push_back((*static_cast<const float* const*>(plan.params[1]))[99]);
      }
      inner(plan);
    };
  }
  auto kernel = make({.mode = Tuning::background}, [&](const std::string& config) {
    if (config != "a") gate.pass();
  });
  call(*kernel);
  seen.clear();
  x = device.from_host(std::vector<float>(4096, -1.0F), {4096});  // the old memory is freed
  auto z = device.zeros<float>({4096});
  gate.open();
  kernel->wait_for_tuning();
  EXPECT_GT(seen.size(), 10U);
  EXPECT_THAT(seen, ::testing::Each(1.5F));
  EXPECT_EQ(y.to_host()[0], 3.0F);
  EXPECT_EQ(kernel->report().config, "c");
}

TEST_F(InBackground, AnUpdateInPlaceIsSeenAsItWasBeforeTheLaunch) {
  Gate gate;
  const auto build = world->build;
  world->build = [build](const std::string& config, ir::thread::Kernel& kernel) {
    build(config, kernel);
    auto& pool = kernel.context->expr;
    auto* regs = kernel.context->new_regs(DType::f32, 1, "r", {});
    kernel.body.push_back(kernel.context->arena.make<ir::thread::LoadGlobalVector>(
        SourceLoc{}, ir::thread::RegRef{regs, pool.i32(0)}, 1, 2U, pool.i64(0), nullptr));
  };
  std::mutex mutex;
  std::vector<float> seen;
  for (auto& [config, behaviour] : world->behaviours) {
    behaviour.run = [&](const runtime::LaunchPlan& plan) {
      auto* data = *static_cast<float* const*>(plan.params[2]);
      const std::lock_guard lock(mutex);
      seen.push_back(data[0]);
      for (std::int32_t i = 0; i < *static_cast<const std::int32_t*>(plan.params[0]); ++i) data[i] += 1.0F;
    };
  }
  auto kernel = make({.mode = Tuning::background}, [&](const std::string& config) {
    if (config != "a") gate.pass();
  });
  call(*kernel);
  gate.open();
  kernel->wait_for_tuning();
  EXPECT_THAT(seen, ::testing::Each(7.0F)) << "every run begins with the content that the call had";
  EXPECT_EQ(y.to_host()[0], 8.0F) << "and the caller's memory is updated once";
}

TEST_F(InBackground, FailuresStayInTheReport) {
  world->behaviours["b"].run = world->behaviours["d"].run = doubling(5.0F);
  auto kernel = make({.mode = Tuning::background});
  call(*kernel);
  kernel->wait_for_tuning();
  EXPECT_THAT(kernel->report().note, HasSubstr("the tuning in the background failed: "));
  EXPECT_THAT(kernel->report().note, HasSubstr("no majority"));
  EXPECT_EQ(kernel->report().config, "a");
  call(*kernel);
  EXPECT_EQ(y.to_host()[99], 3.0F);
}

TEST_F(InBackground, WithoutRoomForTheSnapshotTheGuessStays) {
  state->allocation_limit = 64;
  auto kernel = make({.mode = Tuning::background});
  call(*kernel);
  kernel->wait_for_tuning();
  EXPECT_EQ(kernel->report().note, "not tuned in the background: out of device memory");
  EXPECT_EQ(y.to_host()[99], 3.0F);
}

TEST_F(InBackground, ARecordIsUsedAndNothingTuned) {
  {
    auto first = make({.mode = Tuning::background});
    call(*first);
    first->wait_for_tuning();
  }
  forget();
  auto kernel = make({.mode = Tuning::background});
  call(*kernel);
  kernel->wait_for_tuning();
  EXPECT_THAT(world->compiled, IsEmpty());
  EXPECT_THAT(world->timed, IsEmpty());
  EXPECT_EQ(kernel->report().config, "c");
}

TEST_F(InBackground, ThePartOfARecordIsUsedWhileTheRestIsTuned) {
  {
    auto first = make({.seconds = 0});
    call(*first);
    EXPECT_EQ(first->report().config, "a");
  }
  forget();
  Gate gate;
  auto kernel = make({.mode = Tuning::background}, [&](const std::string&) { gate.pass(); });
  call(*kernel);
  EXPECT_EQ(kernel->report().ranking, Report::Ranking::recorded);
  EXPECT_EQ(kernel->report().note, "tuning in the background");
  gate.open();
  kernel->wait_for_tuning();
  EXPECT_EQ(kernel->report().config, "c");
}

TEST_F(InBackground, TheDestructorEndsIt) {
  std::atomic<int> compiled = 0;
  Gate gate;
  for (int i = 0; i < 40; ++i) add("e" + std::to_string(i), 1.0, 37);
  {
    auto kernel = make({.mode = Tuning::background}, [&](const std::string& config) {
      if (config == "a") return;
      ++compiled;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    });
    call(*kernel);
  }
  EXPECT_LT(compiled, 20) << "those that were being compiled, not all of them";
  EXPECT_THAT(world->timed, IsEmpty());
  EXPECT_EQ(state->live_allocations, 2);
}

TEST_F(InBackground, AKernelThatMovesKeepsTuning) {
  Gate gate;
  auto kernel = make({.mode = Tuning::background}, [&](const std::string& config) {
    if (config != "a") gate.pass();
  });
  call(*kernel);
  KernelImpl moved = std::move(*kernel);
  kernel.reset();
  gate.open();
  moved.wait_for_tuning();
  EXPECT_EQ(moved.report().config, "c");
}

TEST_F(InBackground, ManyThreadsLaunchDuringTheSwap) {
  auto kernel = make({.mode = Tuning::background});
  std::vector<Buffer<float>> outputs;
  for (int t = 0; t < 4; ++t) outputs.push_back(device.zeros<float>({4096}));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      auto& out = outputs[static_cast<std::size_t>(t)];
      for (int i = 0; i < 200; ++i) {
        const int m = 1 << (3 + i % 8);
        kernel->launch(arguments(1, m, x, out), nullptr, nullptr);
        wrong += out.to_host()[static_cast<std::size_t>(m - 1)] == 3.0F ? 0 : 1;
        if (i % 50 == 0) static_cast<void>(kernel->report());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  kernel->wait_for_tuning();
  EXPECT_EQ(wrong, 0);
  for (int i = 0; i < 8; ++i) {
    call(*kernel, 1 << (3 + i));
    EXPECT_EQ(kernel->report().config, "c");
    EXPECT_EQ(kernel->report().ranking, Report::Ranking::measured);
  }
}

TEST_F(InBackground, SeveralKernelsAtOnce) {
  auto first = make({.mode = Tuning::background}), second = make({.mode = Tuning::background});
  call(*first, 100);
  second->launch(arguments(2, 100, x, y), nullptr, nullptr);
  first->wait_for_tuning();
  second->wait_for_tuning();
  EXPECT_EQ(first->report().config, "c");
  EXPECT_EQ(second->report().config, "c");
}

// Printing may add to a kernel's pool of expressions, and devices share their kernels.
TEST_F(InBackground, AKernelIsPrintedByOneThreadAtATime) {
  std::mutex mutex;
  std::map<std::string, int> printing;
  int most = 0, prints = 0;
  auto chain = std::make_shared<runtime::Toolchain>(*test::fake_toolchain(world));
  chain->print_cuda = [&, inner = chain->print_cuda](const ir::thread::Kernel& kernel, bool readable) {
    {
      const std::lock_guard lock(mutex);
      most = std::max(most, ++printing[kernel.tile_program]);
      ++prints;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    const std::lock_guard lock(mutex);
    --printing[kernel.tile_program];
    return inner(kernel, readable);
  };
  const Device second{std::make_shared<test::FakeDevice>(world, "second GPU")};
  auto u = second.zeros<float>({128}), v = second.zeros<float>({128});
  ::setenv("TESSERA_CACHE_DIR", "/dev/null/nowhere", 1);  // a cache would have one of them wait for the other
  for (int i = 0; i < 10; ++i) {
    KernelImpl kernel(program(), chain);
    kernel.tuning({.mode = Tuning::background}, {});
    call(kernel);
    kernel.tuning({.mode = Tuning::now}, {});
    kernel.launch(arguments(1, 100, u, v), nullptr, nullptr);
    kernel.wait_for_tuning();
  }
  EXPECT_GE(prints, 80);
  EXPECT_EQ(most, 1);
}

TEST_F(InBackground, WaitingForNothing) {
  auto kernel = make({.mode = Tuning::background});
  kernel->wait_for_tuning();
  call(*kernel, 0);
  kernel->wait_for_tuning();
  EXPECT_THAT(world->compiled, IsEmpty());
}

TEST_F(Budget, NothingLeftMeansTheFirstGuess) {
  auto kernel = make({.seconds = 0});
  call(*kernel);
  EXPECT_EQ(kernel->report().config, "a");
  EXPECT_THAT(world->compiled, ElementsAre("a"));
  const Report report = kernel->report();
  EXPECT_TRUE(report.partial);
  for (const std::size_t i : {1U, 2U, 3U}) {
    EXPECT_EQ(report.candidates[i].status, Status::unused);
    EXPECT_EQ(report.candidates[i].reason, "the budget of 0 s was spent");
  }
  EXPECT_EQ(y.to_host()[99], 3.0F);
}

TEST_F(Budget, TheFirstThatCompilesIfTheGuessDoesNot) {
  world->behaviours["a"].compile_error = Error(ErrorKind::device, {}, "ptxas gave up");
  auto kernel = make({.seconds = 0});
  call(*kernel);
  EXPECT_EQ(kernel->report().config, "b");
}

TEST_F(Budget, AMoreGenerousProcessGoesOn) {
  {
    auto first = make({.seconds = 0});
    call(*first);
  }
  forget();
  {
    auto same = make({.seconds = 0});
    call(*same);
    EXPECT_THAT(world->compiled, IsEmpty()) << "it has no more to spend";
    EXPECT_EQ(same->report().ranking, Report::Ranking::recorded);
    EXPECT_EQ(same->report().config, "a");
    EXPECT_TRUE(same->report().partial);
  }
  forget();
  {
    auto more = make({.seconds = 1000});
    call(*more);
    EXPECT_THAT(world->compiled, UnorderedElementsAre("b", "c", "d")) << "a comes from the cache";
    EXPECT_EQ(more->report().config, "c");
    EXPECT_FALSE(more->report().partial);
  }
  forget();
  auto last = make();
  call(*last);
  EXPECT_THAT(world->timed, IsEmpty());
  EXPECT_EQ(last->report().ranking, Report::Ranking::recorded);
  EXPECT_FALSE(last->report().partial);
}

TEST_F(Budget, CutsTheLeastPromising) {
  for (int i = 0; i < 30; ++i) {
    const std::string name = i < 10 ? "e0" + std::to_string(i) : "e" + std::to_string(i);
    add(name, 4, 37);
  }
  auto kernel =
      make({.seconds = 0.15}, [&](const std::string&) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
  call(*kernel);
  const auto rows = kernel->report().candidates;
  const auto unused = [](const CandidateReport& row) { return row.status == Status::unused; };
  const auto first = std::find_if(rows.begin(), rows.end(), unused);
  EXPECT_NE(first, rows.end());
  EXPECT_TRUE(std::all_of(first, rows.end(), unused)) << "here the rows are in the analytic order";
}

TEST(Settings, TheEnvironmentWins) {
  EXPECT_EQ(runtime::with_environment({.mode = Tuning::background, .seconds = 3}).mode, Tuning::background);
  const Variable mode("TESSERA_TUNING", "never"), seconds("TESSERA_TUNING_SECONDS", "0.5");
  const Tuning tuning = runtime::with_environment({.mode = Tuning::background, .seconds = 3});
  EXPECT_EQ(tuning.mode, Tuning::never);
  EXPECT_EQ(tuning.seconds, 0.5);
}

TEST(Settings, EveryModeHasAName) {
  const std::pair<const char*, Tuning::Mode> names[] = {
      {"now", Tuning::now}, {"background", Tuning::background}, {"never", Tuning::never}};
  for (const auto& [name, mode] : names) {
    const Variable variable("TESSERA_TUNING", name);
    EXPECT_EQ(runtime::with_environment({.mode = mode == Tuning::now ? Tuning::never : Tuning::now}).mode, mode);
  }
}

TEST(Settings, ValuesThatMeanNothingAreErrors) {
  for (const char* value : {"later", "NOW", "1", " now"}) {
    const Variable variable("TESSERA_TUNING", value);
    const Error error = error_of([&] { runtime::with_environment({}); });
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_THAT(error.what(), HasSubstr(std::string("TESSERA_TUNING is \"") + value + "\""));
    EXPECT_THAT(error.what(), HasSubstr("now, background or never"));
  }
  for (const char* value : {"-1", "nan", "inf", "5s", "five", " 5", "1e999"}) {
    const Variable variable("TESSERA_TUNING_SECONDS", value);
    const Error error = error_of([&] { runtime::with_environment({}); });
    EXPECT_THAT(error.what(), HasSubstr(std::string("TESSERA_TUNING_SECONDS is \"") + value + "\""));
    EXPECT_THAT(error.what(), HasSubstr("a number of seconds"));
  }
  const Variable empty("TESSERA_TUNING", ""), none("TESSERA_TUNING_SECONDS", "");
  EXPECT_EQ(runtime::with_environment({.mode = Tuning::never}).mode, Tuning::never);
}

TEST_F(Budget, ABudgetThatIsNoneIsTheCallersMistake) {
  for (const double seconds : {-1.0, std::nan(""), HUGE_VAL}) {
    const Error error = error_of([&] { make({.seconds = seconds}); });
    EXPECT_EQ(error.kind(), ErrorKind::user);
    EXPECT_THAT(error.what(), HasSubstr("a tuning budget of"));
  }
}

TEST_F(Never, TheEnvironmentReachesAKernel) {
  const Variable variable("TESSERA_TUNING", "never");
  auto kernel = make();
  call(*kernel);
  EXPECT_THAT(world->timed, IsEmpty());
  EXPECT_EQ(kernel->report().ranking, Report::Ranking::estimated);
}

TEST(Background, DoesOneThingAfterTheOther) {
  runtime::Background background;
  std::vector<int> order;  // touched by that one thread only
  for (int i = 0; i < 50; ++i) background.submit([&, i](const std::atomic<bool>&) { order.push_back(i); });
  background.wait();
  ASSERT_EQ(order.size(), 50U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(Background, DropsWhatHasNotBegun) {
  std::atomic<int> done = 0;
  Gate gate;
  {
    runtime::Background background;
    background.submit([&](const std::atomic<bool>& cancelled) {
      gate.open();
      while (!cancelled) std::this_thread::yield();
      ++done;
    });
    background.submit([&](const std::atomic<bool>&) { ++done; });
    gate.pass();
  }
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace tessera
