// The thread IR as text, and the check of its rules.
#pragma once

#include <string>

#include "ir/thread.hpp"

namespace tessera::ir::thread {

// The whole kernel in a compact notation, one statement a line; with_locations adds `@file:line` where it changes.
std::string to_string(const Kernel& kernel, bool with_locations = true);

// Throws one internal Error that lists every broken rule; the rules stand at the top of thread_verifier.cpp.
void verify(const Kernel& kernel);

}  // namespace tessera::ir::thread
