// Flags in global memory, from the language down to the simulated machine: blocks that hand work to each other, what
// orders them, and what happens where something of it is missing.
#include <gmock/gmock.h>

#include <numeric>

#include "check/mutate.hpp"
#include "cuda/printer.hpp"
#include "jit/compiler.hpp"
#include "sim_runner.hpp"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int block = 128;  // elements that a block adds up

enum class Mistake {
  none,
  no_wait,
  no_sync,
  signal_first,
  no_sync_after_wait,
  never_signalled,
  resets_early,
  two_signals
};

// Running sums over blocks: each waits for the sum of the one before it.
struct Chain : Script {
  Mistake mistake;
  explicit Chain(Mistake m) : mistake(m) {}

  void operator()(Int32 blocks, Ptr<float> x_ptr, Ptr<float> sums_ptr, Ptr<std::uint32_t> flags_ptr) {
    attrs.blocks = {blocks};
    attrs.warps = 4;
    auto x = global_view(x_ptr, {blocks, block});
    auto sums = global_view(sums_ptr, {blocks, block});
    auto flags = global_view(flags_ptr, {blocks});
    Int32 me = blockIdx.x;
    auto own = register_tensor<float>({1, block}, 0.0f);
    own += load_global(x, {me, 0}, {1, block});
    if (auto _ = when(me > 0)) {
      if (mistake == Mistake::no_sync_after_wait) {
        if (auto _ = single_thread()) global_flag.wait(flags, {me - 1}, 1);
      } else if (mistake != Mistake::no_wait) {
        global_flag.wait(flags, {me - 1}, 1);
      }
      if (mistake == Mistake::resets_early) {  // other warps may not have looked yet
        if (auto _ = single_thread()) global_flag.signal(flags, {me - 1}, 0);
      }
      own += load_global(sums, {me - 1, 0}, {1, block});
    }
    if (mistake == Mistake::signal_first) signal(flags, me);
    store_global(sums, own, {me, 0});
    if (mistake != Mistake::no_sync) sync();
    if (mistake != Mistake::signal_first && mistake != Mistake::never_signalled) signal(flags, me);
    if (mistake == Mistake::two_signals) {
      if (auto _ = single_thread()) global_flag.signal(flags, {0}, 1);
    }
  }
  void signal(const GlobalView& flags, const Int32& me) const {
    if (auto _ = single_thread()) global_flag.signal(flags, {me}, 1);
  }
};

struct ChainData {
  std::vector<float> x, sums;
  std::vector<std::uint32_t> flags;
  explicit ChainData(int blocks)
      : x(static_cast<std::size_t>(blocks * block)), sums(x.size(), -1.0f), flags(static_cast<std::size_t>(blocks), 7) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 11);
  }
  std::vector<sim::Argument> arguments() {
    return {argument(static_cast<std::int64_t>(flags.size())), argument(x), argument(sums), argument(flags)};
  }
  void expect_right(const std::string& what) const {
    for (std::size_t i = 0; i < x.size(); ++i) {
      float sum = 0;
      for (std::size_t j = i % block; j <= i; j += block) sum += x[j];
      ASSERT_EQ(sums[i], sum) << what << " element " << i;
    }
  }
};

std::string findings_of(Mistake mistake, const sim::Schedule& schedule, int blocks = 4) {
  ChainData data(blocks);
  return findings_in(build(Chain(mistake), {0, 0, 0, 0}).kernel, data.arguments(), with(schedule));
}

sim::Options with_sms(const sim::Schedule& schedule, int sms) {
  sim::Options options = with(schedule);
  options.sms = sms;
  return options;
}

TEST(GlobalFlags, AChainOfBlocksIsRightUnderEverySchedule) {
  const auto lowered = build(Chain(Mistake::none), {0, 0, 0, 0});
  for (const auto& schedule : all_schedules()) {
    for (const int blocks : {1, 2, 4, 11}) {  // of the last ones some have to wait for a place
      for (const int sms : {1, 4}) {
        ChainData data(blocks);
        sim::run(lowered.kernel, data.arguments(), with_sms(schedule, sms));
        data.expect_right(schedule.to_string());
        ChainData checked(blocks);
        EXPECT_EQ(findings_in(lowered.kernel, checked.arguments(), with_sms(schedule, sms)), "")
            << schedule.to_string();
        checked.expect_right(schedule.to_string());
      }
    }
  }
}

