#include "kernel.hpp"

struct Case : Script {
  void operator()(Int32 n) {
    Var<Int32> i = 0;
#ifdef TESSERA_MISTAKE
    for (auto _ : loop_while(i < n)) i += 1;
#else
    for (auto _ : loop_while([&] { return i < n; })) i += 1;
#endif
  }
};
int main() { detail::param_infos<Case>(); }
