// The driver stand-in of tests/golden whose launches multiply: m, a, b, c in float16, with n and k from the
// environment. So a program that launches an exported matmul runs to its end where there is no GPU.
#define cuLaunchKernel plain_cuLaunchKernel
#define cuLaunchKernelEx plain_cuLaunchKernelEx
#include "golden/fake_driver.cpp"
#undef cuLaunchKernel
#undef cuLaunchKernelEx

#include "tessera/core/dtype.hpp"

namespace {

template <class T>
T parameter(void** params, int i) {
  T value;
  std::memcpy(&value, params[i], sizeof value);
  return value;
}
long number(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atol(text);
}

int multiply(void** params) {
  using tessera::float16;
  const long m = parameter<int>(params, 0), n = number("FAKE_N"), k = number("FAKE_K");
  const auto* a = parameter<const float16*>(params, 1);
  const auto* b = parameter<const float16*>(params, 2);
  auto* c = parameter<float16*>(params, 3);
  for (long i = 0; i < m; ++i) {
    for (long j = 0; j < n; ++j) {
      float sum = 0;
      for (long l = 0; l < k; ++l) sum += static_cast<float>(a[i * k + l]) * static_cast<float>(b[j * k + l]);
      c[i * n + j] = float16(sum);
    }
  }
  if (number("FAKE_WRONG") != 0) c[m * n - 1] = float16(static_cast<float>(c[m * n - 1]) + 1.0F);
  return 0;
}

}  // namespace

FAKE int cuCtxGetDevice(int* device) { return *device = 0, 0; }
FAKE int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                        void** params, void**) {
  return multiply(params);
}
FAKE int cuLaunchKernelEx(const void*, void*, void** params, void**) { return multiply(params); }
