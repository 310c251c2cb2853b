#include "kernel.hpp"

struct Case : Script {
#ifdef TESSERA_MISTAKE
  static constexpr auto params = names("n");
#else
  static constexpr auto params = names("n", "m");
#endif
  void operator()(Int32, Int32) {}
};
int main() { detail::param_infos<Case>(); }
