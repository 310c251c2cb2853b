#include "common/check.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

namespace examples {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr double unit_of_truncation = 0x1p-23;

double gamma_of(double steps, double unit) { return steps * unit / (1.0 - steps * unit); }

// Not below `value`, as a float.
float round_up(double value) {
  const auto nearest = static_cast<float>(value);
  return static_cast<double>(nearest) < value ? std::nextafter(nearest, std::numeric_limits<float>::infinity())
                                              : nearest;
}
float round_down(double value) { return -round_up(-value); }

Matrix to_matrix(std::span<const float> values, std::int64_t rows, std::int64_t columns) {
  return Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(values.data(), rows,
                                                                                                 columns)
      .cast<double>();
}

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

// Eigen's kernels may skip or reorder what has a NaN or an infinity in it; such inputs go through plain loops.
Matrix product(const Matrix& a, const Matrix& b, bool finite) {
  if (finite) return a * b.transpose();
  Matrix result(a.rows(), b.rows());
  for (Eigen::Index i = 0; i < a.rows(); ++i) {
    for (Eigen::Index j = 0; j < b.rows(); ++j) {
      double sum = 0;
      for (Eigen::Index l = 0; l < a.cols(); ++l) sum += a(i, l) * b(j, l);
      result(i, j) = sum;
    }
  }
  return result;
}

template <class T>
bool is_right(T out, double reference, double allowed) {
  const auto value = static_cast<float>(out);
  if (std::isnan(reference)) return std::isnan(value);
  if (std::isinf(reference)) return static_cast<double>(value) == reference;
  const auto low = static_cast<float>(T(round_down(reference - allowed)));
  const auto high = static_cast<float>(T(round_up(reference + allowed)));
  return low <= value && value <= high;  // false for NaN
}

}  // namespace

double accumulation_bound(std::int64_t k) {
  return gamma_of(static_cast<double>(k) + std::ceil(static_cast<double>(k) / 8.0), unit_of_truncation);
}

Reference reference_rows(std::span<const float> a, std::span<const float> b, std::int64_t n, std::int64_t k,
                         std::span<const std::int64_t> rows) {
  Reference result;
  result.m = static_cast<std::int64_t>(rows.size());
  result.n = n;
  result.k = k;
  result.name = "Eigen, fp64";
  // Sums of k doubles, then one rounding to float.
  result.error = gamma_of(static_cast<double>(k) + 1.0, 0x1p-53) + 0x1p-24;
  result.value.resize(static_cast<std::size_t>(result.m * n));
  result.magnitude.resize(result.value.size());
  if (result.value.empty()) return result;
  const Matrix right = to_matrix(b, n, k);
  const Matrix right_magnitude = right.cwiseAbs();
  const bool right_finite = all_finite(b);
  constexpr std::int64_t block = 64;  // keeps the fp64 copies small
  for (std::int64_t begin = 0; begin < result.m; begin += block) {
    const std::int64_t count = std::min(block, result.m - begin);
    Matrix left(count, k);
    bool finite = right_finite;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto row = a.subspan(static_cast<std::size_t>(rows[static_cast<std::size_t>(begin + i)] * k),
                                 static_cast<std::size_t>(k));
      finite = finite && all_finite(row);
      for (std::int64_t l = 0; l < k; ++l) left(i, l) = static_cast<double>(row[static_cast<std::size_t>(l)]);
    }
    const Matrix value = product(left, right, finite);
    const Matrix magnitude = product(left.cwiseAbs(), right_magnitude, finite);
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const auto at = static_cast<std::size_t>((begin + i) * n + j);
        result.value[at] = static_cast<float>(value(i, j));
        result.magnitude[at] = round_up(magnitude(i, j) * (1.0 + 2.0 * result.error));
      }
    }
  }
  return result;
}

Reference reference_matmul(std::span<const float> a, std::span<const float> b, std::int64_t m, std::int64_t n,
                           std::int64_t k) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(m));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i);
  return reference_rows(a, b, n, k, rows);
}

template <class T>
Comparison compare(std::span<const T> out, const Reference& reference) {
  Comparison result;
  const double share = accumulation_bound(reference.k) + reference.error;
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < reference.value.size(); ++i) {
    const auto expected = static_cast<double>(reference.value[i]);
    const double allowed = share * static_cast<double>(reference.magnitude[i]);
    const auto found = static_cast<double>(static_cast<float>(out[i]));
    const bool right = is_right(out[i], expected, allowed);
    if (!right && result.wrong_elements++ == 0) {
      const auto at = static_cast<std::int64_t>(i);
      result.first_wrong =
          fmt::format("[{}, {}] is {:.9g}; the reference ({}) has {:.9g}, and {:.3g} off is allowed before rounding",
                      at / reference.n, at % reference.n, found, reference.name, expected, allowed);
    }
    // What rightly is not finite has no distance.
    if (!std::isfinite(expected) || (right && !std::isfinite(found))) continue;
    difference += (found - expected) * (found - expected);
    norm += expected * expected;
  }
  // A result that has to be zero everywhere (k = 0) has no scale to be measured by.
  result.relative_error = norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
  return result;
}

template Comparison compare(std::span<const tessera::float16>, const Reference&);
template Comparison compare(std::span<const tessera::bfloat16>, const Reference&);
template Comparison compare(std::span<const float>, const Reference&);

std::vector<std::int64_t> sample_rows(std::int64_t m, std::int64_t count) {
  std::vector<std::int64_t> rows;
  const std::int64_t wanted = std::min(m, count);
  for (std::int64_t i = 0; i < wanted; ++i) rows.push_back(wanted == 1 ? 0 : i * (m - 1) / (wanted - 1));
  return rows;
}

Comparison worse(const Comparison& first, const Comparison& second) {
  Comparison result = first;
  result.wrong_elements = std::max(first.wrong_elements, second.wrong_elements);
  if (!(second.relative_error <= first.relative_error)) result.relative_error = second.relative_error;
  if (result.first_wrong.empty()) result.first_wrong = second.first_wrong;
  return result;
}

}  // namespace examples
