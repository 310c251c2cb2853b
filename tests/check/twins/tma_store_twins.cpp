// Tiles that TMA stores read.
#include "script_twin.hpp"

namespace tessera::twins {
namespace {

enum class Slip {
  no_wait,
  no_sync_after_wait,
  pending_one,
  no_sync_before_store,
  commit_after_wait,
  no_last_wait,
  reduction
};

// Three tiles go through one staging tile.
struct Staged : TwinScript {
  Slip slip = Slip::no_wait;
  bool is(Slip s) const { return broken && slip == s; }

  void leave(const SharedTensor& tile, const GlobalView& gy, const Int32& row) {
    if (slip == Slip::reduction) {
      tma.reduce_add({.src = tile, .dst = gy, .offsets = {row, 0}});  // <- second: staged_reduction
    } else {
      tma.shared_to_global({.src = tile, .dst = gy, .offsets = {row, 0}});  // <- second: staged_*
    }
    if (!is(Slip::commit_after_wait)) tma.commit_group();
  }
  void wait() {
    if (auto _ = single_thread(0)) {
      if (!is(Slip::no_wait) && !is(Slip::reduction)) tma.wait_group(is(Slip::pending_one) ? 1 : 0, {.read = true});
      if (is(Slip::commit_after_wait)) tma.commit_group();
    }
    if (!is(Slip::no_sync_after_wait)) sync();
  }
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {48, 32});
    auto gy = global_view(y, {48, 32});
    auto tile = shared_tensor<float>({16, 32});
    if (slip == Slip::reduction) {
      store_global(gy, register_tensor<float>({48, 32}, 0.0f), {0, 0});
      sync();
    }
    for (auto row : range(0, 48, 16)) {
      auto values = load_global(gx, {row, 0}, {16, 32});
      wait();
      store_shared(tile, values);  // <- first: staged_*
      fence.proxy_async();
      if (!is(Slip::no_sync_before_store)) sync();
      if (auto _ = single_thread(0)) leave(tile, gy, row);
    }
    if (auto _ = single_thread(0)) {
      if (!is(Slip::no_last_wait)) tma.wait_group(0);
      if (is(Slip::commit_after_wait)) tma.commit_group();
    }
  }
};

// A block that ends while its store may still read the tile.
struct Ends : TwinScript {
  bool commits = true;
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {16, 32});
    auto gy = global_view(y, {16, 32});
    auto tile = shared_tensor<float>({16, 32});
    store_shared(tile, load_global(gx, {0, 0}, {16, 32}));
    fence.proxy_async();
    sync();
    if (auto _ = single_thread(0)) {
      tma.shared_to_global({.src = tile, .dst = gy, .offsets = {0, 0}});  // <- first: ends_*
      if (!broken || commits) tma.commit_group();
      if (!broken) tma.wait_group(0, {.read = true});
    }
  }
};

// Two staging tiles in turns: the one before last has been read.
struct TwoTiles : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {64, 32});
    auto gy = global_view(y, {64, 32});
    auto tiles = shared_tensor<float>({2, 16, 32});
    for (auto i : range(4)) {
      auto values = load_global(gx, {16 * i, 0}, {16, 32});
      if (auto _ = single_thread(0)) tma.wait_group(broken ? 2 : 1, {.read = true});
      sync();
      store_shared(tiles[i % 2], values);  // <- first: two_staging_tiles
      fence.proxy_async();
      sync();
      if (auto _ = single_thread(0)) send(tiles[i % 2], gy, 16 * i);  // <- second: two_staging_tiles
    }
    if (auto _ = single_thread(0)) tma.wait_group(0);
  }
};

// Two threads store a tile each; only the second waits before both are written again.
struct TwoThreads : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {64, 32});
    auto gy = global_view(y, {64, 32});
    auto tiles = shared_tensor<float>({2, 16, 32});
    for (int round : {0, 1}) {
      for (int i : {0, 1}) {
        auto values = load_global(gx, {32 * round + 16 * i, 0}, {16, 32});
        store_shared(tiles[i], values);  // <- first: other_thread_waits
      }
      fence.proxy_async();
      sync();
      for (int i : {0, 1}) {
        if (auto _ = single_thread(32 * i)) {
          send(tiles[i], gy, 32 * round + 16 * i);  // <- second: other_thread_waits
          if (!broken || round == 1 || i == 1) tma.wait_group(0, {.read = true});
        }
      }
      sync();
    }
  }
};

// What a store has written is read again by ordinary loads.
struct ReadBack : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {16, 32});
    auto first = global_view(y, {32, 32});
    auto tile = shared_tensor<float>({16, 32});
    store_shared(tile, load_global(gx, {0, 0}, {16, 32}));
    fence.proxy_async();
    sync();
    if (auto _ = single_thread(0)) {
      send(tile, first, 0);  // <- first: result_read_too_early
      tma.wait_group(0, {.read = broken});
    }
    sync();
    auto again = load_global(first, {0, 0}, {16, 32});  // <- second: result_read_too_early
    store_global(first, again, {16, 0});
  }
};

