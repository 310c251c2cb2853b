// Values that cuBLAS and cublasLt share: cublasOperation_t, cudaDataType and cublasComputeType_t of cublas_api.h and
// library_types.h.
#pragma once

namespace tessera::jit {

constexpr int op_transpose = 1;
constexpr int real_32f = 0, real_16f = 2, real_16bf = 14, real_8f_e4m3 = 28;
constexpr int compute_32f = 68;

}  // namespace tessera::jit
