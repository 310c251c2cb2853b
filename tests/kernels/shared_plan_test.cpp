// Which tiles share bytes of shared memory, and that sharing never changes a result.
#include <gmock/gmock.h>

#include <algorithm>

#include "ir/match.hpp"
#include "sim_runner.hpp"

namespace tessera::testing {
namespace {

// A tile is used, then another of the same size, with or without a barrier of the block in between.
struct Twice : Script {
  bool barrier_between;
  bool in_a_loop;
  Twice(bool b, bool l) : barrier_between(b), in_a_loop(l) {}
  void operator()(Int32 rounds, Ptr<float> in, Ptr<float> out) {
    attrs.blocks = {1};
    attrs.warps = 4;
    auto sum = register_tensor<float>({32, 32}, 0.0f);
    if (in_a_loop) {
      for (auto i : range(rounds)) body(in + i * 1024, sum);
    } else {
      body(in, sum);
    }
    store_global(global_view(out, {32, 32}), sum, {0, 0});
  }
  void body(const Ptr<float>& in, RegisterTensor& sum) {
    auto first = shared_tensor<float>({32, 32});
    store_shared(first, load_global(global_view(in, {32, 32}), {0, 0}, {32, 32}));
    sync();
    sum += load_shared(first).transpose();
    if (barrier_between) sync();
    auto second = shared_tensor<float>({32, 32});
    store_shared(second, sum);
    sync();
    sum += load_shared(second).transpose();
    sync();
  }
};

std::int64_t bytes_of(const passes::Lowered& lowered) { return lowered.kernel.shared_bytes; }

TEST(SharedPlan, TilesShareBytesAcrossABarrierOfTheBlock) {
  EXPECT_EQ(bytes_of(build(Twice(true, false), {0, 0, 0})), 4096);
  EXPECT_EQ(bytes_of(build(Twice(false, false), {0, 0, 0})), 8192);
  EXPECT_EQ(bytes_of(build(Twice(true, true), {0, 0, 0})), 8192);  // the next round would come without one
}

TEST(SharedPlan, SharingDoesNotChangeResults) {
  for (const bool loop : {false, true}) {
    for (const bool barrier : {false, true}) {
      const auto lowered = build(Twice(barrier, loop), {0, 0, 0});
      auto in = normal<float>(3 * 1024, 5);
      std::vector<float> out(1024);
      std::vector<float> expected(1024, 0.0F);
      for (std::size_t round = 0; round < (loop ? 3U : 1U); ++round) {
        for (std::size_t i = 0; i < 32; ++i) {
          for (std::size_t j = 0; j < 32; ++j) expected[i * 32 + j] += in[round * 1024 + j * 32 + i];
        }
        std::vector<float> sum = expected;
        for (std::size_t i = 0; i < 32; ++i) {
          for (std::size_t j = 0; j < 32; ++j) expected[i * 32 + j] = sum[i * 32 + j] + sum[j * 32 + i];
        }
      }
      for (const auto& schedule : all_schedules()) {
        const std::vector<sim::Argument> arguments{argument(std::int64_t{3}), argument(in), argument(out)};
        sim::run(lowered.kernel, arguments, with(schedule));
        ASSERT_EQ(out, expected);
      }
    }
  }
}

// A tile read by threads, then another one at the same bytes that the TMA engine fills.
struct HandedOn : Script {
  void operator()(Ptr<float16> in, Ptr<float16> out) {
    attrs.blocks = {1};
    attrs.warps = 4;
    auto view = global_view(in, {64, 64});
    auto full = mbarrier.alloc(1);
    auto first = shared_tensor<float16>({64, 64});
    store_shared(first, load_global(view, {0, 0}, {64, 64}));
    sync();
    auto x = load_shared(first);
    sync();
    auto second = shared_tensor<float16>({64, 64});
    if (auto _ = single_thread()) {
      mbarrier.arrive_and_expect_tx(full, second.nbytes());
      tma.global_to_shared({.src = view, .dst = second, .offsets = {0, 0}, .mbarrier = full});
    }
    mbarrier.wait(full, 0u);
    store_global(global_view(out, {64, 64}), x + load_shared(second), {0, 0});
  }
};

TEST(SharedPlan, ReusedBytesAreFencedForTheCopyEngine) {
  const auto lowered = build(HandedOn(), {0, 0});
  EXPECT_LT(bytes_of(lowered), 2 * 8192);
  auto in = normal<float16>(4096, 6);
  std::vector<float16> out(4096);
  for (const auto& schedule : all_schedules()) {
    const std::vector<sim::Argument> arguments{argument(in), argument(out)};
    sim::run(lowered.kernel, arguments, with(schedule));  // reports a hand-over without a fence
    for (std::size_t i = 0; i < in.size(); ++i) {
      ASSERT_EQ(out[i].bits, float16(static_cast<float>(in[i]) + static_cast<float>(in[i])).bits);
    }
  }
}

TEST(SharedPlan, BarriersLieBehindEveryTile) {
  const auto lowered = build(HandedOn(), {0, 0});
  std::uint32_t tiles_end = 0;
  std::uint32_t barriers = UINT32_MAX;
  for (const auto& region : lowered.kernel.regions) {
    if (region.is_barrier) barriers = std::min(barriers, region.offset);
    if (!region.is_barrier) tiles_end = std::max(tiles_end, region.offset + region.bytes);
  }
  EXPECT_GE(barriers, tiles_end);
}

}  // namespace
}  // namespace tessera::testing
