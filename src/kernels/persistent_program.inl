// Included by one file for each element type.
#pragma once

#include "kernels/persistent_matmul.hpp"
#include "kernels/programs.hpp"
#include "tessera/runtime/kernel.hpp"

namespace tessera::kernels {

template <class In, class Out>
detail::Program persistent_program(const std::vector<PersistentConfig>& configs) {
  using C = PersistentConfig;
  const auto space = Space<C>::of<&C::consumers, &C::block_m, &C::block_n, &C::block_k, &C::stages, &C::cluster,
                                  &C::group, &C::store_n, &C::buffers>(configs);
  return detail::space_program<PersistentMatmul<In, Out>>(space, SourceLoc::here());
}

}  // namespace tessera::kernels
