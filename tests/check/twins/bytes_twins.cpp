// Bytes that barriers are told to expect.
#include "script_twin.hpp"

namespace tessera::twins {
namespace {

enum class Slip { too_many, too_few, first_only, second_expectation, late_expectation, other_barrier, none_announced };

// Two copies of 2 and 1 KiB that complete on one barrier.
struct TwoCopies : TwinScript {
  Slip slip = Slip::too_many;
  bool is(Slip s) const { return broken && slip == s; }

  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {24, 32});
    auto gy = global_view(y, {24, 32});
    auto large = shared_tensor<float>({16, 32});
    auto small = shared_tensor<float>({8, 32});
    const bool twice = slip == Slip::second_expectation;
    auto full = mbarrier.alloc(twice ? 2 : 1);
    auto other = mbarrier.alloc(1);
    int bytes = static_cast<int>(large.nbytes() + (twice ? 0 : small.nbytes()));
    if (is(Slip::too_many)) bytes += 1024;
    if (is(Slip::too_few)) bytes -= 16;
    if (is(Slip::first_only) || is(Slip::late_expectation)) bytes = static_cast<int>(large.nbytes());
    const int small_bytes = static_cast<int>(is(Slip::second_expectation) ? large.nbytes() : small.nbytes());
    const bool late = slip == Slip::late_expectation, silent = is(Slip::none_announced),
               stray = is(Slip::other_barrier);
    if (auto _ = single_thread()) {
      if (stray) mbarrier.arrive_and_expect_tx(other, bytes);                      // <- first: bytes_other_barrier
      if (!late && !silent && !stray) mbarrier.arrive_and_expect_tx(full, bytes);  // <- first: bytes_t*
      if (twice) mbarrier.arrive_and_expect_tx(full, small_bytes);                 // <- first: bytes_second_expectation
      copy(large, gx, 0, full);   // <- first: bytes_n*, bytes_o*, bytes_f*, bytes_l*
      copy(small, gx, 16, full);  // <- first: bytes_n*, bytes_o*, bytes_f*, bytes_l*
      if (late) mbarrier.arrive_and_expect_tx(full, bytes);
    }
    mbarrier.wait(full, 0);  // <- second: bytes_t*, bytes_s*, bytes_n*, bytes_o*
    store_global(gy, load_shared(large), {0, 0});
    store_global(gy, load_shared(small), {16, 0});
  }
};

// A box of which the last rows lie outside the view: the whole of it counts.
struct Edge : TwinScript {
  bool last_columns = false;
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    const int rows = last_columns ? 16 : 12, columns = last_columns ? 48 : 32;
    auto gx = global_view(x, {rows, columns});
    auto gy = global_view(y, {rows, columns});
    auto tile = shared_tensor<float>({16, 32});
    auto full = mbarrier.alloc(1);
    Var<UInt32> phase = 0u;
    for (auto column : range(0, columns, 32)) {
      Int32 inside = last_columns ? 16 * min(32, columns - column) * 4 : Int32(12 * 32 * 4);
      Int32 bytes = broken ? inside : Int32(static_cast<int>(tile.nbytes()));
      if (auto _ = single_thread()) {
        mbarrier.arrive_and_expect_tx(full, bytes);  // <- first: inside_*
        tma.global_to_shared({.src = gx, .dst = tile, .offsets = {0, column}, .mbarrier = full});
      }
      mbarrier.wait(full, phase);  // <- second: inside_*
      auto values = load_shared(tile);
      store_global(gy, values, {0, column});
      sync();
      phase ^= 1u;
    }
  }
};

// The first phase has its bytes; the second one those of a tile that is not copied.
struct SecondPhase : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {24, 32});
    auto gy = global_view(y, {24, 32});
    auto large = shared_tensor<float>({16, 32});
    auto small = shared_tensor<float>({8, 32});
    auto full = mbarrier.alloc(1);
    if (auto _ = single_thread()) fetch(large, gx, 0, full);
    mbarrier.wait(full, 0);
    sync();
    if (auto _ = single_thread()) {
      mbarrier.arrive_and_expect_tx(full, broken ? large.nbytes() : small.nbytes());  // <- first: second_phase_bytes
      copy(small, gx, 16, full);
    }
    mbarrier.wait(full, 1);  // <- second: second_phase_bytes
    store_global(gy, load_shared(large), {0, 0});
    store_global(gy, load_shared(small), {16, 0});
  }
};

