// Which wgmma instructions exist (PTX ISA 9.7.15.2 and 9.7.15.5.2; every n was assembled with ptxas 13.0).
#pragma once

#include <string>

#include "tessera/core/dtype.hpp"

namespace tessera::ir {

// Multiples of 8 up to 256; for integers 8, 16, 24, 32 and multiples of 16 from 48 on.
bool is_wgmma_n(DType operand_type, int n);
// Why there is no such instruction; empty if there is. Operands: both f16 into f32 or f16; both bf16, or both f32 (read
// as tf32), into f32; f8e4m3 and f8e5m2 in any pair into f32 or f16; i8 and u8 in any pair into i32.
std::string wgmma_shape_error(DType a, DType b, DType accumulator, int n);

}  // namespace tessera::ir
