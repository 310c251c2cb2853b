// Blocks of a cluster that signal and copy into each other.
#include <algorithm>

#include "ir_twin.hpp"

namespace tessera::twins {
namespace {

enum class Slip { arrives_after_end, lands_after_end, rank_outside, mask_outside, not_waited };

// Two blocks; the first one sends a tile to both, and signals the second.
struct Pair : TwinScript {
  Slip slip = Slip::arrives_after_end;
  bool is(Slip s) const { return broken && slip == s; }

  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.cluster = {2};
    attrs.blocks = 2;
    attrs.warps = 1;
    auto gx = global_view(x, {16, 32});
    auto gy = global_view(y, {32, 32});
    auto tile = shared_tensor<float>({16, 32});
    auto full = mbarrier.alloc(1);
    auto told = mbarrier.alloc(1);
    Int32 rank = cluster.rank();
    UInt32 mask = cast<UInt32>(is(Slip::mask_outside) ? rank + 5 : rank + 3);
    if (auto _ = single_thread()) {
      mbarrier.arrive_and_expect_tx(full, tile.nbytes());
      if (auto _ = when(rank == 0)) {
        Int32 peer = is(Slip::rank_outside) ? rank + 2 : rank + 1;
        tma.global_to_shared(  // <- first: pair_lands_after_end, pair_mask_outside, pair_not_waited
            {.src = gx, .dst = tile, .offsets = {0, 0}, .mbarrier = full, .multicast = mask});
        mbarrier.arrive_remote(told, peer);  // <- first: pair_arrives_after_end, pair_rank_outside
      }
    }
    if (slip == Slip::not_waited) {
      if (auto _ = when(rank == 0)) mbarrier.wait(full, 0);
      cluster.sync();
    }
    if (is(Slip::lands_after_end) || is(Slip::not_waited)) {
      if (auto _ = when(rank == 0)) mbarrier.wait(full, 0);
    } else {
      mbarrier.wait(full, 0);
    }
    if (!is(Slip::arrives_after_end)) {
      if (auto _ = when(rank == 1)) mbarrier.wait(told, 0);
    }
    if (slip == Slip::lands_after_end || slip == Slip::arrives_after_end) {
      store_global(gy, load_global(gx, {0, 0}, {16, 32}), {16 * blockIdx.x, 0});
    } else {
      auto values = load_shared(tile);  // <- second: pair_not_waited
      store_global(gy, values, {16 * blockIdx.x, 0});
    }
  }
};

enum class Ring { own_release, no_drain, loads };

// Each block copies one half of every tile for both of them.
struct SharedRing : TwinScript {
  Ring mistake = Ring::own_release;
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.cluster = {2};
    attrs.blocks = 2;
    attrs.warps = 2;
    auto gx = global_view(x, {64, 32});
    auto gy = global_view(y, {128, 32});
    auto tile = shared_tensor<float>({16, 32});
    Pipeline ring(1, {.consumer_warps = 1, .cluster = !broken || mistake != Ring::own_release});
    Int32 rank = cluster.rank();
    if (auto _ = single_warp(0)) {
      for (auto row : range(0, 64, 16)) {
        auto slot = ring.acquire_for_producer();
        if (auto _ = single_thread()) {
          mbarrier.arrive_and_expect_tx(slot.full, tile.nbytes());
          auto half = tile.split(0, 2)[rank];
          const auto both = cluster.all();
          send_half(half, gx, row + 8 * rank, slot.full, both);  // <- first: released_to_own_block, loads_*
        }
        ring.advance_producer();
      }
      if (!broken || mistake != Ring::no_drain) ring.drain_producer();
    }
    if (auto _ = single_warp(1)) {
      for (auto row : range(0, 64, 16)) {
        auto slot = ring.acquire_for_consumer();
        static_cast<void>(slot);
        pass_on(tile, gy, 64 * blockIdx.x + row);
        ring.release_consumer();  // <- first: not_drained
        ring.advance_consumer();
      }
      if (auto _ = single_thread(0)) tma.wait_group(0);
    }
  }
  // By the engine, whose reads are complete when the wait returns. An arrival in another block says nothing of the
  // ordinary accesses before it.
  void pass_on(const SharedTensor& tile, const GlobalView& gy, const Int32& row) const {
    if (broken && mistake == Ring::loads) {
      auto values = load_shared(tile);  // <- second: loads_released_remotely
      store_global(gy, values, {row, 0});
      fence.proxy_async();
    } else if (auto _ = single_thread(0)) {
      send(tile, gy, row);  // <- second: released_to_own_block
      tma.wait_group(0, {.read = true});
    }
  }
  static void send_half(const SharedTensor& half, const GlobalView& gx, const Int32& row, const Barrier& full,
                        const UInt32& both, SourceLoc loc = SourceLoc::here()) {
    tma.global_to_shared(
        {.src = gx, .dst = half, .offsets = {{row, loc}, {0, loc}}, .mbarrier = full, .multicast = {both, loc}}, loc);
  }
};

