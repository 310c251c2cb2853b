#include "kernel.hpp"

struct Case : Script {
  void operator()(Int32 n) {
#ifdef TESSERA_MISTAKE
    when(n < 3);
#else
    if (auto _ = when(n < 3)) sync();
#endif
  }
};
int main() { detail::param_infos<Case>(); }
