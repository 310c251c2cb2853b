// A matmul with matrices of any layout between NaN guards, an independent result in double, and its bound.
#pragma once

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/matmul.hpp"

namespace tessera::testing {

// How a matrix lies in its memory.
enum class Stored { rows, columns, padded_rows, padded_columns, odd_rows, odd_columns, spread, shifted };
inline const char* name_of_stored(Stored s) {
  static constexpr const char* names[] = {"rows",     "columns",     "padded_rows", "padded_columns",
                                          "odd_rows", "odd_columns", "spread",      "shifted"};
  return names[static_cast<int>(s)];
}

// Memory full of NaN but for the elements of one matrix.
template <class T>
class Stage {
 public:
  Stage(std::int64_t rows, std::int64_t columns, Stored stored) : rows_(rows), columns_(columns) {
    const auto up = [](std::int64_t x, std::int64_t unit) { return (x + unit - 1) / unit * unit; };
    const std::int64_t unit = 16 / static_cast<std::int64_t>(sizeof(T));
    switch (stored) {
      case Stored::rows: row_stride_ = columns, column_stride_ = 1; break;
      case Stored::columns: row_stride_ = 1, column_stride_ = rows; break;
      case Stored::padded_rows: row_stride_ = up(columns, unit) + unit, column_stride_ = 1; break;
      case Stored::padded_columns: row_stride_ = 1, column_stride_ = up(rows, unit) + 2 * unit; break;
      case Stored::odd_rows: row_stride_ = columns / 2 * 2 + 3, column_stride_ = 1; break;
      case Stored::odd_columns: row_stride_ = 1, column_stride_ = rows / 2 * 2 + 5; break;
      case Stored::spread: row_stride_ = 2 * columns + 3, column_stride_ = 2; break;
      case Stored::shifted: row_stride_ = up(columns, unit), column_stride_ = 1, shift_ = 1; break;
    }
    const std::int64_t reach =
        rows == 0 || columns == 0 ? 0 : (rows - 1) * row_stride_ + (columns - 1) * column_stride_ + 1;
    const auto size = static_cast<std::size_t>(reach + 2 * guard);
    memory_.assign(size + 64, T(std::numeric_limits<float>::quiet_NaN()));
    used_.assign(memory_.size(), false);
    const auto misfit = reinterpret_cast<std::uintptr_t>(memory_.data()) % 16 / sizeof(T);
    first_ = guard + (misfit == 0 ? 0 : unit - static_cast<std::int64_t>(misfit)) + shift_;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) used_[place(i, j)] = true;
    }
  }

  T& at(std::int64_t i, std::int64_t j) { return memory_[place(i, j)]; }
  double value(std::int64_t i, std::int64_t j) const {
    return static_cast<double>(static_cast<float>(memory_[place(i, j)]));
  }
  Matrix<T> matrix() { return {memory_.data() + first_, rows_, columns_, row_stride_, column_stride_}; }
  void fill(unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (std::int64_t i = 0; i < rows_; ++i) {
      for (std::int64_t j = 0; j < columns_; ++j) at(i, j) = T(normal(random));
    }
  }
  // Nothing was written but elements of the matrix.
  bool intact() const {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if (!used_[i] && !std::isnan(static_cast<float>(memory_[i]))) return false;
    }
    return true;
  }

 private:
  static constexpr std::int64_t guard = 64;
  std::size_t place(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(first_ + i * row_stride_ + j * column_stride_);
  }
  std::int64_t rows_, columns_, row_stride_ = 0, column_stride_ = 0, shift_ = 0, first_ = 0;
  std::vector<T> memory_;
  std::vector<bool> used_;
};

struct Layouts {
  Stored a = Stored::rows, b = Stored::rows, c = Stored::rows;
};

inline double activated(double x, Activation activation) {
  switch (activation) {
    case Activation::none: return x;
    case Activation::relu: return std::max(x, 0.0);
    case Activation::gelu:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    case Activation::silu: return x / (1 + std::exp(-x));
  }
  return x;
}

template <class T>
constexpr double half_ulp() {
  if (std::is_same_v<T, float16>) return std::ldexp(1.0, -11);
  return std::ldexp(1.0, std::is_same_v<T, bfloat16> ? -8 : -24);
}

template <class In, class Out>
struct MatmulCase {
  std::int64_t m, n, k;
  Stage<In> a, b;
  Stage<Out> c, old_c;
  std::vector<Out> bias;

