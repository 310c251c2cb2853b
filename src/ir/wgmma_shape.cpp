#include "ir/wgmma_shape.hpp"

#include <fmt/format.h>

namespace tessera::ir {
namespace {

bool is_byte(DType t) { return t == DType::i8 || t == DType::u8; }

bool is_pair(DType a, DType b, DType accumulator) {
  if (is_byte(a) && is_byte(b)) return accumulator == DType::i32;
  if (is_float8(a) && is_float8(b)) return accumulator == DType::f32 || accumulator == DType::f16;
  if (a != b) return false;
  if (a == DType::f16) return accumulator == DType::f32 || accumulator == DType::f16;
  return (a == DType::bf16 || a == DType::f32) && accumulator == DType::f32;
}

}  // namespace

bool is_wgmma_n(DType operand_type, int n) {
  const int step = is_byte(operand_type) && n > 32 ? 16 : 8;
  return n >= 8 && n <= 256 && n % step == 0;
}

std::string wgmma_shape_error(DType a, DType b, DType accumulator, int n) {
  if (!is_pair(a, b, accumulator))
    return fmt::format("wgmma of {} and {} into {}", name_of(a), name_of(b), name_of(accumulator));
  return is_wgmma_n(a, n) ? std::string() : fmt::format("wgmma of {} with n = {}", name_of(a), n);
}

}  // namespace tessera::ir
