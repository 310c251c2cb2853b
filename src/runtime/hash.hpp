// XXH3-128 of a sequence of strings, as 32 hexadecimal digits.
#pragma once

#include <string>
#include <string_view>

namespace tessera::runtime {

// Each string is preceded by its length, so that {"ab", "c"} and {"a", "bc"} differ.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  Hasher& add(std::string_view text);
  std::string hex() const;

 private:
  void* state_;
};

std::string hash_hex(std::string_view text);

}  // namespace tessera::runtime
