// The life of mbarriers: their initialisation, their counts, and their bytes in shared memory.
#include "ir_twin.hpp"

namespace tessera::twins {
namespace {

using Kernel = std::shared_ptr<IrTwin>;

// A copy on a barrier that nobody has initialised.
Kernel never_initialised(bool broken) {
  auto b = std::make_shared<IrTwin>(1);
  if (!broken) b->ready();
  b->when(b->lane() == 0, [&] {
    b->expect(IrTwin::bar, 512);  // <- first: init_never
    b->load_box(0, 0);
  });
  b->wait(IrTwin::bar, 0);
  const auto* v = b->value();
  b->load_tile(v, b->lane());
  b->store_y(v, b->lane());
  return b;
}

// One warp initialises, another one arrives.
Kernel not_synchronised(bool broken) {
  auto b = std::make_shared<IrTwin>(2);
  b->when(b->thread_idx() == 0, [&] { b->init(IrTwin::bar, 32); });
  if (!broken) b->sync();
  b->when(
      b->warp() == 1, [&] { b->arrive(IrTwin::bar); },  // <- first: init_unsynced
      [&] { b->wait(IrTwin::bar, 0); });
  const auto* v = b->value();
  b->load_x(v, b->thread_idx());
  b->store_y(v, b->thread_idx());
  return b;
}

// The copy engine does not see the initialisation without its fence.
Kernel not_fenced(bool broken) {
  auto b = std::make_shared<IrTwin>(2);
  b->when(b->thread_idx() == 0, [&] {
    b->init(IrTwin::bar, 1);  // <- first: init_unfenced
    if (!broken) b->init_fence();
  });
  b->sync();
  b->when(b->thread_idx() == 0, [&] {
    b->expect(IrTwin::bar, 512);
    b->load_box(0, 0);  // <- second: init_unfenced
  });
  b->wait(IrTwin::bar, 0);
  const auto* v = b->value();
  b->load_tile(v, b->thread_idx());
  b->store_y(v, b->thread_idx());
  return b;
}

// A barrier that is initialised again, for the second of two copies.
Kernel initialised_twice(bool broken) {
  auto b = std::make_shared<IrTwin>(1);
  b->when(b->lane() == 0, [&] {
    b->init(IrTwin::bar, 1);  // <- first: init_twice
    b->init_fence();
  });
  b->sync();
  for (int round : {0, 1}) {
    b->warp_sync();
    b->when(b->lane() == 0, [&] {
      if (broken && round == 1) b->init(IrTwin::bar, 1);  // <- second: init_twice
      b->expect(IrTwin::bar, 512);
      b->load_box(512 * static_cast<std::uint32_t>(round), 4 * round);
    });
    b->wait(IrTwin::bar, broken ? 0 : round);
  }
  const auto* v = b->value();
  b->load_tile(v, b->lane() + 128);
  b->store_y(v, b->lane());
  return b;
}

// Stores to a barrier's own bytes: as if a tile reached one element too far.
Kernel stored_over(bool broken) {
  auto b = std::make_shared<IrTwin>(1);
  b->ready();
  const auto* v = b->value();
  b->load_x(v, b->lane());
  const int first = 1024 - 32 + (broken ? 1 : 0);
  b->store_tile(v, b->lane() + first);  // <- first: storage_stored_over
  b->sync();
  b->arrive_once();
  b->wait(IrTwin::bar, 0);
  b->store_y(v, b->lane());
  return b;
}

// A barrier in a tile that a copy fills.
Kernel copied_over(bool broken) {
  auto b = std::make_shared<IrTwin>(1);
  b->ready();
  b->when(b->lane() == 0, [&] {
    b->expect(IrTwin::bar, 512);
    b->load_box(broken ? 4096 - 384 : 0, 0);  // <- first: storage_copied_over
  });
  b->wait(IrTwin::bar, 0);
  const auto* v = b->value();
  b->load_tile(v, b->lane());
  b->store_y(v, b->lane());
  return b;
}

// An ordinary load of a barrier, to look whether it has flipped.
Kernel peeked(bool broken) {
  auto b = std::make_shared<IrTwin>(1);
  b->ready();
  b->arrive_once();
  const auto* v = b->value();
  b->load_x(v, b->lane());
  const auto* seen = b->regs(DType::u32, 1, "seen");
  if (broken) b->load_word(seen, IrTwin::bar);  // <- first: storage_peeked
  b->wait(IrTwin::bar, 0);
  b->store_y(v, b->lane());
  return b;
}

enum class Count { over, over_in_flight, index, zero, whole_warp };

// In the language: counts of arrivals.
struct Arrivals : TwinScript {
  Count mistake = Count::over;
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {16, 32});
    auto gy = global_view(y, {16, 32});
    auto tile = shared_tensor<float>({16, 32});
    auto full = mbarrier.alloc(1);
    auto met = mbarrier.alloc(broken && mistake == Count::zero ? 0 : 2);  // <- first: count_zero
    auto said = mbarrier.alloc(1);
    auto both = mbarrier.alloc({1, 1});
    if (auto _ = single_thread()) {
      fetch(tile, gx, 0, full);                                               // <- second: count_over_in_flight
      if (broken && mistake == Count::over_in_flight) mbarrier.arrive(full);  // <- first: count_over_in_flight
      for (auto i : range(broken && mistake == Count::index ? 3 : 2)) {
        mbarrier.arrive(both[i]);  // <- first: count_index
      }
    }
    if (auto _ = thread_group(0, broken && mistake == Count::whole_warp ? 32 : 1)) {
      mbarrier.arrive(said);  // <- first: count_whole_warp
    }
    if (auto _ = single_thread_of_each_warp()) {
      mbarrier.arrive(met, broken && mistake == Count::over ? 3 : 1);  // <- first: count_over
    }
    mbarrier.wait(met, 0);
    mbarrier.wait(said, 0);  // <- second: count_whole_warp
    mbarrier.wait(full, 0);  // <- second: count_over_in_flight
    store_global(gy, load_shared(tile), {0, 0});
  }
};

}  // namespace

