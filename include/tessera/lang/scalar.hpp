// Traced scalars: immutable values (Int32, Bool, ...) and mutable variables (Var<Int32>).
//
// Rules of arithmetic, all decided by the C++ types:
//  - A C++ number takes the type of the traced operand; it must fit there exactly (integers) or is rounded (floats).
//  - Two traced integers have the wider type if it holds every value of the narrower one (Int32 with Int64, UInt8 with
//    Int32); any other mixture, Int32 with UInt32 among them, does not compile: write cast<Int64>(x).
//  - Integers wrap in their type, division truncates towards zero, % has the sign of the dividend.
//  - && and || evaluate both sides.
#pragma once

#include <concepts>
#include <string>
#include <type_traits>
#include <utility>

#include "tessera/lang/scalar_traits.hpp"
#include "tessera/lang/value_ref.hpp"

namespace tessera {

namespace detail {

template <class T, class X>
ScalarRef to_ref(const X& x, SourceLoc loc);

// One side of an operator. The converting constructor is what records the user's line, which an operator itself cannot.
template <class T>
struct Operand {
  ScalarRef ref;
  template <class X>
  requires AcceptedAs<X, T> Operand(const X& x, SourceLoc loc = SourceLoc::here()) : ref(to_ref<T>(x, loc)) {
    ref.origin.loc = loc;
  }  // NOLINT
};

template <class R>
Scalar<R> wrap(const ScalarRef& ref);
template <class T>
Scalar<T> binary(Op op, const Operand<T>& a, const Operand<T>& b);
template <class T>
Scalar<bool> compare(Op op, const Operand<T>& a, const Operand<T>& b);
template <class T>
Scalar<T> unary(Op op, const Operand<T>& a);

template <class>
struct dependent_bool {
  using type = bool;
};

// The operators of a traced scalar of element type T, found by argument-dependent lookup.
template <class T>
struct ScalarOperators {
  using Arg = const Operand<T>&;
  using Boolean = Scalar<typename dependent_bool<T>::type>;  // Bool, named so that it may be incomplete here
  friend Scalar<T> operator+(Arg a, Arg b) { return binary<T>(Op::add, a, b); }
  friend Scalar<T> operator-(Arg a, Arg b) { return binary<T>(Op::sub, a, b); }
  friend Scalar<T> operator*(Arg a, Arg b) { return binary<T>(Op::mul, a, b); }
  friend Scalar<T> operator/(Arg a, Arg b) { return binary<T>(Op::div, a, b); }
  friend Scalar<T> operator%(Arg a, Arg b) { return binary<T>(Op::mod, a, b); }
  friend Scalar<T> operator&(Arg a, Arg b) { return binary<T>(Op::bit_and, a, b); }
  friend Scalar<T> operator|(Arg a, Arg b) { return binary<T>(Op::bit_or, a, b); }
  friend Scalar<T> operator^(Arg a, Arg b) { return binary<T>(Op::bit_xor, a, b); }
  friend Scalar<T> operator<<(Arg a, Arg b) { return binary<T>(Op::shl, a, b); }
  friend Scalar<T> operator>>(Arg a, Arg b) { return binary<T>(Op::shr, a, b); }
  friend Boolean operator<(Arg a, Arg b) { return compare<T>(Op::lt, a, b); }
  friend Boolean operator<=(Arg a, Arg b) { return compare<T>(Op::le, a, b); }
  friend Boolean operator>(Arg a, Arg b) { return compare<T>(Op::gt, a, b); }
  friend Boolean operator>=(Arg a, Arg b) { return compare<T>(Op::ge, a, b); }
  friend Boolean operator==(Arg a, Arg b) { return compare<T>(Op::eq, a, b); }
  friend Boolean operator!=(Arg a, Arg b) { return compare<T>(Op::ne, a, b); }
  friend Scalar<T> operator-(Arg a) { return unary<T>(Op::neg, a); }
  friend Scalar<T> operator~(Arg a) { return unary<T>(Op::bit_not, a); }
};
template <>
struct ScalarOperators<bool> {
  using Arg = const Operand<bool>&;
  friend Scalar<bool> operator==(Arg a, Arg b);
  friend Scalar<bool> operator!=(Arg a, Arg b);
  friend Scalar<bool> operator^(Arg a, Arg b);
};

template <class T>
constexpr void no_value_while_traced() {
  static_assert(
      always_false<T>,
      "a traced Bool has no value while the kernel is being traced; write `if (auto _ = when(condition))` for a "
      "branch, loop_while for a loop and select(condition, a, b) for a choice");
}

}  // namespace detail

// An immutable scalar of the kernel. T: bool, float, float16, bfloat16 or a fixed-width integer.
template <class T>
class [[maybe_unused]] Scalar : public detail::ScalarOperators<T> {
 public:
  using element = T;

