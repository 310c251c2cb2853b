#include "jit/cublas.hpp"

#include <fmt/format.h>

#include "jit/cublas_values.hpp"
#include "jit/driver_api.hpp"
#include "jit/dynamic_library.hpp"
#include "tessera/core/error.hpp"

namespace tessera::jit {
namespace {

// cublasOperation_t and cublasGemmAlgo_t.
constexpr int op_none = 0, algorithm_default = -1;

struct CublasLibrary {
  DynamicLibrary library{{"TESSERA_CUBLAS", {"libcublas.so.13", "libcublas.so.12", "libcublas.so"}, true}};
  int (*create)(void**) = nullptr;
  int (*destroy)(void*) = nullptr;
  int (*version)(void*, int*) = nullptr;
  int (*set_stream)(void*, void*) = nullptr;
  int (*gemm)(void*, int, int, std::int64_t, std::int64_t, std::int64_t, const void*, const void*, int, std::int64_t,
              const void*, int, std::int64_t, const void*, void*, int, std::int64_t, int, int) = nullptr;
  const char* (*status)(int) = nullptr;

  CublasLibrary() {
    library.bind(create, "cublasCreate_v2");
    library.bind(destroy, "cublasDestroy_v2");
    library.bind(version, "cublasGetVersion_v2");
    library.bind(set_stream, "cublasSetStream_v2");
    library.bind(gemm, "cublasGemmEx_64");
    library.bind(status, "cublasGetStatusString");
  }

  std::string why_not() const { return library.why_not("cuBLAS"); }
};

const CublasLibrary& cublas() {
  static const CublasLibrary instance;
  return instance;
}

void check(int code, const char* call) {
  if (code == 0) return;
  throw Error(ErrorKind::device, {}, fmt::format("{} failed: {}", call, cublas().status(code)));
}

}  // namespace

struct Cublas::Impl {
  int device;
  void* handle = nullptr;
};

bool cublas_available(std::string* reason) {
  const std::string why = cublas().why_not();
  if (!why.empty() && reason != nullptr) *reason = why;
  return why.empty();
}

Cublas::Cublas(int device) : impl_(std::make_unique<Impl>(Impl{device})) {
  require_device(device);
  const std::string why = cublas().why_not();
  if (!why.empty()) {
    throw Error(ErrorKind::unsupported, {}, why,
                "install the CUDA toolkit or set TESSERA_CUBLAS to the path of libcublas.so");
  }
  const ContextScope scope(device);
  check(cublas().create(&impl_->handle), "cublasCreate");
}

Cublas::~Cublas() {
  try {
    const ContextScope scope(impl_->device);
    if (impl_->handle != nullptr) static_cast<void>(cublas().destroy(impl_->handle));
  } catch (const Error&) {  // the context is lost, and the handle with it
  }
}

void Cublas::gemm(DType type, std::int64_t m, std::int64_t n, std::int64_t k, const void* a, const void* b, void* c,
                  void* stream, bool float_result) {
  if (type != DType::f16 && type != DType::bf16) {
    throw Error(ErrorKind::user, {}, fmt::format("the cuBLAS product of {} is not provided", name_of(type)),
                "use float16 or bfloat16");
  }
  const ContextScope scope(impl_->device);
  const int data = type == DType::f16 ? real_16f : real_16bf;
  const float one = 1.0F, zero = 0.0F;
  check(cublas().set_stream(impl_->handle, stream), "cublasSetStream");
  // cuBLAS is column-major: what lies there as C is C^T[n, m] = (B^T)^T * A^T with leading dimensions k, k and n.
  check(cublas().gemm(impl_->handle, op_transpose, op_none, n, m, k, &one, b, data, k, a, data, k, &zero, c,
                      float_result ? real_32f : data, n, compute_32f, algorithm_default),
        "cublasGemmEx");
}

std::string Cublas::version() const {
  int number = 0;
  check(cublas().version(impl_->handle, &number), "cublasGetVersion");
  return fmt::format("cuBLAS {}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

}  // namespace tessera::jit
