// Prints what a key says of the compiler, for a test that looks at it from another process.
#include <cstdio>

#include "runtime/toolchain.hpp"

int main() { std::puts(tessera::runtime::real_toolchain()->compiler().c_str()); }
