// Where in the user's program something was written. `std::source_location` is empty under clang 14 with
// libstdc++ 12, so the three builtins that both compilers have are used directly.
#pragma once

#include <cstdint>

namespace tessera {

struct SourceLoc {
  const char* file = "";
  const char* function = "";
  std::uint32_t line = 0;

  // As the default argument of a function (or of a converting constructor) this yields the caller's line.
  static constexpr SourceLoc here(const char* file = __builtin_FILE(), const char* function = __builtin_FUNCTION(),
                                  std::uint32_t line = __builtin_LINE()) {
    return {file, function, line};
  }
  constexpr bool known() const { return line != 0; }
};

}  // namespace tessera
