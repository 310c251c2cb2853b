// The user's names, read from the source line that made an object. They make dumps and messages readable and never
// enter the meaning of a program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/core/source_loc.hpp"

namespace tessera::lang {

// The name that `loc`'s line gives to the result of call number `occurrence` of `callee` on it: `auto sa =
// shared_tensor`, `for (auto k : range`, `Var<UInt32> phase`. With an empty callee, the name that the line declares.
// Empty if there is none, or the file cannot be read. Files are read once and kept.
std::string declared_name(SourceLoc loc, std::string_view callee, int occurrence = 0);

// The parameter names of the operator() whose body holds `loc`; empty unless exactly `count` are found.
std::vector<std::string> parameter_names(SourceLoc loc, std::size_t count);

}  // namespace tessera::lang
