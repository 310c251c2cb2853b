#pragma once

#include <cstdint>

namespace tessera::ir {

// L2 eviction priority of a TMA copy (PTX ISA 9.7.9.2, createpolicy).
enum class CacheHint : std::uint8_t { none, evict_first, evict_normal, evict_last };

}  // namespace tessera::ir
