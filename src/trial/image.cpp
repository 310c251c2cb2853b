#include "trial/image.hpp"

// The build defines TESSERA_TRIAL_IMAGE, the path of the program.
asm(".section .rodata\n"
    ".balign 16\n"
    ".hidden tessera_trial_image_begin\n"
    ".global tessera_trial_image_begin\n"
    "tessera_trial_image_begin:\n"
    ".incbin \"" TESSERA_TRIAL_IMAGE
    "\"\n"
    ".hidden tessera_trial_image_end\n"
    ".global tessera_trial_image_end\n"
    "tessera_trial_image_end:\n"
    ".byte 0\n"
    ".previous\n");

extern "C" {
extern const std::byte tessera_trial_image_begin[];  // NOLINT(readability-identifier-naming)
extern const std::byte tessera_trial_image_end[];    // NOLINT(readability-identifier-naming)
}

namespace tessera::trial {

std::span<const std::byte> program_image() { return {tessera_trial_image_begin, tessera_trial_image_end}; }

}  // namespace tessera::trial
