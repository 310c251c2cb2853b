#include "common/cublas_reference.hpp"

#include <fmt/format.h>

#include <cmath>

#include "jit/cublas.hpp"
#include "tessera/core/error.hpp"
#include "tessera/runtime/buffer.hpp"

namespace examples {
namespace {

using tessera::Buffer;
using tessera::Device;

template <class T>
Buffer<T> upload(const Device& device, std::span<const float> values, std::int64_t rows, std::int64_t columns,
                 bool magnitudes) {
  std::vector<T> elements;
  elements.reserve(values.size());
  for (const float value : values) elements.push_back(T(magnitudes ? std::fabs(value) : value));
  return device.from_host(elements, {rows, columns});
}

template <class T>
std::vector<float> multiply(const Device& device, tessera::jit::Cublas& cublas, std::span<const float> a,
                            std::span<const float> b, const Reference& sizes, bool magnitudes) {
  const auto left = upload<T>(device, a, sizes.m, sizes.k, magnitudes);
  const auto right = upload<T>(device, b, sizes.n, sizes.k, magnitudes);
  const auto result = device.empty<float>({sizes.m, sizes.n});
  cublas.gemm(tessera::dtype_of<T>, sizes.m, sizes.n, sizes.k, left.data(), right.data(), result.data(), nullptr, true);
  device.synchronize();
  return result.to_host();
}

template <class T>
Reference compute(int ordinal, std::span<const float> a, std::span<const float> b, std::int64_t m, std::int64_t n,
                  std::int64_t k) {
  const Device device = Device::cuda(ordinal);
  tessera::jit::Cublas cublas(ordinal);
  Reference result{m, n, k, {}, {}, accumulation_bound(k), cublas.version() + ", fp32 results"};
  result.value = multiply<T>(device, cublas, a, b, result, false);
  result.magnitude = multiply<T>(device, cublas, a, b, result, true);
  // The magnitudes were summed with the same error: what came out is at least (1 - gamma) of them.
  const auto factor = static_cast<float>((1.0 + 0x1p-23) / (1.0 - result.error));
  for (float& magnitude : result.magnitude) magnitude *= factor;
  return result;
}

// cuBLAS is trusted only as far as fp64 agrees with it.
void check_rows(const Reference& reference, std::span<const float> a, std::span<const float> b) {
  const auto rows = sample_rows(reference.m, 32);
  const Reference exact = reference_rows(a, b, reference.n, reference.k, rows);
  const auto sampled = take_rows<float>(reference.value, reference.n, rows);
  const Comparison comparison = compare<float>(sampled, exact);
  if (comparison.wrong_elements == 0) return;
  throw tessera::Error(tessera::ErrorKind::device, {},
                       fmt::format("the reference itself ({}) is wrong in {} elements of {} sampled rows: {}",
                                   reference.name, comparison.wrong_elements, rows.size(), comparison.first_wrong));
}

}  // namespace

Reference cublas_reference(int device, tessera::DType type, std::span<const float> a, std::span<const float> b,
                           std::int64_t m, std::int64_t n, std::int64_t k) {
  if (m == 0 || n == 0 || k == 0) return reference_matmul(a, b, m, n, k);
  Reference result = type == tessera::DType::f16 ? compute<tessera::float16>(device, a, b, m, n, k)
                                                 : compute<tessera::bfloat16>(device, a, b, m, n, k);
  check_rows(result, a, b);
  result.name += ", checked in fp64 on sampled rows";
  return result;
}

}  // namespace examples