// Each of two blocks copies one half for both, and gets both halves.
struct Multicast : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.cluster = {2};
    attrs.blocks = 2;
    attrs.warps = 1;
    auto gx = global_view(x, {16, 32});
    auto gy = global_view(y, {32, 32});
    auto tile = shared_tensor<float>({16, 32});
    auto full = mbarrier.alloc(1);
    auto half = tile.split(0, 2)[cluster.rank()];
    if (auto _ = single_thread()) {
      mbarrier.arrive_and_expect_tx(full, broken ? half.nbytes() : tile.nbytes());
      tma.global_to_shared(  // <- first: multicast_bytes
          {.src = gx, .dst = half, .offsets = {8 * cluster.rank(), 0}, .mbarrier = full, .multicast = cluster.all()});
    }
    mbarrier.wait(full, 0);                                     // <- second: multicast_bytes
    store_global(gy, load_shared(tile), {16 * blockIdx.x, 0});  // <- second: multicast_bytes
    cluster.sync();
  }
};

// Announcements of several tiles add up to more than a barrier holds.
struct TooLarge : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 1;
    auto gx = global_view(x, {16, 32});
    auto gy = global_view(y, {16, 32});
    auto tile = shared_tensor<float>({16, 32});
    auto full = mbarrier.alloc(2);
    const int bytes = broken ? 700'000 : static_cast<int>(tile.nbytes()) / 2;
    if (auto _ = single_thread()) {
      for (int i : {0, 1}) {
        static_cast<void>(i);
        mbarrier.arrive_and_expect_tx(full, bytes);  // <- first: more_than_a_phase
      }
      copy(tile, gx, 0, full);
    }
    mbarrier.wait(full, 0);
    store_global(gy, load_shared(tile), {0, 0});
  }
};

}  // namespace

void add_bytes(std::vector<Twin>& twins) {
  const Family family(twins, "bytes");
  const std::set<Hazard> phase_lacks{Hazard::barrier_bytes, Hazard::deadlock};
  // The phase may be complete before the last copy: also a race with what it writes.
  const std::set<Hazard> phase_early{Hazard::barrier_bytes, Hazard::deadlock, Hazard::race};
  const auto about = [&](const char* name, const char* source, bool early = false) {
    return About{.name = name, .source = source, .expected = early ? phase_early : phase_lacks, .object = "full"};
  };
  const auto copies = [&](const char* name, const char* source, Slip slip) {
    const bool early = slip == Slip::first_only || slip == Slip::late_expectation;
    add<TwoCopies>(family, about(name, source, early), counted(768), counted(768),
                   [=](TwoCopies& s) { s.slip = slip; });
  };
  copies("bytes_too_many", "D6", Slip::too_many);
  copies("bytes_too_few", "D6", Slip::too_few);
  copies("bytes_first_only", "D6", Slip::first_only);
  copies("bytes_second_expectation", "D6", Slip::second_expectation);
  copies("bytes_late_expectation", "D6", Slip::late_expectation);
  copies("bytes_other_barrier", "A1.7", Slip::other_barrier);
  copies("bytes_none_announced", "D1", Slip::none_announced);
  add<Edge>(family, about("inside_rows", "D6"), counted(384), counted(384));
  add<Edge>(family, about("inside_columns", "D6"), counted(768), counted(768), [](Edge& s) { s.last_columns = true; });
  add<SecondPhase>(family, about("second_phase_bytes", "A1.7"), counted(768), counted(768));
  auto twice = counted(512);
  twice.insert(twice.end(), twice.begin(), twice.begin() + 512);
  About multicast = about("multicast_bytes", "A1.7", true);
  multicast.object = "full|tile";
  add<Multicast>(family, multicast, counted(512), twice);
  add<TooLarge>(family, about("more_than_a_phase", "A1.8"), counted(512), counted(512));
}

}  // namespace tessera::twins
