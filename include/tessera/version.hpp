// Which Tessera this is. The numbers are written here and nowhere else: CMake reads them from this file.
#pragma once

#include <string_view>

namespace tessera {

// Of the headers that a program was compiled with, by semantic versioning: until 1.0 a new minor version may break
// programs.
inline constexpr int version_major = 0;
inline constexpr int version_minor = 1;
inline constexpr int version_patch = 0;

// Of the library that the program runs with, "0.1.0". A shared one may have a newer patch than the headers.
std::string_view version();

}  // namespace tessera
