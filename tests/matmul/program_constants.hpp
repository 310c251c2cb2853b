// The library's programs without a call: extents, and the constants that a kernel is traced with.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/candidates.hpp"
#include "kernels/programs.hpp"

namespace tessera::testing {

// c[m, nk] = a[m, nk] · b[nk, nk]ᵀ
inline kernels::Extents square(std::int64_t m, std::int64_t nk, const kernels::EpilogueSteps& steps = {}) {
  kernels::Extents e;
  e.m = m;
  e.n = e.k = nk;
  e.steps = steps;
  return e;
}

// In the order of the kernels' parameters; what is not a constant is 0.
inline std::vector<std::int64_t> persistent_constants(const kernels::Extents& e) {
  std::vector<std::int64_t> constants(17);
  constants[1] = e.n;
  constants[2] = e.k;
  constants[3] = e.a_by_k;
  constants[4] = e.b_by_k;
  constants[5] = static_cast<int>(e.form);
  constants[6] = e.steps.code();
  return constants;
}

inline std::vector<std::int64_t> split_constants(const kernels::Extents& e, std::int64_t splits) {
  std::vector<std::int64_t> constants = persistent_constants(e);
  constants.insert(constants.begin() + 7, splits);
  constants.push_back(0);
  return constants;
}

inline std::vector<std::int64_t> reduce_constants(std::int64_t n, const kernels::EpilogueSteps& steps,
                                                  std::int64_t splits) {
  return {0, n, static_cast<int>(kernels::OutputForm::rows_tma), steps.code(), splits, 0, 0, 0, 0, 0, 0, 0};
}

inline std::vector<std::int64_t> pitch_constants(const kernels::Extents& e, kernels::OperandOrder order) {
  std::vector<std::int64_t> constants(19);
  constants[1] = e.n;
  constants[2] = e.k;
  constants[3] = constants[4] = static_cast<int>(order);
  constants[5] = static_cast<int>(kernels::OutputForm::rows);
  return constants;
}

inline std::vector<std::int64_t> pack_constants(kernels::OperandOrder order) {
  return {0, 0, static_cast<int>(order), 0, 0, 0, 0, 0};
}

}  // namespace tessera::testing
