#include "kernel.hpp"

struct Case : Script {
#ifdef TESSERA_MISTAKE
  void operator()(Int32 n){
#else
  void operator()(int n) {
#endif
      attrs.warps = n;
}
}
;
int main() { detail::param_infos<Case>(); }
