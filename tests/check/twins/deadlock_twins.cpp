// Waits that nobody ends.
#include "ir_twin.hpp"

namespace tessera::twins {
namespace {

enum class Slip {
  too_few_arrivals,
  wrong_phase,
  crossed,
  partner_left,
  rounded_down,
  no_release,
  empty_item,
  single_trip,
  no_copy,
  release_count
};

// Warp 0 produces `trips` messages, warp 1 consumes them, over a slot with a full and an empty barrier.
struct Messages : TwinScript {
  Slip slip = Slip::too_few_arrivals;
  bool is(Slip s) const { return broken && slip == s; }

  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {72, 32});
    auto gy = global_view(y, {80, 32});
    auto tile = shared_tensor<float>({16, 32});
    auto full = mbarrier.alloc(is(Slip::too_few_arrivals) ? 2 : 1);
    auto empty = mbarrier.alloc(is(Slip::release_count) ? 2 : 1);
    const int trips = slip == Slip::single_trip || slip == Slip::no_copy ? 1 : 5;  // 72 rows in steps of 16
    const int produced = is(Slip::rounded_down) ? 4 : is(Slip::partner_left) ? 3 : trips;
    const bool announced = !is(Slip::single_trip);
    if (auto _ = single_warp(0)) {
      if (auto _ = single_thread()) {
        for (auto i : range(produced)) {
          mbarrier.wait(empty, is(Slip::wrong_phase) ? i & 1 : (i & 1) ^ 1);  // <- first: hang_*
          if (announced) mbarrier.arrive_and_expect_tx(full, tile.nbytes());
          if (!is(Slip::no_copy)) copy(tile, gx, 16 * i, full);
        }
      }
    }
    if (auto _ = single_warp(1)) {
      for (auto i : range(trips)) {
        mbarrier.wait(full, i & 1);  // <- first: hang_*
        auto values = load_shared(tile);
        store_global(gy, values, {16 * i, 0});
        fence.proxy_async();
        if (!is(Slip::no_release)) signal(empty);
      }
    }
  }
};

// Two warps that each wait for the other one before they arrive.
struct Crossed : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {16, 32});
    auto gy = global_view(y, {16, 32});
    auto mine = mbarrier.alloc({1, 1});
    for (int i : {0, 1}) {
      if (auto _ = single_warp(i)) {
        if (!broken) signal(mine[i]);
        mbarrier.wait(mine[1 - i], 0);  // <- first: each_waits_first
        if (broken) signal(mine[i]);
      }
    }
    store_global(gy, load_global(gx, {0, 0}, {16, 32}), {0, 0});
  }
};

// Tiles of 2, 0 and 1 blocks, one after the other; the producer skips what has none, and tells nobody.
struct Ragged : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {48, 32});
    auto gy = global_view(y, {48, 32});
    auto tile = shared_tensor<float>({16, 32});
    Pipeline ring(1, {.consumer_warps = 1});
    auto trips = [](const Int32& item) { return select(item == 0, 2, select(item == 1, 0, 1)); };
    if (auto _ = single_warp(0)) {
      Var<Int32> row = 0;
      for (auto item : range(3)) {
        for (auto block : range(trips(item))) {
          static_cast<void>(block);
          auto slot = ring.acquire_for_producer();
          if (auto _ = single_thread()) fetch(tile, gx, Int32(row), slot.full);
          ring.advance_producer();
          row += 16;
        }
      }
    }
    if (auto _ = single_warp(1)) {
      Var<Int32> row = 0;
      for (auto item : range(3)) {
        Int32 blocks = trips(item);
        for (auto block : range(broken ? max(blocks, 1) : blocks)) {
          static_cast<void>(block);
          auto slot = ring.acquire_for_consumer();  // <- first: item_without_blocks
          static_cast<void>(slot);
          store_global(gy, load_shared(tile), {row, 0});
          fence.proxy_async();
          ring.release_consumer();
          ring.advance_consumer();
          row += 16;
        }
      }
    }
  }
};

