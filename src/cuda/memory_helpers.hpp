// Text of the vector loads and stores: one function for each (direction, space, bytes, predicated, register type).
#pragma once

#include <string>
#include <string_view>

namespace tessera::cuda {

// `key` is e.g. "load_global_16_if:float" (consecutive float registers) or "store_shared_2:" (a value in one word).
// An internal Error if the key is malformed.
std::string memory_helper(std::string_view key);
bool is_memory_helper_name(std::string_view identifier);

}  // namespace tessera::cuda
