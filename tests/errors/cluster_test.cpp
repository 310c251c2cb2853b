// Clusters, persistent grids, dependent launches, registers, named barriers, one thread of each warp.
#include "errors/mistake.hpp"

namespace tessera::test {
namespace {

using testing::HasSubstr;

TEST(Clusters, WhatIsRecorded) {
  const auto kernel = trace_bare([](Program& k) {
    k.attrs.cluster = {2, 1, 2};
    k.attrs.blocks = {2 * *k.n, 1, 4};
    k.attrs.warps = 4;
    k.attrs.dependent_launch = true;
    EXPECT_EQ(cluster.size(), 4);
    auto done = mbarrier.alloc({1, 1});
    grid_dependency.wait();
    Int32 r = cluster.rank();
    EXPECT_EQ(r.ref().expr->low, 0);
    EXPECT_EQ(r.ref().expr->high, 3);
    k.print("{} {}\n", r, cluster.all());
    if (auto _ = single_thread()) {
      mbarrier.arrive_remote(done[1], (r + 1) % 4, 2);
      mbarrier.arrive_remote(done[0], 3);
    }
    cluster.sync();
    grid_dependency.launch();
  });
  EXPECT_EQ(kernel->cluster, (std::array<int, 3>{2, 1, 2}));
  EXPECT_TRUE(kernel->dependent_launch);
  const std::string text = ir::tile::to_string(*kernel, false);
  EXPECT_THAT(text, HasSubstr("warps 4, cluster [2, 1, 2], dependent launch\n"));
  EXPECT_THAT(text, HasSubstr(R"(grid_dependency.wait()
printf("{} {}\n", cluster_rank, 15)
one thread elected in warp 0 {
  mbarrier.arrive_remote(done[1], cta (cluster_rank + 1) % 4, 2)
  mbarrier.arrive_remote(done[0], cta 3)
}
cluster.sync()
grid_dependency.launch()
)"));
}

TEST(Clusters, OfOneBlock) {
  const auto kernel = trace_body([](Program&) {
    EXPECT_EQ(cluster.size(), 1);
    EXPECT_TRUE(cluster.rank().ref().expr->is_constant(0));
    EXPECT_TRUE(cluster.all().ref().expr->is_constant(1));
    auto done = mbarrier.alloc(1);
    if (auto _ = single_thread()) mbarrier.arrive_remote(done, 0);
  });
  EXPECT_THAT(ir::tile::to_string(*kernel, false), HasSubstr("mbarrier.arrive(done)"));
}

TEST(Clusters, PersistentGrid) {
  const auto kernel = trace_bare([](Program& k) {
    k.attrs.cluster = 2;
    k.attrs.blocks = persistent_grid();
    k.attrs.warps = 4;
  });
  const std::vector<std::int64_t> params(4);
  EXPECT_EQ(ir::evaluate_on_host(kernel->grid[0], params, 132), 132);
  EXPECT_EQ(ir::evaluate_on_host(kernel->grid[0], params, 133), 132);
  EXPECT_EQ(ir::evaluate_on_host(kernel->grid[1], params, 133), 1);
}

TEST(ClusterErrors, Extents) {
  expect_mistake_bare(
      [](Program& k) {
        k.attrs.cluster = {0};  // <- error
      },
      "attrs.cluster with the extent 0");
  expect_mistake_bare(
      [](Program& k) {
        k.attrs.cluster = {1, 16};  // <- error
      },
      "the extents of a cluster are 1 to 8");
  expect_mistake_bare(
      [](Program& k) {
        k.attrs.cluster = {4, 2, 2};  // <- error
      },
      "attrs.cluster of 16 blocks");
  expect_mistake_bare(
      [](Program& k) {
        k.attrs.cluster = {1, 1, 1, 1};  // <- error
      },
      "attrs.cluster with 4 extents");
}

TEST(ClusterErrors, SetLateOrTwice) {
  expect_mistake_bare(
      [](Program& k) {
        k.attrs.cluster = 2;
        k.attrs.cluster = 2;  // <- error
      },
      "attrs.cluster is set twice");
  expect_mistake_bare(
      [](Program& k) {
        k.attrs.warps = 4;
        shared_tensor<float>({4});
        k.attrs.cluster = 2;  // <- error
      },
      "after something that depends on it");
  expect_mistake_bare(
      [](Program& k) {
        k.attrs.blocks = persistent_grid();
        k.attrs.cluster = 2;  // <- error
      },
      "before persistent_grid()");
  expect_mistake(
      [](Program& k) {
        if (auto _ = when(*k.n > 0)) k.attrs.cluster = 2;  // <- error
      },
      "attrs.cluster is set inside a scope");
}

TEST(ClusterErrors, Grid) {
  expect_mistake_bare(
      [](Program& k) {
        k.attrs.cluster = 2;
        k.attrs.warps = 4;
        k.attrs.blocks = 3;  // <- error
      },
      "attrs.blocks has the extent 3 along x, which is no multiple of the cluster's 2");
  expect_mistake_bare(
      [](Program& k) {
        k.attrs.cluster = {1, 2};
        k.attrs.blocks = persistent_grid();  // <- error
      },
      "persistent_grid() with a cluster of 1 x 2 x 1");
}

TEST(ClusterErrors, RemoteArrival) {
  for (const int block : {-1, 2}) {
    expect_in_cluster(
        [&](Program&) {
          auto b = mbarrier.alloc(1);
          mbarrier.arrive_remote(b, block);  // <- error
        },
        "mbarrier.arrive_remote() in block " + std::to_string(block) + " of a cluster of 2");
  }
  expect_mistake(
      [](Program&) {
        auto b = mbarrier.alloc(1);
        mbarrier.arrive_remote(b, 1);  // <- error
      },
      "of a cluster of 1");
  expect_in_cluster(
      [](Program&) {
        auto b = mbarrier.alloc(1);
        mbarrier.arrive_remote(b, 1, 0);  // <- error
      },
      "mbarrier.arrive_remote() with the count 0");
}

TEST(ClusterErrors, SyncOfAPart) {
  expect_in_cluster(
      [](Program&) {
        if (auto _ = warp_group(0, 4)) cluster.sync();  // <- error
      },
      "cluster.sync() is executed by threads 0..127");
}

TEST(ClusterErrors, SyncThatNotAllBlocksReach) {
  expect_in_cluster(
      [](Program&) {
        if (auto _ = when(cluster.rank() == 0)) {
          cluster.sync();  // <- error
        }
      },
      "may differ between the blocks of a cluster");
  expect_in_cluster(
      [](Program& k) {
        Var<Int32> i = blockIdx.x;
        for (auto _ : loop_while([&] { return i < *k.n; })) {
          (void)_;
          cluster.sync();  // <- error
          i += 1;
        }
      },
      "may differ between the blocks of a cluster");
  expect_in_cluster(
      [](Program&) {
        Var<Int32> turn = 0;
        if (auto _ = single_thread(0)) turn = 1;
        if (auto _ = when(turn == 1)) {
          cluster.sync();  // <- error
        }
      },
      "cluster.sync() stands under a condition that may differ between the threads of its group");
  EXPECT_NO_THROW(trace_cluster(2, [](Program& k) {  // all blocks of a cluster have one number of the cluster
    for (auto i : range(blockIdx.x / 2, *k.n, gridDim.x)) {
      if (auto _ = when(i / 2 > 3 && blockIdx.y == 0)) cluster.sync();
    }
  }));
}

TEST(DependentLaunchErrors, NotSet) {
  expect_mistake(
      [](Program&) {
        grid_dependency.wait();  // <- error
      },
      "set attrs.dependent_launch = true");
  expect_mistake(
      [](Program& k) {
        k.attrs.dependent_launch = false;
        grid_dependency.launch();  // <- error
      },
      "grid_dependency.launch() in a kernel that is launched on its own");
  expect_mistake(
      [](Program& k) {
        k.attrs.dependent_launch = true;
        k.attrs.dependent_launch = true;  // <- error
      },
      "attrs.dependent_launch is set twice");
  expect_mistake(
      [](Program& k) {
        if (auto _ = when(*k.n > 0)) k.attrs.dependent_launch = true;  // <- error
      },
      "attrs.dependent_launch is set inside a scope");
}

TEST(RegisterErrors, Counts) {
  for (const int n : {16, 36, 264}) {
    expect_mistake(
        [&](Program&) {
          registers(n);  // <- error
        },
        "a multiple of 8 registers, from 24 to 256");
  }
}

TEST(RegisterErrors, Group) {
  expect_mistake(
      [](Program&) {
        if (auto _ = warp_group(0, 2)) registers(40);  // <- error
      },
      "whole warpgroups change their registers together");
  expect_in_cluster(
      [](Program&) {
        if (auto _ = warp_group(2, 4)) registers(40);  // <- error
      },
      "registers(40) is executed by threads 64..191");
}

TEST(RegisterErrors, MoreThanTheBlockHas) {
  const auto run = [](int producer, int consumer) {
    trace_bare([&](Program& k) {
      k.attrs.blocks = {*k.n};
      k.attrs.warps = 12;
      if (auto _ = warp_group(0, 4)) registers(producer);
      if (auto _ = warp_group(4, 8)) registers(consumer);  // <- error
    });
  };
  EXPECT_NO_THROW(run(40, 232));
  EXPECT_NO_THROW(run(24, 240));
  expect_error([&] { run(48, 232); },
               "the warpgroups ask for 512 registers a thread together, but a block of 384 threads has 3 times 168");
  expect_error(
      [] {
        trace_bare([](Program& k) {
          k.attrs.blocks = {*k.n};
          k.attrs.warps = 12;
          if (auto _ = warp_group(4, 8)) registers(232);  // <- error
        });
      },
      "let the sum over the warpgroups be at most 504");
}

TEST(RegisterErrors, DivergentCode) {
  expect_mistake(
      [](Program&) {
        Var<Int32> turn = 0;
        if (auto _ = single_thread(0)) turn = 1;
        if (auto _ = when(turn == 1)) registers(40);  // <- error
      },
      "registers() stands under a condition that may differ");
}

TEST(NamedBarriers, WhatIsRecorded) {
  const auto kernel = trace_body([](Program&) {
    auto ready = named_barrier.alloc(128);
    if (auto _ = warp_group(0, 2)) named_barrier.sync(ready);
    if (auto _ = warp_group(2, 2)) named_barrier.arrive(ready);
  });
  EXPECT_THAT(ir::tile::to_string(*kernel, false), HasSubstr(R"(ready = named_barrier.alloc(128)
threads 0..63 {
  named_barrier.sync(ready)
}
threads 64..127 {
  named_barrier.arrive(ready)
}
)"));
}

TEST(NamedBarrierErrors, Alloc) {
  for (const int threads : {0, 48, 1056}) {
    expect_mistake(
        [&](Program&) {
          named_barrier.alloc(threads);  // <- error
        },
        "named_barrier.alloc() for " + std::to_string(threads) + " threads");
  }
  expect_mistake(
      [](Program&) {
        for (int i = 0; i < 16; ++i) named_barrier.alloc(64);  // <- error
      },
      "a block has 15 named barriers");
  expect_mistake(
      [](Program& k) {
        for (auto i : range(*k.n)) {
          (void)i;
          named_barrier.alloc(64);  // <- error
        }
      },
      "named_barrier.alloc() inside a range() loop");
}

TEST(NamedBarrierErrors, Group) {
  expect_mistake(
      [](Program&) {
        auto b = named_barrier.alloc(64);
        if (auto _ = thread_group(0, 16)) named_barrier.sync(b);  // <- error
      },
      "whole warps meet at a named barrier");
  expect_mistake(
      [](Program&) {
        auto b = named_barrier.alloc(64);
        named_barrier.arrive(b);  // <- error
      },
      "named_barrier.arrive() of 'b' for 64 threads is executed by threads 0..127");
  const auto divergent = [](const std::function<void(const NamedBarrier&)>& use) {
    trace_body([&](Program&) {
      auto b = named_barrier.alloc(128);
      Var<Int32> turn = 0;
      if (auto _ = single_thread(0)) turn = 1;
      if (auto _ = when(turn == 1)) use(b);
    });
  };
  expect_error(
      [&] {
        divergent([](const NamedBarrier& b) {
          named_barrier.sync(b);  // <- error
        });
      },
      "named_barrier.sync() stands under a condition that may differ");
  expect_error(
      [&] {
        divergent([](const NamedBarrier& b) {
          named_barrier.arrive(b);  // <- error
        });
      },
      "named_barrier.arrive() stands under a condition that may differ");
}

TEST(OneThreadOfEachWarp, WhatIsRecorded) {
  const std::string text = text_of([](Program& k) {
    auto empty = mbarrier.alloc({2, 2});
    if (auto _ = warp_group(2, 2)) {
      if (auto _ = single_thread_of_each_warp()) {
        Var<Int32> i = *k.n % 2;
        if (auto _ = when(i == 0)) mbarrier.arrive(empty[i]);
        k.print("{}\n", i);
      }
    }
  });
  EXPECT_THAT(text, HasSubstr("one thread elected in each of the warps 2..3 {\n    var i: i32"));
}

TEST(OneThreadOfEachWarpErrors, Group) {
  expect_mistake(
      [](Program&) {
        if (auto _ = thread_group(0, 48)) {
          if (auto _ = single_thread_of_each_warp()) {  // <- error
          }
        }
      },
      "single_thread_of_each_warp() is executed by threads 0..47");
  expect_mistake(
      [](Program&) {
        Var<Int32> turn = 0;
        if (auto _ = single_thread(0)) turn = 1;
        if (auto _ = when(turn == 1)) {
          if (auto _ = single_thread_of_each_warp()) {  // <- error
          }
        }
      },
      "single_thread_of_each_warp() stands under a condition that may differ between the threads of its warp");
}

TEST(OneThreadOfEachWarpErrors, Instructions) {
  const auto refused = [](const Program::Body& body, const std::string& sentence) {
    expect_mistake(
        [&](Program& k) {
          if (auto _ = single_thread_of_each_warp()) body(k);
        },
        sentence);
  };
  refused(
      [](Program&) {
        tessera::sync();  // <- error
      },
      "`sync()` inside single_thread_of_each_warp()");
  refused(
      [](Program&) {
        register_tensor<float>({4});  // <- error
      },
      "only scalar code, mbarrier.arrive, mbarrier.arrive_remote and printf stand there");
  refused(
      [](Program&) {
        mbarrier.wait(mbarrier.alloc(1), 0);  // <- error
      },
      "inside single_thread_of_each_warp()");
  refused(
      [](Program&) {
        fence.proxy_async();  // <- error
      },
      "`fence.proxy_async()` inside single_thread_of_each_warp()");
  refused(
      [](Program&) {
        if (auto _ = single_thread(0)) {  // <- error
        }
      },
      "`thread 0` inside single_thread_of_each_warp()");
  refused(
      [](Program&) {
        wgmma.fence();  // <- error
      },
      "wgmma.fence() is executed by one thread of each of the warps 0..3");
  refused(
      [](Program&) {
        tma.commit_group();  // <- error
      },
      "tma.commit_group() is executed by one thread of each of the warps 0..3");
  refused(
      [](Program&) {
        registers(40);  // <- error
      },
      "registers(40) is executed by one thread of each");
  refused(
      [](Program& k) {
        auto view = global_view(*k.c, {*k.n});
        load_global(view, {0}, {16});  // <- error
      },
      "load_global(view, [0])` inside single_thread_of_each_warp()");
}

}  // namespace
}  // namespace tessera::test
