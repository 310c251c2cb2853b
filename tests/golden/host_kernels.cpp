// The printed kernels that need no other lane, compiled for the CPU.
#include "golden/host_kernels.hpp"

#include <limits>

#include "golden/host_cuda.hpp"
#include "host_arithmetic.inc"
#include "host_casts.inc"
#include "host_control_flow.inc"
#include "host_float8_casts.inc"
#include "host_packed_registers.inc"
#include "host_vector_add.inc"

namespace tessera::golden {

namespace {

// Converts an argument to whatever parameter type the printed kernel has.
struct Converts {
  const Argument& a;
  template <class T>
  operator T*() const {
    return reinterpret_cast<T*>(const_cast<std::byte*>(a.bytes.data()));
  }
  operator int() const { return static_cast<int>(a.scalar); }
  operator bool() const { return a.scalar != 0; }
};

template <class F, std::size_t... i>
void call(F f, const std::vector<Argument>& arguments, std::index_sequence<i...>) {
  f(Converts{arguments[i]}...);
}

template <class... P>
int run(void (*f)(P...), const std::vector<Argument>& arguments, unsigned ctas, unsigned threads) {
  host_misaligned = 0;
  for (blockIdx.x = 0; blockIdx.x < ctas; ++blockIdx.x)
    for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) call(f, arguments, std::index_sequence_for<P...>{});
  return host_misaligned;
}

}  // namespace

int run_text_on_host(const std::string& name, const std::vector<Argument>& arguments, unsigned ctas) {
  if (name == "arithmetic") return run(arithmetic, arguments, ctas, 32);
  if (name == "casts") return run(casts, arguments, ctas, 32);
  if (name == "float8_casts") return run(float8_casts, arguments, ctas, 32);
  if (name == "packed_registers") return run(packed_registers, arguments, ctas, 32);
  if (name == "control_flow") return run(for_1, arguments, ctas, 32);
  return run(vector_add, arguments, ctas, 128);
}

}  // namespace tessera::golden
