// Reads of a tile that a TMA copy fills.
#include "script_twin.hpp"

namespace tessera::twins {
namespace {

enum class Slip { no_wait, late_wait, other_barrier, other_phase, one_thread_waits, one_warp_waits, sync_above_wait };

// Two warps read what one thread has copied.
struct ReadsTile : TwinScript {
  Slip slip = Slip::no_wait;

  // The wait as it stands before the read.
  void wait_for(const Barrier& full, const Barrier& other) {
    switch (slip) {
      case Slip::no_wait:
      case Slip::late_wait:
        if (!broken) mbarrier.wait(full, 0);
        break;
      case Slip::other_barrier: mbarrier.wait(broken ? other : full, 0); break;
      case Slip::other_phase: mbarrier.wait(full, broken ? 1 : 0); break;
      case Slip::one_thread_waits:
        if (auto _ = single_thread()) mbarrier.wait(full, 0);
        if (!broken) sync();
        break;
      case Slip::one_warp_waits:
        if (auto _ = single_warp(1)) mbarrier.wait(full, 0);
        if (!broken) sync();
        break;
      case Slip::sync_above_wait:
        if (broken) sync();
        if (auto _ = single_thread()) mbarrier.wait(full, 0);
        if (!broken) sync();
        break;
    }
  }

  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {16, 32});
    auto gy = global_view(y, {16, 32});
    auto tile = shared_tensor<float>({16, 32});
    auto full = mbarrier.alloc(1);
    auto other = mbarrier.alloc(1);
    if (auto _ = single_thread()) {
      fetch(tile, gx, 0, full);  // <- first: read_*
      mbarrier.arrive(other);
    }
    wait_for(full, other);
    auto values = load_shared(tile);  // <- second: read_*
    if (broken && slip == Slip::late_wait) mbarrier.wait(full, 0);
    store_global(gy, values, {0, 0});
  }
};

// Two tiles, one after the other on one barrier.
struct SharesBarrier : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {32, 32});
    auto gy = global_view(y, {32, 32});
    auto tiles = shared_tensor<float>({2, 16, 32});
    auto full = mbarrier.alloc(1);
    if (auto _ = single_thread()) fetch(tiles[0], gx, 0, full);
    mbarrier.wait(full, 0);
    sync();
    if (auto _ = single_thread()) fetch(tiles[1], gx, 16, full);  // <- first: two_tiles_one_barrier
    store_global(gy, load_shared(tiles[0]), {0, 0});
    if (!broken) mbarrier.wait(full, 1);
    auto second = load_shared(tiles[1]);  // <- second: two_tiles_one_barrier
    store_global(gy, second, {16, 0});
  }
};

// Two copies with two barriers, each of which is waited for before the other one's tile is read.
struct Crossed : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {32, 32});
    auto gy = global_view(y, {32, 32});
    auto tiles = shared_tensor<float>({2, 16, 32});
    auto full = mbarrier.alloc({1, 1});
    if (auto _ = single_thread()) {
      for (int i : {0, 1}) fetch(tiles[i], gx, 16 * i, full[i]);  // <- first: crossed_loads
    }
    for (int i : {0, 1}) {
      mbarrier.wait(full[broken ? 1 - i : i], 0);
      auto values = load_shared(tiles[i]);  // <- second: crossed_loads
      store_global(gy, values, {16 * i, 0});
    }
  }
};

// The same in a loop with a traced stage: the copies run one ahead of the reads.
struct AheadByOne : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {64, 32});
    auto gy = global_view(y, {64, 32});
    auto tiles = shared_tensor<float>({2, 16, 32});
    auto full = mbarrier.alloc({1, 1});
    if (auto _ = single_thread()) fetch(tiles[0], gx, 0, full[0]);
    for (auto i : range(4)) {
      if (auto _ = when(i < 3)) {
        Int32 next = (i + 1) % 2;
        if (auto _ = single_thread()) fetch(tiles[next], gx, 16 * (i + 1), full[next]);  // <- first: ahead_by_one
      }
      mbarrier.wait(full[i % 2], (i / 2) & 1);
      auto values = load_shared(tiles[broken ? (i + 1) % 2 : i % 2]);  // <- second: ahead_by_one
      store_global(gy, values, {16 * i, 0});
      sync();
    }
  }
};

enum class Loop { phase_kept, no_second_sync };

