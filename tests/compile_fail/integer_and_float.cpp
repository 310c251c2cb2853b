#include "kernel.hpp"

struct Case : Script {
  void operator()(Int32 n) {
#ifdef TESSERA_MISTAKE
    printf("{}\n", n * 1.5);
#else
    printf("{}\n", cast<Float32>(n) * 1.5);
#endif
  }
};
int main() { detail::param_infos<Case>(); }
