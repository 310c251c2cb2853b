#include "kernel.hpp"

#ifdef TESSERA_MISTAKE
using Parameter = double;
#else
using Parameter = Float32;
#endif

struct Case : Script {
  void operator()(Int32, Parameter) {}
};
int main() { detail::param_infos<Case>(); }
