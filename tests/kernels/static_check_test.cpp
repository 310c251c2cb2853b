// Every candidate of the ladder, by its text alone: no hazards.
#include "passes/static_check.hpp"

#include <array>
#include <cstdlib>
#include <set>

#include "hopper_matmul/matmul_v1.hpp"
#include "hopper_matmul/matmul_v2.hpp"
#include "hopper_matmul/matmul_v3.hpp"
#include "hopper_matmul/matmul_v4.hpp"
#include "hopper_matmul/matmul_v5.hpp"
#include "hopper_matmul/matmul_v6.hpp"
#include "hopper_matmul/matmul_v7.hpp"
#include "ir/match.hpp"
#include "matmul.hpp"

namespace tessera::testing {
namespace {

using namespace hopper_matmul;  // NOLINT(google-build-using-namespace)

template <class S>
class Ladder : public ::testing::Test {};
using Steps = ::testing::Types<MatmulTma<float16>, MatmulWgmma<bfloat16>, MatmulMultiStage<float16>,
                               MatmulWarpSpecialised<float16>, MatmulPipelined<float16>, MatmulOverlapped<float16>,
                               MatmulPersistent<float16>, MatmulPingPong<float16>>;
TYPED_TEST_SUITE(Ladder, Steps);

TYPED_TEST(Ladder, EveryCandidateIsClean) {
  setenv("TESSERA_AUDIT", "0", 1);  // the programs are known to be sound, and three passes take three times as long
  // Aligned and ragged columns; no k-block, one, fewer than a ring holds, and many.
  const std::array<std::array<std::int64_t, 2>, 6> sizes{
      {{128, 0}, {200, 8}, {4096, 64}, {33, 136}, {1000, 520}, {4096, 4096}}};
  std::size_t round = 0;
  for (const auto& config : TypeParam::space().configs()) {
    // Every candidate at two of the sizes, all sizes in turn.
    for (int i = 0; i < 2; ++i, ++round) {
      const auto [n, k] = sizes[round % sizes.size()];
      const auto kernel = detail::trace(TypeParam(config), std::vector<std::int64_t>{0, n, k, 0, 0, 0});
      for (const Finding& f : passes::static_findings(*kernel)) {
        ADD_FAILURE() << "n = " << n << ", k = " << k << ": " << format_diagnostic(f.diagnostic, name_of(f.hazard));
      }
    }
  }
}

// Takes the statement number `victim` of those whose loss the text shows out of the program; its kind, or null if there
// are fewer.
const char* remove_step(ir::Block& block, int& victim) {
  using K = ir::StmtKind;
  static const std::set<K> steps = {K::tile_ArriveExpectTx, K::tile_WaitBarrier, K::tile_TmaLoad,
                                    K::tile_WgmmaFence,     K::tile_WgmmaCommit, K::tile_WgmmaWait,
                                    K::control_AssignVar};
  for (std::size_t i = 0; i < block.size(); ++i) {
    const K kind = block[i]->kind;
    if (steps.count(kind) != 0 && victim-- == 0) {
      block.erase(block.begin() + static_cast<std::ptrdiff_t>(i));
      return ir::name_of(kind);
    }
    const char* found = nullptr;
    ir::for_each_child_block(block[i],
                             [&](ir::Block& b) { found = found != nullptr ? found : remove_step(b, victim); });
    if (found != nullptr) return found;
  }
  return nullptr;
}

TEST(StaticCheck, EveryMissingStepOfV1IsFound) {
  int removed = 0;
  for (;; ++removed) {
    const auto kernel = detail::trace(MatmulWgmma<float16>({}), std::vector<std::int64_t>{0, 128, 640, 0, 0, 0});
    int victim = removed;
    const char* step = remove_step(kernel->body, victim);
    if (step == nullptr) break;
    EXPECT_FALSE(passes::static_findings(*kernel).empty()) << "without " << step;
  }
  EXPECT_EQ(removed, 8);
}

}  // namespace
}  // namespace tessera::testing
