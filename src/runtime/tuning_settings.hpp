// What is asked of the tuner, by the program and by the environment.
#pragma once

#include "tessera/core/source_loc.hpp"
#include "tessera/runtime/tuning.hpp"

namespace tessera::runtime {

// Throws a user Error at `loc` for a budget that is no length of time.
void check_tuning(const Tuning& tuning, SourceLoc loc);

// `given`, with what TESSERA_TUNING and TESSERA_TUNING_SECONDS say instead. Throws a user Error, with the value and
// what is allowed, for values that mean nothing; empty variables count as unset.
Tuning with_environment(Tuning given);

}  // namespace tessera::runtime
