// Tiles that warps hand to each other with ordinary stores and loads.
#include "script_twin.hpp"

namespace tessera::twins {
namespace {

enum class Slip { no_full_wait, no_empty_wait, early_arrival, early_release, elected_without_sync };

// Warp 0 writes a tile, warp 1 reads it, three times.
struct HandsOver : TwinScript {
  Slip slip = Slip::no_full_wait;
  bool is(Slip s) const { return broken && slip == s; }

  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {48, 32});
    auto gy = global_view(y, {48, 32});
    auto tile = shared_tensor<float>({16, 32});
    auto full = mbarrier.alloc(1);
    auto empty = mbarrier.alloc(1);
    if (auto _ = single_warp(0)) {
      for (auto i : range(3)) {
        auto values = load_global(gx, {16 * i, 0}, {16, 32});
        if (!is(Slip::no_empty_wait)) mbarrier.wait(empty, (i & 1) ^ 1);  // <- first: handed_no_full_wait
        if (is(Slip::early_arrival)) signal(full);
        store_shared(tile, values);  // <- first: handed_*
        if (is(Slip::early_arrival)) continue_loop();
        if (slip != Slip::elected_without_sync) {
          signal(full);  // <- first: handed_no_empty_wait
        } else {
          if (!broken) sync();
          if (auto _ = single_thread()) mbarrier.arrive(full);
        }
      }
    }
    if (auto _ = single_warp(1)) {
      for (auto i : range(3)) {
        if (!is(Slip::no_full_wait)) mbarrier.wait(full, i & 1);  // <- second: handed_no_empty_wait
        if (is(Slip::early_release)) signal(empty);
        auto values = load_shared(tile);              // <- second: handed_*
        if (!is(Slip::early_release)) signal(empty);  // <- second: handed_no_full_wait
        store_global(gy, values, {16 * i, 0});
      }
    }
  }
};

enum class Count { one_wait, shared_barrier };

// Two warps write a tile each; two others read both.
struct TwoAndTwo : TwinScript {
  Count mistake = Count::one_wait;
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 4;
    auto gx = global_view(x, {32, 32});
    auto gy = global_view(y, {64, 32});
    auto tiles = shared_tensor<float>({2, 16, 32});
    const bool shared = mistake == Count::shared_barrier;
    auto full = mbarrier.alloc(shared ? std::vector<int>{broken ? 1 : 2} : std::vector<int>{1, 1});
    for (int i : {0, 1}) {
      if (auto _ = single_warp(i)) {
        store_shared(tiles[i], load_global(gx, {16 * i, 0}, {16, 32}));  // <- first: two_producers_*
        signal(full[shared ? 0 : i]);                                    // <- first: two_producers_count
      }
    }
    for (int reader : {0, 1}) {
      if (auto _ = single_warp(2 + reader)) {
        for (int i : {0, 1}) {
          if (!shared && (!broken || reader == i)) mbarrier.wait(full[i], 0);
          if (shared && i == 0) mbarrier.wait(full[0], 0);  // <- second: two_producers_count
          auto values = load_shared(tiles[i]);              // <- second: two_producers_*
          store_global(gy, values, {32 * reader + 16 * i, 0});
        }
      }
    }
  }
};

// One warp writes, two read: a slot is empty when both have said so.
struct OneAndTwo : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 3;
    auto gx = global_view(x, {64, 32});
    auto gy = global_view(y, {64, 32});
    auto tile = shared_tensor<float>({16, 32});
    auto full = mbarrier.alloc(1);
    auto empty = mbarrier.alloc(broken ? 1 : 2);
    if (auto _ = single_warp(0)) {
      for (auto i : range(4)) {
        mbarrier.wait(empty, (i & 1) ^ 1);                           // <- first: one_of_two_readers
        store_shared(tile, load_global(gx, {16 * i, 0}, {16, 32}));  // <- first: one_of_two_readers
        signal(full);
      }
    }
    if (auto _ = warp_group(1, 2)) {
      for (auto i : range(4)) {
        mbarrier.wait(full, i & 1);       // <- second: one_of_two_readers
        auto values = load_shared(tile);  // <- second: one_of_two_readers
        signal(empty);                    // <- second: one_of_two_readers
        store_global(gy, values, {16 * i, 0});
      }
    }
  }
};

enum class Named { count, arrives, early };

