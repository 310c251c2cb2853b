#include "kernel.hpp"

struct Case : Script {
  void operator()(Int32) {
    auto t = register_tensor<int>({16}, 0);
#ifdef TESSERA_MISTAKE
    if (t == 0) t += 1;
#else
    t = select(t == 0, 1, t);
#endif
  }
};
int main() { detail::param_infos<Case>(); }