  MatmulCase(std::int64_t m_, std::int64_t n_, std::int64_t k_, Layouts layouts = {}, unsigned seed = 1)
      : m(m_), n(n_), k(k_), a(m, k, layouts.a), b(n, k, layouts.b), c(m, n, layouts.c), old_c(m, n, layouts.c) {
    a.fill(seed);
    b.fill(seed + 1);
    std::mt19937 random(seed + 2);
    std::normal_distribution<float> normal;
    for (std::int64_t j = 0; j < n; ++j) bias.push_back(Out(normal(random)));
  }

  void run(const Device& device, MatmulOptions options = {}, bool with_bias = false) {
    options.device = device;
    if (with_bias) options.bias = bias.data();
    if (options.beta != 0) c.fill(17);
    old_c = c;
    matmul(a.matrix(), b.matrix(), c.matrix(), options);
    judge(options, with_bias);
  }

  // The same by something else than matmul(): launch(a, b, c, options).
  template <class F>
  void run_by(F launch, MatmulOptions options = {}, bool with_bias = false) {
    if (with_bias) options.bias = bias.data();
    if (options.beta != 0) c.fill(17);
    old_c = c;
    launch(a.matrix().value(), b.matrix().value(), c.matrix().value(), options);
    judge(options, with_bias);
  }

  // Products are exact in double. Sums of k of them in float32 in any order differ by at most k u / (1 - k u) times the
  // sum of the magnitudes (Higham, Accuracy and Stability, 3.1); u = 2^-23, for tensor cores truncate. The epilogue
  // rounds a few times more, and its activations stretch an error by at most 1.13.
  std::vector<double> rows_of(const Stage<In>& x, std::int64_t rows) const {
    std::vector<double> result;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t l = 0; l < k; ++l) result.push_back(x.value(i, l));
    }
    return result;
  }
  void judge(const MatmulOptions& options, bool with_bias) {
    const double u = std::ldexp(1.0, -23),
                 gamma = static_cast<double>(k + 8) * u / (1 - static_cast<double>(k + 8) * u);
    const std::vector<double> left = rows_of(a, m), right = rows_of(b, n);
    std::int64_t wrong = 0;
    std::string first;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0, magnitude = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          const double product = left[static_cast<std::size_t>(i * k + l)] * right[static_cast<std::size_t>(j * k + l)];
          sum += product;
          magnitude += std::fabs(product);
        }
        if (options.alpha == 0) sum = magnitude = 0;  // a and b are not read
        double value = options.alpha * sum;
        double bound = gamma * magnitude * std::fabs(options.alpha);
        if (options.beta != 0) value += options.beta * old_c.value(i, j);
        if (with_bias) value += static_cast<double>(static_cast<float>(bias[static_cast<std::size_t>(j)]));
        bound += 4 * u * (std::fabs(options.alpha * sum) + 8);
        bound = 1.13 * bound;
        value = activated(value, options.activation);
        if (options.activation >= Activation::gelu) bound += 3e-5 * std::fabs(value) + 1e-7;
        bound += half_ulp<Out>() * (std::fabs(value) + bound) + std::ldexp(1.0, -25);
        const double got = c.value(i, j);
        if (std::fabs(got - value) <= bound) continue;
        if (wrong++ == 0)
          first = "[" + std::to_string(i) + ", " + std::to_string(j) + "] is " + std::to_string(got) + ", not " +
                  std::to_string(value) + " +- " + std::to_string(bound);
      }
    }
    EXPECT_EQ(wrong, 0) << m << "x" << n << "x" << k << ": " << first << "\n"
                        << last_matmul_report().kernel << " " << last_matmul_report().config;
    EXPECT_TRUE(c.intact()) << "written outside c";
  }
};

inline Device simulated(const Schedule& schedule, int sms = 4) {
  return Device::sim({.schedule = schedule, .threads = 1, .sms = sms});
}
inline const std::vector<Schedule>& all_schedules() {
  static const std::vector<Schedule> schedules = {Schedule::eager(), Schedule::lazy(), Schedule::random(1),
                                                  Schedule::random(2), Schedule::random(3)};
  return schedules;
}

// The kind and text of the error that `f` throws; fails the test if it throws none.
template <class F>
std::string error_of(F f, ErrorKind kind = ErrorKind::user) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

}  // namespace tessera::testing
