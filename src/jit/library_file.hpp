// Which file the system's loader takes for the name of a library, without opening it as one.
#pragma once

#include <string>

#include "jit/dynamic_library.hpp"

namespace tessera::jit {

// The path of a library of this name that is loaded, or else of the first one that the loader finds: where
// LD_LIBRARY_PATH and the run path of this library say, by the loader's cache, in its default folders. A name with a
// slash is the path itself. Empty: there is none of this machine's kind, or it takes the loader itself to tell.
std::string library_file(const std::string& name);

// The file that a DynamicLibrary would open, without opening it; empty where it takes the loader to tell.
std::string find_library(const DynamicLibrary::Request& request);

}  // namespace tessera::jit
