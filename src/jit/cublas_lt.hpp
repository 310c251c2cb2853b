// cublasLt, opened at run time where it is installed: matrix products by any of the algorithms that its heuristic
// proposes, so that the best of them can be found by measuring.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tessera/core/dtype.hpp"

namespace tessera::jit {

// True if libcublasLt can be opened (TESSERA_CUBLASLT names another library); the reason otherwise.
bool cublas_lt_available(std::string* reason = nullptr);

// C[m, n] = A[m, k] * B[n, k]^T, row-major and dense, accumulated in float32. A and B are of `type` (f16, bf16 or
// f8e4m3, the latter with scales of 1 and fast accumulation), C is of `result` (f16, bf16 or f32).
class CublasLtMatmul {
 public:
  // Asks for up to `algorithms` proposals with a workspace of 64 MiB. Throws an unsupported Error without the library
  // and a device Error where it has no algorithm.
  CublasLtMatmul(int device, DType type, DType result, std::int64_t m, std::int64_t n, std::int64_t k,
                 int algorithms = 16);
  ~CublasLtMatmul();
  CublasLtMatmul(const CublasLtMatmul&) = delete;
  CublasLtMatmul& operator=(const CublasLtMatmul&) = delete;

  int algorithms() const;  // proposed, best first by the library's own estimate
  void run(int algorithm, const void* a, const void* b, void* c, void* stream = nullptr);
  std::string version() const;  // e.g. "cublasLt 13.0.2"

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::jit