// One tile that is copied and read in turns.
struct InTurns : TwinScript {
  Loop loop = Loop::phase_kept;
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {48, 32});
    auto gy = global_view(y, {48, 32});
    auto tile = shared_tensor<float>({16, 32});
    auto full = mbarrier.alloc(1);
    Var<UInt32> phase = 0u;
    for (auto row : range(0, 48, 16)) {
      if (auto _ = single_thread()) fetch(tile, gx, row, full);  // <- first: turn_*
      mbarrier.wait(full, phase);
      auto values = load_shared(tile);  // <- second: turn_*
      store_global(gy, values, {row, 0});
      if (!broken || loop != Loop::no_second_sync) sync();
      if (!broken || loop != Loop::phase_kept) phase ^= 1u;
    }
  }
};

// The partition that copies tells the one that reads, once it has seen the copy land.
struct ToldByAnother : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {16, 32});
    auto gy = global_view(y, {16, 32});
    auto tile = shared_tensor<float>({16, 32});
    auto full = mbarrier.alloc(1);
    auto landed = named_barrier.alloc(64);
    if (auto _ = single_warp(0)) {
      if (auto _ = single_thread()) fetch(tile, gx, 0, full);  // <- first: told_too_early
      if (!broken) mbarrier.wait(full, 0);
      named_barrier.arrive(landed);
      if (broken) mbarrier.wait(full, 0);
    }
    if (auto _ = single_warp(1)) {
      named_barrier.sync(landed);
      auto values = load_shared(tile);  // <- second: told_too_early
      store_global(gy, values, {0, 0});
    }
  }
};

// The engine itself reads the tile, for a TMA store.
struct Relay : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 1;
    auto gx = global_view(x, {16, 32});
    auto gy = global_view(y, {16, 32});
    auto tile = shared_tensor<float>({16, 32});
    auto full = mbarrier.alloc(1);
    if (auto _ = single_thread(0)) {
      fetch(tile, gx, 0, full);  // <- first: store_of_landing_tile
      if (!broken) mbarrier.wait(full, 0);
      send(tile, gy, 0);  // <- second: store_of_landing_tile
      if (broken) mbarrier.wait(full, 0);
      tma.wait_group(0);
    }
  }
};

}  // namespace

void add_tma_loads(std::vector<Twin>& twins) {
  const Family family(twins, "tma load");
  const auto reads = [&](const char* name, const char* source, Slip slip) {
    add<ReadsTile>(family, {.name = name, .source = source, .expected = {Hazard::race}, .object = "tile"}, counted(512),
                   counted(512), [=](ReadsTile& s) { s.slip = slip; });
  };
  reads("read_no_wait", "A1.1", Slip::no_wait);
  reads("read_late_wait", "A1.1", Slip::late_wait);
  reads("read_other_barrier", "A1.1", Slip::other_barrier);
  reads("read_other_phase", "A1.1", Slip::other_phase);
  reads("read_one_thread_waits", "A1.1", Slip::one_thread_waits);
  reads("read_one_warp_waits", "A1.1", Slip::one_warp_waits);
  reads("read_sync_above_wait", "A1.1", Slip::sync_above_wait);
  const auto race = [](const char* name, const char* source, const char* object) {
    return About{.name = name, .source = source, .expected = {Hazard::race}, .object = object};
  };
  add<SharesBarrier>(family, race("two_tiles_one_barrier", "A1.1", "tiles[1]"), counted(1024), counted(1024));
  add<Crossed>(family, race("crossed_loads", "A1.1", "tiles[0]"), counted(1024), counted(1024));
  add<AheadByOne>(family, race("ahead_by_one", "A1.5", "tiles"), counted(2048), counted(2048));
  add<InTurns>(family, race("turn_phase_kept", "A1.1", "tile"), counted(1536), counted(1536),
               [](InTurns& s) { s.loop = Loop::phase_kept; });
  add<InTurns>(
      family,
      {.name = "turn_no_sync", .source = "A1.5", .expected = {Hazard::race, Hazard::proxy_fence}, .object = "tile"},
      counted(1536), counted(1536), [](InTurns& s) { s.loop = Loop::no_second_sync; });
  add<ToldByAnother>(family, race("told_too_early", "A1.5", "tile"), counted(512), counted(512));
  add<Relay>(family, race("store_of_landing_tile", "A1.1", "tile"), counted(512), counted(512));
}

}  // namespace tessera::twins
