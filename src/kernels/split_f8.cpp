#include "kernels/split_program.inl"

namespace tessera::kernels {

template detail::Program split_program<float8_e4m3, float16>(const std::vector<SplitConfig>&);
template detail::Program split_program<float8_e4m3, bfloat16>(const std::vector<SplitConfig>&);
template detail::Program split_program<float8_e4m3, float>(const std::vector<SplitConfig>&);

}  // namespace tessera::kernels
