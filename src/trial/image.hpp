// The program of the trial process: an ELF file that the library carries with it.
#pragma once

#include <cstddef>
#include <span>

namespace tessera::trial {

std::span<const std::byte> program_image();

}  // namespace tessera::trial
