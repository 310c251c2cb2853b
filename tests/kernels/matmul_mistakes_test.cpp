// V0 with one mistake at a time: the simulated Hopper tells them apart. And what looks like a mistake but is none.
#include <gmock/gmock.h>

#include "ir/match.hpp"
#include "matmul.hpp"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

enum class Mistake { none, wrong_phase, too_few_bytes, too_many_bytes, no_arrive, no_second_sync, freed_tiles };

// V0 with 64x64 tiles of 32; `warps` as the fast configurations of the card have them.
struct Flawed : Script {
  Mistake mistake;
  int warps;
  explicit Flawed(Mistake m, int w = 4) : mistake(m), warps(w) {}
  void operator()(Int32 m_size, int n_size, int k_size, Ptr<float16> a_ptr, Ptr<float16> b_ptr, Ptr<float16> c_ptr) {
    attrs.blocks = {cdiv(m_size, 64), cdiv(n_size, 64)};
    attrs.warps = warps;
    auto ga = global_view(a_ptr, {m_size, k_size});
    auto gb = global_view(b_ptr, {n_size, k_size});
    auto sa = shared_tensor<float16>({64, 32});
    auto sb = shared_tensor<float16>({64, 32});
    auto acc = register_tensor<float>({64, 64}, 0.0f);
    auto full = mbarrier.alloc(1);
    Var<UInt32> phase = mistake == Mistake::wrong_phase ? 1u : 0u;
    int bytes = static_cast<int>(sa.nbytes() + sb.nbytes());
    if (mistake == Mistake::too_few_bytes) bytes -= 1024;
    if (mistake == Mistake::too_many_bytes) bytes += 1024;
    for (auto k : range(0, k_size, 32)) {
      if (auto _ = single_thread()) {
        if (mistake != Mistake::no_arrive) mbarrier.arrive_and_expect_tx(full, bytes);
        tma.global_to_shared({.src = ga, .dst = sa, .offsets = {64 * blockIdx.x, k}, .mbarrier = full});
        const int copy_of_b = __LINE__ + 1;
        tma.global_to_shared({.src = gb, .dst = sb, .offsets = {64 * blockIdx.y, k}, .mbarrier = full});
        static_cast<void>(copy_of_b);
        mbarrier.wait(full, phase);
      }
      sync();
      dot(load_shared(sa), load_shared(sb).transpose(), acc);
      if (mistake != Mistake::no_second_sync) sync();
      phase ^= 1u;
    }
    if (mistake == Mistake::freed_tiles) {
      free_shared(sa);
      free_shared(sb);
    }
    auto gc = global_view(c_ptr, {m_size, n_size});
    store_global(gc, cast<float16>(acc), {64 * blockIdx.x, 64 * blockIdx.y});
  }
};

// Nothing if the run ends with right numbers, else the report, or "wrong numbers".
std::string outcome(const Flawed& script, const sim::Schedule& schedule, const passes::Options& options = {},
                    bool check_handover = true) {
  const auto lowered = build(script, {0, 128, 160, 0, 0, 0}, options);
  MatmulCase<float16> c(100, 128, 160);
  sim::Options run = with(schedule);
  run.check_proxy_handover = check_handover;
  try {
    sim::run(lowered.kernel, c.arguments(), run);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::user) << e.what();
    return e.what();
  }
  return c.wrong_elements() == 0 ? "" : "wrong numbers";
}

TEST(MatmulMistakes, WithoutOneItIsExactUnderEverySchedule) {
  for (const auto& schedule : all_schedules()) EXPECT_EQ(outcome(Flawed(Mistake::none), schedule), "");
}

TEST(MatmulMistakes, EachHasItsOwnReport) {
  for (const auto& schedule : all_schedules()) {
    EXPECT_THAT(outcome(Flawed(Mistake::too_few_bytes), schedule), HasSubstr("more than")) << sim::to_string(schedule);
    EXPECT_THAT(outcome(Flawed(Mistake::too_many_bytes), schedule), HasSubstr("1024 bytes"));
    EXPECT_THAT(outcome(Flawed(Mistake::no_arrive), schedule),
                AllOf(HasSubstr("1 arrival missing"), Not(HasSubstr("would not have waited"))));
    // The wait for the wrong phase passes at once: what it should have waited for is read too early, or a later wait
    // finds nobody to complete its phase.
    EXPECT_THAT(outcome(Flawed(Mistake::wrong_phase), schedule),
                AnyOf(HasSubstr("would not have waited"), HasSubstr("uninitialised"), HasSubstr("still in flight")));
    for (const Mistake m : {Mistake::too_few_bytes, Mistake::too_many_bytes, Mistake::no_arrive, Mistake::wrong_phase})
      EXPECT_THAT(outcome(Flawed(m), schedule), HasSubstr("matmul_mistakes_test.cpp:"));
  }
}

TEST(MatmulMistakes, WithoutTheSecondSyncLazyAndRandomSchedulesShowIt) {
  for (const auto& schedule : all_schedules()) {
    if (schedule.kind == sim::Schedule::Kind::eager) continue;
    EXPECT_NE(outcome(Flawed(Mistake::no_second_sync), schedule), "") << sim::to_string(schedule);
    // Also by its numbers alone, with the hand-over check off.
    EXPECT_NE(outcome(Flawed(Mistake::no_second_sync), schedule, {}, false), "") << sim::to_string(schedule);
  }
}

TEST(MatmulMistakes, FreeingTheTilesBeforeTheEpilogueIsHarmless) {
  for (const auto& schedule : all_schedules()) EXPECT_EQ(outcome(Flawed(Mistake::freed_tiles), schedule), "");
}

TEST(MatmulMistakes, TheCompilerFencesTheHandOver) {
  for (const int warps : {4, 8}) {
    for (const auto& schedule : all_schedules()) EXPECT_EQ(outcome(Flawed(Mistake::none, warps), schedule), "");
  }
}

TEST(MatmulMistakes, WithoutTheFenceTheHandOverIsReportedWithBothLines) {
  passes::Options options;
  options.insert_proxy_fences = false;
  for (const auto& schedule : all_schedules()) {
    const std::string report = outcome(Flawed(Mistake::none), schedule, options);
    EXPECT_THAT(report, HasSubstr("fence.proxy_async"));
    EXPECT_THAT(report, AnyOf(HasSubstr("tile sa"), HasSubstr("tile sb")));
    // The copy's line and the load's.
    std::size_t lines = 0;
    for (std::size_t at = 0; (at = report.find("matmul_mistakes_test.cpp:", at)) != std::string::npos; ++at) ++lines;
    EXPECT_GE(lines, 2U) << report;
  }
}

std::string thread_text(const passes::Lowered& lowered) {
  int fences = 0;
  const std::function<void(const ir::Block&)> count = [&](const ir::Block& block) {
    for (const ir::Stmt* s : block) {
      if (const auto* f = ir::as<ir::thread::Fence>(s))
        fences += f->fence == ir::thread::FenceKind::proxy_async_shared ? 1 : 0;
      ir::for_each_child_block(s, count);
    }
  };
  count(lowered.kernel.body);
  return std::to_string(fences) + " fences";
}

TEST(MatmulMistakes, TheFenceStandsOnceExactlyWhereTheTilesAreHandedOver) {
  EXPECT_EQ(thread_text(build(Flawed(Mistake::none), {0, 128, 160, 0, 0, 0})), "1 fences");
}

}  // namespace
}  // namespace tessera::testing
