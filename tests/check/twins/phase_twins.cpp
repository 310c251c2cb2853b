// Waits that may come too late: nothing keeps the barrier from completing the next phase, too.
#include "script_twin.hpp"

namespace tessera::twins {
namespace {

// A warp that sends messages, and one that may not have looked yet.
struct Unanswered : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {48, 32});
    auto gy = global_view(y, {48, 32});
    auto sent = mbarrier.alloc(1);
    auto seen = mbarrier.alloc(1);
    if (auto _ = single_warp(0)) {
      for (auto i : range(3)) {
        if (!broken) mbarrier.wait(seen, (i & 1) ^ 1);
        signal(sent);  // <- second: unanswered
      }
    }
    if (auto _ = single_warp(1)) {
      for (auto i : range(3)) {
        mbarrier.wait(sent, i & 1);  // <- first: unanswered
        store_global(gy, load_global(gx, {16 * i, 0}, {16, 32}), {16 * i, 0});
        signal(seen);
      }
    }
  }
};

// Two warps wait for the messages, only one of them answers.
struct OneAnswers : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 3;
    auto gx = global_view(x, {64, 16});
    auto gy = global_view(y, {64, 16});
    auto sent = mbarrier.alloc(1);
    auto seen = mbarrier.alloc(broken ? 1 : 2);
    if (auto _ = single_warp(0)) {
      for (auto i : range(4)) {
        mbarrier.wait(seen, (i & 1) ^ 1);
        signal(sent);  // <- second: one_of_two_answers
      }
    }
    for (int reader : {0, 1}) {
      if (auto _ = single_warp(1 + reader)) {
        for (auto i : range(4)) {
          mbarrier.wait(sent, i & 1);  // <- first: one_of_two_answers
          store_global(gy, load_global(gx, {16 * i + 8 * reader, 0}, {8, 16}), {16 * i + 8 * reader, 0});
          if (!broken || reader == 0) signal(seen);
        }
      }
    }
  }
};

// Two warps of a producer wait for the empty slot, but only the first holds the ring back.
struct TwoProducerWarps : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 3;
    auto gx = global_view(x, {80, 32});
    auto gy = global_view(y, {80, 32});
    auto tile = shared_tensor<float>({16, 32});
    auto full = mbarrier.alloc(1);
    auto empty = mbarrier.alloc(1);
    if (auto _ = warp_group(0, 2)) {
      for (auto i : range(5)) {
        if (broken) {
          mbarrier.wait(empty, (i & 1) ^ 1);  // <- first: second_producer_warp
        } else {
          if (auto _ = single_warp(0)) mbarrier.wait(empty, (i & 1) ^ 1);
        }
        if (auto _ = single_thread()) fetch(tile, gx, 16 * i, full);
      }
    }
    if (auto _ = single_warp(2)) {
      for (auto i : range(5)) {
        mbarrier.wait(full, i & 1);
        store_global(gy, load_shared(tile), {16 * i, 0});
        fence.proxy_async();
        signal(empty);  // <- second: second_producer_warp
      }
    }
  }
};

// Two warps that take turns; the second one does not wait for its own.
struct Turns : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {96, 32});
    auto gy = global_view(y, {96, 32});
    auto turn = mbarrier.alloc({1, 1});
    for (int me : {0, 1}) {
      if (auto _ = single_warp(me)) {
        for (auto i : range(3)) {
          if (!broken || me == 0) mbarrier.wait(turn[me], me == 0 ? (i & 1) ^ 1 : i & 1);  // <- first: out_of_turn
          store_global(gy, load_global(gx, {32 * i + 16 * me, 0}, {16, 32}), {32 * i + 16 * me, 0});
          signal(turn[1 - me]);  // <- second: out_of_turn
        }
      }
    }
  }
};

// Copies follow each other on one barrier as soon as the issuer has seen the last one; the other warp may not have.
struct SecondObserver : TwinScript {
  void operator()(Ptr<float> x, Ptr<float> y) {
    attrs.blocks = 1;
    attrs.warps = 2;
    auto gx = global_view(x, {64, 32});
    auto gy = global_view(y, {64, 32});
    auto tiles = shared_tensor<float>({4, 16, 32});
    auto full = mbarrier.alloc(1);
    for (auto i : range(4)) {
      if (auto _ = single_thread()) fetch(tiles[i], gx, 16 * i, full);  // <- second: second_observer
      mbarrier.wait(full, i & 1);                                       // <- first: second_observer
      if (!broken) sync();
    }
    if (broken) sync();
    for (int i : {0, 1, 2, 3}) store_global(gy, load_shared(tiles[i]), {16 * i, 0});
  }
};

}  // namespace

void add_phases(std::vector<Twin>& twins) {
  const Family family(twins, "phases");
  // A run in which the wait does come too late ends there.
  const auto about = [](const char* name, const char* object) {
    return About{
        .name = name, .source = "A1.9", .expected = {Hazard::barrier_phase, Hazard::deadlock}, .object = object};
  };
  add<Unanswered>(family, about("unanswered", "sent"), counted(1536), counted(1536));
  add<OneAnswers>(family, about("one_of_two_answers", "sent"), counted(1024), counted(1024));
  add<TwoProducerWarps>(family, about("second_producer_warp", "empty"), counted(2560), counted(2560));
  add<Turns>(family, about("out_of_turn", "turn[0]"), counted(3072), counted(3072));
  add<SecondObserver>(family, about("second_observer", "full"), counted(2048), counted(2048));
}

}  // namespace tessera::twins
