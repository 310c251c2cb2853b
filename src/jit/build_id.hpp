// What tells two builds of a shared library apart that call themselves the same version.
#pragma once

#include <string>

namespace tessera::jit {

// The linker's build id of an ELF file in hexadecimal digits; for a file without one its length and a hash of samples
// of its content. Empty if it cannot be read.
std::string build_id(const std::string& path);
// The file that holds the code or data at this address; empty if that is unknown.
std::string file_of(const void* address);

}  // namespace tessera::jit
