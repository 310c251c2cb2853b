// The ring's stages and parities, in programs with any number of iterations.
#include <rapidcheck.h>

#include "errors/mistake.hpp"
#include "lang/run_scalars.hpp"

namespace tessera::test {
namespace {

using testing::HasSubstr;

// A producer warp and four consumer warps; `tiles` rounds of `steps` slots each.
struct Ring : Script {
  struct Config {
    int stages = 4, cluster = 1;
    bool release_late = false;
  };
  Config config;
  explicit Ring(Config c) : config(c) {}

  void operator()(Int32 tiles, Int32 steps) {
    attrs.cluster = config.cluster;
    attrs.blocks = {config.cluster};
    attrs.warps = 8;
    auto data = shared_tensor<float>({config.stages, 32});
    Pipeline ring(config.stages, {.consumer_warps = 4, .cluster = config.cluster > 1});
    if (auto _ = warp_group(0, 4)) {
      for (auto t : range(tiles)) {
        (void)t;
        for (auto k : range(steps)) {
          (void)k;
          auto slot = ring.acquire_for_producer();
          if (auto _ = single_thread()) mbarrier.arrive_and_expect_tx(slot.full, data[slot].nbytes());
          ring.advance_producer();
        }
      }
      ring.drain_producer();
    }
    if (auto _ = warp_group(4, 4)) {
      for (auto t : range(tiles)) {
        (void)t;
        for (auto k : range(steps)) {
          auto slot = ring.acquire_for_consumer();
          printf("{}\n", slot.index);
          if (!config.release_late) ring.release_consumer();
          if (config.release_late) {
            if (auto _ = when(k > 0)) ring.release_consumer();  // the one before
          }
          ring.advance_consumer();
        }
        if (config.release_late) {
          if (auto _ = when(steps > 0)) ring.release_consumer();
        }
      }
    }
  }
};

std::vector<BarrierEvent> only(const std::vector<BarrierEvent>& events, const std::string& what) {
  std::vector<BarrierEvent> result;
  for (const BarrierEvent& e : events)
    if (e.what == what) result.push_back(e);
  return result;
}

TEST(Pipeline, StagesAndParities) {
  EXPECT_TRUE(rc::check([] {
    Ring::Config config;
    config.stages = *rc::gen::inRange(1, 7);
    config.cluster = *rc::gen::element(1, 2, 4);
    config.release_late = *rc::gen::arbitrary<bool>() && config.stages > 1;
    const std::int64_t tiles = *rc::gen::inRange(0, 5), steps = *rc::gen::inRange(0, 12);
    const auto kernel = detail::trace(Ring(config), std::vector<std::int64_t>{0, 0});
    const ScalarRun producer(*kernel, {tiles, steps}, {.thread = 0});
    const ScalarRun consumer(*kernel, {tiles, steps}, {.thread = 160});
    const std::int64_t stages = config.stages, total = tiles * steps;

    // Slot t lies at t mod stages, in round t / stages. The producer waits for the round before, then drains.
    std::vector<BarrierEvent> empty, filled, full, released;
    for (std::int64_t t = 0; t < total + stages; ++t) empty.push_back({"wait empty", t % stages, (t / stages + 1) % 2});
    for (std::int64_t t = 0; t < total; ++t) {
      filled.push_back({"expect full", t % stages, 128});
      full.push_back({"wait full", t % stages, t / stages % 2});
      for (int block = 0; config.cluster > 1 && block < config.cluster; ++block)
        released.push_back({"remote empty", t % stages, block});
      if (config.cluster == 1) released.push_back({"arrive empty", t % stages, 1});
    }
    RC_ASSERT(only(producer.barriers, "wait empty") == empty);
    RC_ASSERT(only(producer.barriers, "expect full") == filled);
    RC_ASSERT(only(consumer.barriers, "wait full") == full);
    RC_ASSERT(only(consumer.barriers, config.cluster > 1 ? "remote empty" : "arrive empty") == released);
    RC_ASSERT(consumer.barriers.size() == full.size() + released.size());
  }));
}

TEST(Pipeline, ArrivalsOfASlot) {
  const auto one = detail::trace(Ring({.stages = 2}), std::vector<std::int64_t>{0, 0});
  EXPECT_EQ(one->barriers[0]->counts, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(one->barriers[1]->counts, (std::vector<std::int64_t>{4, 4}));  // each consumer warp
  const auto two = detail::trace(Ring({.stages = 2, .cluster = 2}), std::vector<std::int64_t>{0, 0});
  EXPECT_EQ(two->barriers[1]->counts, (std::vector<std::int64_t>{8, 8}));  // and of each block
}

// Only the first warp of a larger group waits, because a warp that falls two rounds behind would miss its parity.
TEST(Pipeline, OneWarpOfTheProducerWaits) {
  const auto kernel = detail::trace(Ring({}), std::vector<std::int64_t>{0, 0});
  EXPECT_FALSE(ScalarRun(*kernel, {1, 3}, {.thread = 31}).barriers.empty());
  EXPECT_TRUE(ScalarRun(*kernel, {1, 3}, {.thread = 32}).barriers.empty());
}

TEST(Pipeline, BoundsOfTheStageAreKnown) {
  trace_body([](Program&) {
    Pipeline ring(3);
    if (auto _ = single_warp()) {
      auto slot = ring.acquire_for_producer();
      ring.advance_producer();
      const auto bounds = detail::bounds_of(slot.index.ref());
      EXPECT_EQ(bounds.low, 0);
      EXPECT_EQ(bounds.high, 2);
    }
  });
}

// Passes of `blocks` blocks through an unrolled ring; with two consumers these take turns at passes.
struct UnrolledRing : Script {
  struct Config {
    int stages = 4, blocks = 4, cluster = 1, consumers = 1;
    bool release_late = false;
  };
  Config config;
  explicit UnrolledRing(Config c) : config(c) {}

  void operator()(Int32 passes) {
    attrs.cluster = config.cluster;
    attrs.blocks = {config.cluster};
    attrs.warps = 4 + 4 * config.consumers;
    auto data = shared_tensor<float>({config.stages, 32});
    UnrolledPipeline ring(config.stages, config.blocks, {.consumer_warps = 4, .cluster = config.cluster > 1});
    if (auto _ = single_warp(0)) {
      for (auto t : range(passes)) {
        (void)t;
        ring.produce([&](const UnrolledSlot& slot) {
          printf("{}\n", slot.block);
          if (auto _ = single_thread()) mbarrier.arrive_and_expect_tx(slot.full, data[slot].nbytes());
        });
      }
      ring.drain_producer();
    }
    for (int me = 0; me < config.consumers; ++me) {
      if (auto _ = warp_group(4 + 4 * me, 4)) {
        for (int other = 0; other < me; ++other) ring.skip_consumer();
        for (auto t : range(me, passes, config.consumers)) {
          (void)t;
          ring.consume([&](const UnrolledSlot& slot) {
            if (config.release_late) {
              ring.release_before(slot);
            } else {
              ring.release(slot);
            }
          });
          if (config.release_late) ring.release_last();
          for (int other = 1; other < config.consumers; ++other) ring.skip_consumer();
        }
      }
    }
  }
};

TEST(UnrolledPipeline, SlotsAndParities) {
  EXPECT_TRUE(rc::check([] {
    UnrolledRing::Config config;
    config.stages = *rc::gen::inRange(1, 6);
    config.blocks = *rc::gen::inRange(0, 14);
    config.cluster = *rc::gen::element(1, 2);
    config.consumers = *rc::gen::inRange(1, 3);
    config.release_late = *rc::gen::arbitrary<bool>() && config.stages > 1;
    const std::int64_t passes = *rc::gen::inRange(0, 6);
    const auto kernel = detail::trace(UnrolledRing(config), std::vector<std::int64_t>{0});
    const ScalarRun producer(*kernel, {passes}, {.thread = 0});

    // Every pass begins at slot 0. The f-th filling of a slot waits for the phase before it and completes phase f.
    std::vector<std::int64_t> fillings(static_cast<std::size_t>(config.stages), 0);
    std::vector<BarrierEvent> empty, filled;
    std::vector<std::vector<std::int64_t>> blocks;
    std::vector<std::vector<BarrierEvent>> full(static_cast<std::size_t>(config.consumers)), released = full;
    for (std::int64_t t = 0; t < passes; ++t) {
      const auto who = static_cast<std::size_t>(t % config.consumers);
      for (std::int64_t b = 0; b < config.blocks; ++b) {
        const std::int64_t slot = b % config.stages, f = fillings[static_cast<std::size_t>(slot)]++;
        empty.push_back({"wait empty", slot, (f + 1) % 2});
        filled.push_back({"expect full", slot, 128});
        blocks.push_back({b});
        full[who].push_back({"wait full", slot, f % 2});
        for (int block = 0; config.cluster > 1 && block < config.cluster; ++block)
          released[who].push_back({"remote empty", slot, block});
        if (config.cluster == 1) released[who].push_back({"arrive empty", slot, 1});
      }
    }
    for (std::int64_t slot = 0; slot < config.stages; ++slot)
      empty.push_back({"wait empty", slot, (fillings[static_cast<std::size_t>(slot)] + 1) % 2});
    RC_ASSERT(only(producer.barriers, "wait empty") == empty);
    RC_ASSERT(only(producer.barriers, "expect full") == filled);
    RC_ASSERT(producer.printed == blocks);
    for (std::size_t me = 0; me < full.size(); ++me) {
      const ScalarRun consumer(*kernel, {passes}, {.thread = static_cast<int>(128 + 128 * me)});
      RC_ASSERT(only(consumer.barriers, "wait full") == full[me]);
      RC_ASSERT(only(consumer.barriers, config.cluster > 1 ? "remote empty" : "arrive empty") == released[me]);
    }
  }));
}

TEST(PipelineErrors, Options) {
  for (const int stages : {0, 65}) {
    expect_mistake(
        [&](Program&) {
          Pipeline ring(stages);  // <- error
        },
        "a pipeline with " + std::to_string(stages) + " stages");
  }
  expect_mistake(
      [](Program&) {
        Pipeline ring(2, {.consumer_warps = 0});  // <- error
      },
      "a pipeline with .consumer_warps = 0");
  expect_mistake(
      [](Program&) {
        UnrolledPipeline ring(2, -1);  // <- error
      },
      "UnrolledPipeline with -1 blocks a pass");
}

TEST(PipelineErrors, InsideALoop) {
  expect_mistake(
      [](Program& k) {
        for (auto i : range(*k.n)) {
          (void)i;
          Pipeline ring(2);  // <- error
        }
      },
      "allocate mbarriers outside loops");
}

TEST(PipelineErrors, ReleaseByPartOfAWarp) {
  expect_mistake(
      [](Program&) {
        Pipeline ring(2);
        if (auto _ = thread_group(0, 16)) {
          ring.release_consumer();  // <- error
        }
      },
      "the hardware elects one thread of a whole warp");
}

TEST(BoundedVariables, KeepTheirBounds) {
  expect_mistake(
      [](Program& k) {
        const auto zero = detail::literal_ref<std::int32_t>(0, SourceLoc::here());
        const auto var = detail::declare_bounded_var(DType::i32, zero, "stage", 0, 3, SourceLoc::here());
        detail::assign_var(var, ((*k.n) % 4).ref(), SourceLoc::here());  // <- error
      },
      "'stage', whose values are bound to lie in 0..3");
}

}  // namespace
}  // namespace tessera::test
