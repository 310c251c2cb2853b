// The reference on a GPU: cuBLAS with float32 results, itself checked against fp64 on sampled rows.
#pragma once

#include "common/check.hpp"

namespace examples {

// a·bᵀ for m×k and n×k matrices of `type` (f16 or bf16) on the host. `device` is a GPU's ordinal. Throws tessera::Error
// without cuBLAS, and a device Error if its result is wrong in one of the sampled rows.
Reference cublas_reference(int device, tessera::DType type, std::span<const float> a, std::span<const float> b,
                           std::int64_t m, std::int64_t n, std::int64_t k);

}  // namespace examples
