// The TMA engine beyond plain loads: multicast, stores, reductions, bulk groups, prefetches.
#include "errors/mistake.hpp"

namespace tessera::test {
namespace {

using testing::HasSubstr;

// With a cluster of two blocks and four warps.
KernelPtr trace_cluster(const Program::Body& body) {
  return trace_bare([&](Program& k) {
    k.attrs.cluster = {2};
    k.attrs.blocks = {2 * cdiv(*k.n, 128)};
    k.attrs.warps = 4;
    body(k);
  });
}
void expect_in_cluster(const Program::Body& body, const std::string& sentence) {
  expect_error([&] { trace_cluster(body); }, sentence);
}

TEST(Tma, WhatIsRecorded) {
  const auto kernel = trace_cluster([](Program& k) {
    auto ga = global_view(*k.a, {*k.n, 64});
    auto sa = shared_tensor<float16>({2, 64, 64});
    auto full = mbarrier.alloc(1);
    if (auto _ = single_thread(0)) {
      tma.prefetch({.src = ga, .shape = {64, 64}, .offsets = {0, 0}});
      tma.global_to_shared({.src = ga,
                            .dst = sa[0],
                            .offsets = {0, 0},
                            .mbarrier = full,
                            .multicast = cluster.all(),
                            .hint = CacheHint::evict_last});
      tma.global_to_shared({.src = ga, .dst = sa[0], .offsets = {0, 0}, .mbarrier = full, .multicast = 2});
      tma.global_to_shared({.src = ga, .dst = sa[1], .offsets = {0, 0}, .mbarrier = full});
      tma.shared_to_global({.src = sa[0], .dst = ga, .offsets = {64, 0}, .hint = CacheHint::evict_first});
      tma.reduce_add({.src = sa[1].split(1, 2)[0], .dst = ga, .offsets = {64, 0}, .hint = CacheHint::evict_normal});
      tma.commit_group();
      tma.wait_group(1, {.read = true});
      tma.wait_group(0);
    }
  });
  EXPECT_THAT(ir::tile::to_string(*kernel, false), HasSubstr(R"(thread 0 {
  tma.prefetch(ga, [64, 64], [0, 0])
  tma.global_to_shared(ga, sa[0, :, :], [0, 0], full, multicast 3, evict_last)
  tma.global_to_shared(ga, sa[0, :, :], [0, 0], full, multicast 2)
  tma.global_to_shared(ga, sa[1, :, :], [0, 0], full)
  tma.shared_to_global(sa[0, :, :], ga, [64, 0], evict_first)
  tma.reduce_add(sa[1, :, 0:+32], ga, [64, 0], evict_normal)
  tma.commit_group()
  tma.wait_group(1, read)
  tma.wait_group(0)
})"));
}

// A view and a shared tile of the same type and shape, and a barrier.
struct Copy {
  GlobalView view;
  SharedTensor tile;
  Barrier barrier;
};
Copy copy_of(Program& k) {
  return {global_view(*k.a, {*k.n, 64}), shared_tensor<float16>({64, 64}), mbarrier.alloc(1)};
}

TEST(MulticastErrors, WithoutACluster) {
  expect_mistake(
      [](Program& k) {
        const Copy c = copy_of(k);
        if (auto _ = single_thread()) {
          tma.global_to_shared(  // <- error
              {.src = c.view, .dst = c.tile, .offsets = {0, 0}, .mbarrier = c.barrier, .multicast = 3});
        }
      },
      "with .multicast in a kernel without clusters");
  EXPECT_NO_THROW(trace_body([](Program& k) {  // a cluster of one
    const Copy c = copy_of(k);
    if (auto _ = single_thread()) {
      tma.global_to_shared(
          {.src = c.view, .dst = c.tile, .offsets = {0, 0}, .mbarrier = c.barrier, .multicast = cluster.all()});
    }
  }));
}

TEST(MulticastErrors, Mask) {
  for (const int mask : {0, 4, 7}) {
    expect_in_cluster(
        [&](Program& k) {
          const Copy c = copy_of(k);
          if (auto _ = single_thread()) {
            tma.global_to_shared(  // <- error
                {.src = c.view, .dst = c.tile, .offsets = {0, 0}, .mbarrier = c.barrier, .multicast = mask});
          }
        },
        "with .multicast = " + std::to_string(mask) + " in a cluster of 2 blocks");
  }
}

TEST(TmaStoreErrors, Group) {
  for (const int threads : {32, 64}) {
    expect_mistake(
        [&](Program& k) {
          const Copy c = copy_of(k);
          if (auto _ = thread_group(0, threads)) {
            tma.shared_to_global({.src = c.tile, .dst = c.view, .offsets = {0, 0}});  // <- error
          }
        },
        "bulk groups belong to the one thread that issues the stores");
  }
  expect_mistake(
      [](Program& k) {
        const Copy c = copy_of(k);
        tma.reduce_add({.src = c.tile, .dst = c.view, .offsets = {0, 0}});  // <- error
      },
      "tma.reduce_add() is executed by threads 0..127");
  expect_mistake(
      [](Program&) {
        tma.commit_group();  // <- error
      },
      "tma.commit_group() is executed by threads 0..127");
  expect_mistake(
      [](Program&) {
        if (auto _ = single_warp()) tma.wait_group(0);  // <- error
      },
      "tma.wait_group() is executed by threads 0..31");
}

TEST(TmaStoreErrors, TypesAndRanks) {
  expect_mistake(
      [](Program& k) {
        const Copy c = copy_of(k);
        auto tile = shared_tensor<float>({64, 64});
        if (auto _ = single_thread(0)) {
          tma.shared_to_global({.src = tile, .dst = c.view, .offsets = {0, 0}});  // <- error
          tma.commit_group();
        }
      },
      "from a shared tile of float32 to a view of float16");
  expect_mistake(
      [](Program& k) {
        const Copy c = copy_of(k);
        auto tile = shared_tensor<float16>({2, 64, 64});
        if (auto _ = single_thread(0)) {
          tma.shared_to_global({.src = tile, .dst = c.view, .offsets = {0, 0}});  // <- error
        }
      },
      "tma.shared_to_global() to a view with 2 dimensions of a tile of shape {2, 64, 64} with 2 offsets");
  expect_mistake(
      [](Program& k) {
        const Copy c = copy_of(k);
        Int64 far = cast<Int64>(*k.n) * 64;
        if (auto _ = single_thread(0)) {
          tma.shared_to_global({.src = c.tile, .dst = c.view, .offsets = {far, 0}});  // <- error
        }
      },
      "coordinates are 32-bit");
}

struct AddBytes : Script {
  void operator()(Ptr<std::int64_t> p) {
    attrs.blocks = 1;
    attrs.warps = 1;
    auto view = global_view(p, {64});
    auto tile = shared_tensor<std::int64_t>({64});
    if (auto _ = single_thread(0)) {
      tma.reduce_add({.src = tile, .dst = view, .offsets = {0}});  // <- error
      tma.commit_group();
    }
  }
};
TEST(TmaStoreErrors, TypesThatTheEngineDoesNotAdd) {
  expect_error([] { detail::trace(AddBytes(), std::vector<std::int64_t>{0}); }, "tma.reduce_add() of int64");
}

TEST(TmaStoreErrors, PendingGroups) {
  expect_mistake(
      [](Program&) {
        if (auto _ = single_thread(0)) {
          tma.commit_group();
          tma.wait_group(-1);  // <- error
        }
      },
      "tma.wait_group(-1)");
}

TEST(TmaPrefetchErrors, ShapeAndGroup) {
  expect_mistake(
      [](Program& k) {
        const Copy c = copy_of(k);
        if (auto _ = single_thread()) {
          tma.prefetch({.src = c.view, .shape = {64}, .offsets = {0, 0}});  // <- error
        }
      },
      "tma.prefetch() of a tile of shape {64} with 2 offsets from a view with 2 dimensions");
  expect_mistake(
      [](Program& k) {
        const Copy c = copy_of(k);
        if (auto _ = single_thread()) {
          tma.prefetch({.src = c.view, .shape = {64, 0}, .offsets = {0, 0}});  // <- error
        }
      },
      "dimension 1 has extent 0");
  expect_mistake(
      [](Program& k) {
        const Copy c = copy_of(k);
        tma.prefetch({.src = c.view, .shape = {64, 64}, .offsets = {0, 0}});  // <- error
      },
      "one thread or exactly one warp");
}

// Two scopes that the hardware may give to two threads.
TEST(BulkGroupErrors, StoreAndWaitUnderTwoElections) {
  const std::string text = mistake([](Program& k) {
    const Copy c = copy_of(k);
    for (auto i : range(*k.n)) {
      if (auto _ = single_thread()) {
        tma.wait_group(0, {.read = true});  // <- error
      }
      sync();
      if (auto _ = single_thread()) {
        tma.shared_to_global({.src = c.tile, .dst = c.view, .offsets = {i, 0}});
        tma.commit_group();
      }
    }
  });
  EXPECT_THAT(text, HasSubstr("tma.wait_group() waits for the bulk groups of its own thread, but the thread that is "
                              "elected here, of warp 0 has none"));
  EXPECT_THAT(text, HasSubstr("name the thread, single_thread(0)"));
}

TEST(BulkGroupErrors, NamedAndElected) {
  expect_mistake(
      [](Program& k) {
        const Copy c = copy_of(k);
        if (auto _ = single_thread(0)) {
          tma.shared_to_global({.src = c.tile, .dst = c.view, .offsets = {0, 0}});
          tma.commit_group();
        }
        if (auto _ = single_thread()) {
          tma.wait_group(0);  // <- error
        }
      },
      "each single_thread() may elect another thread");
  expect_mistake(
      [](Program& k) {
        const Copy c = copy_of(k);
        if (auto _ = single_thread()) {
          tma.shared_to_global({.src = c.tile, .dst = c.view, .offsets = {0, 0}});  // <- error
        }
        if (auto _ = single_thread()) {
          tma.commit_group();
          tma.wait_group(0);
        }
      },
      "needs a tma.commit_group() by its own thread");
}

TEST(BulkGroupErrors, TwoNamedThreads) {
  expect_mistake(
      [](Program& k) {
        const Copy c = copy_of(k);
        if (auto _ = single_thread(1)) {
          tma.shared_to_global({.src = c.tile, .dst = c.view, .offsets = {0, 0}});
          tma.commit_group();
        }
        if (auto _ = single_thread(0)) {
          tma.wait_group(0);  // <- error
        }
      },
      "but thread 0 has none");
}

TEST(BulkGroupErrors, CommitByAnotherThread) {
  expect_mistake(
      [](Program& k) {
        const Copy c = copy_of(k);
        if (auto _ = single_thread(0)) {
          tma.commit_group();  // <- error
        }
        if (auto _ = single_thread(1)) {
          tma.shared_to_global({.src = c.tile, .dst = c.view, .offsets = {0, 0}});
          tma.commit_group();
        }
      },
      "tma.commit_group() makes a group of the stores of its own thread, but thread 0 has none");
}

TEST(BulkGroups, WithoutStoresThereIsNothingToMisplace) {
  EXPECT_NO_THROW(trace_body([](Program&) {
    if (auto _ = single_thread(0)) tma.commit_group();
    if (auto _ = single_thread()) tma.wait_group(0);
  }));
}

TEST(BulkGroups, OneElectionAroundAllIsFine) {
  EXPECT_NO_THROW(trace_body([](Program& k) {
    const Copy c = copy_of(k);
    if (auto _ = single_thread()) {
      for (auto i : range(*k.n)) {
        if (auto _ = when(i > 0)) tma.wait_group(0);
        tma.shared_to_global({.src = c.tile, .dst = c.view, .offsets = {i, 0}});
        if (auto _ = single_thread()) tma.commit_group();  // of one thread: that one
      }
    }
    if (auto _ = single_warp(1)) {
      if (auto _ = single_thread(5)) {
        tma.shared_to_global({.src = c.tile, .dst = c.view, .offsets = {0, 0}});
        tma.commit_group();
      }
    }
    if (auto _ = single_thread(37)) tma.wait_group(0);  // the same thread
  }));
}

}  // namespace
}  // namespace tessera::test
