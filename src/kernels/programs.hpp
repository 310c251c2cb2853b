// The kernels as programs of the runtime. Each is a template over its element types, instantiated in files of their
// own, so that they compile side by side.
#pragma once

#include <vector>

#include "kernels/configs.hpp"
#include "tessera/core/dtype.hpp"
#include "tessera/runtime/program.hpp"

namespace tessera::kernels {

template <class In, class Out>
detail::Program persistent_program(const std::vector<PersistentConfig>& configs);
template <class In, class Out>
detail::Program split_program(const std::vector<SplitConfig>& configs);
template <class Out>
detail::Program reduce_program();
template <class In, class Out>
detail::Program pitch_program(const std::vector<PitchConfig>& configs);

// The same for types that are known at run time; they are those that matmul() takes.
detail::Program persistent_program(DType in, DType out, const std::vector<PersistentConfig>& configs);
detail::Program split_program(DType in, DType out, const std::vector<SplitConfig>& configs);
detail::Program reduce_program(DType out);
detail::Program pitch_program(DType in, DType out, const std::vector<PitchConfig>& configs);
// Of elements of 1 or 2 bytes.
detail::Program pack_program(int bytes);

}  // namespace tessera::kernels
