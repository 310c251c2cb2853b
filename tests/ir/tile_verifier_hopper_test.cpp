// The verifier's rules for views of shared tiles, wgmma, stores by the TMA engine, clusters and named barriers: a
// correct kernel, and one broken at a time. And what the printer makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "ir/tile.hpp"
#include "tessera/core/error.hpp"

namespace tessera::ir::tile {
namespace {

using testing::HasSubstr;

const SourceLoc loc{"user.cpp", "operator()", 7};

struct Example {
  Kernel kernel;
  GlobalView* view = nullptr;
  SharedTensor* ring = nullptr;  // f16 {2, 64, 64}
  SharedView *stage = nullptr, *turned = nullptr;
  RegisterTensor* acc = nullptr;
  BarrierArray* barriers = nullptr;
  NamedBarrier* named = nullptr;
  ThreadGroup *warpgroup = nullptr, *thread = nullptr, *each = nullptr;
  Wgmma* mma = nullptr;
  WgmmaWait* wait = nullptr;
  TmaLoad* load = nullptr;
  TmaStore* store = nullptr;
  TmaWait* bulk = nullptr;
  TmaPrefetch* prefetch = nullptr;
  SetRegisters* registers = nullptr;
  ArriveBarrier* remote = nullptr;
  GlobalView* flags = nullptr;
  SignalFlag* signal = nullptr;
  WaitFlag* flag_wait = nullptr;

  ExprPool& e() { return kernel.context->expr; }
  template <class S, class... A>
  S* add(Block& block, A&&... args) {
    S* s = kernel.context->arena.make<S>(loc, std::forward<A>(args)...);
    block.push_back(s);
    return s;
  }
  std::vector<const Expr*> origin() { return {e().i32(0), e().i32(0)}; }

