// Operands of wgmma in rings: who may write them again, and when.
#include "script_twin.hpp"

namespace tessera::twins {
namespace {

constexpr int blocks = 5;  // more than twice round a ring of two

enum class Slip {
  early_release,
  loose_depth,
  pending_two,
  one_warp_releases,
  wrong_stage,
  no_empty_wait,
  no_full_wait,
  empty_parity,
  full_parity
};

// A producer warp and a consumer warpgroup with a ring of their own making.
struct Ring : TwinScript {
  Slip slip = Slip::early_release;
  bool is(Slip s) const { return broken && slip == s; }

  void operator()(Ptr<float16> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 5;
    const int stages = slip == Slip::pending_two ? 3 : 2;
    const int releases = slip == Slip::one_warp_releases ? 1 : 4;
    auto gx = global_view(x, {64 * blocks + 8, 16});
    auto gy = global_view(y, {64, 8});
    auto sa = shared_tensor<float16>({stages, 64, 16});
    auto sb = shared_tensor<float16>({8, 16});
    auto b_full = mbarrier.alloc(1);
    auto full = mbarrier.alloc(std::vector<int>(count(stages), 1));
    auto empty = mbarrier.alloc(std::vector<int>(count(stages), releases));
    if (auto _ = single_warp(4)) {
      if (auto _ = single_thread()) {
        fetch(sb, gx, 64 * blocks, b_full);
        for (auto i : range(blocks)) {
          Int32 stage = i % stages;
          const Int32 parity = is(Slip::empty_parity) ? Int32(1) : before(i);
          if (!is(Slip::no_empty_wait)) mbarrier.wait(empty[stage], parity);  // <- first: ring_wrong_stage
          fetch(sa[stage], gx, 64 * i, full[stage]);  // <- first: ring_* <- second: ring_refill_*
        }
      }
    }
    if (auto _ = warp_group(0, 4)) {
      auto acc = register_tensor<float>({64, 8}, 0.0f);
      mbarrier.wait(b_full, 0);
      for (auto i : range(blocks)) {
        Int32 stage = i % stages;
        if (!is(Slip::no_full_wait)) mbarrier.wait(full[stage], is(Slip::full_parity) ? Int32(0) : i / stages & 1);
        if (is(Slip::early_release)) signal(empty[stage]);
        multiply(sa[stage], sb, acc);  // <- second: ring_*
        release(empty, i, stages);
      }
      wgmma.wait_group(0);
      store_global(gy, acc, {0, 0});
    }
  }
  // The parity of the round before.
  Int32 before(const Int32& i) const { return (i / (slip == Slip::pending_two ? 3 : 2) & 1) ^ 1; }

