// One parameter's value as the caller of a kernel gave it.
#pragma once

#include <cstdint>

#include "tessera/runtime/buffer.hpp"

namespace tessera::detail {

struct Argument {
  std::int64_t integer = 0;  // of a constant or a scalar: its bits, sign- or zero-extended
  PtrValue pointer;          // of a pointer
};

}  // namespace tessera::detail
