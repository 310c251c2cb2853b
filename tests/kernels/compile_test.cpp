// Where NVRTC is present: every candidate of the examples compiles to an sm_90a cubin, and none of those that the tuner
// would keep spills or draws a performance remark from ptxas.
#include <gmock/gmock.h>

#include "cuda/printer.hpp"
#include "jit/compiler.hpp"
#include "matmul.hpp"

namespace tessera::testing {
namespace {

// As the runtime does it: for one CTA an SM less while the compiler spills.
jit::CubinFacts compile(passes::Lowered lowered) {
  while (true) {
    const jit::CubinFacts facts = jit::compile(cuda::print(lowered.kernel), cuda::function_name(lowered.kernel)).facts;
    if (lowered.kernel.ctas_per_sm == 1 || facts.spill_store_bytes + facts.spill_load_bytes == 0) return facts;
    --lowered.kernel.ctas_per_sm;
  }
}

template <class T>
void every_candidate_is_clean() {
  std::string reason;
  if (!jit::available(&reason)) {
    std::cout << "not compiled: " << reason << "\n";
    return;
  }
  for (const MatmulConfig& config : surviving_candidates<T>()) {
    const jit::CubinFacts facts = compile(build(MatmulTma<T>(config), {0, 8192, 8192, 0, 0, 0}));
    EXPECT_EQ(facts.spill_store_bytes + facts.spill_load_bytes, 0) << config.block_m << "," << config.block_n;
    EXPECT_EQ(facts.stack_bytes, 0);
    EXPECT_LE(facts.registers, 255);
    EXPECT_THAT(facts.remarks, ::testing::IsEmpty());
  }
}

TEST(CompileV0, EveryCandidateInFloat16) { every_candidate_is_clean<float16>(); }
TEST(CompileV0, EveryCandidateInBfloat16) { every_candidate_is_clean<bfloat16>(); }

TEST(CompileV0, ThreeCtasAnSmFitTheLargestTile) {
  const auto lowered = build(MatmulTma<float16>(MatmulConfig{128, 128, 64}), {0, 8192, 8192, 0, 0, 0});
  EXPECT_EQ(lowered.kernel.ctas_per_sm, 3);
  if (!jit::available()) return;
  const jit::CubinFacts facts = jit::compile(cuda::print(lowered.kernel), cuda::function_name(lowered.kernel)).facts;
  EXPECT_EQ(facts.spill_store_bytes + facts.spill_load_bytes, 0);
  EXPECT_LE(facts.registers, 168);
}

}  // namespace
}  // namespace tessera::testing