void add_barriers(std::vector<Twin>& twins) {
  const Family family(twins, "barriers");
  const auto hand_written = [&](const char* name, const char* source, Hazard hazard, int size, Kernel (*build)(bool),
                                int from = 0) {
    std::vector<float> want;
    for (int i = 0; i < size; ++i) want.push_back(static_cast<float>(from + i));
    add_ir(family, {.name = name, .source = source, .expected = {hazard}, .object = "bar"}, counted(512), want, build);
  };
  hand_written("init_never", "A1.8", Hazard::barrier_init, 32, never_initialised);
  hand_written("init_unsynced", "D2", Hazard::barrier_init, 64, not_synchronised);
  hand_written("init_unfenced", "D2", Hazard::barrier_init, 64, not_fenced);
  hand_written("init_twice", "A1.8", Hazard::barrier_init, 32, initialised_twice, 128);
  hand_written("storage_stored_over", "A1.8", Hazard::barrier_storage, 32, stored_over);
  hand_written("storage_copied_over", "A1.8", Hazard::barrier_storage, 32, copied_over);
  hand_written("storage_peeked", "A1.8", Hazard::barrier_storage, 32, peeked);
  const auto counts = [&](const char* name, Count mistake, std::set<Hazard> expected, const char* object) {
    add<Arrivals>(family,
                  {.name = name,
                   .source = "A1.8",
                   .expected = std::move(expected),
                   .object = object,
                   .while_tracing = mistake == Count::zero},
                  counted(512), counted(512), [=](Arrivals& s) { s.mistake = mistake; });
  };
  counts("count_over", Count::over, {Hazard::barrier_arrivals}, "met");
  counts("count_over_in_flight", Count::over_in_flight,
         {Hazard::barrier_arrivals, Hazard::barrier_phase, Hazard::deadlock}, "full");
  counts("count_whole_warp", Count::whole_warp, {Hazard::barrier_phase, Hazard::deadlock}, "said");
  counts("count_index", Count::index, {Hazard::barrier_init, Hazard::out_of_bounds}, "barrier");
  counts("count_zero", Count::zero, {Hazard::misuse}, "alloc");
}

}  // namespace tessera::twins
