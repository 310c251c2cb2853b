// Stages of rings, parts of tiles and barriers of arrays outside of what there is: found on the simulated Hopper where
// they are used, and not looked at where an index is known to be inside. (One that is known to be outside does not get
// through tracing.)
#include <gmock/gmock.h>

#include <functional>

#include "cuda/printer.hpp"
#include "ir/thread_text.hpp"
#include "sim_runner.hpp"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int stages = 4, columns = 64;

std::string line(int number) { return "index_bounds_test.cpp:" + std::to_string(number) + ": "; }

// out = a stage of a ring: `stage`, or what is left of it by a modulus.
struct Ring : Script {
  static constexpr int made = __LINE__ + 5, used = made + 3;
  std::function<Int32(Int32)> index;
  explicit Ring(std::function<Int32(Int32)> i) : index(std::move(i)) {}
  void operator()(Int32 stage, Ptr<float> in, Ptr<float> out) {
    attrs.blocks = {1}, attrs.warps = 4;
    auto ring = shared_tensor<float>({stages, columns});
    store_shared(ring, load_global(global_view(in, {stages, columns}), {0, 0}, {stages, columns}));
    sync();
    auto row = load_shared(ring[index(stage)]);
    store_global(global_view(out, {columns}), row, {0});
  }
};
const Ring as_it_comes([](Int32 stage) { return stage; });
const Ring within([](Int32 stage) { return max(min(stage, stages - 1), 0); });

// The rows of `in` are 0, 1, 2, 3.
std::vector<float> run_ring(const passes::Lowered& lowered, std::int64_t stage) {
  std::vector<float> in(stages * columns), out(columns, -1);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i / columns);
  sim::run(lowered.kernel, std::vector{argument(stage), argument(in), argument(out)}, with(all_schedules().front()));
  return out;
}

TEST(IndexBounds, AStageThatExistsIsRead) {
  const passes::Lowered lowered = build(as_it_comes, {0, 0, 0});
  for (int stage = 0; stage < stages; ++stage) {
    EXPECT_EQ(run_ring(lowered, stage), std::vector<float>(columns, static_cast<float>(stage)));
  }
}

TEST(IndexBounds, AStageOutsideIsFoundWhenItIsRead) {
  const passes::Lowered lowered = build(as_it_comes, {0, 0, 0});
  for (const int stage : {-1, 4, 5, 1 << 30}) {
    EXPECT_THAT(error_of([&] { run_ring(lowered, stage); }),
                AllOf(HasSubstr(line(Ring::used) + "error: element " + std::to_string(stage) +
                                " in dimension 0 of 'ring': 0 to 3 are possible"),
                      HasSubstr(line(Ring::made) + "note: made here"), HasSubstr("begin again at 0 after 3: i % 4")));
  }
}

TEST(IndexBounds, TheCheckerReportsIt) {
  const passes::Lowered lowered = build(as_it_comes, {0, 0, 0});
  std::vector<float> in(stages * columns), out(columns);
  EXPECT_THAT(findings_in(lowered.kernel, {argument(7), argument(in), argument(out)}, with(all_schedules().front())),
              HasSubstr("element 7 in dimension 0 of 'ring': 0 to 3 are possible"));
}

// Nothing is looked at twice, and nothing of it reaches a card.
TEST(IndexBounds, WhatIsKnownToBeInsideIsNotChecked) {
  EXPECT_THAT(ir::thread::to_string(build(as_it_comes, {0, 0, 0}).kernel), HasSubstr("check element"));
  const passes::Lowered lowered = build(within, {0, 0, 0});
  EXPECT_THAT(ir::thread::to_string(lowered.kernel), Not(HasSubstr("check element")));
  EXPECT_EQ(run_ring(lowered, 100), std::vector<float>(columns, 3.0f));
  EXPECT_THAT(cuda::print(build(as_it_comes, {0, 0, 0}).kernel), Not(HasSubstr("check")));
}

// Half `half` of a tile of two.
struct Half : Script {
  static constexpr int used = __LINE__ + 6;
  void operator()(Int32 half, Ptr<float> in, Ptr<float> out) {
    attrs.blocks = {1}, attrs.warps = 4;
    auto tile = shared_tensor<float>({stages, columns});
    store_shared(tile, load_global(global_view(in, {stages, columns}), {0, 0}, {stages, columns}));
    sync();
    auto part = load_shared(tile.split(0, 2)[half]);
    store_global(global_view(out, {2, columns}), part, {0, 0});
  }
};

TEST(IndexBounds, APartOutside) {
  const passes::Lowered lowered = build(Half(), {0, 0, 0});
  std::vector<float> in(stages * columns), out(2 * columns);
  const auto run = [&](std::int64_t half) {
    sim::run(lowered.kernel, std::vector{argument(half), argument(in), argument(out)}, with(all_schedules().front()));
  };
  run(1);
  EXPECT_THAT(error_of([&] { run(2); }), HasSubstr(line(Half::used) + "error: a part from element 4 in dimension "
                                                                      "0 of 'tile': 0 to 2 are possible"));
}

// A copy that reports to barrier `which` of two; there are two more behind them.
struct Barriers : Script {
  static constexpr int made = __LINE__ + 4, used = made + 3;
  void operator()(Int32 which, Ptr<float> in, Ptr<float> out) {
    attrs.blocks = {1}, attrs.warps = 4;
    auto tile = shared_tensor<float>({stages, columns});
    auto full = mbarrier.alloc({1, 1});
    auto other = mbarrier.alloc({1, 1});
    if (auto _ = single_thread()) {
      mbarrier.arrive_and_expect_tx(full[which], tile.nbytes());
      tma.global_to_shared(
          {.src = global_view(in, {stages, columns}), .dst = tile, .offsets = {0, 0}, .mbarrier = full[0]});
      mbarrier.arrive(other[1]);
    }
    mbarrier.wait(full[0], 0u);
    store_global(global_view(out, {stages, columns}), load_shared(tile), {0, 0});
  }
};

TEST(IndexBounds, ABarrierOutside) {
  const passes::Lowered lowered = build(Barriers(), {0, 0, 0});
  std::vector<float> in(stages * columns, 1), out(stages * columns);
  const auto run = [&](std::int64_t which) {
    sim::run(lowered.kernel, std::vector{argument(which), argument(in), argument(out)}, with(all_schedules().front()));
  };
  run(0);
  EXPECT_EQ(out, in);
  EXPECT_THAT(error_of([&] { run(2); }),
              AllOf(HasSubstr(line(Barriers::used) + "error: mbarrier 2 of 'full': 0 to 1 are possible"),
                    HasSubstr(line(Barriers::made) + "note: made here")));
}

}  // namespace
}  // namespace tessera::testing
