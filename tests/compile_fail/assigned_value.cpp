#include "kernel.hpp"

struct Case : Script {
  void operator()(Int32 n) {
#ifdef TESSERA_MISTAKE
    Int32 x = 0;
#else
    Var<Int32> x = 0;
#endif
    for (auto i : range(n)) x = x + i;
  }
};
int main() { detail::param_infos<Case>(); }
