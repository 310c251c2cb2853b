// Tiles that pass between ordinary accesses and the asynchronous engines. The compiler's own fences are left out.
#include "script_twin.hpp"

namespace tessera::twins {
namespace {

enum class Place { none, before, one_warp, after_arrival, reader_or_none, one_reader };

// Four warps write the operands and multiply them.
struct WrittenOperands : TwinScript {
  Place place = Place::none;
  void operator()(Ptr<float16> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 4;
    auto gx = global_view(x, {72, 16});
    auto gy = global_view(y, {64, 8});
    auto sa = shared_tensor<float16>({64, 16});
    auto sb = shared_tensor<float16>({8, 16});
    auto acc = register_tensor<float>({64, 8}, 0.0f);
    auto a = load_global(gx, {0, 0}, {64, 16});
    auto b = load_global(gx, {64, 0}, {8, 16});
    if (broken && place == Place::before) fence.proxy_async();
    store_shared(sa, a);  // <- first: operand_*
    store_shared(sb, b);  // <- first: operand_*
    if (!broken && place != Place::reader_or_none && place != Place::one_reader) fence.proxy_async();
    if (broken && place == Place::one_warp) {
      if (auto _ = single_warp(0)) fence.proxy_async();
    }
    sync();
    if (!broken && (place == Place::reader_or_none || place == Place::one_reader)) fence.proxy_async();
    if (broken && place == Place::one_reader) {
      if (auto _ = single_warp(0)) fence.proxy_async();
    }
    multiply(sa, sb, acc);  // <- second: operand_*
    wgmma.wait_group(0);
    store_global(gy, acc, {0, 0});
  }
};

// A warpgroup writes the operands, another one multiplies them.
struct HandedOperands : TwinScript {
  Place place = Place::none;
  void operator()(Ptr<float16> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 8;
    auto gx = global_view(x, {72, 16});
    auto gy = global_view(y, {64, 8});
    auto sa = shared_tensor<float16>({64, 16});
    auto sb = shared_tensor<float16>({8, 16});
    auto full = mbarrier.alloc(4);
    const bool by_reader = place == Place::reader_or_none;
    if (auto _ = warp_group(4, 4)) {
      store_shared(sa, load_global(gx, {0, 0}, {64, 16}));  // <- first: handed_operand_*
      store_shared(sb, load_global(gx, {64, 0}, {8, 16}));  // <- first: handed_operand_*
      if (!broken && !by_reader) fence.proxy_async();
      signal(full);
      if (broken && place == Place::after_arrival) fence.proxy_async();
    }
    if (auto _ = warp_group(0, 4)) {
      auto acc = register_tensor<float>({64, 8}, 0.0f);
      if (broken && place == Place::before) fence.proxy_async();
      mbarrier.wait(full, 0);
      if (!broken && by_reader) fence.proxy_async();
      multiply(sa, sb, acc);  // <- second: handed_operand_*
      wgmma.wait_group(0);
      store_global(gy, acc, {0, 0});
    }
  }
};

enum class Issuer { all, before_reads, issuer };

// A tile that TMA fills, threads read, and TMA fills again.
struct Refilled : TwinScript {
  Issuer issuer = Issuer::all;
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {48, 32});
    auto gy = global_view(y, {48, 32});
    auto tile = shared_tensor<float>({16, 32});
    auto full = mbarrier.alloc(1);
    Var<UInt32> phase = 0u;
    for (auto row : range(0, 48, 16)) {
      if (auto _ = single_thread(0)) {
        if (issuer == Issuer::issuer && !broken) fence.proxy_async();
        fetch(tile, gx, row, full);  // <- first: refilled_*
      }
      mbarrier.wait(full, phase);
      if (broken && issuer == Issuer::before_reads) fence.proxy_async();
      auto values = load_shared(tile);  // <- second: refilled_*
      store_global(gy, values, {row, 0});
      if (!broken && issuer != Issuer::issuer) fence.proxy_async();
      sync();
      phase ^= 1u;
    }
  }
};

// The same between partitions: the reader fences, then releases.
struct Released : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {48, 32});
    auto gy = global_view(y, {48, 32});
    auto tile = shared_tensor<float>({16, 32});
    auto full = mbarrier.alloc(1);
    auto empty = mbarrier.alloc(1);
    if (auto _ = single_warp(0)) {
      if (auto _ = single_thread()) {
        for (auto i : range(3)) {
          mbarrier.wait(empty, (i & 1) ^ 1);
          fetch(tile, gx, 16 * i, full);  // <- first: released_then_fenced
        }
      }
    }
    if (auto _ = single_warp(1)) {
      for (auto i : range(3)) {
        mbarrier.wait(full, i & 1);
        auto values = load_shared(tile);  // <- second: released_then_fenced
        store_global(gy, values, {16 * i, 0});
        if (!broken) fence.proxy_async();
        signal(empty);
        if (broken) fence.proxy_async();
      }
    }
  }
};

