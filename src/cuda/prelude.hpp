// The small device functions and types that printed kernels call; only those that a kernel uses are emitted.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace tessera::cuda {

// The helpers of one kernel. Names are those of the table in prelude.cpp; vector memory accesses are written
// "load_global_16_if:float", that is name, register type. Using a name that does not exist is an internal Error.
class Prelude {
 public:
  void use(std::string_view name);
  // The text of every used helper and of what those need, in a fixed order.
  std::string text() const;
  // Identifiers that a program's own names must avoid.
  static bool is_reserved(std::string_view identifier);

 private:
  std::set<std::string, std::less<>> used_;
};

}  // namespace tessera::cuda
