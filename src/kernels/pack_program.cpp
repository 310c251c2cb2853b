#include "kernels/pack_rows.hpp"
#include "kernels/programs.hpp"
#include "tessera/runtime/kernel.hpp"

namespace tessera::kernels {

detail::Program pack_program(int bytes) {
  if (bytes == 1) return detail::script_program(PackRows<std::uint8_t>{}, SourceLoc::here());
  return detail::script_program(PackRows<std::uint16_t>{}, SourceLoc::here());
}

}  // namespace tessera::kernels
