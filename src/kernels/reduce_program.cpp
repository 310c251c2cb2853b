#include "kernels/programs.hpp"
#include "kernels/reduce_splits.hpp"
#include "tessera/runtime/kernel.hpp"

namespace tessera::kernels {

template <class Out>
detail::Program reduce_program() {
  return detail::script_program(ReduceSplits<Out>{}, SourceLoc::here());
}

template detail::Program reduce_program<float16>();
template detail::Program reduce_program<bfloat16>();
template detail::Program reduce_program<float>();

}  // namespace tessera::kernels
