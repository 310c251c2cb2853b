#include "kernels/split_program.inl"

namespace tessera::kernels {

template detail::Program split_program<bfloat16, bfloat16>(const std::vector<SplitConfig>&);
template detail::Program split_program<bfloat16, float>(const std::vector<SplitConfig>&);

}  // namespace tessera::kernels
