#include "kernels/persistent_program.inl"

namespace tessera::kernels {

template detail::Program persistent_program<float16, float16>(const std::vector<PersistentConfig>&);
template detail::Program persistent_program<float16, float>(const std::vector<PersistentConfig>&);

}  // namespace tessera::kernels