TEST(GlobalFlags, WhatIsMissingIsFoundUnderEverySchedule) {
  const struct {
    Mistake mistake;
    const char* message;
    const char* help;
  } cases[] = {
      {Mistake::no_wait, "sums", "hand it over by a flag"},
      {Mistake::no_sync, "sums", "hand the element over by a flag"},
      {Mistake::signal_first, "sums", "hand the element over by a flag"},
      {Mistake::no_sync_after_wait, "sums", "hand the element over by a flag"},
      {Mistake::resets_early, "waits for", "would then wait for ever"},
      {Mistake::two_signals, "sets", "which of the two values stays is left to chance"},
  };
  for (const auto& c : cases) {
    for (const auto& schedule : all_schedules()) {
      // A reset may come before others have looked: then the run ends in that deadlock.
      const std::string found = findings_of(c.mistake, schedule);
      EXPECT_THAT(found, ::testing::AnyOf(AllOf(HasSubstr(c.message), HasSubstr(c.help)), HasSubstr("deadlock")))
          << static_cast<int>(c.mistake) << " " << schedule.to_string();
    }
  }
}

TEST(GlobalFlags, AWaitThatNobodyEndsIsADeadlock) {
  ChainData data(2);
  try {
    sim::run(build(Chain(Mistake::never_signalled), {0, 0, 0, 0}).kernel, data.arguments(), with(all_schedules()[0]));
    FAIL() << "no deadlock";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("deadlock in the grid with block (1, 0, 0)"),
                                HasSubstr("waits for element 0 of flags_ptr to be 1, which is 7"),
                                HasSubstr("global_flag.signal")));
  }
}

// Every block waits for the one behind it.
struct Backwards : Script {
  void operator()(Int32 blocks, Ptr<std::uint32_t> flags_ptr) {
    attrs.blocks = {blocks};
    attrs.warps = 1;
    auto flags = global_view(flags_ptr, {blocks});
    if (auto _ = single_thread()) {
      if (auto _ = when(blockIdx.x + 1 < blocks)) global_flag.wait(flags, {blockIdx.x + 1}, 1);
      global_flag.signal(flags, {blockIdx.x}, 1);
    }
  }
};

TEST(GlobalFlags, ABlockThatHasNoPlaceIsNotWaitedFor) {
  const auto lowered = build(Backwards{}, {0, 0});
  for (const auto& schedule : all_schedules()) {
    std::vector<std::uint32_t> flags(5, 0);
    sim::run(lowered.kernel, std::vector<sim::Argument>{argument(5), argument(flags)}, with_sms(schedule, 5));
    EXPECT_THAT(flags, ::testing::Each(1U));
    std::fill(flags.begin(), flags.end(), 0U);
    try {
      sim::run(lowered.kernel, std::vector<sim::Argument>{argument(5), argument(flags)}, with_sms(schedule, 4));
      FAIL() << "no deadlock";
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), HasSubstr("block (4, 0, 0), warp 0 has no multiprocessor"));
    }
  }
}

TEST(GlobalFlags, AGridThatIsTooLargeToRunTogetherIsRefused) {
  std::vector<std::uint32_t> flags(5000, 0);
  try {
    sim::run(build(Backwards{}, {0, 0}).kernel, std::vector<sim::Argument>{argument(5000), argument(flags)},
             with(all_schedules()[0]));
    FAIL() << "not refused";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::unsupported);
    EXPECT_THAT(e.what(), HasSubstr("has 5000 blocks"));
  }
}

TEST(GlobalFlags, OutsideTheirBuffer) {
  std::vector<std::uint32_t> flags(2, 0);
  try {
    sim::run(build(Backwards{}, {0, 0}).kernel, std::vector<sim::Argument>{argument(3), argument(flags)},
             with(all_schedules()[0]));
    FAIL() << "not found";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("flags_ptr"));
  }
}

// The last block adds up what all others have counted in, and takes the counter back for the next launch.
struct Counted : Script {
  bool with_engine;
  explicit Counted(bool e) : with_engine(e) {}

  void operator()(Int32 blocks, Ptr<float> partials_ptr, Ptr<float> sum_ptr, Ptr<std::uint32_t> counter_ptr) {
    attrs.cluster = {2};
    attrs.blocks = {blocks};
    attrs.warps = 4;
    auto partials = global_view(partials_ptr, {blocks, block});
    auto sum = global_view(sum_ptr, {1, block});
    auto counter = global_view(counter_ptr, {1});
    auto staging = shared_tensor<float>({1, block});
    Int32 me = blockIdx.x;
    auto own = register_tensor<float>({1, block}, 0.0f);
    own += cast<Float32>(me + 1);
    if (with_engine) {
      store_shared(staging, own);
      fence.proxy_async();
      sync();
      if (auto _ = single_thread(0)) {
        tma.shared_to_global({.src = staging, .dst = partials, .offsets = {me, 0}});
        tma.commit_group();
        tma.wait_group(0);
        global_flag.add(counter, {0}, 1);
      }
    } else {
      store_global(partials, own, {me, 0});
      sync();
      if (auto _ = single_thread()) global_flag.add(counter, {0}, 1);
    }
    if (auto _ = when(me == 0)) {
      auto all = register_tensor<float>({1, block}, 0.0f);
      global_flag.wait_at_least(counter, {0}, blocks);
      for (auto i : range(blocks)) all += load_global(partials, {i, 0}, {1, block});
      store_global(sum, all, {0, 0});
      sync();
      if (auto _ = single_thread()) global_flag.signal(counter, {0}, 0);
    }
  }
};

