// Bytes announced on mbarriers against bytes of copies, from the program text.
#include "errors/hazards.hpp"

namespace tessera::test {
namespace {

struct Operands {
  GlobalView view;
  SharedTensor a, b;  // of 8192 and 4096 bytes
  BarrierArray full;
  std::int64_t bytes() const { return a.nbytes() + b.nbytes(); }
  void copy_a(const Int32& row, int barrier = 0) const {
    tma.global_to_shared({.src = view, .dst = a, .offsets = {row, 0}, .mbarrier = full[barrier]});
  }
  void copy_b(const Int32& row, int barrier = 0) const {
    tma.global_to_shared({.src = view, .dst = b, .offsets = {row, 0}, .mbarrier = full[barrier]});
  }
};
Operands operands(Program& k, const std::vector<int>& counts = {1}) {
  auto a = shared_tensor<float16>({64, 64});
  auto b = shared_tensor<float16>({32, 64});
  auto full = mbarrier.alloc(counts);
  return {global_view(*k.a, {*k.n, 64}), a, b, full};
}

TEST(BytesInTheText, MoreAnnouncedThanCopied) {
  const Program::Body body = [](Program& k) {
    const Operands o = operands(k);
    if (auto _ = single_thread(0)) {
      mbarrier.arrive_and_expect_tx(o.full[0], o.bytes() + 128);  // <- error
      o.copy_a(0);
      o.copy_b(64);
    }
    mbarrier.wait(o.full[0], 0);
  };
  expect_hazard(body, Verdict::refused, Hazard::barrier_bytes, "full",
                "12416 bytes are announced on 'full', but its copies deliver 12288", "no more: the phase never ends");
  EXPECT_EQ(findings_of(body).front().diagnostic.notes.size(), 2U);
}

TEST(BytesInTheText, FewerInEveryIterationOfALoop) {
  expect_hazard(
      [](Program& k) {
        const Operands o = operands(k);
        Var<UInt32> phase = 0u;
        for (auto i : range(*k.n)) {
          if (auto _ = single_thread()) {
            mbarrier.arrive_and_expect_tx(o.full[0], o.a.nbytes());  // <- error
            o.copy_a(i);
            o.copy_b(i);
          }
          mbarrier.wait(o.full[0], phase);
          sync();
          phase ^= 1u;
        }
      },
      Verdict::refused, Hazard::barrier_bytes, "full",
      "8192 bytes are announced on 'full', but its copies deliver 12288", "all copies that complete on the barrier");
}

TEST(BytesInTheText, SlotsOfARingByATracedIndex) {
  const auto ring = [](int extra) {
    return trace_body([=](Program& k) {
      auto view = global_view(*k.a, {*k.n, 64});
      auto tiles = shared_tensor<float16>({4, 64, 64});
      Pipeline ring(4, {.consumer_warps = 3});
      if (auto _ = single_warp(3)) {
        if (auto _ = single_thread(0)) {
          for (auto i : range(*k.n)) {
            const auto slot = ring.acquire_for_producer();
            mbarrier.arrive_and_expect_tx(slot.full, tiles[slot].nbytes() + extra);  // <- error
            tma.global_to_shared({.src = view, .dst = tiles[slot], .offsets = {i, 0}, .mbarrier = slot.full});
            ring.advance_producer();
          }
        }
      }
      if (auto _ = warp_group(0, 3)) {
        for (auto i : range(*k.n)) {
          (void)ring.acquire_for_consumer();
          ring.release_consumer();
          ring.advance_consumer();
        }
      }
    });
  };
  expect_silence(ring(0));
  const auto found = findings_of(ring(16));
  ASSERT_EQ(found.size(), 1U) << text_of(found);
  EXPECT_THAT(found.front().diagnostic.message, testing::HasSubstr("8208 bytes are announced on 'full["));
  EXPECT_THROW(passes::refuse_certain_hazards(*ring(16)), Error);
}

TEST(BytesInTheText, NobodyAnnouncesAnything) {
  expect_hazard(
      [](Program& k) {
        const Operands o = operands(k);
        if (auto _ = single_thread(0)) {
          mbarrier.arrive(o.full[0]);
          tma.global_to_shared({.src = o.view, .dst = o.a, .offsets = {0, 0}, .mbarrier = o.full[0]});  // <- error
        }
        mbarrier.wait(o.full[0], 0);
      },
      Verdict::refused, Hazard::barrier_bytes, "full",
      "copies of 8192 bytes complete on 'full', on which nobody announces any", "mbarrier.arrive_and_expect_tx()");
}

TEST(BytesInTheText, NoCopyCompletesOnTheBarrier) {
  expect_hazard(
      [](Program& k) {
        const Operands o = operands(k, {1, 1});
        if (auto _ = single_thread(0)) {
          mbarrier.arrive_and_expect_tx(o.full[0], o.bytes());
          o.copy_a(0, 0);
          o.copy_b(0, 0);
          mbarrier.arrive_and_expect_tx(o.full[1], 512);  // <- error
        }
        mbarrier.wait(o.full[0], 0);
        mbarrier.wait(o.full[1], 0);
      },
      Verdict::refused, Hazard::barrier_bytes, "full[1]", "512 bytes are announced on 'full[1]', but no copy",
      "no more");
}

TEST(BytesInTheText, EveryThreadOfTheGroupAnnounces) {
  expect_hazard(
      [](Program& k) {
        const Operands o = operands(k, {32});
        if (auto _ = single_warp(0)) {
          mbarrier.arrive_and_expect_tx(o.full[0], o.a.nbytes());  // <- error
          o.copy_a(0);
        }
        mbarrier.wait(o.full[0], 0);
      },
      Verdict::refused, Hazard::barrier_bytes, "full",
      "262144 bytes are announced on 'full', but its copies deliver 8192", "no more");
}

TEST(BytesInTheText, TwoAnnouncementsAndAnyOrderAreFine) {
  expect_silence([](Program& k) {
    const Operands o = operands(k, {2});
    if (auto _ = single_thread(0)) {
      o.copy_a(0);
      mbarrier.arrive_and_expect_tx(o.full[0], o.a.nbytes());
      mbarrier.arrive_and_expect_tx(o.full[0], o.b.nbytes());
      o.copy_b(64);
    }
    mbarrier.wait(o.full[0], 0);
  });
}

// One thread announces what another one copies, in loops of their own.
TEST(BytesInTheText, AnnouncedByAnotherThread) {
  const auto program = [](int bytes) {
    return trace_body([=](Program& k) {
      const Operands o = operands(k);
      if (auto _ = single_thread(0)) {
        mbarrier.arrive_and_expect_tx(o.full[0], bytes);  // <- error
      }
      if (auto _ = single_thread(32)) {
        for (auto i : range(2)) o.copy_b(i);
      }
      mbarrier.wait(o.full[0], 0);
    });
  };
  expect_silence(program(8192));
  expect_hazard(program(4096), Verdict::refused, Hazard::barrier_bytes, "full",
                "4096 bytes are announced on 'full', but its copies deliver 8192", "all copies");
}

// What depends on a value of the run is left to the run.
TEST(BytesInTheText, CopiesUnderConditionsAreNotJudged) {
  expect_silence([](Program& k) {
    const Operands o = operands(k);
    Bool both = *k.n > 64;
    if (auto _ = single_thread(0)) {
      mbarrier.arrive_and_expect_tx(o.full[0], select(both, 12288, 8192));
      o.copy_a(0);
      if (auto _ = when(both)) o.copy_b(0);
    }
    mbarrier.wait(o.full[0], 0);
  });
  expect_silence([](Program& k) {
    const Operands o = operands(k);
    if (auto _ = single_thread(0)) {
      mbarrier.arrive_and_expect_tx(o.full[0], o.bytes());
      for (auto i : range(*k.n)) o.copy_b(i);
    }
    mbarrier.wait(o.full[0], 0);
  });
}

TEST(BytesInTheText, ABranchThatIsWrongByItself) {
  expect_hazard(
      [](Program& k) {
        const Operands o = operands(k);
        if (auto _ = when(*k.n > 64)) {
          if (auto _ = single_thread(0)) {
            mbarrier.arrive_and_expect_tx(o.full[0], o.bytes());  // <- error
            o.copy_a(0);
          }
          mbarrier.wait(o.full[0], 0);
        }
      },
      Verdict::refused, Hazard::barrier_bytes, "full", "but its copies deliver 8192", "no more");
}

KernelPtr multicast(int bytes, bool in_turns) {
  return trace_bare([=](Program& k) {
    k.attrs.cluster = {2};
    k.attrs.blocks = {2 * cdiv(*k.n, 128)};
    k.attrs.warps = 4;
    auto view = global_view(*k.a, {*k.n, 64});
    auto tile = shared_tensor<float16>({64, 64});
    auto full = mbarrier.alloc(1);
    cluster.sync();
    if (auto _ = single_thread(0)) {
      mbarrier.arrive_and_expect_tx(full, bytes);  // <- error
      const auto copy = [&](const SharedTensor& part) {
        tma.global_to_shared(
            {.src = view, .dst = part, .offsets = {0, 0}, .mbarrier = full, .multicast = cluster.all()});
      };
      if (in_turns) {
        if (auto _ = when(cluster.rank() == 0)) copy(tile);
      } else {
        if (auto _ = when(cluster.rank() == 0)) copy(tile.split(0, 2)[0]);
        if (auto _ = otherwise()) copy(tile.split(0, 2)[1]);
      }
    }
    mbarrier.wait(full, 0);
    cluster.sync();
  });
}

TEST(BytesInTheText, EveryBlockOfAClusterReceivesAMulticast) {
  expect_silence(multicast(8192, false));
  expect_silence(multicast(8192, true));
  for (const bool in_turns : {false, true}) {
    expect_hazard(multicast(4096, in_turns), Verdict::refused, Hazard::barrier_bytes, "full",
                  "4096 bytes are announced on 'full', but its copies deliver 8192", "all copies");
  }
}

// As many rounds as the block's own number: the blocks of a cluster may differ, and with them the turns.
TEST(BytesInTheText, TurnsThatBlocksMayNotTakeTogetherAreNotJudged) {
  const auto program = [](bool together) {
    return trace_bare([=](Program& k) {
      k.attrs.cluster = {2};
      k.attrs.blocks = {2 * cdiv(*k.n, 128)};
      k.attrs.warps = 4;
      auto view = global_view(*k.a, {*k.n, 64});
      auto tile = shared_tensor<float16>({64, 64});
      auto full = mbarrier.alloc(1);
      Var<UInt32> phase = 0u;
      for (auto i : range(together ? blockIdx.x / 2 : Int32(blockIdx.x))) {
        if (auto _ = single_thread(0)) {
          mbarrier.arrive_and_expect_tx(full, 4096);  // <- error
          if (auto _ = when(cluster.rank() == 1)) {
            tma.global_to_shared(
                {.src = view, .dst = tile, .offsets = {i, 0}, .mbarrier = full, .multicast = cluster.all()});
          }
        }
        mbarrier.wait(full, phase);
        phase ^= 1u;
      }
      cluster.sync();
    });
  };
  expect_silence(program(false));
  expect_hazard(program(true), Verdict::refused, Hazard::barrier_bytes, "full", "its copies deliver 8192",
                "all copies");
}

}  // namespace
}  // namespace tessera::test
