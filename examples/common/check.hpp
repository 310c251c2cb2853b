// The independent check of a matrix product, and the measure of what counts as wrong.
//
// The bound. Let e be the exact value of sum_k a·b. Products of two 16-bit floats are exact in fp32. A tensor core adds
// products in blocks: the addends of a block and the accumulator are aligned to the largest of them and cut off below
// 24 bits, then the sum is cut to 24 bits. With u = 2^-23, a block of p products adds at most (p + 1)·u times the
// magnitudes that entered it: one cut for each addend but the largest, one for the sum. Sums in plain fp32, in any
// order, do better. Over all blocks of at least 8 products that makes s = k + ceil(k / 8) cuts, and by the usual
// argument
//     |computed - e| <= gamma·S,   gamma = s·u / (1 - s·u),   S = sum_k |a|·|b|.
// Rounding to the output type is monotone, so a right output lies between the rounded ends of [e - gamma·S, e +
// gamma·S]. That needs no constant for the output's own rounding, and an overflow to infinity is judged like any other
// value.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/core/dtype.hpp"

namespace examples {

// a·bᵀ for a of m×k and b of n×k, with what is needed to judge another result.
struct Reference {
  std::int64_t m = 0, n = 0, k = 0;
  std::vector<float> value;      // m×n
  std::vector<float> magnitude;  // m×n, at least |a|·|b|ᵀ
  double error = 0;              // `value` is off by at most this share of `magnitude`
  std::string name;              // who computed it
};

// Computes in fp64 with Eigen. NaN and infinity go through it as IEEE 754 says.
Reference reference_matmul(std::span<const float> a, std::span<const float> b, std::int64_t m, std::int64_t n,
                           std::int64_t k);
// The same for some of the rows only: row i of the result belongs to row rows[i] of a.
Reference reference_rows(std::span<const float> a, std::span<const float> b, std::int64_t n, std::int64_t k,
                         std::span<const std::int64_t> rows);

// gamma of the bound above.
double accumulation_bound(std::int64_t k);

struct Comparison {
  double relative_error = 0;  // ||out - ref|| / ||ref|| in the Frobenius norm; NaN if out has a NaN that ref has not
  std::int64_t wrong_elements = 0;
  std::string first_wrong;  // where the first wrong element is, what stands there and what may
};

// `out` is m×n in the output type. An element is wrong if it is not finite where the reference is, or the other way
// round, or lies outside the bound above.
template <class T>
Comparison compare(std::span<const T> out, const Reference& reference);
extern template Comparison compare(std::span<const tessera::float16>, const Reference&);
extern template Comparison compare(std::span<const tessera::bfloat16>, const Reference&);
extern template Comparison compare(std::span<const float>, const Reference&);

// The larger error and the larger count of two comparisons: of two launches, or of all rows and of sampled ones.
Comparison worse(const Comparison& first, const Comparison& second);

// At most `count` different rows of m, spread evenly, the first and the last among them.
std::vector<std::int64_t> sample_rows(std::int64_t m, std::int64_t count);

// The rows `rows` of an m×n matrix.
template <class T>
std::vector<T> take_rows(std::span<const T> matrix, std::int64_t n, std::span<const std::int64_t> rows) {
  std::vector<T> result;
  for (const std::int64_t row : rows) {
    const auto begin = matrix.begin() + row * n;
    result.insert(result.end(), begin, begin + n);
  }
  return result;
}

template <class T>
std::vector<float> to_float(std::span<const T> values) {
  std::vector<float> result;
  result.reserve(values.size());
  for (const T& value : values) result.push_back(static_cast<float>(value));
  return result;
}

}  // namespace examples
