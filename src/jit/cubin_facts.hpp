// What the assembler's verbose log says about a kernel.
#pragma once

#include <string>

#include "jit/compiler.hpp"

namespace tessera::jit {

// Reads the log of a compilation of one kernel with --ptxas-options=-v. False if the log does not describe it.
bool parse_facts(const std::string& log, const std::string& kernel_name, CubinFacts* facts);

}  // namespace tessera::jit
