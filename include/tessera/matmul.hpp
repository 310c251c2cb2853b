// Matrix products as one call: C = activation(alpha A B^T + beta C + bias), by kernels that come with the library.
//   tessera::matmul(a, b, c);                                             a [m, k], b [n, k], c [m, n]
//   tessera::matmul(a, b.transpose(), c, {.bias = bias, .activation = Activation::gelu});
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tessera/runtime/buffer.hpp"
#include "tessera/runtime/report.hpp"
#include "tessera/runtime/stream_arg.hpp"

namespace tessera {

namespace detail {

// A matrix with its element type erased. Strides are in elements.
struct MatrixValue {
  DType type = DType::f32;
  PtrValue memory;
  std::int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 0;
  SourceLoc loc;
};
MatrixValue matrix_of(DType type, const PtrValue& memory, const Shape& shape, SourceLoc loc);
MatrixValue matrix_of(DType type, const PtrValue& memory, std::int64_t rows, std::int64_t columns,
                      std::int64_t row_stride, std::int64_t column_stride, SourceLoc loc);
MatrixValue block_of(const MatrixValue& matrix, std::int64_t row, std::int64_t column, std::int64_t rows,
                     std::int64_t columns, SourceLoc loc);

}  // namespace detail

// A matrix of T in device memory that somebody else owns: any strides, so also a part of a larger matrix, or one that
// is stored column by column. Memory is whatever a kernel takes for a Ptr<T>.
template <class T>
class Matrix {
 public:
  // A buffer of two dimensions.
  Matrix(const Buffer<T>& buffer, SourceLoc loc = SourceLoc::here())
      : value_(detail::matrix_of(dtype_of<T>, PtrArg<T>(buffer, loc).value(), buffer.shape(), loc)) {}
  // Row-major, rows * columns elements.
  Matrix(const PtrArg<T>& memory, std::int64_t rows, std::int64_t columns, SourceLoc loc = SourceLoc::here())
      : Matrix(memory, rows, columns, columns, 1, loc) {}
  // Element [i, j] lies i * row_stride + j * column_stride elements behind the first one; strides are not negative.
  Matrix(const PtrArg<T>& memory, std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
         std::int64_t column_stride, SourceLoc loc = SourceLoc::here())
      : value_(detail::matrix_of(dtype_of<T>, memory.value(), rows, columns, row_stride, column_stride, loc)) {}

  std::int64_t rows() const { return value_.rows; }
  std::int64_t columns() const { return value_.columns; }
  std::int64_t row_stride() const { return value_.row_stride; }
  std::int64_t column_stride() const { return value_.column_stride; }

  // The same memory with rows and columns exchanged.
  Matrix transpose() const {
    Matrix result = *this;
    std::swap(result.value_.rows, result.value_.columns);
    std::swap(result.value_.row_stride, result.value_.column_stride);
    return result;
  }
  // rows x columns elements from [row, column] on. A user Error if they are not all inside.
  Matrix block(std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns,
               SourceLoc loc = SourceLoc::here()) const {
    Matrix result = *this;
    result.value_ = detail::block_of(value_, row, column, rows, columns, loc);
    return result;
  }

  const detail::MatrixValue& value() const { return value_; }

 private:
  detail::MatrixValue value_;
};

// none: x. relu: max(x, 0). gelu: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). silu: x / (1 + exp(-x)).
enum class Activation : std::uint8_t { none, relu, gelu, silu };

// n values of C's element type that are added to every row of C; nothing by default.
class Bias {
 public:
  Bias() = default;
  template <class T>
  Bias(const Buffer<T>& values, SourceLoc loc = SourceLoc::here())
      : type_(dtype_of<T>), memory_(PtrArg<T>(values, loc).value()), given_(true) {}
  template <class T>
  Bias(const PtrArg<T>& values) : type_(dtype_of<T>), memory_(values.value()), given_(true) {}
  template <class T>
  requires ElementType<T> Bias(T* values, SourceLoc loc = SourceLoc::here())
      : type_(dtype_of<T>), memory_(PtrArg<std::remove_const_t<T>>(values, loc).value()), given_(true) {}
  bool given() const { return given_; }
  DType type() const { return type_; }
  const detail::PtrValue& memory() const { return memory_; }

