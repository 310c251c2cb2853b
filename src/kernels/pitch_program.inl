// Included by one file for each element type.
#pragma once

#include "kernels/pitch_matmul.hpp"
#include "kernels/programs.hpp"
#include "tessera/runtime/kernel.hpp"

namespace tessera::kernels {

template <class In, class Out>
detail::Program pitch_program(const std::vector<PitchConfig>& configs) {
  using C = PitchConfig;
  const auto space = Space<C>::of<&C::block_m, &C::block_n, &C::block_k, &C::stages, &C::group>(configs);
  return detail::space_program<PitchMatmul<In, Out>>(space, SourceLoc::here());
}

}  // namespace tessera::kernels
