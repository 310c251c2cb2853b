// The fragments of the warp-wide matrix instructions as register layouts over 32 threads.
#pragma once

#include "layout/register_layout.hpp"

namespace tessera::layout {

// One 8-row matrix of ldmatrix / stmatrix (PTX ISA, ldmatrix fragment): 8 rows of 16 bytes, lane L holds the 4 bytes
// L % 4 of row L / 4. Shape [8, 16 / element_bytes]; element_bytes is 1, 2 or 4, else an internal tessera::Error.
RegisterLayout ldmatrix_atom(int element_bytes);
// The same with .trans for 2-byte elements, shape [8, 8]: lane L holds rows 2 * (L % 4) and the next of column L / 4.
RegisterLayout ldmatrix_trans_atom();

// d[m, n] += a[m, k] * b[k, n] by one warp.
struct MmaAtom {
  int m = 0, n = 0, k = 0;
  RegisterLayout a, b, d;  // shapes [m, k], [k, n], [m, n]
};
// mma.sync.m16n8k16 with 16-bit operands (PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type").
MmaAtom mma_m16n8k16();

}  // namespace tessera::layout
