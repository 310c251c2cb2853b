#include "kernels/pitch_program.inl"

namespace tessera::kernels {

template detail::Program pitch_program<bfloat16, bfloat16>(const std::vector<PitchConfig>&);
template detail::Program pitch_program<bfloat16, float>(const std::vector<PitchConfig>&);

}  // namespace tessera::kernels