  // From a C++ number, a variable (its value at this point) or a narrower traced value.
  template <class X>
  requires(detail::AcceptedAs<X, T> && !std::is_same_v<X, Scalar>) Scalar(const X& x, SourceLoc loc = SourceLoc::here())
      : ref_(detail::to_ref<T>(x, loc)) {}  // NOLINT
  explicit Scalar(const detail::ScalarRef& ref) : ref_(ref) {}
  Scalar(const Scalar&) = default;
  // Values are immutable; a variable of the kernel is Var<...>.
  Scalar& operator=(const Scalar&) = delete;
  ~Scalar() = default;

  template <class B>
  requires std::same_as<B, bool>
  explicit operator B() const {
    detail::no_value_while_traced<B>();
    return false;
  }
  const detail::ScalarRef& ref() const { return ref_; }

 private:
  detail::ScalarRef ref_;
};

using Int8 = Scalar<std::int8_t>;
using Int16 = Scalar<std::int16_t>;
using Int32 = Scalar<std::int32_t>;
using Int64 = Scalar<std::int64_t>;
using UInt8 = Scalar<std::uint8_t>;
using UInt16 = Scalar<std::uint16_t>;
using UInt32 = Scalar<std::uint32_t>;
using UInt64 = Scalar<std::uint64_t>;
using Bool = Scalar<bool>;
using Float16 = Scalar<float16>;
using BFloat16 = Scalar<bfloat16>;
using Float32 = Scalar<float>;
using Float8E4M3 = Scalar<float8_e4m3>;
using Float8E5M2 = Scalar<float8_e5m2>;

// A mutable variable of the kernel; every thread has its own copy. Assignments are recorded. Copying makes a new
// variable with the same value, as for a C++ int.
template <class T>
class [[maybe_unused]] Var<Scalar<T>> : public detail::ScalarOperators<T> {
  using Arg = const detail::Operand<T>&;

 public:
  template <class X>
  requires(detail::AcceptedAs<X, T> && !std::is_same_v<X, Var>)
      Var(const X& x, SourceLoc loc = SourceLoc::here())  // NOLINT
      : ref_(detail::declare_var(dtype_of<T>, detail::to_ref<T>(x, loc), loc)) {}
  Var(const Var& other, SourceLoc loc = SourceLoc::here())
      : ref_(detail::declare_var(dtype_of<T>, detail::read_var(other.ref_, loc), loc)) {}
  Var(Var&& other) noexcept : ref_(other.ref_) {}
  ~Var() = default;

  Var& operator=(const Var&) && = delete;  // an assignment from a Var takes the next one too, so that its line is known
  Var& operator=(Arg v) & { return detail::assign_var(ref_, v.ref, v.ref.origin.loc), *this; }
  Var& operator+=(Arg v) & { return update(detail::Op::add, v); }
  Var& operator-=(Arg v) & { return update(detail::Op::sub, v); }
  Var& operator*=(Arg v) & { return update(detail::Op::mul, v); }
  Var& operator/=(Arg v) & { return update(detail::Op::div, v); }
  Var& operator%=(Arg v) & { return update(detail::Op::mod, v); }
  Var& operator&=(Arg v) & { return update(detail::Op::bit_and, v); }
  Var& operator|=(Arg v) & { return update(detail::Op::bit_or, v); }
  Var& operator^=(Arg v) & { return update(detail::Op::bit_xor, v); }
  Var& operator<<=(Arg v) & { return update(detail::Op::shl, v); }
  Var& operator>>=(Arg v) & { return update(detail::Op::shr, v); }

  // The value at this point of the program.
  Scalar<T> value(SourceLoc loc = SourceLoc::here()) const { return Scalar<T>(detail::read_var(ref_, loc)); }
  template <class B>
  requires std::same_as<B, bool>
  explicit operator B() const {
    detail::no_value_while_traced<B>();
    return false;
  }
  const detail::VarRef& ref() const { return ref_; }