// The next TMA load lands in the tile that the store still reads.
struct Forwarded : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 1;
    auto gx = global_view(x, {48, 32});
    auto gy = global_view(y, {48, 32});
    auto tile = shared_tensor<float>({16, 32});
    auto full = mbarrier.alloc(1);
    if (auto _ = single_thread(0)) {
      Var<UInt32> phase = 0u;
      for (auto row : range(0, 48, 16)) {
        fetch(tile, gx, row, full);  // <- first: copy_over_source
        mbarrier.wait(full, phase);
        send(tile, gy, row);  // <- second: copy_over_source
        if (!broken) tma.wait_group(0, {.read = true});
        phase ^= 1u;
      }
      tma.wait_group(0);
    }
  }
};

enum class Election { second, every_thread, no_commit };

// What the language refuses: bulk groups belong to one thread.
struct Elections : TwinScript {
  Election election = Election::second;
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {32, 32});
    auto gy = global_view(y, {32, 32});
    auto tile = shared_tensor<float>({16, 32});
    for (auto row : range(0, 32, 16)) {
      auto values = load_global(gx, {row, 0}, {16, 32});
      if (broken && election == Election::every_thread) {
        tma.wait_group(0, {.read = true});  // <- first: every_thread_waits
      } else if (broken) {
        const int thread = election == Election::no_commit ? 0 : -1;
        if (auto _ = single_thread(thread))
          tma.wait_group(0, {.read = true});  // <- first: two_elections, never_committed
      } else {
        if (auto _ = single_thread(0)) tma.wait_group(0, {.read = true});
      }
      sync();
      store_shared(tile, values);
      fence.proxy_async();
      sync();
      if (auto _ = single_thread(broken && election == Election::second ? -1 : 0)) {
        tma.shared_to_global({.src = tile, .dst = gy, .offsets = {row, 0}});
        if (!broken || election != Election::no_commit) tma.commit_group();
      }
    }
    if (auto _ = single_thread(0)) {
      if (!broken || election != Election::second) tma.wait_group(0);
    }
  }
};

}  // namespace

void add_tma_stores(std::vector<Twin>& twins) {
  const Family family(twins, "tma store");
  const auto staged = [&](const char* name, const char* source, Slip slip, std::set<Hazard> expected = {Hazard::race}) {
    add<Staged>(family, {.name = name, .source = source, .expected = std::move(expected), .object = "tile"},
                counted(1536), counted(1536), [=](Staged& s) { s.slip = slip; });
  };
  staged("staged_no_wait", "A1.4", Slip::no_wait);
  staged("staged_no_sync_after_wait", "A1.4", Slip::no_sync_after_wait);
  staged("staged_pending_one", "A1.4", Slip::pending_one);
  staged("staged_no_sync_before_store", "A1.5", Slip::no_sync_before_store);
  staged("staged_commit_after_wait", "A1.2", Slip::commit_after_wait);
  staged("staged_reduction", "A1.4", Slip::reduction);
  const auto about = [](const char* name, const char* source, Hazard hazard, const char* object) {
    return About{.name = name, .source = source, .expected = {hazard}, .object = object};
  };
  add<Ends>(family, about("ends_without_wait", "A1.4", Hazard::bulk_group, "tile"), counted(512), counted(512));
  About uncommitted = about("ends_without_commit", "A1.2", Hazard::bulk_group, "commit_group");
  uncommitted.while_tracing = true;
  add<Ends>(family, uncommitted, counted(512), counted(512), [](Ends& s) { s.commits = false; });
  add<TwoTiles>(family, about("two_staging_tiles", "A1.4", Hazard::race, "tiles"), counted(2048), counted(2048));
  add<TwoThreads>(family, about("other_thread_waits", "A1.4", Hazard::race, "tiles[0]"), counted(2048), counted(2048));
  auto twice = counted(512);
  twice.insert(twice.end(), twice.begin(), twice.begin() + 512);
  add<ReadBack>(family, about("result_read_too_early", "A1.4", Hazard::race, "y"), counted(512), twice);
  add<Forwarded>(family, about("copy_over_source", "A1.4", Hazard::race, "tile"), counted(1536), counted(1536));
  for (const Election election : {Election::second, Election::every_thread, Election::no_commit}) {
    add<Elections>(family,
                   {.name = election == Election::second      ? "two_elections"
                            : election == Election::no_commit ? "never_committed"
                                                              : "every_thread_waits",
                    .source = "A1.4",
                    .expected = {Hazard::bulk_group},
                    .object = "tma.wait_group",
                    .while_tracing = true},
                   counted(1024), counted(1024), [=](Elections& s) { s.election = election; });
  }
}

}  // namespace tessera::twins
