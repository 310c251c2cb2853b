#include "kernel.hpp"

struct Case : Script {
  void operator()(Int32 n) {
#ifdef TESSERA_MISTAKE
    if (n < 3) sync();
#else
    if (auto _ = when(n < 3)) sync();
#endif
  }
};
int main() { detail::param_infos<Case>(); }