// The library's ring, told of more consumers than there are.
struct ConsumerCount : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {48, 32});
    auto gy = global_view(y, {48, 32});
    auto tiles = shared_tensor<float>({2, 16, 32});
    Pipeline ring(2, {.consumer_warps = broken ? 2 : 1});
    if (auto _ = single_warp(0)) {
      for (auto row : range(0, 48, 16)) {
        auto slot = ring.acquire_for_producer();  // <- first: consumer_count
        if (auto _ = single_thread()) fetch(tiles[slot], gx, row, slot.full);
        ring.advance_producer();
      }
    }
    if (auto _ = single_warp(1)) {
      for (auto row : range(0, 48, 16)) {
        auto slot = ring.acquire_for_consumer();
        store_global(gy, load_shared(tiles[slot]), {row, 0});
        fence.proxy_async();
        ring.release_consumer();
        ring.advance_consumer();
      }
    }
  }
};

// A hardware barrier at which one group never arrives.
struct NamedMissing : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {16, 32});
    auto gy = global_view(y, {16, 32});
    auto met = named_barrier.alloc(64);
    if (auto _ = single_warp(0)) {
      if (!broken) named_barrier.arrive(met);
    }
    if (auto _ = single_warp(1)) {
      named_barrier.sync(met);  // <- first: named_without_arrival
      store_global(gy, load_global(gx, {0, 0}, {16, 32}), {0, 0});
    }
  }
};

// Registers for four warpgroups.
struct Budget : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 16;
    auto gx = global_view(x, {16, 32});
    auto gy = global_view(y, {16, 32});
    for (int group : {0, 1, 2, 3}) {
      if (auto _ = warp_group(4 * group, 4)) {
        registers(group < 2 ? 24 : broken ? 240 : 224);  // <- first: registers_refused
      }
    }
    store_global(gy, load_global(gx, {0, 0}, {16, 32}), {0, 0});
  }
};

enum class Skip { sync, cluster };

// Collective barriers that not everybody reaches; the language refuses them.
struct Skipped : TwinScript {
  Skip skip = Skip::sync;
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.cluster = {skip == Skip::cluster ? 2 : 1};
    attrs.blocks = 2;
    attrs.warps = 2;
    auto gx = global_view(x, {32, 32});
    auto gy = global_view(y, {32, 32});
    store_global(gy, load_global(gx, {16 * blockIdx.x, 0}, {16, 32}), {16 * blockIdx.x, 0});
    if (skip == Skip::cluster) {
      if (!broken) {
        cluster.sync();
      } else {
        if (auto _ = when(cluster.rank() == 0)) cluster.sync();  // <- first: cluster_sync_refused
      }
    } else if (auto _ = thread_group(0, broken ? 40 : 64)) {
      sync();  // <- first: sync_refused
    }
  }
};

using Kernel = std::shared_ptr<IrTwin>;

// Each thread copies an element; the blocks of a cluster have their own.
void copy_through(IrTwin& b) {
  const auto* v = b.value();
  const E at = b.thread_idx() + b.leaf(ExprKind::cluster_rank) * 32;
  b.load_x(v, at);
  b.store_y(v, at);
}

// The block's barrier, left out by the last warp.
Kernel sync_skipped(bool broken) {
  auto b = std::make_shared<IrTwin>(2);
  copy_through(*b);
  b->when(b->warp() < (broken ? 1 : 2), [&] { b->sync(); });  // <- first: sync_skipped
  return b;
}

// The cluster's barrier, left out by the second block, which waits for what the first one does after it.
Kernel cluster_skipped(bool broken) {
  auto b = std::make_shared<IrTwin>(1, 4, 2);
  b->kernel.cluster = {2, 1, 1};
  const auto synchronise = [&](SourceLoc loc) {
    b->add<thread::ClusterArrive>(loc);
    b->add<thread::ClusterWait>(loc);
  };
  b->ready(32);
  synchronise(SourceLoc::here());
  const E rank = b->leaf(ExprKind::cluster_rank);
  b->when(rank < (broken ? 1 : 2), [&] { synchronise(SourceLoc::here()); });  // <- first: cluster_skipped
  b->when(
      rank == 0,
      [&] {
        const E peer = b->u32(1);
        b->add<thread::MbarrierArrive>(SourceLoc::here(), b->shared(IrTwin::bar), 1U, peer);
      },
      [&] { b->wait(IrTwin::bar, 0); });  // <- second: cluster_skipped
  copy_through(*b);
  synchronise(SourceLoc::here());
  return b;
}