// Through a hardware barrier; the writer has one warp, the reader two.
struct ThroughNamed : TwinScript {
  Named mistake = Named::count;
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 4;
    auto gx = global_view(x, {16, 32});
    auto gy = global_view(y, {16, 32});
    auto tile = shared_tensor<float>({16, 32});
    auto written = named_barrier.alloc(broken && mistake == Named::count ? 128 : 96);
    if (auto _ = single_warp(0)) {
      auto values = load_global(gx, {0, 0}, {16, 32});
      if (broken && mistake == Named::early) named_barrier.arrive(written);
      store_shared(tile, values);  // <- first: named_arrives, named_early
      if (broken && mistake == Named::arrives) {
        named_barrier.sync(written);
      } else if (!broken || mistake != Named::early) {
        named_barrier.arrive(written);
      }
    }
    if (auto _ = warp_group(1, 2)) {
      if (broken && mistake == Named::arrives) {
        named_barrier.arrive(written);
      } else {
        named_barrier.sync(written);  // <- first: named_count
      }
      auto values = load_shared(tile);  // <- second: named_arrives, named_early
      store_global(gy, values, {0, 0});
    }
  }
};

enum class Reader { warps, lanes, next_write };

// A tile is read in other parts than it was written: by other warps, or by other lanes of one warp.
struct Regrouped : TwinScript {
  Reader reader = Reader::warps;
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = reader == Reader::lanes ? 1 : 2;
    auto gx = global_view(x, {32, 32});
    auto gy = global_view(y, {32, 32});
    auto tile = shared_tensor<float>({16, 32});
    auto values = load_global(gx, {0, 0}, {16, 32});
    auto more = load_global(gx, {16, 0}, {16, 32});
    store_shared(tile, values);  // <- first: unsynced_warps, unsynced_lanes
    if (!broken || reader == Reader::next_write) sync();
    read(tile, gy, 0);
    if (!broken || reader != Reader::next_write) sync();
    store_shared(tile, more);  // <- second: unsynced_next_write
    sync();
    read(tile, gy, 16);
  }
  void read(const SharedTensor& tile, const GlobalView& gy, int row) const {
    for (int half : {0, 1}) {
      if (auto _ = single_warp(reader == Reader::lanes ? 0 : 1 - half)) {
        auto part =
            load_shared(tile.split(1, 2)[half]);  // <- second: unsynced_warps, unsynced_l* <- first: unsynced_n*
        store_global(gy, part, {row, 16 * half});
      }
    }
  }
};

// One warp writes the lower half of a tile while another one reads: the upper half, or a part that has rows of both.
struct Overlaps : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {16, 32});
    auto gy = global_view(y, {8, 32});
    auto tile = shared_tensor<float>({16, 32});
    auto values = load_global(gx, {0, 0}, {16, 32});
    store_shared(tile, values);
    sync();
    if (auto _ = single_warp(0)) {
      auto zeros = register_tensor<float>({8, 32}, 0.0f);
      store_shared(tile.split(0, 2)[1], zeros);  // <- first: parts_overlap
    }
    if (auto _ = single_warp(1)) {
      auto part = load_shared(tile.split(broken ? 1 : 0, 2)[0]);  // <- second: parts_overlap
      store_global(gy, part, {0, 0});
    }
  }
};

// Two halves of the block synchronise, each for itself.
struct Halves : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 4;
    auto gx = global_view(x, {16, 32});
    auto gy = global_view(y, {16, 32});
    auto tile = shared_tensor<float>({16, 32});
    if (auto _ = warp_group(0, 2)) {
      store_shared(tile, load_global(gx, {0, 0}, {16, 32}));  // <- first: synced_apart
      if (broken) sync();
    }
    if (!broken) sync();
    if (auto _ = warp_group(2, 2)) {
      if (broken) sync();
      auto values = load_shared(tile);  // <- second: synced_apart
      store_global(gy, values, {0, 0});
    }
  }
};

// The message goes from the first warp to the third through the second, which has to wait for it before it passes it
// on.
struct Chain : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 3;
    auto gx = global_view(x, {16, 32});
    auto gy = global_view(y, {16, 32});
    auto tile = shared_tensor<float>({16, 32});
    auto written = mbarrier.alloc(1);
    auto passed_on = mbarrier.alloc(1);
    if (auto _ = single_warp(0)) {
      store_shared(tile, load_global(gx, {0, 0}, {16, 32}));  // <- first: broken_chain
      signal(written);
    }
    if (auto _ = single_warp(1)) {
      if (!broken) mbarrier.wait(written, 0);
      signal(passed_on);
    }
    if (auto _ = single_warp(2)) {
      mbarrier.wait(passed_on, 0);
      auto values = load_shared(tile);  // <- second: broken_chain
      store_global(gy, values, {0, 0});
    }
  }
};

