// A product of several kernels as the steps of an exported launch, for dense row-major matrices.
#pragma once

#include "export/sequence.hpp"
#include "kernels/executor.hpp"

namespace tessera::kernels {

// The parameters of such a launch, in its order; pitches are elements from one row to the next. `bias` is there if the
// product has one.
enum class LaunchParam : std::uint8_t { m_size, n_size, k_size, a_pitch, b_pitch, c_pitch, alpha, beta, a, b, c, bias };
std::vector<detail::ParamInfo> launch_params(const Problem& problem);

// Whether the parameters above say all that a launch needs: the operands are stored by rows, and so is the result.
bool is_by_rows(const Problem& problem);
// `steps` do the problem, which is_by_rows(). `one_row`: they do because it has one row.
exporter::SizedSteps sized_steps(const Problem& problem, bool one_row, std::vector<Executor::Step> steps);

}  // namespace tessera::kernels