  Example() {
    kernel.name = "example";
    kernel.loc = loc;
    kernel.warps = 8;
    kernel.cluster = {2, 1, 1};
    kernel.dependent_launch = true;
    kernel.params = {{"n", DType::i32, false, 16}, {"a", DType::f16, true, 16}, {"f", DType::u32, true, 16}};
    kernel.grid = {e().cast(DType::i64, e().leaf(ExprKind::sm_count, DType::i32)), e().i64(1), e().i64(1)};
    GlobalView v{};
    v.type = DType::f16;
    v.param = 1;
    v.base_offset = e().i64(0);
    v.shape = {e().i64(64), e().i64(64)};
    v.strides = {e().i64(64), e().i64(1)};
    v.name = "a";
    v.loc = loc;
    view = kernel.new_view(v);
    v.type = DType::u32;
    v.param = 2;
    v.name = "flags";
    flags = kernel.new_view(v);
    ring = kernel.new_shared(DType::f16, {2, 64, 64}, "s", loc);
    barriers = kernel.new_barriers({1}, "barrier", loc);
    named = kernel.new_named_barrier(128, "ready", loc);
    add<AllocShared>(kernel.body, ring);
    add<AllocBarriers>(kernel.body, barriers);
    const BarrierRef barrier{barriers, e().i32(0)};
    stage = kernel.new_shared_view({ring, {e().i32(1), e().i32(0), e().i32(0)}, {1, 64, 64}, {1, 2}});
    turned = kernel.new_shared_view({ring, {e().i32(0), e().i32(0), e().i32(0)}, {1, 64, 64}, {2, 1}});
    add<GridDependency>(kernel.body, false);

    warpgroup = add<ThreadGroup>(kernel.body, Group{128, 128});
    Block& body = warpgroup->body;
    registers = add<SetRegisters>(body, 40);
    acc = kernel.new_register(DType::f32, {64, 64}, "acc", loc, warpgroup->group);
    acc->named = true;
    add<AllocRegister>(body, acc);
    add<WgmmaFence>(body);
    mma = add<Wgmma>(body, stage, nullptr, turned, acc, e().boolean(true));
    add<WgmmaCommit>(body);
    wait = add<WgmmaWait>(body, 0);
    add<NamedBarrierSync>(body, named);
    add<NamedBarrierArrive>(body, named);
    each = add<ThreadGroup>(body, Group{128, 128, false, true});
    remote = add<ArriveBarrier>(each->body, barrier, 1, e().i32(1));

    thread = add<ThreadGroup>(kernel.body, Group{0, 1});
    Block& one = thread->body;
    prefetch = add<TmaPrefetch>(one, view, Shape{64, 64}, origin());
    load = add<TmaLoad>(one, view, stage, origin(), barrier);
    load->multicast = e().u32(3);
    store = add<TmaStore>(one, stage, view, origin());
    add<TmaCommit>(one);
    bulk = add<TmaWait>(one, 0, true);
    signal = add<SignalFlag>(one, flags, origin(), e().u32(1), false);
    add<SignalFlag>(one, flags, origin(), e().u32(2), true);
    flag_wait = add<WaitFlag>(kernel.body, flags, origin(), e().u32(1), false);
    add<WaitFlag>(kernel.body, flags, origin(), e().u32(3), true);
    add<ClusterSync>(kernel.body);
  }
};

void expect_broken(const std::function<void(Example&)>& change, const std::string& sentence) {
  Example x;
  change(x);
  try {
    verify(x.kernel);
    ADD_FAILURE() << "accepted, but: " << sentence;
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::internal);
    EXPECT_THAT(std::string(e.what()), HasSubstr(sentence));
  }
}

TEST(TileVerifierHopper, AcceptsTheExample) {
  const Example x;
  EXPECT_NO_THROW(verify(x.kernel));
}

TEST(TileVerifierHopper, Launch) {
  expect_broken([](Example& x) { x.kernel.cluster = {4, 4, 1}; }, "a cluster of 16 blocks");
  expect_broken([](Example& x) { x.kernel.cluster = {0, 1, 1}; }, "a cluster of 0 blocks");
  expect_broken([](Example& x) { x.kernel.dependent_launch = false; }, "a grid dependency without a dependent launch");
  expect_broken([](Example& x) { x.named->threads = 48; }, "a named barrier of other than whole warps");
  expect_broken(
      [](Example& x) {
        for (int i = 0; i < 15; ++i) x.kernel.new_named_barrier(32, "b", loc);
      },
      "more than 15 named barriers");
  expect_broken(
      [](Example& x) {
        x.add<Print>(x.kernel.body, std::vector<std::string>{"", ""},
                     std::vector<const Expr*>{x.e().leaf(ExprKind::sm_count, DType::i32)});
      },
      "the leaf sm_count");
}

TEST(TileVerifierHopper, SharedViews) {
  expect_broken([](Example& x) { x.stage->origin.pop_back(); }, "a shared view of another rank");
  expect_broken([](Example& x) { x.stage->extents[0] = 2; }, "a shared view with an extent out of range");
  expect_broken([](Example& x) { x.stage->extents[1] = 65; }, "a shared view with an extent out of range");
  expect_broken([](Example& x) { x.stage->origin[0] = x.e().i32(2); }, "a shared view that begins out of range");
  expect_broken([](Example& x) { x.stage->origin[0] = x.e().i64(1); }, "an origin is int64 instead of int32");
  expect_broken([](Example& x) { x.stage->dims = {1, 1}; }, "keeps a dimension twice");
  expect_broken([](Example& x) { x.stage->dims = {1, 3}; }, "one that is not there");
  expect_broken([](Example& x) { x.kernel.body.erase(x.kernel.body.begin()); },
                "a shared tile is used outside its scope");
}

TEST(TileVerifierHopper, Wgmma) {
  expect_broken([](Example& x) { x.mma->a = nullptr; }, "not exactly one first operand");
  expect_broken([](Example& x) { x.mma->accumulate = x.e().i32(1); }, "accumulate is int32 instead of bool");
  expect_broken([](Example& x) { x.acc->type = DType::bf16; }, "element types that wgmma does not take");
  expect_broken([](Example& x) { x.acc->shape = {64, 32}; }, "shapes that do not fit");
  expect_broken([](Example& x) { x.acc->named = false; }, "an accumulator that is the result of an instruction");
  expect_broken(
      [](Example& x) {
        x.stage->extents = {1, 32, 64};
        x.acc->shape = {32, 64};
      },
      "extents that wgmma does not take");
  expect_broken(
      [](Example& x) {
        x.ring->type = DType::i8;
        x.acc->type = DType::i32;
        x.mma->negate_b = true;
      },
      "integers are negated");
  expect_broken([](Example& x) { x.wait->pending = 8; }, "a number of pending groups out of range");
  for (const Group group : {Group{0, 256}, Group{64, 128}, Group{128, 64}}) {
    expect_broken(
        [&](Example& x) {
          x.warpgroup->group = group;
          x.acc->group = group;
        },
        "a group other than one warpgroup");
  }
}

TEST(TileVerifierHopper, Bulk) {
  expect_broken([](Example& x) { x.store->offsets.pop_back(); }, "1 offsets for 2 dimensions");
  expect_broken([](Example& x) { x.view->type = DType::bf16; }, "a view and a shared tile of different types");
  expect_broken([](Example& x) { x.stage->dims = {0, 1, 2}; }, "a view and a shared tile of different ranks");
  expect_broken([](Example& x) { x.thread->group = {0, 32}; }, "a group other than one thread");
  expect_broken([](Example& x) { x.thread->group = {0, 64}; }, "a group other than a thread or a warp");
  expect_broken([](Example& x) { x.bulk->pending = -1; }, "a negative number of groups");
  expect_broken([](Example& x) { x.prefetch->extents = {64}; }, "a prefetch of another rank");
  expect_broken([](Example& x) { x.prefetch->extents[0] = 0; }, "an empty prefetch");
  expect_broken([](Example& x) { x.load->multicast = x.e().i32(1); }, "a multicast mask is int32 instead of uint32");
  expect_broken([](Example& x) { x.kernel.cluster = {1, 1, 1}; }, "a multicast without a cluster");
  expect_broken(
      [](Example& x) {
        x.store->add = true;
        x.ring->type = x.view->type = DType::i64;
      },
      "a bulk reduction of a type that the engine does not add");
}

TEST(TileVerifierHopper, Flags) {
  expect_broken([](Example& x) { x.flags->type = DType::i32; }, "a flag of a type other than u32");
  expect_broken([](Example& x) { x.signal->offsets.pop_back(); }, "1 offsets for 2 dimensions");
  expect_broken([](Example& x) { x.flag_wait->offsets.pop_back(); }, "1 offsets for 2 dimensions");
  expect_broken([](Example& x) { x.signal->value = x.e().i32(1); }, "a flag's value is int32 instead of uint32");
  expect_broken([](Example& x) { x.flag_wait->value = x.e().i64(1); }, "a flag's value is int64 instead of uint32");
  expect_broken([](Example& x) { x.add<SignalFlag>(x.kernel.body, x.flags, x.origin(), x.e().u32(1), false); },
                "a group other than one thread");
}

TEST(TileVerifierHopper, Groups) {
  expect_broken([](Example& x) { x.registers->count = 36; }, "a number of registers out of range");
  expect_broken([](Example& x) { x.named->threads = 64; }, "a group that does not fit");
  expect_broken([](Example& x) { x.kernel.named_barriers.clear(); }, "a named barrier of another kernel");
  expect_broken([](Example& x) { x.each->group.begin = 144; }, "a thread group outside the group around it");
  expect_broken([](Example& x) { x.each->group = {128, 48, false, true}; }, "one thread of each warp of other than");
  expect_broken([](Example& x) { x.add<Sync>(x.each->body); },
                "an instruction for one thread of each warp in `sync()`");
  expect_broken([](Example& x) { x.remote->cta = x.e().i64(0); }, "a block of the cluster is int64 instead of int32");
  expect_broken([](Example& x) { x.add<ClusterSync>(x.thread->body); }, "a part of the block at a cluster's barrier");
  for (const bool arrives : {true, false}) {
    expect_broken(
        [&](Example& x) {
          if (arrives) x.add<ClusterArrive>(x.thread->body);
          if (!arrives) x.add<ClusterWait>(x.thread->body);
        },
        "a group other than whole warps at a cluster's barrier");
  }
}

TEST(TileVerifierHopper, TilesOfOtherBlocks) {
  const auto load = [](Example& x) {
    auto* out = x.kernel.new_register(DType::f16, {64, 64}, "t", loc, x.warpgroup->group);
    x.add<LoadShared>(x.warpgroup->body, out, x.stage);
    x.add<StoreShared>(x.warpgroup->body, x.stage, out);
  };
  const auto without_engines = [](Example& x) {
    x.mma->a = x.load->dst = x.store->src = x.kernel.new_shared_view(*x.stage);
    x.stage->cta = x.e().i32(1);
  };
  Example right;
  without_engines(right);
  load(right);
  EXPECT_NO_THROW(verify(right.kernel));
  expect_broken([](Example& x) { x.stage->cta = x.e().i32(1); }, "an engine at a tile of another block");
  expect_broken(
      [&](Example& x) {
        without_engines(x);
        load(x);
        x.stage->cta = x.e().u32(1);
      },
      "a block of the cluster is uint32 instead of int32");
  expect_broken(
      [&](Example& x) {
        without_engines(x);
        load(x);
        x.kernel.cluster = {1, 1, 1};
      },
      "a tile of another block without a cluster");
}

TEST(TilePrinterHopper, EveryInstruction) {
  Example x;
  x.load->hint = CacheHint::evict_first;
  x.mma->negate_a = true;
  EXPECT_EQ(to_string(x.kernel, false), R"(kernel example(n: i32, a: f16*, f: u32*)
blocks [int64(sm_count), 1, 1], warps 8, cluster [2, 1, 1], dependent launch
ready = named_barrier.alloc(128)
view a: f16[64, 64] = a, strides [64, 1]
view flags: u32[64, 64] = f, strides [64, 1]
s: f16[2, 64, 64] = shared_tensor()
barrier = mbarrier.alloc([1])
grid_dependency.wait()
threads 128..255 {
  registers(40)
  acc: f32[64, 64] = register_tensor()
  wgmma.fence()
  wgmma.mma(s[1, :, :], s[0, :, :].transpose(), acc, negate a)
  wgmma.commit_group()
  wgmma.wait_group(0)
  named_barrier.sync(ready)
  named_barrier.arrive(ready)
  one thread elected in each of the warps 4..7 {
    mbarrier.arrive_remote(barrier, cta 1)
  }
}
thread 0 {
  tma.prefetch(a, [64, 64], [0, 0])
  tma.global_to_shared(a, s[1, :, :], [0, 0], barrier, multicast 3, evict_first)
  tma.shared_to_global(s[1, :, :], a, [0, 0])
  tma.commit_group()
  tma.wait_group(0, read)
  global_flag.signal(flags, [0, 0], 1)
  global_flag.add(flags, [0, 0], 2)
}
global_flag.wait(flags, [0, 0], 1)
global_flag.wait_at_least(flags, [0, 0], 3)
cluster.sync()
)");
}

}  // namespace
}  // namespace tessera::ir::tile