// The same through global memory, within the block.
struct ThroughGlobal : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {16, 32});
    auto gy = global_view(y, {32, 32});
    if (auto _ = single_warp(0)) {
      store_global(gy, load_global(gx, {0, 0}, {16, 32}), {0, 0});  // <- first: unsynced_global
    }
    if (!broken) sync();
    if (auto _ = single_warp(1)) {
      auto values = load_global(gy, {0, 0}, {16, 32});  // <- second: unsynced_global
      store_global(gy, values, {16, 0});
    }
  }
};

std::vector<float> repeated(std::vector<float> values) {
  const std::vector<float> once = values;
  values.insert(values.end(), once.begin(), once.end());
  return values;
}

}  // namespace

void add_partitions(std::vector<Twin>& twins) {
  const Family family(twins, "warps and partitions");
  const auto race = [](const char* name, const char* object = "tile") {
    return About{.name = name, .source = "A1.5", .expected = {Hazard::race}, .object = object};
  };
  // Where one side runs ahead, its barrier may lose phases before the other side comes to the bytes.
  const std::set<Hazard> overrun{Hazard::race, Hazard::barrier_phase, Hazard::deadlock};
  const auto ahead = [&](const char* name, const char* object) {
    return About{.name = name, .source = "A1.5", .expected = overrun, .object = object};
  };
  const auto handed = [&](const char* name, Slip slip) {
    const bool runs_ahead = slip == Slip::no_empty_wait || slip == Slip::no_full_wait;
    const About about = runs_ahead ? ahead(name, "tile|full|empty") : race(name);
    add<HandsOver>(family, about, counted(1536), counted(1536), [=](HandsOver& s) { s.slip = slip; });
  };
  handed("handed_no_full_wait", Slip::no_full_wait);
  handed("handed_no_empty_wait", Slip::no_empty_wait);
  handed("handed_early_arrival", Slip::early_arrival);
  handed("handed_early_release", Slip::early_release);
  handed("handed_elected_without_sync", Slip::elected_without_sync);
  add<TwoAndTwo>(family, race("two_producers_one_wait", "tiles[0]"), counted(1024), repeated(counted(1024)),
                 [](TwoAndTwo& s) { s.mistake = Count::one_wait; });
  add<TwoAndTwo>(family, ahead("two_producers_count", "tiles|full"), counted(1024), repeated(counted(1024)),
                 [](TwoAndTwo& s) { s.mistake = Count::shared_barrier; });
  add<OneAndTwo>(family, ahead("one_of_two_readers", "tile|full|empty"), counted(2048), counted(2048));
  add<ThroughNamed>(family,
                    {.name = "named_count", .source = "A1.5", .expected = {Hazard::deadlock}, .object = "barrier"},
                    counted(512), counted(512), [](ThroughNamed& s) { s.mistake = Named::count; });
  add<ThroughNamed>(family, race("named_arrives"), counted(512), counted(512),
                    [](ThroughNamed& s) { s.mistake = Named::arrives; });
  add<ThroughNamed>(family, race("named_early"), counted(512), counted(512),
                    [](ThroughNamed& s) { s.mistake = Named::early; });
  const auto regrouped = [&](const char* name, Reader reader) {
    add<Regrouped>(family, race(name), counted(1024), counted(1024), [=](Regrouped& s) { s.reader = reader; });
  };
  regrouped("unsynced_warps", Reader::warps);
  regrouped("unsynced_lanes", Reader::lanes);
  regrouped("unsynced_next_write", Reader::next_write);
  add<Overlaps>(family, {.name = "parts_overlap", .source = "A1.10", .expected = {Hazard::race}, .object = "tile"},
                counted(512), counted(256));
  add<Halves>(family, race("synced_apart"), counted(512), counted(512));
  add<Chain>(family, race("broken_chain"), counted(512), counted(512));
  add<ThroughGlobal>(family, race("unsynced_global", "y"), counted(512), repeated(counted(512)));
}

}  // namespace tessera::twins
