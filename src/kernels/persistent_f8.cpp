#include "kernels/persistent_program.inl"

namespace tessera::kernels {

template detail::Program persistent_program<float8_e4m3, float16>(const std::vector<PersistentConfig>&);
template detail::Program persistent_program<float8_e4m3, bfloat16>(const std::vector<PersistentConfig>&);
template detail::Program persistent_program<float8_e4m3, float>(const std::vector<PersistentConfig>&);

}  // namespace tessera::kernels
