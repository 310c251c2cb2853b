// Source files by the names that the compiler gave them.
#pragma once

#include <fstream>

namespace tessera::support {

// Opens the file of a SourceLoc. A relative name (of a build with -fmacro-prefix-map, as this library's own) is looked
// for from the current folder upwards, then from the program's, so that it is found where either is in the tree. Not
// open where there is no such file.
std::ifstream open_source(const char* path);

}  // namespace tessera::support
