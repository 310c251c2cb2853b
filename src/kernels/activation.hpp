// Activations on tiles of float32, in the language's own arithmetic.
#pragma once

#include "tessera/lang/lang.hpp"
#include "tessera/matmul.hpp"

namespace tessera::kernels {

// c[0] + t (c[1] + t (c[2] + ...))
template <std::size_t N>
RegisterTensor polynomial(const RegisterTensor& t, const std::array<float, N>& c, std::size_t first = 0) {
  if (first + 2 == N) return t * c[N - 1] + c[N - 2];
  return polynomial(t, c, first + 1) * t + c[first];
}

inline RegisterTensor square(const RegisterTensor& x, int times) { return times == 0 ? x : square(x * x, times - 1); }

// 1 / d for d in [1, 2]: the line 24/17 - 8/17 d is off by at most 1/17, and each of Newton's steps squares the
// relative error: 1.5e-10 after three, so that the last roundings are what is left. (A division would be IEEE's, with
// a slow path for each element.)
inline RegisterTensor reciprocal(const RegisterTensor& d) {
  const auto step = [&](const RegisterTensor& r) { return r * (2.0f - d * r); };
  return step(step(step(d * (-8.0f / 17) + 24.0f / 17)));
}

// 1 / (1 + exp(-x)). With y = min(|x|, 88) and t = y / 128, exp(-y) is the 128th power of the Taylor polynomial of
// degree 6 of exp(-t): seven squarings. The polynomial's relative error t^7 / 5040 grows 128-fold, to 8e-6 at y = 40;
// the roundings of the squarings add up to about 128 * 2^-24 = 8e-6. For x < 0 the quotient exp(-y) / (1 + exp(-y))
// keeps that relative error where the result is small.
inline RegisterTensor sigmoid(const RegisterTensor& x) {
  constexpr std::array<float, 7> taylor = {1.0f, -1.0f, 0.5f, -1.0f / 6, 1.0f / 24, -1.0f / 120, 1.0f / 720};
  const RegisterTensor t = min(max(x, -x), 88.0f) * (1.0f / 128);
  const RegisterTensor power = square(polynomial(t, taylor), 7);
  return select(x < 0.0f, power, 1.0f) * reciprocal(power + 1.0f);
}

// gelu in its tanh form: 0.5 x (1 + tanh(u)) = x sigmoid(2 u) with u = sqrt(2 / pi) (x + 0.044715 x^3).
inline RegisterTensor activate(const RegisterTensor& x, Activation activation) {
  switch (activation) {
    case Activation::none: return x;
    case Activation::relu: return select(x < 0.0f, 0.0f, x);  // NaN stays NaN
    case Activation::gelu: return x * sigmoid((x * x * 0.044715f + 1.0f) * x * 1.5957691216057308f);
    case Activation::silu: return x * sigmoid(x);
  }
  return x;
}

}  // namespace tessera::kernels
