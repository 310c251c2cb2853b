#include "kernels/pitch_program.inl"

namespace tessera::kernels {

template detail::Program pitch_program<float8_e4m3, float16>(const std::vector<PitchConfig>&);
template detail::Program pitch_program<float8_e4m3, bfloat16>(const std::vector<PitchConfig>&);
template detail::Program pitch_program<float8_e4m3, float>(const std::vector<PitchConfig>&);

}  // namespace tessera::kernels
