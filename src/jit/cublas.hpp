// cuBLAS, opened at run time where it is installed: the card's reference for matrix products.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tessera/core/dtype.hpp"

namespace tessera::jit {

// True if libcublas can be opened (TESSERA_CUBLAS names another library); the reason otherwise.
bool cublas_available(std::string* reason = nullptr);

// A cuBLAS handle of one device. Not for use by several threads at once.
class Cublas {
 public:
  // Throws an unsupported Error, which says what was looked for and where, without the library.
  explicit Cublas(int device);
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  // C[m, n] = A[m, k] * B[n, k]^T, all row-major and dense, of one type (f16 or bf16), accumulated in float32 on the
  // tensor cores with the library's own choice of algorithm. Asynchronous on `stream` (a CUstream). `float_result`: C
  // is float32, so that no rounding hides what was summed.
  void gemm(DType type, std::int64_t m, std::int64_t n, std::int64_t k, const void* a, const void* b, void* c,
            void* stream = nullptr, bool float_result = false);
  std::string version() const;  // e.g. "cuBLAS 13.0.2"

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::jit
