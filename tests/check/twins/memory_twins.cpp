// Memory that is not a kernel's own, not there, not written yet, or not laid out as it is read; and rings of persistent
// kernels.
#include "ir_twin.hpp"

namespace tessera::twins {
namespace {

// Rows of 33, a tile of 64 for each block: what is too much lands in the rows of other blocks.
struct Overhang : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 4;
    attrs.warps = 1;
    auto gx = global_view(x, {4, 33});
    auto rows = global_view(y, {4, 33});
    auto flat = global_view(y, {1, 4 * 33});
    auto values = load_global(gx, {blockIdx.x, 0}, {1, 64});
    if (broken) {
      store_global(flat, values, {0, 33 * blockIdx.x});  // <- first: overhang
    } else {
      store_global(rows, values, {blockIdx.x, 0});
    }
  }
};

// A block that reads what another one writes.
struct OthersResult : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 2;
    attrs.warps = 1;
    auto gx = global_view(x, {16, 32});
    auto gy = global_view(y, {32, 32});
    if (auto _ = when(blockIdx.x == 0)) {
      store_global(gy, load_global(gx, {0, 0}, {16, 32}), {0, 0});  // <- first: others_result
    }
    if (auto _ = when(blockIdx.x == 1)) {
      auto values = load_global(broken ? gy : gx, {0, 0}, {16, 32});  // <- second: others_result
      store_global(gy, values, {16, 0});
    }
  }
};

enum class Missing { all, half, registers, view, copy_view };

// Tiles and buffers that are smaller than what is read.
struct Unwritten : TwinScript {
  Missing missing = Missing::all;
  bool is(Missing m) const { return broken && missing == m; }

  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 1;
    auto gx = global_view(x, {is(Missing::copy_view) ? 17 : 16, 32});
    auto gy = global_view(y, {is(Missing::view) ? 17 : 16, 32});
    auto tile = shared_tensor<float>({16, 32});
    auto copied = shared_tensor<float>({17, 32});
    auto full = mbarrier.alloc(1);
    auto values = load_global(gx, {0, 0}, {16, 32});
    auto zero = register_tensor<float>({16, 32});
    if (!is(Missing::registers)) zero = 0.0f;
    if (is(Missing::half)) {
      store_shared(tile.split(0, 2)[0], load_global(gx, {0, 0}, {8, 32}));
    } else if (!is(Missing::all)) {
      store_shared(tile, values);
    }
    if (missing == Missing::copy_view) {
      if (auto _ = single_thread()) fetch(copied, gx, 0, full);  // <- first: past_copied_buffer
      mbarrier.wait(full, 0);
    }
    sync();
    auto loaded = load_shared(tile);  // <- first: unwritten_*
    auto again = loaded + zero;       // <- first: uninitialised_registers
    if (missing == Missing::view) {
      store_global(gy, register_tensor<float>({17, 32}, 1.0f), {0, 0});  // <- first: past_buffer
      sync();
    }
    store_global(gy, again, {0, 0});
  }
};

enum class Persistent { phase, stage };

// Three tiles of three blocks each through one ring: its state outlives the tile.
struct ResetForTile : TwinScript {
  Persistent mistake = Persistent::phase;
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    const int stages = mistake == Persistent::phase ? 1 : 2;
    auto gx = global_view(x, {72, 32});
    auto gy = global_view(y, {72, 32});
    auto tiles = shared_tensor<float>({stages, 8, 32});
    auto full = mbarrier.alloc(std::vector<int>(count(stages), 1));
    auto empty = mbarrier.alloc(std::vector<int>(count(stages), 1));
    if (auto _ = single_warp(0)) {
      if (auto _ = single_thread()) {
        for (auto i : range(9)) {
          mbarrier.wait(empty[i % stages], (i / stages & 1) ^ 1);
          fetch(tiles[i % stages], gx, 8 * i, full[i % stages]);  // <- first: reset_*
        }
      }
    }
    if (auto _ = single_warp(1)) {
      Var<Int32> turn = 0;
      for (auto tile : range(3)) {
        if (broken) turn = 0;
        for (auto block : range(3)) {
          mbarrier.wait(full[turn % stages], turn / stages & 1);  // <- second: reset_*
          auto values = load_shared(tiles[turn % stages]);        // <- second: reset_*
          store_global(gy, values, {24 * tile + 8 * block, 0});
          fence.proxy_async();
          signal(empty[turn % stages]);
          turn += 1;
        }
      }
    }
  }
};

// Rows whose distance the copy engine cannot use.
struct Pitch : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 1;
    const int pitch = broken ? 33 : 36;
    auto gx = global_view(x, {8, 32}, {pitch, 1});  // <- second: pitch
    auto gy = global_view(y, {8, 32});
    auto tile = shared_tensor<float>({8, 32});
    auto full = mbarrier.alloc(1);
    if (auto _ = single_thread()) fetch(tile, gx, 0, full);  // <- first: pitch
    mbarrier.wait(full, 0);
    store_global(gy, load_shared(tile), {0, 0});
  }
};

using Kernel = std::shared_ptr<IrTwin>;

