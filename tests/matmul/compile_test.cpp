// Where NVRTC is present: what the tuner may choose from compiles to sm_90a cubins without spills and without a remark
// of ptxas.
#include <iostream>

#include "cuda/printer.hpp"
#include "jit/compiler.hpp"
#include "kernels/executor.hpp"
#include "matmul_case.hpp"
#include "passes/pipeline.hpp"
#include "program_constants.hpp"

namespace tessera::testing {
namespace {

using namespace kernels;  // NOLINT(google-build-using-namespace)

bool can_compile() {
  std::string reason;
  if (jit::available(&reason)) return true;
  std::cout << "not compiled: " << reason << "\n";
  return false;
}

void expect_clean(const detail::Program& program, const std::vector<std::int64_t>& constants) {
  for (const detail::Candidate& candidate : program.candidates) {
    SCOPED_TRACE(program.name + " " + candidate.config);
    const auto kernel = candidate.trace(constants);
    const auto lowered = passes::lower(*kernel, {});
    EXPECT_LE(lowered.register_estimate, 255);
    const jit::CubinFacts facts = jit::compile(cuda::print(lowered.kernel), cuda::function_name(lowered.kernel)).facts;
    EXPECT_EQ(facts.spill_store_bytes + facts.spill_load_bytes, 0);
    EXPECT_EQ(facts.stack_bytes, 0);
    EXPECT_THAT(facts.remarks, ::testing::IsEmpty());
  }
}

// Every `step`-th of the candidates, beginning with the best one.
template <class Config>
std::vector<Config> sample(const std::vector<Estimated<Config>>& candidates, std::size_t count, std::size_t step) {
  std::vector<Config> result;
  for (std::size_t i = 0; i < candidates.size() && result.size() < count; i += step) {
    result.push_back(candidates[i].config);
  }
  return result;
}

TEST(Compile, PersistentMatmul) {
  if (!can_compile()) return;
  const Extents e = square(8192, 8192);
  expect_clean(persistent_program(DType::f16, DType::f16, sample(persistent_candidates(e), 10, 3)),
               persistent_constants(e));
}

TEST(Compile, PersistentMatmulWithWorkInItsEpilogue) {
  if (!can_compile()) return;
  for (const EpilogueSteps steps :
       {EpilogueSteps{true, true, true, Activation::relu}, EpilogueSteps{false, false, true, Activation::gelu}}) {
    const Extents e = square(8192, 8192, steps);
    expect_clean(persistent_program(DType::bf16, DType::bf16, sample(persistent_candidates(e), 3, 3)),
                 persistent_constants(e));
  }
}

TEST(Compile, PersistentMatmulOfOtherLayoutsAndTypes) {
  if (!can_compile()) return;
  Extents e = square(8192, 8192);
  e.a_by_k = e.b_by_k = false;
  e.form = OutputForm::columns_tma;
  expect_clean(persistent_program(DType::f16, DType::f16, sample(persistent_candidates(e), 4, 1)),
               persistent_constants(e));
  e = square(8192, 8191);
  e.form = OutputForm::rows;
  e.out_bytes = 4;
  expect_clean(persistent_program(DType::bf16, DType::f32, sample(persistent_candidates(e), 2, 1)),
               persistent_constants(e));
  e = square(8192, 8192);
  e.in_bytes = 1;
  expect_clean(persistent_program(DType::f8e4m3, DType::bf16, sample(persistent_candidates(e), 2, 1)),
               persistent_constants(e));
}

TEST(Compile, SplitMatmul) {
  if (!can_compile()) return;
  for (const int m : {1, 64, 256}) {
    for (const EpilogueSteps steps : {EpilogueSteps{}, EpilogueSteps{true, true, true, Activation::silu}}) {
      const Extents e = square(m, 4096, steps);
      const std::vector<SplitChoice> choices = split_candidates(e);
      for (const int splits : {1, 4}) {
        const auto choice =
            std::find_if(choices.begin(), choices.end(), [&](const SplitChoice& c) { return c.splits == splits; });
        ASSERT_NE(choice, choices.end());
        const std::vector<std::int64_t> constants = split_constants(e, splits);
        expect_clean(split_program(DType::f16, DType::f16, sample(choice->candidates, 2, 1)), constants);
      }
    }
  }
  expect_clean(reduce_program(DType::bf16), reduce_constants(4096, {true, true, true}, 6));
}

TEST(Compile, PitchMatmulAndPackRows) {
  if (!can_compile()) return;
  for (const OperandOrder order : {OperandOrder::by_k, OperandOrder::by_rows, OperandOrder::strided}) {
    const Extents e = square(4095, 4095);
    const std::vector<std::int64_t> constants = pitch_constants(e, order);
    expect_clean(pitch_program(DType::f16, DType::f16, sample(pitch_candidates(e), 4, 1)), constants);
    expect_clean(pitch_program(DType::f8e4m3, DType::f16, sample(pitch_candidates(e), 1, 1)), constants);
    for (const int bytes : {1, 2}) expect_clean(pack_program(bytes), pack_constants(order));
  }
}

}  // namespace
}  // namespace tessera::testing
