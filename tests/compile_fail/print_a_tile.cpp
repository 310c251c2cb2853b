#include "kernel.hpp"

struct Case : Script {
  void operator()(Int32) {
    auto t = register_tensor<float>({64}, 0.0f);
#ifdef TESSERA_MISTAKE
    printf("{}\n", t);
#else
    print_tensor("t", t);
#endif
  }
};
int main() { detail::param_infos<Case>(); }
