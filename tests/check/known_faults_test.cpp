// Faults that tile compilers have shipped, rebuilt as programs of ours: each computes right numbers on many runs, and
// each is found in every one.
#include <gmock/gmock.h>

#include "early_refill.hpp"
#include "hopper_matmul/matmul_v0.hpp"
#include "hopper_matmul/matmul_v1.hpp"
#include "matmul.hpp"

namespace tessera::testing {
namespace {

using hopper_matmul::MatmulWgmma;
using ::testing::HasSubstr;

template <class S>
std::vector<Finding> findings_of(const S& script, const sim::Schedule& schedule, const passes::Options& options = {},
                                 bool relaxed_waits = false) {
  const auto lowered = build(script, {0, 136, 200, 0, 0, 0}, options);
  MatmulCase<float16> c(100, 136, 200);
  std::vector<Finding> findings;
  sim::Options run = with(schedule);
  run.findings = &findings;
  run.relaxed_waits = relaxed_waits;
  sim::run(lowered.kernel, c.arguments(), run);
  return findings;
}

template <class S>
S pinned(const char* config) {
  return S(S::space().parse(config));
}

// Whether some finding is of this kind and about this object.
bool found(const std::vector<Finding>& findings, Hazard hazard, const std::string& object) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) {
    const bool named =
        f.object.find(object) != std::string::npos || f.diagnostic.message.find(object) != std::string::npos;
    return f.hazard == hazard && named;
  });
}
std::string text_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& f : findings) text += format_diagnostic(f.diagnostic, name_of(f.hazard)) + "\n";
  return text;
}

// The planner gives a tile's bytes to the barriers.
TEST(KnownFaults, BarriersInsideALiveTile) {
  passes::Options options;
  options.barriers_in_tiles = true;
  for (const auto& schedule : all_schedules()) {
    for (const auto& findings :
         {findings_of(pinned<MatmulTma<float16>>("block_m=64,block_n=128,block_k=32"), schedule, options),
          findings_of(pinned<MatmulWgmma<float16>>("block_m=64,block_n=128,block_k=64"), schedule, options)}) {
      EXPECT_TRUE(found(findings, Hazard::barrier_storage, "sb")) << schedule.to_string() << "\n" << text_of(findings);
    }
  }
}

// The hand-over that tutorials leave out, with the compiler's own fence switched off.
TEST(KnownFaults, NoProxyFenceBetweenOrdinaryReadsAndTheNextCopy) {
  passes::Options options;
  options.insert_proxy_fences = false;
  for (const auto& schedule : all_schedules()) {
    const auto findings =
        findings_of(pinned<MatmulTma<float16>>("block_m=64,block_n=128,block_k=32"), schedule, options);
    for (const char* tile : {"sa", "sb"}) {
      EXPECT_TRUE(found(findings, Hazard::proxy_fence, tile)) << schedule.to_string() << "\n" << text_of(findings);
    }
  }
}

// A wait without acquire semantics sees the phase, and orders nothing behind it.
TEST(KnownFaults, RelaxedWaits) {
  for (const auto& schedule : all_schedules()) {
    const auto findings =
        findings_of(pinned<MatmulWgmma<float16>>("block_m=64,block_n=128,block_k=64"), schedule, {}, true);
    EXPECT_TRUE(found(findings, Hazard::race, "sa")) << schedule.to_string() << "\n" << text_of(findings);
    EXPECT_TRUE(found(findings, Hazard::race, "sb")) << schedule.to_string() << "\n" << text_of(findings);
  }
}

TEST(KnownFaults, RefillOfTheStageJustReadWithoutABarrier) {
  for (const auto& schedule : all_schedules()) {
    const auto findings = findings_of(EarlyRefill{}, schedule);
    EXPECT_TRUE(found(findings, Hazard::race, "sa[")) << schedule.to_string() << "\n" << text_of(findings);
  }
}

// Two groups of threads turn their tiles round in one scratch tile; each synchronises with itself alone.
struct SharedScratch : Script {
  bool own;
  explicit SharedScratch(bool o) : own(o) {}
  static constexpr auto params = names("m_size", "n_size", "k_size", "a", "b", "c");
  void operator()(Int32 m_size, int n_size, int k_size, Ptr<float16> a_ptr, Ptr<float16> b_ptr, Ptr<float16> c_ptr) {
    attrs.blocks = {1};
    attrs.warps = 8;
    auto ga = global_view(a_ptr, {m_size, k_size});
    auto gc = global_view(c_ptr, {m_size, n_size});
    auto scratch = shared_tensor<float16>({2, 32, 32});
    static_cast<void>(b_ptr);
    for (int half : {0, 1}) {
      if (auto _ = warp_group(4 * half, 4)) {
        auto tile = scratch[own ? half : 0];
        store_shared(tile, load_global(ga, {32 * half, 0}, {32, 32}));
        sync();
        store_global(gc, load_shared(tile.transpose()), {32 * half, 0});
      }
    }
  }
};

TEST(KnownFaults, OneScratchTileOfTwoGroups) {
  for (const auto& schedule : all_schedules()) {
    const auto findings = findings_of(SharedScratch(false), schedule);
    EXPECT_TRUE(found(findings, Hazard::race, "scratch[0]")) << schedule.to_string() << "\n" << text_of(findings);
    const auto clean = findings_of(SharedScratch(true), schedule);
    EXPECT_TRUE(clean.empty()) << text_of(clean);
  }
}

}  // namespace
}  // namespace tessera::testing