// A store one lane past the block's shared memory.
Kernel past_shared_memory(bool broken) {
  auto b = std::make_shared<IrTwin>(1);
  b->kernel.regions.resize(1);
  b->kernel.shared_bytes = 4096;
  const auto* v = b->value();
  b->load_x(v, b->lane());
  const E at = b->lane() + (1024 - 32 + (broken ? 1 : 0));
  b->store_tile(v, at);  // <- first: past_shared_memory
  b->load_tile(v, at);
  b->store_y(v, b->lane());
  return b;
}

// Four elements at once, from an address that is a multiple of one.
Kernel misaligned(bool broken, bool shared) {
  auto b = std::make_shared<IrTwin>(1);
  const auto* v = b->regs(DType::f32, 4, "v");
  const E at = b->lane() * 4;
  const E from = broken && !shared ? at + 1 : at;
  const E to = broken && shared ? at + 1 : at;
  const E address = b->shared(0) + (to * 4).cast(DType::u32);
  b->load_four(v, from);                                                        // <- first: misaligned_global
  b->add<thread::StoreSharedVector>(SourceLoc::here(), b->ref(v), 4, address);  // <- first: misaligned_shared
  b->warp_sync();
  b->add<thread::LoadSharedVector>(SourceLoc::here(), b->ref(v), 4, address);
  b->add<thread::StoreGlobalVector>(SourceLoc::here(), b->ref(v), 4, b->y, at.cast(DType::i64), nullptr);
  return b;
}

// A tile copied in with one swizzle and out with another one.
Kernel swizzled_twice(bool broken) {
  auto b = std::make_shared<IrTwin>(1, 16);
  b->kernel.tensor_maps[0].swizzle = thread::Swizzle::b128;
  b->kernel.tensor_maps[1].swizzle = broken ? thread::Swizzle::none : thread::Swizzle::b128;
  b->ready();
  b->when(b->lane() == 0, [&] {
    b->expect(IrTwin::bar, 2048);
    b->load_box(0, 0);  // <- first: swizzle_of_store
    b->wait(IrTwin::bar, 0);
    const std::vector<const Expr*> at{b->i32(0), b->i32(0)};
    b->add<thread::TmaStoreBox>(SourceLoc::here(), 1U, b->shared(0), at, false);  // <- second: swizzle_of_store
    b->add<thread::TmaCommit>(SourceLoc::here());
    b->add<thread::TmaWait>(SourceLoc::here(), 0, false);
  });
  return b;
}

}  // namespace

void add_memory(std::vector<Twin>& twins) {
  const Family family(twins, "memory");
  const auto about = [](const char* name, const char* source, std::set<Hazard> expected, const char* object) {
    return About{.name = name, .source = source, .expected = std::move(expected), .object = object};
  };
  add<Overhang>(family, about("overhang", "D12", {Hazard::race}, "y"), counted(132), counted(132));
  auto twice = counted(512);
  twice.insert(twice.end(), twice.begin(), twice.begin() + 512);
  add<OthersResult>(family, about("others_result", "A2", {Hazard::race}, "y"), counted(512), twice);
  const auto unwritten = [&](const char* name, const char* source, Missing missing, Hazard hazard, const char* object) {
    add<Unwritten>(family, about(name, source, {hazard}, object), counted(512), counted(512),
                   [=](Unwritten& s) { s.missing = missing; });
  };
  unwritten("unwritten_tile", "A1", Missing::all, Hazard::uninitialised, "tile");
  unwritten("unwritten_half", "D13", Missing::half, Hazard::uninitialised, "tile");
  unwritten("uninitialised_registers", "A1", Missing::registers, Hazard::uninitialised, "zero");
  unwritten("past_buffer", "D14", Missing::view, Hazard::out_of_bounds, "y");
  unwritten("past_copied_buffer", "D14", Missing::copy_view, Hazard::out_of_bounds, "x");
  const std::set<Hazard> reset{Hazard::race, Hazard::barrier_phase, Hazard::deadlock};
  for (const Persistent mistake : {Persistent::phase, Persistent::stage}) {
    add<ResetForTile>(
        family, about(mistake == Persistent::phase ? "reset_phase" : "reset_stage", "D11", reset, "tiles|full|empty"),
        counted(2304), counted(2304), [=](ResetForTile& s) { s.mistake = mistake; });
  }
  std::vector<float> pitched(8 * 36);
  for (std::size_t i = 0; i < 256; ++i) pitched[i / 32 * 36 + i % 32] = static_cast<float>(i);
  About refused = about("pitch", "D7", {Hazard::misuse}, "gx");
  refused.while_tracing = true;
  add<Pitch>(family, refused, pitched, counted(256));
  add_ir(family, about("past_shared_memory", "D14", {Hazard::out_of_bounds}, "shared memory"), counted(64), counted(32),
         past_shared_memory);
  add_ir(family, about("misaligned_global", "A3", {Hazard::misaligned}, "x"), counted(256), counted(128),
         [](bool broken) { return misaligned(broken, false); });
  add_ir(family, about("misaligned_shared", "A3", {Hazard::misaligned}, "tile"), counted(256), counted(128),
         [](bool broken) { return misaligned(broken, true); });
  add_ir(family, about("swizzle_of_store", "A3", {Hazard::swizzle}, "tile"), counted(512), counted(512),
         swizzled_twice);
}

}  // namespace tessera::twins
