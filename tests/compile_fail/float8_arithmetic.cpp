#include "kernel.hpp"

struct Case : Script {
  void operator()(Float32 x) {
    const auto a = cast<float8_e4m3>(x);
#ifdef TESSERA_MISTAKE
    printf("{}\n", cast<Float32>(a + a));
#else
    printf("{}\n", cast<Float32>(a) + cast<Float32>(a));
#endif
  }
};
int main() { detail::param_infos<Case>(); }
