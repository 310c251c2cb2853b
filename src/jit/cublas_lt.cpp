#include "jit/cublas_lt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "jit/cublas_values.hpp"
#include "jit/driver.hpp"
#include "jit/driver_api.hpp"
#include "jit/dynamic_library.hpp"
#include "tessera/core/error.hpp"

namespace tessera::jit {
namespace {

// Values of cublasLt.h.
enum MatmulAttribute { transpose_a = 3, transpose_b = 4, scale_a = 17, scale_b = 18, fast_accumulation = 25 };
constexpr int preference_workspace = 1;
constexpr std::size_t workspace_bytes = std::size_t{64} << 20;

// cublasLtMatmulHeuristicResult_t.
struct Proposal {
  std::array<std::uint64_t, 8> algorithm;
  std::size_t workspace;
  int state;
  float waves;
  std::array<int, 4> reserved;
};
static_assert(sizeof(Proposal) == 96);

struct CublasLtLibrary {
  DynamicLibrary library{{"TESSERA_CUBLASLT", {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}, true}};
  int (*create)(void**) = nullptr;
  int (*destroy)(void*) = nullptr;
  std::size_t (*version)() = nullptr;
  int (*desc_create)(void**, int, int) = nullptr;
  int (*desc_destroy)(void*) = nullptr;
  int (*desc_set)(void*, int, const void*, std::size_t) = nullptr;
  int (*layout_create)(void**, int, std::uint64_t, std::uint64_t, std::int64_t) = nullptr;
  int (*layout_destroy)(void*) = nullptr;
  int (*preference_create)(void**) = nullptr;
  int (*preference_destroy)(void*) = nullptr;
  int (*preference_set)(void*, int, const void*, std::size_t) = nullptr;
  int (*heuristic)(void*, void*, void*, void*, void*, void*, void*, int, Proposal*, int*) = nullptr;
  int (*matmul)(void*, void*, const void*, const void*, void*, const void*, void*, const void*, const void*, void*,
                void*, void*, const void*, void*, std::size_t, void*) = nullptr;

  CublasLtLibrary() {
    library.bind(create, "cublasLtCreate");
    library.bind(destroy, "cublasLtDestroy");
    library.bind(version, "cublasLtGetVersion");
    library.bind(desc_create, "cublasLtMatmulDescCreate");
    library.bind(desc_destroy, "cublasLtMatmulDescDestroy");
    library.bind(desc_set, "cublasLtMatmulDescSetAttribute");
    library.bind(layout_create, "cublasLtMatrixLayoutCreate");
    library.bind(layout_destroy, "cublasLtMatrixLayoutDestroy");
    library.bind(preference_create, "cublasLtMatmulPreferenceCreate");
    library.bind(preference_destroy, "cublasLtMatmulPreferenceDestroy");
    library.bind(preference_set, "cublasLtMatmulPreferenceSetAttribute");
    library.bind(heuristic, "cublasLtMatmulAlgoGetHeuristic");
    library.bind(matmul, "cublasLtMatmul");
  }

  std::string why_not() const { return library.why_not("cublasLt"); }
};

const CublasLtLibrary& lt() {
  static const CublasLtLibrary instance;
  return instance;
}

void check_lt(int code, const char* call) {
  if (code == 0) return;
  throw Error(ErrorKind::device, {}, fmt::format("{} failed with status {}", call, code));
}

int data_type(DType type) {
  switch (type) {
    case DType::f16: return real_16f;
    case DType::bf16: return real_16bf;
    case DType::f32: return real_32f;
    case DType::f8e4m3: return real_8f_e4m3;
    default:
      throw Error(ErrorKind::user, {}, fmt::format("the cublasLt product of {} is not provided", name_of(type)),
                  "use float16, bfloat16 or float8_e4m3");
  }
}

}  // namespace

struct CublasLtMatmul::Impl {
  int device = 0;
  void *handle = nullptr, *desc = nullptr, *a = nullptr, *b = nullptr, *c = nullptr;
  void *workspace = nullptr, *scale = nullptr;
  std::vector<Proposal> proposals;

