#include "kernel.hpp"

struct Case : Script {
  void operator()(Int32 n) {
    attrs.blocks = {n};
#ifdef TESSERA_MISTAKE
    attrs.cluster = {n};
#else
    attrs.cluster = {2};
#endif
  }
};
int main() { detail::param_infos<Case>(); }
