#include "kernel.hpp"

struct Case : Script {
  void operator()(Int32 n, UInt32 u) {
#ifdef TESSERA_MISTAKE
    for (auto i : range(n, u)) printf("{}\n", i);
#else
    for (auto i : range(cast<Int64>(n), u)) printf("{}\n", i);
#endif
  }
};
int main() { detail::param_infos<Case>(); }
