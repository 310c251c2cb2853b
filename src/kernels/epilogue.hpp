// What becomes of the sums of a matmul before they are stored: alpha, beta * C, bias, activation, the output's type.
#pragma once

#include <vector>

#include "kernels/activation.hpp"
#include "kernels/forms.hpp"

namespace tessera::kernels {

// C of a kernel and the way to it. Made outside loops and thread groups.
template <class Out>
class Epilogue : public KernelCode {
 public:
  // The strides of C are counted in pitch_unit(form) elements; where a dimension is contiguous its own stride
  // is not looked at.
  Epilogue(const Int32& m_size, int n_size, OutputForm form, int steps, const Int64& row_stride,
           const Int64& column_stride, const Float32& alpha, const Float32& beta, const Ptr<Out>& c,
           const Ptr<Out>& bias)
      : form_(form),
        steps_(EpilogueSteps::of(steps)),
        alpha_(alpha),
        beta_(beta),
        c_(view(m_size, n_size, form, row_stride, column_stride, c)),
        bias_(global_view(bias, {n_size})) {}

  OutputForm form() const { return form_; }
  bool reads_c() const { return steps_.add_c; }
  // How many of `columns` columns of `sums` to finish at a time, so that few registers are in use beside them.
  int piece(int columns, const RegisterTensor& sums) const {
    const bool long_formula = steps_.activation == Activation::gelu || steps_.activation == Activation::silu;
    return columns % 16 == 0 && !(long_formula && sums.shape()[0] > 64) ? 16 : 8;
  }

  // What has to be read from memory to finish the tile of `shape` at [row, column]: to be called well before finish().
  struct Addends {
    std::vector<RegisterTensor> c, bias;  // one or none
  };
  Addends load(const Int32& row, const Int32& column, int rows, int columns) const {
    Addends result;
    if (steps_.add_c) {
      if (by_columns(form_))
        result.c.push_back(load_global(c_, {column, row}, {columns, rows}).transpose());
      else
        result.c.push_back(load_global(c_, {row, column}, {rows, columns}));
    }
    if (steps_.bias) result.bias.push_back(load_global(bias_, {column}, {columns}));
    return result;
  }

  // The finished tile of the output's type.
  RegisterTensor finish(const RegisterTensor& sums, const Addends& addends) const {
    return cast<Out>(activate(with_bias(with_c(scaled(sums), addends), addends), steps_.activation));
  }

  // Writes a finished tile to [row, column] by ordinary stores.
  void store(const RegisterTensor& tile, const Int32& row, const Int32& column) const {
    if (by_columns(form_))
      store_global(c_, tile.transpose(), {column, row});
    else
      store_global(c_, tile, {row, column});
  }
  // A staging tile, which lies as C does, as rows of the result.
  SharedTensor as_rows(const SharedTensor& staging) const { return by_columns(form_) ? staging.transpose() : staging; }
  // One thread: has the TMA engine store a staging tile to [row, column], as a bulk group.
  void send_staged(const SharedTensor& staging, const Int32& row, const Int32& column) const {
    if (by_columns(form_))
      tma.shared_to_global({.src = staging, .dst = c_, .offsets = {column, row}});
    else
      tma.shared_to_global({.src = staging, .dst = c_, .offsets = {row, column}});
    tma.commit_group();
  }
  // Finishes the tile of sums at [row, column] and stores it, without shared memory.
  void send_directly(const RegisterTensor& sums, const Int32& row, const Int32& column) const {
    const auto rows = static_cast<int>(sums.shape()[0]), columns = static_cast<int>(sums.shape()[1]);
    const int width = piece(columns, sums);
    for (int first = 0; first < columns; first += width) {
      const RegisterTensor part = sums.split(1, columns / width)[first / width];
      store(finish(part, load(row, column + first, rows, width)), row, column + first);
    }
  }

 private:
  static GlobalView view(const Int32& m_size, int n_size, OutputForm form, const Int64& row_stride,
                         const Int64& column_stride, const Ptr<Out>& c) {
    if (form == OutputForm::strided) return global_view(c, {m_size, n_size}, {row_stride, column_stride});
    const std::int64_t unit = pitch_unit(form, dtype_of<Out>);
    if (by_columns(form)) return global_view(c, {n_size, m_size}, {column_stride * unit, 1});
    return global_view(c, {m_size, n_size}, {row_stride * unit, 1});
  }
  RegisterTensor scaled(const RegisterTensor& x) const { return steps_.scale ? x * alpha_ : x; }
  RegisterTensor with_c(const RegisterTensor& x, const Addends& a) const {
    return a.c.empty() ? x : x + cast<float>(a.c.front()) * beta_;
  }
  RegisterTensor with_bias(const RegisterTensor& x, const Addends& a) const {
    return a.bias.empty() ? x : x + cast<float>(a.bias.front());
  }

  OutputForm form_;
  EpilogueSteps steps_;
  Float32 alpha_, beta_;
  GlobalView c_, bias_;  // c_: for by_columns(form_) C's transpose
};

}  // namespace tessera::kernels
