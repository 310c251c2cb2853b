#include "kernel.hpp"

struct Case : Script {
  void operator()(Int32 n, UInt32 u) {
#ifdef TESSERA_MISTAKE
    printf("{}\n", n + u);
#else
    printf("{}\n", cast<Int64>(n) + u);
#endif
  }
};
int main() { detail::param_infos<Case>(); }
