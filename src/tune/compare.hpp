// Whether two candidates computed the same thing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tessera/core/dtype.hpp"

namespace tessera::tune {

// Leaves new elements undefined: results of hundreds of megabytes are written once, by the copy from the device.
template <class T>
struct UndefinedAllocator : std::allocator<T> {
  template <class U>
  struct rebind {  // NOLINT(readability-identifier-naming): the name that allocators have
    using other = UndefinedAllocator<U>;
  };
  template <class U>
  void construct(U* p) {
    ::new (static_cast<void*>(p)) U;
  }
};
using Bytes = std::vector<std::byte, UndefinedAllocator<std::byte>>;

// What a candidate wrote to one pointer parameter.
struct Output {
  std::uint32_t param = 0;
  DType type = DType::f32;
  Bytes bytes;
};

struct Difference {
  std::uint64_t different = 0;  // elements
  std::uint64_t total = 0;
  std::uint64_t first = 0;         // index of the first one
  double expected = 0, found = 0;  // there
  std::string to_string() const;
};

// Integers and bools must be equal. Floating-point numbers may differ as much as another order of summation and one
// rounding to the output type explain: by tolerance(type) times the larger of the two, plus the same share of the root
// mean square of `expected`. NaN equals NaN, an infinity equals itself. Both outputs have the same type and size.
Difference compare(const Output& expected, const Output& found);

// 2^-8 for float16, 2^-6 for bfloat16, 2^-10 for float32, 2^-3 for float8_e4m3, 2^-2 for float8_e5m2, 0 for integers.
double tolerance(DType type);

}  // namespace tessera::tune
