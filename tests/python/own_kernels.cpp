// A module of one's own, as a user would write it.
#include <tessera/python.hpp>
#include <tessera/tessera.hpp>

using namespace tessera;

struct Saxpy : Script {
  static constexpr auto params = names("n", "factor", "block", "x_ptr", "y_ptr");
  void operator()(Int32 n, Float32 factor, int block, Ptr<float> x_ptr, Ptr<float> y_ptr) {
    attrs.blocks = {cdiv(n, block)};
    attrs.warps = 1;
    auto y = global_view(y_ptr, {n});
    auto x = load_global(global_view(x_ptr, {n}), {blockIdx.x * block}, {block});
    store_global(y, x * factor + load_global(y, {blockIdx.x * block}, {block}), {blockIdx.x * block});
  }
};

PYBIND11_MODULE(own_kernels, m) {
  tessera::python::register_errors(m);
  tessera::python::add_kernel<Saxpy>(m, "saxpy", "y += factor * x");
}
