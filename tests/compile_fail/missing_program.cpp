#include "kernel.hpp"

struct Case : Script {
#ifdef TESSERA_MISTAKE
  void operator()(Int64) {}
#endif
  void operator()(Int32) {}
};
int main() { detail::param_infos<Case>(); }
