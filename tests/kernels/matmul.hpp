// V0 and its reference for the tests: operands between NaN guards, an exact bound on the result.
#pragma once

#include <limits>

#include "hopper_matmul/matmul_v0.hpp"
#include "sim_runner.hpp"

namespace tessera::testing {

using hopper_matmul::MatmulConfig;
using hopper_matmul::MatmulTma;

// A matrix with NaN directly before and behind it in memory.
template <class T>
struct Guarded {
  static constexpr std::size_t guard = 64;  // elements; keeps 16-byte alignment
  std::vector<T> memory;
  std::size_t size;
  explicit Guarded(std::size_t n) : memory(n + 2 * guard, T(std::numeric_limits<float>::quiet_NaN())), size(n) {}
  T* data() { return memory.data() + guard; }
  T& operator[](std::size_t i) { return data()[i]; }
  sim::Argument argument() {
    sim::Argument a;
    a.data = reinterpret_cast<std::byte*>(data());
    a.bytes = size * sizeof(T);
    return a;
  }
};

template <class T>
struct MatmulCase {
  std::int64_t m, n, k;
  Guarded<T> a, b, c;
  std::vector<double> sums, magnitudes;  // of every element, made when first asked for
  MatmulCase(std::int64_t m_, std::int64_t n_, std::int64_t k_, unsigned seed = 7)
      : m(m_),
        n(n_),
        k(k_),
        a(static_cast<std::size_t>(m_ * k_)),
        b(static_cast<std::size_t>(n_ * k_)),
        c(static_cast<std::size_t>(m_ * n_)) {
    std::mt19937 random(seed);
    std::normal_distribution<float> distribution;
    for (std::size_t i = 0; i < a.size; ++i) a[i] = T(distribution(random));
    for (std::size_t i = 0; i < b.size; ++i) b[i] = T(distribution(random));
  }
  std::vector<sim::Argument> arguments() { return {testing::argument(m), a.argument(), b.argument(), c.argument()}; }

  // Elements that differ from the product in double by more than the rounding of the output format and the bound of
  // accumulation in fp32: k u / (1 - k u) times the sum of |a||b| (Higham, Accuracy and Stability, 3.1), u = 2^-24.
  std::int64_t wrong_elements() {
    if (sums.empty()) compute_reference();
    const double u = std::ldexp(1.0, -24);
    const double gamma = static_cast<double>(k) * u / (1 - static_cast<double>(k) * u);
    const double half_ulp = std::ldexp(1.0, std::is_same_v<T, float16> ? -11 : -8);
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < c.size; ++i) {
      const double sum = sums[i];
      const double got = static_cast<double>(static_cast<float>(c[i]));
      const double bound = half_ulp * std::fabs(sum) + std::ldexp(1.0, -25) + (1 + half_ulp) * gamma * magnitudes[i];
      const bool finite = std::isfinite(sum);
      if (finite ? !(std::fabs(got - sum) <= bound) : (std::isfinite(got) || std::isnan(got) != std::isnan(sum)))
        ++wrong;
    }
    return wrong;
  }
  // Results of a launch before do not count for the next one.
  void poison() {
    for (std::size_t i = 0; i < c.size; ++i) c[i] = T(std::numeric_limits<float>::quiet_NaN());
  }
  bool guards_intact() {
    bool intact = true;
    for (Guarded<T>* g : {&a, &b, &c}) {
      for (std::size_t i = 0; i < Guarded<T>::guard; ++i) {
        intact = intact && std::isnan(static_cast<float>(g->memory[i])) &&
                 std::isnan(static_cast<float>(g->memory[g->memory.size() - 1 - i]));
      }
    }
    return intact;
  }

 private:
  void compute_reference() {
    std::vector<double> left, right;
    for (std::size_t i = 0; i < a.size; ++i) left.push_back(static_cast<double>(static_cast<float>(a[i])));
    for (std::size_t i = 0; i < b.size; ++i) right.push_back(static_cast<double>(static_cast<float>(b[i])));
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0, magnitude = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          const double product = left[static_cast<std::size_t>(i * k + l)] * right[static_cast<std::size_t>(j * k + l)];
          sum += product;
          magnitude += std::fabs(product);
        }
        sums.push_back(sum);
        magnitudes.push_back(magnitude);
      }
    }
  }
};

// The candidates of V0's space that fit a thread's registers, found by lowering all of them.
template <class T>
std::vector<MatmulConfig> surviving_candidates() {
  std::vector<MatmulConfig> survivors;
  for (const MatmulConfig& config : MatmulTma<T>::space().configs()) {
    try {
      if (build(MatmulTma<T>(config), {0, 128, 128, 0, 0, 0}).register_estimate <= 255) survivors.push_back(config);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::user) << e.what();
    }
  }
  return survivors;
}

}  // namespace tessera::testing
