#include "kernel.hpp"

struct Case : Script {
#ifdef TESSERA_MISTAKE
  void operator()(Int32 n){
#else
  void operator()(int n) {
#endif
      auto t = shared_tensor<float>({n, 64});
  load_shared(t);
}
}
;
int main() { detail::param_infos<Case>(); }
