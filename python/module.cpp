// The Python module `tessera`: matrix products on tensors of other libraries.
#include <pybind11/pybind11.h>

#include "tessera/matmul.hpp"
#include "tessera/python.hpp"

namespace {

namespace py = pybind11;
using namespace tessera;

Activation activation_of(const std::string& name) {
  if (name == "none") return Activation::none;
  if (name == "relu") return Activation::relu;
  if (name == "gelu") return Activation::gelu;
  if (name == "silu") return Activation::silu;
  throw py::value_error("activation '" + name + "': allowed are none, relu, gelu and silu");
}

// A result of a's library, on a's device.
py::object new_result(const py::object& a, std::int64_t m, std::int64_t n) {
  if (py::hasattr(a, "new_empty")) return a.attr("new_empty")(py::make_tuple(m, n));
  const std::string module = py::cast<std::string>(py::type::of(a).attr("__module__"));
  if (module == "numpy") return py::module_::import("numpy").attr("empty")(py::make_tuple(m, n), a.attr("dtype"));
  throw py::type_error("give the result as c=, since tensors of " + module + " are not made here");
}

template <class T>
void set_bias(MatmulOptions* options, const DlpackTensor& bias, SourceLoc loc) {
  options->bias = Bias(bias.pointer<T>(loc));
}
void add_bias(MatmulOptions* options, const DlpackTensor& bias, SourceLoc loc) {
  switch (bias.type()) {
    case DType::f16: return set_bias<float16>(options, bias, loc);
    case DType::bf16: return set_bias<bfloat16>(options, bias, loc);
    default: return set_bias<float>(options, bias, loc);  // refuses the others
  }
}

void check_types(DType a, DType b, DType c, SourceLoc loc) {
  const bool known = (a == DType::f16 && (c == DType::f16 || c == DType::f32)) ||
                     (a == DType::bf16 && (c == DType::bf16 || c == DType::f32)) ||
                     (a == DType::f8e4m3 && (c == DType::f16 || c == DType::bf16 || c == DType::f32));
  if (a == b && known) return;
  throw Error(ErrorKind::user, loc,
              std::string("matmul of ") + name_of(a) + " and " + name_of(b) + " into " + name_of(c),
              "a and b are of one type: float16 (c float16 or float32), bfloat16 (c bfloat16 or float32) or "
              "float8_e4m3fn (c float16, bfloat16 or float32)");
}

py::object multiply(const py::object& a, const py::object& b, py::object c, float alpha, float beta,
                    const py::object& bias, const std::string& activation, const py::object& stream) {
  const SourceLoc loc = python::caller();
  const DlpackTensor left = python::take_tensor(a, loc), right = python::take_tensor(b, loc);
  const detail::MatrixValue left_matrix = left.checked_matrix(loc), right_matrix = right.checked_matrix(loc);
  if (c.is_none()) {
    if (beta != 0) throw py::value_error("beta scales what c holds: give c");
    c = new_result(a, left_matrix.rows, right_matrix.rows);
  }
  const DlpackTensor result = python::take_tensor(c, loc);
  check_types(left.type(), right.type(), result.type(), loc);
  MatmulOptions options;
  options.alpha = alpha;
  options.beta = beta;
  options.activation = activation_of(activation);
  options.stream = python::stream_of(stream, a, left);
  std::optional<DlpackTensor> added;
  if (!bias.is_none()) add_bias(&options, added.emplace(python::take_tensor(bias, loc)), loc);
  const detail::MatrixValue result_matrix = result.checked_matrix(loc);
  {
    const py::gil_scoped_release others;
    detail::run_matmul(left_matrix, right_matrix, result_matrix, options, loc);
  }
  return c;
}

}  // namespace

PYBIND11_MODULE(tessera, m) {
  m.doc() = "Matrix products of Tessera on tensors of PyTorch, NumPy and others, by DLPack";
  python::register_errors(m);
  m.def(
      "matmul", &multiply, py::arg("a"), py::arg("b"), py::arg("c") = py::none(), py::kw_only(),
      py::arg("alpha") = 1.0F, py::arg("beta") = 0.0F, py::arg("bias") = py::none(), py::arg("activation") = "none",
      py::arg("stream") = py::none(),
      "c[m, n] = activation(alpha * a[m, k] @ b[n, k].T + beta * c + bias), on PyTorch's current stream or `stream`.\n"
      "Strides may be any; tensors in host memory run on the simulated Hopper. Returns c, which is made if not given.");
  m.def(
      "last_matmul_report", [] { return last_matmul_report().to_string(); }, "what the last matmul chose, and why");
}