enum class Stored { none, one_warp, before, issuer_none, issuer_early };

// A tile that threads write and a TMA store reads.
struct StoredTile : TwinScript {
  Stored stored = Stored::none;
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {16, 32});
    auto gy = global_view(y, {16, 32});
    auto tile = shared_tensor<float>({16, 32});
    auto values = load_global(gx, {0, 0}, {16, 32});
    const bool by_issuer = stored == Stored::issuer_none || stored == Stored::issuer_early;
    if (broken && stored == Stored::before) fence.proxy_async();
    store_shared(tile, values);  // <- first: stored_*
    if (!broken && !by_issuer) fence.proxy_async();
    if (broken && stored == Stored::one_warp) {
      if (auto _ = single_warp(0)) fence.proxy_async();
    }
    if (broken && stored == Stored::issuer_early) {
      if (auto _ = single_thread(0)) fence.proxy_async();
    }
    sync();
    if (auto _ = single_thread(0)) {
      if (!broken && by_issuer) fence.proxy_async();
      send(tile, gy, 0);  // <- second: stored_*
      tma.wait_group(0);
    }
  }
};

// What threads have written is overwritten by a copy, which may come first.
struct WrittenThenFilled : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {16, 32});
    auto gy = global_view(y, {16, 32});
    auto tile = shared_tensor<float>({16, 32});
    auto full = mbarrier.alloc(1);
    store_shared(tile, register_tensor<float>({16, 32}, 0.0f));  // <- first: copy_over_written
    if (!broken) fence.proxy_async();
    sync();
    if (auto _ = single_thread()) fetch(tile, gx, 0, full);  // <- second: copy_over_written
    mbarrier.wait(full, 0);
    store_global(gy, load_shared(tile), {0, 0});
  }
};

}  // namespace

void add_fences(std::vector<Twin>& twins) {
  const Family family(twins, "proxy fence");
  const auto about = [](const char* name, const char* source, const char* object) {
    return About{.name = name, .source = source, .expected = {Hazard::proxy_fence}, .object = object};
  };
  const auto x = operands(1);
  const auto operand = [&](const char* name, Place place) {
    add<WrittenOperands>(family, about(name, "D5", "sa"), x, product(x, 1), [=](WrittenOperands& s) {
      s.place = place;
      s.own_fences = true;
    });
  };
  operand("operand_none", Place::none);
  operand("operand_before", Place::before);
  operand("operand_one_warp", Place::one_warp);
  operand("operand_reader", Place::reader_or_none);
  operand("operand_one_reader", Place::one_reader);
  const auto handed = [&](const char* name, Place place) {
    add<HandedOperands>(family, about(name, "A1.6", "sa"), x, product(x, 1), [=](HandedOperands& s) {
      s.place = place;
      s.own_fences = true;
    });
  };
  handed("handed_operand_none", Place::none);
  handed("handed_operand_after_arrival", Place::after_arrival);
  handed("handed_operand_before_wait", Place::before);
  handed("handed_operand_reader", Place::reader_or_none);
  const auto refilled = [&](const char* name, Issuer issuer) {
    add<Refilled>(family, about(name, "A1.6", "tile"), counted(1536), counted(1536), [=](Refilled& s) {
      s.issuer = issuer;
      s.own_fences = true;
    });
  };
  refilled("refilled_none", Issuer::all);
  refilled("refilled_before_reads", Issuer::before_reads);
  refilled("refilled_issuer", Issuer::issuer);
  add<Released>(family, about("released_then_fenced", "A1.6", "tile"), counted(1536), counted(1536),
                [](Released& s) { s.own_fences = true; });
  const auto stored = [&](const char* name, Stored place) {
    add<StoredTile>(family, about(name, "D5", "tile"), counted(512), counted(512), [=](StoredTile& s) {
      s.stored = place;
      s.own_fences = true;
    });
  };
  stored("stored_none", Stored::none);
  stored("stored_one_warp", Stored::one_warp);
  stored("stored_before", Stored::before);
  stored("stored_issuer", Stored::issuer_none);
  stored("stored_issuer_early", Stored::issuer_early);
  add<WrittenThenFilled>(family, about("copy_over_written", "A1.6", "tile"), counted(512), counted(512),
                         [](WrittenThenFilled& s) { s.own_fences = true; });
}

}  // namespace tessera::twins
