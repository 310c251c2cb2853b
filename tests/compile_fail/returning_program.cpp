#include "kernel.hpp"

struct Case : Script {
#ifdef TESSERA_MISTAKE
  int operator()(Int32) { return 0; }
#else
  void operator()(Int32) {}
#endif
};
int main() { detail::param_infos<Case>(); }
