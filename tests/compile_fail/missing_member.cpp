#include "kernel.hpp"

struct Case : Script {
  void operator()(Ptr<float> p) {
    auto g = global_view(p, {64});
    auto s = shared_tensor<float>({64});
    auto b = mbarrier.alloc(1);
#ifdef TESSERA_MISTAKE
    tma.global_to_shared({.src = g, .dst = s, .offsets = { 0 }});
#else
    tma.global_to_shared({.src = g, .dst = s, .offsets = {0}, .mbarrier = b});
#endif
  }
};
int main() { detail::param_infos<Case>(); }
