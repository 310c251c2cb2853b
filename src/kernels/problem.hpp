// A matmul as the kernels see it: what a call asks for, checked, with the ways that its matrices lie in memory.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/forms.hpp"
#include "tessera/matmul.hpp"

namespace tessera::kernels {

// a [m, k] or b [n, k].
struct OperandForm {
  OperandOrder order = OperandOrder::by_k;
  bool by_k = true;        // order == by_k
  bool loadable = false;   // by the TMA engine and for the tensor cores, as it is
  std::int64_t pitch = 0;  // elements between the lines of the stored matrix
  std::int64_t row_stride = 0, column_stride = 0;
  detail::PtrValue memory;
};

struct Problem {
  DType in = DType::f16, out = DType::f16;
  std::int64_t m = 0, n = 0, k = 0;
  OperandForm a, b;
  OutputForm form = OutputForm::rows_tma;
  std::int64_t c_rows = 0, c_columns = 0;  // strides in pitch_unit(form, out) elements
  detail::PtrValue c, bias;                // bias is set to something usable if there is none
  EpilogueSteps steps;
  float alpha = 1, beta = 0;
};

// Checks the call and describes it. Throws a user Error at `loc`. A result without elements has m or n of 0, and the
// rest of the description is then empty.
Problem describe(const detail::MatrixValue& a, const detail::MatrixValue& b, const detail::MatrixValue& c,
                 const MatmulOptions& options, SourceLoc loc);

}  // namespace tessera::kernels
