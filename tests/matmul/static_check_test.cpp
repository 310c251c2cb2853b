// The library's kernels by their text alone: no hazards.
#include "passes/static_check.hpp"

#include <gtest/gtest.h>

#include "program_constants.hpp"

namespace tessera::testing {
namespace {

using namespace kernels;  // NOLINT(google-build-using-namespace)

void expect_clean(const detail::Program& program, const std::vector<std::int64_t>& constants) {
  for (const detail::Candidate& candidate : program.candidates) {
    for (const Finding& f : passes::static_findings(*candidate.trace(constants))) {
      ADD_FAILURE() << program.name << " " << candidate.config << ": "
                    << format_diagnostic(f.diagnostic, name_of(f.hazard));
    }
  }
}

// Some of the candidates, the best and the worst among them.
template <class Config>
std::vector<Config> sample(const std::vector<Estimated<Config>>& candidates, std::size_t count) {
  std::vector<Config> result;
  for (std::size_t i = 0; i < count; ++i) {
    result.push_back(candidates[i * (candidates.size() - 1) / std::max<std::size_t>(count - 1, 1)].config);
  }
  return result;
}

TEST(LibraryInTheText, PersistentMatmul) {
  for (const std::int64_t size : {64, 1000, 8192}) {
    for (const EpilogueSteps steps : {EpilogueSteps{}, EpilogueSteps{true, true, true, Activation::relu}}) {
      const Extents e = square(size, size, steps);
      expect_clean(persistent_program(DType::f16, DType::f16, sample(persistent_candidates(e), 6)),
                   persistent_constants(e));
    }
  }
  Extents e = square(8192, 8191);
  e.form = OutputForm::rows;
  e.out_bytes = 4;
  expect_clean(persistent_program(DType::bf16, DType::f32, sample(persistent_candidates(e), 3)),
               persistent_constants(e));
  e = square(8192, 8192);
  e.a_by_k = e.b_by_k = false;
  e.form = OutputForm::columns_tma;
  expect_clean(persistent_program(DType::f16, DType::f16, sample(persistent_candidates(e), 3)),
               persistent_constants(e));
  e = square(8192, 8192);
  e.in_bytes = 1;
  expect_clean(persistent_program(DType::f8e4m3, DType::bf16, sample(persistent_candidates(e), 3)),
               persistent_constants(e));
}

TEST(LibraryInTheText, SplitMatmul) {
  for (const int m : {1, 256}) {
    const Extents e = square(m, 4096, {true, true, true, Activation::silu});
    for (const SplitChoice& choice : split_candidates(e)) {
      const std::vector<std::int64_t> constants = split_constants(e, choice.splits);
      expect_clean(split_program(DType::f16, DType::f16, sample(choice.candidates, 2)), constants);
    }
  }
  expect_clean(reduce_program(DType::bf16), reduce_constants(4096, {true, true, true}, 6));
}

TEST(LibraryInTheText, PitchMatmulAndPackRows) {
  for (const OperandOrder order : {OperandOrder::by_k, OperandOrder::by_rows, OperandOrder::strided}) {
    const Extents e = square(4095, 4095);
    const std::vector<std::int64_t> constants = pitch_constants(e, order);
    expect_clean(pitch_program(DType::f16, DType::f16, sample(pitch_candidates(e), 3)), constants);
    for (const int bytes : {1, 2}) expect_clean(pack_program(bytes), pack_constants(order));
  }
}

}  // namespace
}  // namespace tessera::testing