using Kernel = std::shared_ptr<IrTwin>;

struct ClusterTwin : IrTwin {
  ClusterTwin() : IrTwin(1, 4, 2) { kernel.cluster = {2, 1, 1}; }
  E rank() { return leaf(ExprKind::cluster_rank); }
  void synchronise(SourceLoc loc = SourceLoc::here(), bool relaxed = false) {
    add<thread::ClusterArrive>(loc, relaxed);
    add<thread::ClusterWait>(loc);
  }
  void copy_through() {
    const auto* v = value();
    const E at = rank() * 32 + lane();
    load_x(v, at);
    store_y(v, at);
  }
};

// Without a barrier of the cluster, the other block may not have initialised what is signalled.
Kernel signals_early(bool broken) {
  auto b = std::make_shared<ClusterTwin>();
  b->when(b->lane() == 0, [&] {
    b->init(IrTwin::bar, 1);
    b->init_fence();
  });
  b->warp_sync();
  if (!broken) b->synchronise();
  b->when(b->lane() == 0, [&] {
    const E peer = (b->rank() ^ 1).cast(DType::u32);
    const E bar = b->shared(IrTwin::bar);
    b->add<thread::MbarrierArrive>(SourceLoc::here(), bar, 1U, peer);  // <- first: cluster_signals_early
  });
  b->wait(IrTwin::bar, 0);
  b->copy_through();
  b->synchronise();
  return b;
}

// The same with a multicast.
Kernel sends_early(bool broken) {
  auto b = std::make_shared<ClusterTwin>();
  b->when(b->lane() == 0, [&] {
    b->init(IrTwin::bar, 1);
    b->init_fence();
    b->expect(IrTwin::bar, 512);
  });
  b->warp_sync();
  if (!broken) b->synchronise();
  b->when(b->lane() == 0 && b->rank() == 0, [&] {
    const std::vector<const Expr*> at{b->i32(0), b->i32(0)};
    const E bar = b->shared(IrTwin::bar);
    auto* load =
        b->add<thread::TmaLoadBox>(SourceLoc::here(), 0U, b->shared(0), at, bar);  // <- first: cluster_sends_early
    load->multicast = b->u32(3);
  });
  b->wait(IrTwin::bar, 0);
  b->copy_through();
  b->synchronise();
  return b;
}

// A relaxed arrival publishes barriers, no ordinary stores.
Kernel reads_after_relaxed(bool broken) {
  auto b = std::make_shared<ClusterTwin>();
  b->when(b->lane() == 0, [&] {
    b->init(IrTwin::bar, 1);
    b->init_fence();
  });
  const auto* v = b->value();
  b->load_x(v, b->rank() * 32 + b->lane());
  b->store_tile(v, b->lane());  // <- first: peer_read_after_relaxed
  b->synchronise(SourceLoc::here(), broken);
  const E peer = (b->rank() ^ 1).cast(DType::u32);
  b->when(b->lane() == 0, [&] {  // which it does publish
    b->add<thread::MbarrierArrive>(SourceLoc::here(), b->shared(IrTwin::bar), 1U, peer);
  });
  b->wait(IrTwin::bar, 0);
  const E theirs = b->shared(0) + (b->lane() * 4).cast(DType::u32);
  const SourceLoc reads = SourceLoc::here();  // <- second: peer_read_after_relaxed
  b->add<thread::LoadSharedVector>(reads, b->ref(v), 1, theirs, peer);
  b->store_y(v, b->rank() * 32 + b->lane());
  b->synchronise();
  return b;
}