  // Column-major: what lies there as C is C^T[n, m] = (B^T)^T * A^T with leading dimensions k, k and n.
  void describe(DType type, DType result, std::int64_t m, std::int64_t n, std::int64_t k) {
    const auto rows = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
    check_lt(lt().create(&handle), "cublasLtCreate");
    check_lt(lt().desc_create(&desc, compute_32f, real_32f), "cublasLtMatmulDescCreate");
    const auto set = [&](int attribute, const auto& value) {
      check_lt(lt().desc_set(desc, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
    };
    set(transpose_a, op_transpose);
    set(transpose_b, 0);
    if (is_float8(type)) {
      scale = device_alloc(device, sizeof(float));
      const float one = 1.0F;
      copy_to_device(device, scale, &one, sizeof one);
      set(scale_a, scale);
      set(scale_b, scale);
      set(fast_accumulation, std::int8_t{1});
    }
    check_lt(lt().layout_create(&a, data_type(type), rows(k), rows(m), k), "cublasLtMatrixLayoutCreate");
    check_lt(lt().layout_create(&b, data_type(type), rows(k), rows(n), k), "cublasLtMatrixLayoutCreate");
    check_lt(lt().layout_create(&c, data_type(result), rows(n), rows(m), n), "cublasLtMatrixLayoutCreate");
  }

  void propose(int algorithms) {
    void* preference = nullptr;
    check_lt(lt().preference_create(&preference), "cublasLtMatmulPreferenceCreate");
    check_lt(lt().preference_set(preference, preference_workspace, &workspace_bytes, sizeof workspace_bytes),
             "cublasLtMatmulPreferenceSetAttribute");
    proposals.resize(static_cast<std::size_t>(algorithms));
    int found = 0;
    const int status = lt().heuristic(handle, desc, b, a, c, c, preference, algorithms, proposals.data(), &found);
    static_cast<void>(lt().preference_destroy(preference));
    check_lt(status, "cublasLtMatmulAlgoGetHeuristic");
    proposals.resize(static_cast<std::size_t>(found));
    std::erase_if(proposals, [](const Proposal& p) { return p.state != 0; });
    if (proposals.empty()) throw Error(ErrorKind::device, {}, "cublasLt has no algorithm for this product");
  }

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    try {
      release();
    } catch (const Error&) {  // the context is lost, and everything in it
    }
  }

  void release() {
    const ContextScope scope(device);
    for (void* layout : {a, b, c}) {
      if (layout != nullptr) static_cast<void>(lt().layout_destroy(layout));
    }
    if (desc != nullptr) static_cast<void>(lt().desc_destroy(desc));
    if (handle != nullptr) static_cast<void>(lt().destroy(handle));
    for (void* memory : {workspace, scale}) {
      if (memory != nullptr) device_free(device, memory);
    }
  }
};

bool cublas_lt_available(std::string* reason) {
  const std::string why = lt().why_not();
  if (!why.empty() && reason != nullptr) *reason = why;
  return why.empty();
}

CublasLtMatmul::CublasLtMatmul(int device, DType type, DType result, std::int64_t m, std::int64_t n, std::int64_t k,
                               int algorithms)
    : impl_(std::make_unique<Impl>()) {
  require_device(device);
  const std::string why = lt().why_not();
  if (!why.empty()) {
    throw Error(ErrorKind::unsupported, {}, why,
                "install the CUDA toolkit or set TESSERA_CUBLASLT to the path of libcublasLt.so");
  }
  impl_->device = device;
  const ContextScope scope(device);
  impl_->workspace = device_alloc(device, workspace_bytes);
  impl_->describe(type, result, m, n, k);
  impl_->propose(algorithms);
}

CublasLtMatmul::~CublasLtMatmul() = default;

int CublasLtMatmul::algorithms() const { return static_cast<int>(impl_->proposals.size()); }

void CublasLtMatmul::run(int algorithm, const void* a, const void* b, void* c, void* stream) {
  const ContextScope scope(impl_->device);
  const float one = 1.0F, zero = 0.0F;
  const Proposal& p = impl_->proposals.at(static_cast<std::size_t>(algorithm));
  check_lt(lt().matmul(impl_->handle, impl_->desc, &one, b, impl_->b, a, impl_->a, &zero, c, impl_->c, c, impl_->c,
                       p.algorithm.data(), impl_->workspace, workspace_bytes, stream),
           "cublasLtMatmul");
}

std::string CublasLtMatmul::version() const {
  const std::size_t number = lt().version();
  return fmt::format("cublasLt {}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

}  // namespace tessera::jit
