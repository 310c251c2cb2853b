// Included by one file for each element type.
#pragma once

#include "kernels/programs.hpp"
#include "kernels/split_matmul.hpp"
#include "tessera/runtime/kernel.hpp"

namespace tessera::kernels {

template <class In, class Out>
detail::Program split_program(const std::vector<SplitConfig>& configs) {
  using C = SplitConfig;
  const auto space =
      Space<C>::of<&C::block_m, &C::block_n, &C::block_k, &C::stages, &C::warpgroups, &C::cluster, &C::cluster_k>(
          configs);
  return detail::space_program<SplitMatmul<In, Out>>(space, SourceLoc::here());
}

}  // namespace tessera::kernels
