// Adds up the partial sums of SplitMatmul, always in the same order, and finishes the result.
#pragma once

#include "kernels/epilogue.hpp"
#include "kernels/split_matmul.hpp"

namespace tessera::kernels {

template <class Out>
struct ReduceSplits : Script {
  static constexpr auto params = names("m_size", "n_size", "form", "steps", "splits", "c_rows", "c_columns", "alpha",
                                       "beta", "c", "bias", "partials");
  static constexpr int block_n = 256;  // columns of one row; four for each of 64 threads

  void operator()(Int32 m_size, int n_size, OutputForm form, int steps, int splits, Int64 c_rows, Int64 c_columns,
                  Float32 alpha, Float32 beta, Ptr<Out> c_ptr, Ptr<Out> bias_ptr, Ptr<float> partials_ptr) {
    attrs.blocks = {cdiv(n_size, block_n), m_size};
    attrs.warps = 2;
    attrs.dependent_launch = true;

    const Epilogue<Out> epilogue(m_size, n_size, form, steps, c_rows, c_columns, alpha, beta, c_ptr, bias_ptr);
    const int pitch = partial_pitch(n_size);
    auto partials = global_view(partials_ptr, {cast<Int64>(m_size) * splits, pitch});
    Int32 row = blockIdx.y;
    Int32 column = blockIdx.x * block_n;
    auto sums = register_tensor<float>({1, block_n}, 0.0f);
    grid_dependency.wait();
    const auto addends = epilogue.load(row, column, 1, block_n);
    for (auto split : range(0, splits, 1, {.unroll = 8})) {
      sums += load_global(partials, {cast<Int64>(split) * cast<Int64>(m_size) + row, column}, {1, block_n});
    }
    epilogue.store(epilogue.finish(sums, addends), row, column);
  }
};

}  // namespace tessera::kernels