// The two halves of the cluster's barrier.
Kernel arrives_twice(bool broken) {
  auto b = std::make_shared<ClusterTwin>();
  b->add<thread::ClusterArrive>(SourceLoc::here());
  if (broken) b->add<thread::ClusterArrive>(SourceLoc::here());  // <- first: cluster_arrives_twice
  b->copy_through();
  b->add<thread::ClusterWait>(SourceLoc::here());
  return b;
}
Kernel waits_first(bool broken) {
  auto b = std::make_shared<ClusterTwin>();
  if (!broken) b->add<thread::ClusterArrive>(SourceLoc::here());
  b->add<thread::ClusterWait>(SourceLoc::here());  // <- first: cluster_waits_first
  if (broken) b->add<thread::ClusterArrive>(SourceLoc::here());
  b->copy_through();
  return b;
}

std::vector<float> repeated(const std::vector<float>& values) {
  auto twice = values;
  twice.insert(twice.end(), values.begin(), values.end());
  return twice;
}

}  // namespace

void add_clusters(std::vector<Twin>& twins) {
  const Family family(twins, "clusters");
  const auto about = [](const char* name, std::set<Hazard> expected, const char* object) {
    return About{.name = name, .source = "A3", .expected = std::move(expected), .object = object};
  };
  const auto pair = [&](const char* name, Slip slip, Hazard hazard, const char* object) {
    About a = about(name, {hazard}, object);
    a.while_tracing = slip == Slip::rank_outside || slip == Slip::mask_outside;
    add<Pair>(family, a, counted(512), repeated(counted(512)), [=](Pair& s) { s.slip = slip; });
  };
  pair("pair_arrives_after_end", Slip::arrives_after_end, Hazard::cluster, "block (1, 0, 0)");
  pair("pair_lands_after_end", Slip::lands_after_end, Hazard::cluster, "block (1, 0, 0)");
  pair("pair_rank_outside", Slip::rank_outside, Hazard::cluster, "arrive_remote");
  pair("pair_mask_outside", Slip::mask_outside, Hazard::cluster, "multicast");
  pair("pair_not_waited", Slip::not_waited, Hazard::race, "tile");
  const auto x = counted(2048);
  add<SharedRing>(family, about("released_to_own_block", {Hazard::race}, "tile"), x, repeated(x),
                  [](SharedRing& s) { s.mistake = Ring::own_release; });
  add<SharedRing>(family, about("not_drained", {Hazard::cluster}, "block"), x, repeated(x),
                  [](SharedRing& s) { s.mistake = Ring::no_drain; });
  add<SharedRing>(family, about("loads_released_remotely", {Hazard::proxy_fence, Hazard::race}, "tile"), x, repeated(x),
                  [](SharedRing& s) { s.mistake = Ring::loads; });
  const std::set<Hazard> early{Hazard::cluster, Hazard::barrier_init};
  add_ir(family, about("cluster_signals_early", early, "bar"), counted(512), counted(64), signals_early);
  add_ir(family, about("cluster_sends_early", early, "bar"), counted(512), counted(64), sends_early);
  auto swapped = counted(64);
  std::rotate(swapped.begin(), swapped.begin() + 32, swapped.end());
  add_ir(family, about("peer_read_after_relaxed", {Hazard::race}, "tile"), counted(512), swapped, reads_after_relaxed);
  add_ir(family, about("cluster_arrives_twice", {Hazard::cluster}, "cluster barrier"), counted(512), counted(64),
         arrives_twice);
  add_ir(family, about("cluster_waits_first", {Hazard::cluster}, "cluster barrier"), counted(512), counted(64),
         waits_first);
}

}  // namespace tessera::twins