// Three warpgroups with 168 registers a thread. What they ask for: 40 and twice 232, or twice 240; or one warp of the
// first keeps what it has.
Kernel registers_for(bool too_many, bool one_keeps) {
  auto b = std::make_shared<IrTwin>(12);
  const int large = too_many ? 240 : 232;
  b->when(b->warp() < 4, [&] {
    b->when(b->warp() >= (one_keeps ? 1 : 0), [&] { b->add<thread::SetMaxRegisters>(SourceLoc::here(), 40, false); });
  });
  b->when(b->warp() >= 4, [&] {
    b->add<thread::SetMaxRegisters>(SourceLoc::here(), large, true);  // <- first: registers_too_many, registers_kept
  });
  copy_through(*b);
  return b;
}

}  // namespace

void add_deadlocks(std::vector<Twin>& twins) {
  const Family family(twins, "deadlocks");
  const auto about = [](const char* name, const char* source, const char* object, bool while_tracing = false) {
    return About{.name = name,
                 .source = source,
                 .expected = {Hazard::deadlock},
                 .object = object,
                 .while_tracing = while_tracing};
  };
  const auto messages = [&](const char* name, const char* source, Slip slip, const char* object = "full") {
    auto want = counted(72 * 32);
    want.resize(80 * 32);
    if (slip == Slip::single_trip || slip == Slip::no_copy) want.resize(16 * 32);
    add<Messages>(family, about(name, source, object), counted(72 * 32), want, [=](Messages& s) { s.slip = slip; });
  };
  messages("hang_too_few_arrivals", "A1.9", Slip::too_few_arrivals);
  messages("hang_wrong_phase", "A1.9", Slip::wrong_phase, "empty");
  messages("hang_partner_left", "A1.9", Slip::partner_left);
  messages("hang_rounded_down", "D11", Slip::rounded_down);
  messages("hang_no_release", "A1.9", Slip::no_release, "empty");
  messages("hang_release_count", "A1.9", Slip::release_count, "empty");
  messages("hang_single_trip", "D1", Slip::single_trip);
  messages("hang_no_copy", "A1.9", Slip::no_copy);
  add<Crossed>(family, about("each_waits_first", "A1.9", "mine"), counted(512), counted(512));
  add<Ragged>(family, about("item_without_blocks", "D11", "full"), counted(1536), counted(1536));
  add<ConsumerCount>(family, about("consumer_count", "A1.9", "empty"), counted(1536), counted(1536));
  add<NamedMissing>(family, about("named_without_arrival", "A1.9", "barrier"), counted(512), counted(512));
  add<Budget>(family, about("registers_refused", "D3", "registers", true), counted(512), counted(512));
  add<Skipped>(family, about("sync_refused", "A1.9", "sync", true), counted(1024), counted(1024),
               [](Skipped& s) { s.skip = Skip::sync; });
  add<Skipped>(family, about("cluster_sync_refused", "A1.9", "cluster.sync", true), counted(1024), counted(1024),
               [](Skipped& s) { s.skip = Skip::cluster; });
  add_ir(family, about("sync_skipped", "A1.9", "barrier"), counted(64), counted(64), sync_skipped);
  add_ir(family, about("cluster_skipped", "A1.9", "cluster barrier"), counted(64), counted(64), cluster_skipped);
  add_ir(family, about("registers_too_many", "D3", "registers"), counted(384), counted(384),
         [](bool broken) { return registers_for(broken, false); });
  add_ir(family, about("registers_kept", "D3", "registers"), counted(384), counted(384),
         [](bool broken) { return registers_for(false, broken); });
}

}  // namespace tessera::twins
