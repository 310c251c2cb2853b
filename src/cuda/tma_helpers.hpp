// Text of the tensor copies that are more than a plain load: one function for each (kind, rank, options).
#pragma once

#include <string>
#include <string_view>

#include "ir/cache_hint.hpp"

namespace tessera::cuda {

enum class TmaKind { load, store, reduce_add, prefetch };

// e.g. "tma_load_2d_multicast_hint".
std::string tma_function(TmaKind kind, std::size_t rank, bool multicast, bool hint);
// `key` is "tma:" and such a name. An internal Error if it is malformed.
std::string tma_helper(std::string_view key);
bool is_tma_helper_name(std::string_view identifier);

// The L2 policies as 64-bit constants, in the encoding that createpolicy gives for the whole access.
std::string policy_text(ir::CacheHint hint);

}  // namespace tessera::cuda
