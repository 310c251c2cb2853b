// Arithmetic on the lanes of a warp: one function for each operator and type, over 32 lanes or over one value.
//
// A lane value is held as raw bits: types of up to 32 bits in a uint32_t (signed integers sign-extended, the others
// zero-extended), 64-bit types in a uint64_t. Operands and results are arrays of 32 such words, or a single one where
// the value is the same in all lanes. Every function gives a defined result for every input (a division by zero gives
// 0); reporting those to the user is the interpreter's business.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/expr.hpp"

namespace tessera::sim {

inline constexpr int warp_lanes = 32;

using LaneFn = void (*)(void* dst, const void* a, const void* b, const void* c);

// One 32-bit register of a warp: a word for each lane.
using RegisterWord = std::uint32_t[warp_lanes];

// d = a * b + d for the fragments of mma.m16n8k16, in registers from the given ones on.
using MmaFn = void (*)(RegisterWord* d, const RegisterWord* a, const RegisterWord* b);

// One warp's part of wgmma.m64nNk(32 bytes): 16 rows of A with all of B.
struct WgmmaShape {
  DType a_type = DType::f16, b_type = DType::f16, accumulator_type = DType::f32;
  int n = 8;
  bool accumulate = true;
  bool negate = false;  // the products
};
// d = a * b (+ d). `a`: 16 rows, `b`: n columns, each of 32 bytes of consecutive k. d: the warp's accumulator
// registers, n / 2 words (16-bit accumulators: n / 4).
using WgmmaFn = void (*)(const WgmmaShape& shape, RegisterWord* d, const std::byte* a, const std::byte* b);

inline constexpr int dtype_count = static_cast<int>(DType::f8e5m2) + 1;
inline constexpr int expr_kind_count = static_cast<int>(ir::ExprKind::select) + 1;

struct LaneOps {
  LaneFn op[expr_kind_count][dtype_count] = {};  // by kind and operand type (select: type of the values)
  LaneFn cast[dtype_count][dtype_count] = {};    // from, to
  LaneFn broadcast32 = nullptr;                  // all lanes = *a
  LaneFn broadcast64 = nullptr;
  MmaFn mma_f16_f32 = nullptr;
  MmaFn mma_bf16_f32 = nullptr;
  MmaFn mma_f16_f16 = nullptr;
  WgmmaFn wgmma = nullptr;
};

const LaneOps& scalar_ops();         // one value; no broadcast, no mma
const LaneOps& portable_lane_ops();  // 32 lanes, any x86-64
const LaneOps* avx2_lane_ops();      // 32 lanes with AVX2, FMA and F16C; null where this build has none of it
const LaneOps& lane_ops();           // the best that the running machine can execute

}  // namespace tessera::sim