TEST(GlobalFlags, ACounterOfBlocksInClusters) {
  for (const bool engine : {false, true}) {
    const auto lowered = build(Counted(engine), {0, 0, 0, 0});
    for (const auto& schedule : all_schedules()) {
      std::vector<float> partials(6 * block), sum(block);
      std::vector<std::uint32_t> counter(1, 0);
      const std::vector<sim::Argument> arguments{argument(6), argument(partials), argument(sum), argument(counter)};
      for (int launch = 0; launch < 2; ++launch) {
        EXPECT_EQ(findings_in(lowered.kernel, arguments, with_sms(schedule, 6)), "") << schedule.to_string();
        EXPECT_THAT(sum, ::testing::Each(21.0f));
        EXPECT_EQ(counter[0], 0U);
      }
    }
  }
}

// What another block has stored is copied by the engine, which a proxy fence for shared memory does not order.
struct StoredThenCopied : Script {
  void operator()(Ptr<float> data_ptr, Ptr<float> out_ptr, Ptr<std::uint32_t> flag_ptr) {
    attrs.blocks = {2};
    attrs.warps = 4;
    auto data = global_view(data_ptr, {1, block});
    auto out = global_view(out_ptr, {1, block});
    auto flag = global_view(flag_ptr, {1});
    auto tile = shared_tensor<float>({1, block});
    auto loaded = mbarrier.alloc(1);
    if (auto _ = when(blockIdx.x == 0)) {
      store_global(data, register_tensor<float>({1, block}, 3.0f), {0, 0});
      sync();
      if (auto _ = single_thread()) global_flag.signal(flag, {0}, 1);
    }
    if (auto _ = otherwise()) {
      if (auto _ = single_thread()) {
        global_flag.wait(flag, {0}, 1);
        fence.proxy_async();
        mbarrier.arrive_and_expect_tx(loaded, tile.nbytes());
        tma.global_to_shared({.src = data, .dst = tile, .offsets = {0, 0}, .mbarrier = loaded});
      }
      mbarrier.wait(loaded, 0);
      store_global(out, load_shared(tile), {0, 0});
    }
  }
};

TEST(GlobalFlags, TheEngineDoesNotReadWhatAnotherBlockStored) {
  for (const auto& schedule : all_schedules()) {
    std::vector<float> data(block), out(block);
    std::vector<std::uint32_t> flag(1, 0);
    EXPECT_THAT(findings_in(build(StoredThenCopied{}, {0, 0, 0}).kernel,
                            {argument(data), argument(out), argument(flag)}, with(schedule)),
                AllOf(HasSubstr("without a proxy fence"), HasSubstr("orders shared memory only")));
  }
}

// A relaxed wait, which looks without acquiring, orders nothing.
TEST(GlobalFlags, ARelaxedWaitOrdersNothing) {
  ChainData data(3);
  sim::Options options = with(all_schedules()[0]);
  options.relaxed_waits = true;
  EXPECT_THAT(findings_in(build(Chain(Mistake::none), {0, 0, 0, 0}).kernel, data.arguments(), options),
              HasSubstr("hand the element over by a flag"));
}

TEST(GlobalFlags, EveryMutationIsFound) {
  const auto lowered = build(Chain(Mistake::none), {0, 0, 0, 0});
  const std::vector<checker::Mutation> all = checker::mutations(lowered.kernel);
  std::vector<std::string> kinds;
  for (const checker::Mutation& mutation : all) {
    kinds.push_back(mutation.kind);
    const auto mutant = checker::mutate(lowered.kernel, mutation);
    ChainData data(4);
    EXPECT_NE(findings_in(*mutant, data.arguments(), with(all_schedules()[0])), "") << mutation.text;
  }
  EXPECT_THAT(kinds, ::testing::IsSupersetOf({"flag.wait deleted", "flag.wait for one more", "flag.signal deleted",
                                              "flag.signal with one more", "barrier.sync deleted"}));
}

TEST(GlobalFlags, CompileForTheCard) {
  for (const auto& lowered : {build(Chain(Mistake::none), {0, 0, 0, 0}), build(Counted(true), {0, 0, 0, 0})}) {
    const std::string text = cuda::print(lowered.kernel);
    EXPECT_THAT(text, HasSubstr("ld.acquire.gpu.global.u32"));
    EXPECT_THAT(text, HasSubstr(".release.gpu.global."));
    std::string reason;
    if (!jit::available(&reason)) {
      std::cout << "not compiled: " << reason << "\n";
      continue;
    }
    const jit::CubinFacts facts = jit::compile(text, cuda::function_name(lowered.kernel)).facts;
    EXPECT_EQ(facts.spill_store_bytes + facts.spill_load_bytes, 0);
    EXPECT_THAT(facts.remarks, IsEmpty());
  }
}

}  // namespace
}  // namespace tessera::testing
