// How the result of a matmul lies in memory and what its epilogue does: compile-time constants of the kernels.
#pragma once

#include <cstdint>

#include "tessera/matmul.hpp"

namespace tessera::kernels {

// How C lies in memory, and so how its tiles are stored.
enum class OutputForm : std::uint8_t {
  rows_tma,     // rows are contiguous, their pitch and C's address multiples of 16 bytes: by the TMA engine
  columns_tma,  // the same for columns
  rows,         // rows are contiguous
  columns,      // columns are contiguous
  strided       // neither
};
constexpr bool by_tma(OutputForm f) { return f == OutputForm::rows_tma || f == OutputForm::columns_tma; }
constexpr bool by_columns(OutputForm f) { return f == OutputForm::columns_tma || f == OutputForm::columns; }
// Elements that C's strides are counted in: with those of the TMA engine a pitch is known to be a multiple of 16 bytes.
constexpr std::int64_t pitch_unit(OutputForm f, DType out) { return by_tma(f) ? 16 / size_of(out) : 1; }

// Which dimension of an operand [rows, k] is contiguous in memory.
enum class OperandOrder : std::uint8_t { by_k, by_rows, strided };

// What the epilogue does beside the conversion; one integer as a constant of a kernel.
struct EpilogueSteps {
  bool scale = false;  // alpha is not 1
  bool add_c = false;  // beta is not 0
  bool bias = false;
  Activation activation = Activation::none;

  constexpr int code() const {
    return (scale ? 1 : 0) + (add_c ? 2 : 0) + (bias ? 4 : 0) + 8 * static_cast<int>(activation);
  }
  static constexpr EpilogueSteps of(int code) {
    return {(code & 1) != 0, (code & 2) != 0, (code & 4) != 0, static_cast<Activation>(code / 8)};
  }
};

}  // namespace tessera::kernels
