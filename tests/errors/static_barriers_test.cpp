// Arrivals, waits and phases of mbarriers, from the program text.
#include "errors/hazards.hpp"

namespace tessera::test {
namespace {

TEST(ArrivalsInTheText, MoreAtOnceThanAPhaseTakes) {
  expect_hazard(
      [](Program&) {
        auto bar = mbarrier.alloc(4);
        mbarrier.arrive(bar);  // <- error
        mbarrier.wait(bar, 0);
      },
      Verdict::refused, Hazard::barrier_arrivals, "bar",
      "128 arrivals at once at 'bar' by threads 0..127, but a phase of it takes 4",
      "allocate the barrier for 128 arrivals");
  expect_silence([](Program&) {
    auto bar = mbarrier.alloc(4);
    if (auto _ = single_thread_of_each_warp()) mbarrier.arrive(bar);
    mbarrier.wait(bar, 0);
  });
}

TEST(ArrivalsInTheText, LumpsThatNeverMakeAPhase) {
  expect_hazard(
      [](Program& k) {
        auto bar = mbarrier.alloc(100);
        Var<UInt32> phase = 0u;
        for (auto _ : range(*k.n)) {
          if (auto _ = warp_group(0, 2)) mbarrier.arrive(bar);  // <- error
          mbarrier.wait(bar, phase);
          phase ^= 1u;
        }
      },
      Verdict::refused, Hazard::barrier_arrivals, "bar", "never make up the 100 of a phase", "number of all arrivals");
  expect_silence([](Program& k) {
    auto bar = mbarrier.alloc(64);
    Var<UInt32> phase = 0u;
    for (auto _ : range(*k.n)) {
      if (auto _ = warp_group(0, 2)) mbarrier.arrive(bar);
      mbarrier.wait(bar, phase);
      phase ^= 1u;
    }
  });
}

TEST(ArrivalsInTheText, FewerInTheWholeKernelThanAPhaseTakes) {
  expect_hazard(
      [](Program&) {
        auto bar = mbarrier.alloc(128);
        if (auto _ = single_thread_of_each_warp()) mbarrier.arrive(bar);
        mbarrier.wait(bar, 0);  // <- error
      },
      Verdict::refused, Hazard::deadlock, "bar", "a phase of 'bar' takes 128 arrivals, but the kernel arrives 4 times",
      "let all threads arrive");
  expect_silence([](Program& k) {  // as often as the run decides
    auto bar = mbarrier.alloc(128);
    if (auto _ = single_thread(0)) {
      for (auto _ : range(*k.n)) mbarrier.arrive(bar);
    }
    mbarrier.wait(bar, 0);
  });
}

TEST(ArrivalsInTheText, NobodyArrives) {
  expect_hazard(
      [](Program&) {
        auto bars = mbarrier.alloc({1, 1});
        if (auto _ = single_thread(0)) mbarrier.arrive(bars[0]);
        mbarrier.wait(bars[0], 0);
        mbarrier.wait(bars[1], 0);  // <- error
      },
      Verdict::refused, Hazard::deadlock, "bars[1]", "nothing arrives at 'bars[1]', so that this wait never ends",
      "arrive_and_expect_tx()");
}

// The parity of the phase before the first counts as complete.
TEST(ArrivalsInTheText, AWaitThatPassesAtOnceIsNotStuck) {
  expect_silence([](Program&) {
    auto bar = mbarrier.alloc(1);
    mbarrier.wait(bar, 1);
  });
}

TEST(ArrivalsInTheText, ARingThatNobodyReleases) {
  const auto ring = [](bool release, bool long_loop) {
    return trace_body([=](Program& k) {
      auto view = global_view(*k.a, {*k.n, 64});
      auto tiles = shared_tensor<float16>({2, 64, 64});
      auto full = mbarrier.alloc({1, 1}), empty = mbarrier.alloc({1, 1});
      Int32 blocks = long_loop ? *k.n : Int32(2);
      if (auto _ = single_thread(0)) {
        Var<UInt32> round = 0u;
        for (auto i : range(blocks)) {
          mbarrier.wait(empty[i % 2], round ^ 1u);  // <- error
          mbarrier.arrive_and_expect_tx(full[i % 2], tiles[0].nbytes());
          tma.global_to_shared({.src = view, .dst = tiles[i % 2], .offsets = {i, 0}, .mbarrier = full[i % 2]});
          round ^= cast<UInt32>(i % 2);
        }
      }
      if (auto _ = single_warp(1)) {
        Var<UInt32> round = 0u;
        for (auto i : range(blocks)) {
          mbarrier.wait(full[i % 2], round);
          if (release) {
            if (auto _ = single_thread(0)) mbarrier.arrive(empty[i % 2]);
          }
          round ^= cast<UInt32>(i % 2);
        }
      }
    });
  };
  expect_silence(ring(true, true));
  expect_silence(ring(false, false));  // every slot is used once
  expect_hazard(ring(false, true), Verdict::finding, Hazard::deadlock, findings_of(ring(false, true)).front().object,
                "nothing arrives at 'empty[", "let a thread arrive");
}

// Each thread has its own copy of a variable.
TEST(ArrivalsInTheText, AVariableThatOtherThreadsHaveFlipped) {
  expect_hazard(
      [](Program&) {
        auto first = mbarrier.alloc(32);
        auto second = mbarrier.alloc(32);
        Var<UInt32> phase = 0u;
        if (auto _ = single_warp(0)) {
          mbarrier.arrive(first);
          mbarrier.wait(first, phase);
          phase ^= 1u;
        }
        if (auto _ = single_warp(1)) mbarrier.wait(second, phase);  // <- error
      },
      Verdict::refused, Hazard::deadlock, "second", "nothing arrives at 'second'", "let a thread arrive");
}

TEST(ArrivalsInTheText, TwoPhasesWithNothingBetween) {
  expect_hazard(
      [](Program&) {
        auto bar = mbarrier.alloc(1);
        if (auto _ = single_thread(0)) {
          mbarrier.arrive(bar);
          mbarrier.arrive(bar);  // <- error
        }
        mbarrier.wait(bar, 0);
      },
      Verdict::refused, Hazard::barrier_arrivals, "bar",
      "2 arrivals at 'bar' with no wait between them, but a phase of it takes 1", "wait for a phase");
  expect_silence([](Program&) {
    auto bar = mbarrier.alloc(1);
    if (auto _ = single_thread(0)) mbarrier.arrive(bar);
    mbarrier.wait(bar, 0);
    if (auto _ = single_thread(0)) mbarrier.arrive(bar);
    mbarrier.wait(bar, 1);
  });
}

TEST(ArrivalsInTheText, ALoopThatOnlyArrives) {
  const auto program = [](int times, int count) {
    return trace_body([=](Program&) {
      auto bar = mbarrier.alloc(count);
      if (auto _ = single_thread(0)) {
        for (auto _ : range(times)) mbarrier.arrive(bar);  // <- error
      }
      mbarrier.wait(bar, 0);
    });
  };
  expect_silence(program(4, 4));
  expect_hazard(program(5, 4), Verdict::refused, Hazard::barrier_arrivals, "bar",
                "5 arrivals at 'bar' with no wait between them", "wait for a phase");
}

TEST(CopiesInTheText, NobodyWaits) {
  const auto program = [](bool wait) {
    return trace_body([=](Program& k) {
      auto view = global_view(*k.a, {*k.n, 64});
      auto tile = shared_tensor<float16>({64, 64});
      auto full = mbarrier.alloc(1);
      if (auto _ = single_thread(0)) {
        mbarrier.arrive_and_expect_tx(full, tile.nbytes());
        tma.global_to_shared({.src = view, .dst = tile, .offsets = {0, 0}, .mbarrier = full});  // <- error
      }
      if (wait) mbarrier.wait(full, 0);
      sync();
      store_global(view, load_shared(tile), {0, 0});
    });
  };
  expect_silence(program(true));
  expect_hazard(program(false), Verdict::refused, Hazard::race, "full",
                "the copy completes on 'full', for which nobody waits", "mbarrier.wait");
}

// A tile in every iteration, with the phase as the function gives it.
KernelPtr tile_in_a_loop(const std::function<Int32(Program&)>& trips,
                         const std::function<UInt32(const Int32&)>& phase) {
  return trace_body([&](Program& k) {
    auto view = global_view(*k.a, {*k.n, 64});
    auto tile = shared_tensor<float16>({64, 64});
    auto full = mbarrier.alloc(1);
    for (auto i : range(trips(k))) {
      if (auto _ = single_thread()) {
        mbarrier.arrive_and_expect_tx(full, tile.nbytes());
        tma.global_to_shared({.src = view, .dst = tile, .offsets = {i, 0}, .mbarrier = full});
      }
      mbarrier.wait(full, phase(i));  // <- error
      sync();
    }
  });
}

TEST(PhasesInTheText, NeverFlips) {
  const auto zero = [](const Int32&) { return UInt32(0u); };
  expect_hazard(tile_in_a_loop([](Program& k) { return *k.n; }, zero), Verdict::finding, Hazard::barrier_phase, "full",
                "waits for parity 0 of 'full' in every iteration", "phase ^= 1u");
  expect_hazard(tile_in_a_loop([](Program&) { return Int32(4); }, zero), Verdict::refused, Hazard::barrier_phase,
                "full", "the parity of phases alternates", "phase ^= 1u");
  expect_silence(tile_in_a_loop([](Program&) { return Int32(1); }, zero));
  expect_silence(tile_in_a_loop([](Program& k) { return *k.n; }, [](const Int32& i) { return cast<UInt32>(i % 2); }));
}

TEST(PhasesInTheText, AVariableThatTheLoopForgetsToFlip) {
  const auto program = [](bool flip) {
    return trace_body([=](Program& k) {
      auto bar = mbarrier.alloc(128);
      Var<UInt32> phase = 0u;
      for (auto _ : range(*k.n)) {
        mbarrier.arrive(bar);
        mbarrier.wait(bar, phase);  // <- error
        if (flip) phase ^= 1u;
      }
    });
  };
  expect_silence(program(true));
  const auto found = findings_of(program(false));
  ASSERT_EQ(found.size(), 1U) << text_of(found);
  EXPECT_EQ(found.front().hazard, Hazard::barrier_phase);
}

// Two phases an iteration, or one that is completed once before the loop: the parity need not flip.
TEST(PhasesInTheText, ParitiesThatMayStay) {
  expect_silence([](Program& k) {
    auto bar = mbarrier.alloc(128);
    for (auto _ : range(*k.n)) {
      mbarrier.arrive(bar);
      mbarrier.wait(bar, 0);
      mbarrier.arrive(bar);
      mbarrier.wait(bar, 1);
    }
  });
  expect_silence([](Program& k) {
    auto bar = mbarrier.alloc(128);
    mbarrier.arrive(bar);
    for (auto _ : range(*k.n)) mbarrier.wait(bar, 0);
  });
  expect_silence([](Program& k) {  // two groups take turns
    auto bar = mbarrier.alloc(64);
    if (auto _ = warp_group(0, 2)) {
      for (auto _ : range(*k.n)) {
        mbarrier.arrive(bar);
        mbarrier.wait(bar, 1);
      }
    }
    if (auto _ = warp_group(2, 2)) {
      for (auto _ : range(*k.n)) {
        mbarrier.wait(bar, 0);
        mbarrier.arrive(bar);
      }
    }
  });
}

KernelPtr two_loops(const std::function<Int32(const Int32&)>& arriving,
                    const std::function<Int32(const Int32&)>& waiting) {
  return trace_body([&](Program& k) {
    auto bar = mbarrier.alloc(32);
    if (auto _ = single_warp(0)) {
      for (auto _ : range(arriving(*k.n))) {
        mbarrier.arrive(bar);
        sync();
      }
    }
    if (auto _ = single_warp(1)) {
      Var<UInt32> phase = 0u;
      for (auto _ : range(waiting(*k.n))) {
        mbarrier.wait(bar, phase);  // <- error
        phase ^= 1u;
      }
    }
  });
}

TEST(PhasesInTheText, LoopsOfDifferentLengths) {
  const auto n = [](const Int32& x) { return x; };
  const auto more = [](const Int32& x) { return x + 1; };
  const auto fixed = [](int x) { return [x](const Int32&) { return Int32(x); }; };
  expect_silence(two_loops(n, n));
  expect_silence(two_loops(more, n));
  expect_silence(two_loops([](const Int32& x) { return x / 64; }, [](const Int32& x) { return cdiv(x, 64); }));
  expect_silence(two_loops(fixed(9), fixed(9)));
  expect_hazard(two_loops(n, more), Verdict::finding, Hazard::deadlock, "bar",
                "'bar' is waited for in 1 more iterations than complete a phase of it", "same number of iterations");
  expect_hazard(two_loops(fixed(8), fixed(10)), Verdict::finding, Hazard::deadlock, "bar",
                "'bar' is waited for in 2 more iterations", "same number of iterations");
}

}  // namespace
}  // namespace tessera::test
