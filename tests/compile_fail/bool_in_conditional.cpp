#include "kernel.hpp"

struct Case : Script {
  void operator()(Int32 n) {
#ifdef TESSERA_MISTAKE
    Int32 x = n < 3 ? 1 : 2;
#else
    Int32 x = select(n < 3, 1, 2);
#endif
    printf("{}\n", x);
  }
};
int main() { detail::param_infos<Case>(); }