  void release(const BarrierArray& empty, const Int32& i, int stages) {
    if (slip == Slip::pending_two) {
      wgmma.wait_group(broken ? 2 : 1);
      if (auto _ = when(i > 0)) signal(empty[(i - 1) % stages]);
      return;
    }
    wgmma.wait_group(is(Slip::loose_depth) ? 1 : 0);
    if (slip == Slip::one_warp_releases) {
      if (!broken) sync();
      if (auto _ = single_thread(0)) mbarrier.arrive(empty[i % stages]);
    } else if (!is(Slip::early_release)) {
      signal(empty[is(Slip::wrong_stage) ? (i + 1) % stages : i % stages]);  // <- second: ring_wrong_stage
    }
  }
};

// A warpgroup issues the products, another one waits and releases.
struct OtherGroupWaits : TwinScript {
  void operator()(Ptr<float16> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 9;
    auto gx = global_view(x, {64 * blocks + 8, 16});
    auto gy = global_view(y, {64, 8});
    auto sa = shared_tensor<float16>({64, 16});
    auto sb = shared_tensor<float16>({8, 16});
    auto b_full = mbarrier.alloc(1);
    auto full = mbarrier.alloc(1);
    auto issued = mbarrier.alloc(4);
    auto empty = mbarrier.alloc(4);
    if (auto _ = single_warp(8)) {
      if (auto _ = single_thread()) {
        fetch(sb, gx, 64 * blocks, b_full);
        for (auto i : range(blocks)) {
          mbarrier.wait(empty, (i & 1) ^ 1);
          fetch(sa, gx, 64 * i, full);  // <- first: other_group_waits
        }
      }
    }
    if (auto _ = warp_group(0, 4)) {
      auto acc = register_tensor<float>({64, 8}, 0.0f);
      mbarrier.wait(b_full, 0);
      for (auto i : range(blocks)) {
        mbarrier.wait(full, i & 1);
        multiply(sa, sb, acc);  // <- second: other_group_waits
        if (!broken) wgmma.wait_group(0);
        signal(issued);
      }
      wgmma.wait_group(0);
      store_global(gy, acc, {0, 0});
    }
    if (auto _ = warp_group(4, 4)) {
      for (auto i : range(blocks)) {
        mbarrier.wait(issued, i & 1);
        wgmma.wait_group(0);
        signal(empty);
      }
    }
  }
};

enum class Misuse { early_release, not_advanced };

// The same with the library's ring.
struct WithPipeline : TwinScript {
  Misuse misuse = Misuse::early_release;
  void operator()(Ptr<float16> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 5;
    auto gx = global_view(x, {64 * blocks + 8, 16});
    auto gy = global_view(y, {64, 8});
    auto sa = shared_tensor<float16>({2, 64, 16});
    auto sb = shared_tensor<float16>({8, 16});
    auto b_full = mbarrier.alloc(1);
    Pipeline ring(2, {.consumer_warps = 4});
    if (auto _ = single_warp(4)) {
      if (auto _ = single_thread()) {
        fetch(sb, gx, 64 * blocks, b_full);
        for (auto i : range(blocks)) {
          auto slot = ring.acquire_for_producer();
          fetch(sa[slot], gx, 64 * i, slot.full);  // <- first: pipeline_*
          ring.advance_producer();
        }
      }
    }
    if (auto _ = warp_group(0, 4)) {
      auto acc = register_tensor<float>({64, 8}, 0.0f);
      mbarrier.wait(b_full, 0);
      for (auto i : range(blocks)) {
        static_cast<void>(i);
        auto slot = ring.acquire_for_consumer();
        multiply(sa[slot], sb, acc);  // <- second: pipeline_*
        if (broken && misuse == Misuse::early_release) ring.release_consumer();
        wgmma.wait_group(0);
        if (!broken || misuse != Misuse::early_release) ring.release_consumer();
        if (!broken || misuse != Misuse::not_advanced) ring.advance_consumer();
      }
      store_global(gy, acc, {0, 0});
    }
  }
};

enum class Overwrite { store, copy, copy_without_step };

// One warpgroup that loads its operand anew while the product may still read it.
struct Overwritten : TwinScript {
  Overwrite how = Overwrite::store;
  void operator()(Ptr<float16> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 4;
    auto gx = global_view(x, {64 * 2 + 8, 16});
    auto gy = global_view(y, {64, 8});
    auto sa = shared_tensor<float16>({64, 16});
    auto sb = shared_tensor<float16>({8, 16});
    auto full = mbarrier.alloc({1, 1, 1});
    auto acc = register_tensor<float>({64, 8}, 0.0f);
    if (auto _ = single_thread()) {
      fetch(sb, gx, 128, full[0]);
      fetch(sa, gx, 0, full[1]);
    }
    mbarrier.wait(full[0], 0);
    mbarrier.wait(full[1], 0);
    auto next = load_global(gx, {64, 0}, {64, 16});
    multiply(sa, sb, acc);  // <- first: over_*
    if (!broken || how == Overwrite::copy_without_step) wgmma.wait_group(0);
    if (!broken || how == Overwrite::copy) sync();
    if (how == Overwrite::store) {
      store_shared(sa, next);  // <- second: over_store
      sync();
    } else {
      if (auto _ = single_thread()) fetch(sa, gx, 64, full[2]);  // <- second: over_copy*
      mbarrier.wait(full[2], 0);
    }
    multiply(sa, sb, acc);
    wgmma.wait_group(0);
    store_global(gy, acc, {0, 0});
  }
};

}  // namespace

void add_wgmma_operands(std::vector<Twin>& twins) {
  const Family family(twins, "wgmma operand");
  const auto x = operands(blocks);
  const auto want = product(x, blocks);
  const auto ring = [&](const char* name, const char* source, Slip slip, std::set<Hazard> expected = {Hazard::race}) {
    add<Ring>(family,
              {.name = name,
               .source = source,
               .expected = std::move(expected),
               .object = slip == Slip::wrong_stage                                   ? "empty"
                         : slip == Slip::no_empty_wait || slip == Slip::empty_parity ? "sa|full"
                                                                                     : "sa"},
              x, want, [=](Ring& s) { s.slip = slip; });
  };
  ring("ring_early_release", "D4", Slip::early_release);
  ring("ring_loose_depth", "A1.3", Slip::loose_depth);
  ring("ring_pending_two", "A1.3", Slip::pending_two);
  ring("ring_one_warp_releases", "D4", Slip::one_warp_releases);
  ring("ring_wrong_stage", "A1.9", Slip::wrong_stage, {Hazard::barrier_phase});
  ring("ring_refill_no_wait", "A1.5", Slip::no_empty_wait, {Hazard::race, Hazard::barrier_arrivals});
  ring("ring_no_full_wait", "A1.1", Slip::no_full_wait);
  ring("ring_refill_parity", "A1.9", Slip::empty_parity, {Hazard::race, Hazard::barrier_arrivals});
  ring("ring_full_parity", "A1.9", Slip::full_parity);
  const auto race = [](const char* name, const char* source) {
    return About{.name = name, .source = source, .expected = {Hazard::race}, .object = "sa"};
  };
  add<OtherGroupWaits>(family, race("other_group_waits", "A1.3"), x, want);
  add<WithPipeline>(family, race("pipeline_early_release", "D4"), x, want,
                    [](WithPipeline& s) { s.misuse = Misuse::early_release; });
  add<WithPipeline>(family, race("pipeline_not_advanced", "A1.3"), x, want,
                    [](WithPipeline& s) { s.misuse = Misuse::not_advanced; });
  const auto y = operands(2);
  const auto over = [&](const char* name, const char* source, Overwrite how) {
    add<Overwritten>(family, race(name, source), y, product(y, 2), [=](Overwritten& s) { s.how = how; });
  };
  over("over_store", "A1.3", Overwrite::store);
  over("over_copy", "A1.3", Overwrite::copy);
  over("over_copy_without_step", "D4", Overwrite::copy_without_step);
}

}  // namespace tessera::twins