 private:
  Var& update(detail::Op op, Arg v) { return detail::update_var(ref_, op, v.ref, v.ref.origin.loc), *this; }
  detail::VarRef ref_;
};

namespace detail {

struct BlockAxis : ScalarOperators<std::int32_t> {
  int axis;
  constexpr explicit BlockAxis(int a) : axis(a) {}
};
struct GridAxis : ScalarOperators<std::int32_t> {
  int axis;
  constexpr explicit GridAxis(int a) : axis(a) {}
};
struct BlockIdx {
  BlockAxis x{0}, y{1}, z{2};
};
struct GridDim {
  GridAxis x{0}, y{1}, z{2};
};

template <class T, class X>
ScalarRef literal_ref(const X& x, SourceLoc loc) {
  if constexpr (std::is_same_v<T, bool>) {
    return make_integer(DType::boolean, x ? 1 : 0, loc);
  } else if constexpr (is_int_element<T>) {
    if (!std::in_range<T>(+x)) return make_out_of_range(dtype_of<T>, std::to_string(x), loc);
    return make_integer(dtype_of<T>, static_cast<std::int64_t>(x), loc);
  } else if constexpr (is_half<X>) {
    return make_real(dtype_of<T>, static_cast<double>(static_cast<float>(x)), loc);
  } else {
    return make_real(dtype_of<T>, static_cast<double>(x), loc);
  }
}

// The traced value that `x` is, converted to T.
template <class T, class X>
ScalarRef to_ref(const X& x, SourceLoc loc) {
  if constexpr (!TracedScalar<X>) {
    return literal_ref<T>(x, loc);
  } else {
    const ScalarRef ref = [&] {
      if constexpr (std::is_same_v<X, BlockAxis>)
        return make_block_idx(x.axis, loc);
      else if constexpr (std::is_same_v<X, GridAxis>)
        return make_grid_dim(x.axis, loc);
      else if constexpr (std::is_same_v<X, Var<Scalar<traced_element_t<X>>>>)
        return read_var(x.ref(), loc);
      else
        return x.ref();
    }();
    if constexpr (std::is_same_v<traced_element_t<X>, T>)
      return ref;
    else
      return make_cast(dtype_of<T>, ref, loc);
  }
}

template <class R>
Scalar<R> wrap(const ScalarRef& ref) {
  return Scalar<R>(ref);
}
template <class T>
constexpr void no_float8_arithmetic() {
  static_assert(!is_float8_element<T>,
                "float8_e4m3 and float8_e5m2 are storage types without arithmetic; write cast<Float32>(x) first");
}
template <class T>
Scalar<T> binary(Op op, const Operand<T>& a, const Operand<T>& b) {
  no_float8_arithmetic<T>();
  return wrap<T>(make_binary(op, a.ref, b.ref, a.ref.origin.loc));
}
template <class T>
Scalar<bool> compare(Op op, const Operand<T>& a, const Operand<T>& b) {
  no_float8_arithmetic<T>();
  return wrap<bool>(make_binary(op, a.ref, b.ref, a.ref.origin.loc));
}
template <class T>
Scalar<T> unary(Op op, const Operand<T>& a) {
  no_float8_arithmetic<T>();
  return wrap<T>(make_unary(op, a.ref, a.ref.origin.loc));
}

inline Scalar<bool> operator==(const Operand<bool>& a, const Operand<bool>& b) { return compare<bool>(Op::eq, a, b); }
inline Scalar<bool> operator!=(const Operand<bool>& a, const Operand<bool>& b) { return compare<bool>(Op::ne, a, b); }
inline Scalar<bool> operator^(const Operand<bool>& a, const Operand<bool>& b) { return compare<bool>(Op::ne, a, b); }

template <class X>
concept BoolLike = std::is_same_v < std::remove_cvref_t<X>,
bool > || std::is_same_v<traced_element_t<X>, bool>;
template <class A, class B>
concept BoolPair = BoolLike<A> && BoolLike<B> &&(TracedScalar<A> || TracedScalar<B>);

template <class A, class B>
Scalar<bool> logical(Op op, const A& a, const B& b) {
  SourceLoc loc;
  if constexpr (TracedScalar<A>)
    loc = a.ref().origin.loc;
  else
    loc = b.ref().origin.loc;
  return wrap<bool>(make_binary(op, to_ref<bool>(a, loc), to_ref<bool>(b, loc), loc));
}

template <class X>
using element_of_t = std::conditional_t<TracedScalar<X>, traced_element_t<X>, X>;

}  // namespace detail

// Logic on traced Bools, recorded: both sides are evaluated.
template <class A, class B>
requires detail::BoolPair<A, B> Bool operator&&(const A& a, const B& b) {
  return detail::logical(detail::Op::logical_and, a, b);
}
template <class A, class B>
requires detail::BoolPair<A, B> Bool operator||(const A& a, const B& b) {
  return detail::logical(detail::Op::logical_or, a, b);
}
template <class A>
requires(detail::BoolLike<A>&& detail::TracedScalar<A>) Bool operator!(const A& a) {
  return Bool(
      detail::make_unary(detail::Op::logical_not, detail::to_ref<bool>(a, a.ref().origin.loc), a.ref().origin.loc));
}

}  // namespace tessera