 private:
  DType type_ = DType::f32;
  detail::PtrValue memory_;
  bool given_ = false;
};

struct MatmulOptions {
  float alpha = 1;  // for float8 operands: the product of their scales
  float beta = 0;   // 0: C is not read
  Bias bias = {};
  Activation activation = Activation::none;
  StreamArg stream = {};              // a Stream or a CUstream; nothing: the default stream
  std::optional<Device> device = {};  // default: that of the buffers, else the best one
};

// Which kernel a call used, and why.
struct MatmulReport {
  struct Choice {
    std::string kernel;      // "PersistentMatmul", ...
    std::string config;      // its configuration, as in Report
    double estimate_us = 0;  // of the analytic model
    double measured_us = 0;  // with all that belongs to it; 0 where nothing was measured
  };
  std::string kernel, config;
  std::string reason;             // how it was chosen, in a sentence
  std::vector<Choice> choices;    // what was compared, the chosen one first
  Report report;                  // of the kernel
  std::vector<Report> helpers;    // of the kernels before and after it
  std::string to_string() const;  // for people
};

namespace detail {

void run_matmul(const MatrixValue& a, const MatrixValue& b, const MatrixValue& c, const MatmulOptions& options,
                SourceLoc loc);

template <class X>
struct matrix_element {
  using type = void;
};
template <class T>
struct matrix_element<Matrix<T>> {
  using type = T;
};
template <class T>
struct matrix_element<Buffer<T>> {
  using type = T;
};
template <class X>
using matrix_element_t = typename matrix_element<std::remove_cvref_t<X>>::type;

template <class T>
Matrix<T> as_matrix(const Matrix<T>& matrix, SourceLoc) {
  return matrix;
}
template <class T>
Matrix<T> as_matrix(const Buffer<T>& buffer, SourceLoc loc) {
  return {buffer, loc};
}

template <class In, class Out>
inline constexpr bool matmul_types =
    (std::is_same_v<In, float16> && (std::is_same_v<Out, float16> || std::is_same_v<Out, float>)) ||
    (std::is_same_v<In, bfloat16> && (std::is_same_v<Out, bfloat16> || std::is_same_v<Out, float>)) ||
    (std::is_same_v<In, float8_e4m3> &&
     (std::is_same_v<Out, float16> || std::is_same_v<Out, bfloat16> || std::is_same_v<Out, float>));

}  // namespace detail

template <class X>
concept MatrixLike = !std::is_void_v<detail::matrix_element_t<X>>;

// C = activation(alpha * A * B^T + beta * C + bias), summed in float32 and rounded once. A is [m, k], B [n, k], C
// [m, n], each a Matrix<T> or a Buffer<T> of two dimensions. Types: float16 (C float16 or float), bfloat16 (C bfloat16
// or float), float8_e4m3 (C float16, bfloat16 or float). Asynchronous on a GPU. The first call with a new n, k, kind of
// strides or epilogue, or m of another power of two, compiles and tunes; later ones launch.
// A user Error for shapes that do not fit each other, memory that does not hold its matrix, elements of C that share
// memory, and a bias of another type or length.
template <MatrixLike A, MatrixLike B, MatrixLike C>
void matmul(const A& a, const B& b, const C& c, const MatmulOptions& options = {}, SourceLoc loc = SourceLoc::here()) {
  using In = detail::matrix_element_t<A>;
  using Out = detail::matrix_element_t<C>;
  static_assert(std::is_same_v<In, detail::matrix_element_t<B>>, "a and b of a matmul have one element type");
  static_assert(detail::matmul_types<In, Out>,
                "matmul takes float16 (result float16 or float), bfloat16 (result bfloat16 or float) and float8_e4m3 "
                "(result float16, bfloat16 or float)");
  detail::run_matmul(detail::as_matrix(a, loc).value(), detail::as_matrix(b, loc).value(),
                     detail::as_matrix(c, loc).value(), options, loc);
}

// Of this thread's last matmul; empty before.
MatmulReport last_matmul_report();

}  // namespace tessera
