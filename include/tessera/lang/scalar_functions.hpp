// Functions on traced scalars: cast, min, max, select, cdiv; blockIdx and gridDim; and the sentence that a mixture of
// types without a common one meets.
#pragma once

#include "tessera/lang/scalar.hpp"

namespace tessera {

// The position of this block in the grid and the grid's size, Int32 each: blockIdx.x, gridDim.y, ...
inline constexpr detail::BlockIdx blockIdx;
inline constexpr detail::GridDim gridDim;

namespace detail {
template <class X>
struct element_named {
  using type = X;
};
template <class T>
struct element_named<Scalar<T>> {
  using type = T;
};

template <class A, class B>
concept ScalarPair = ScalarLike<A> && ScalarLike<B> &&(TracedScalar<A> || TracedScalar<B>);
template <class A, class B>
concept Mixed = ScalarPair<A, B> && std::is_void_v<common_element_t<A, B>>;
template <class A, class B>
concept Unmixed = ScalarPair<A, B> && !std::is_void_v<common_element_t<A, B>>;

template <class A, class B>
void reject_mixture() {
  static_assert(always_false<A>,
                "these two types have no common type: traced integers mix only where one type holds every value of the "
                "other, and integers with floats never; write cast<Int64>(x), cast<Float32>(x) or the like");
}
template <class A, class B>
Int32 mixture() {
  reject_mixture<A, B>();
  return wrap<std::int32_t>({});
}
}  // namespace detail

// The value converted to T (an element type or a traced type): floats to integers truncate and saturate.
template <class T, class X>
requires detail::TracedScalar<X>
auto cast(const X& x, SourceLoc loc = SourceLoc::here()) {
  using Target = typename detail::element_named<T>::type;
  static_assert(ElementType<Target>,
                "cast<T>: T must be an element type such as float16 or a traced type such as Int64");
  using Source = detail::traced_element_t<X>;
  return Scalar<Target>(detail::make_cast(dtype_of<Target>, detail::to_ref<Source>(x, loc), loc));
}

template <class A, class B>
requires detail::Unmixed<A, B>
auto min(const A& a, const B& b, SourceLoc loc = SourceLoc::here()) {
  using T = detail::common_element_t<A, B>;
  detail::no_float8_arithmetic<T>();
  return Scalar<T>(detail::make_binary(detail::Op::min, detail::to_ref<T>(a, loc), detail::to_ref<T>(b, loc), loc));
}
template <class A, class B>
requires detail::Unmixed<A, B>
auto max(const A& a, const B& b, SourceLoc loc = SourceLoc::here()) {
  using T = detail::common_element_t<A, B>;
  detail::no_float8_arithmetic<T>();
  return Scalar<T>(detail::make_binary(detail::Op::max, detail::to_ref<T>(a, loc), detail::to_ref<T>(b, loc), loc));
}

// condition ? a : b, with both evaluated. It chooses a value; a branch is when().
template <class C, class A, class B>
requires(detail::BoolLike<C>&& detail::ScalarLike<A>&& detail::ScalarLike<B> &&
         !std::is_void_v<detail::common_element_t<A, B>>) auto select(const C& condition, const A& a, const B& b,
                                                                      SourceLoc loc = SourceLoc::here()) {
  using T = detail::common_element_t<A, B>;
  return Scalar<T>(detail::make_select(detail::to_ref<bool>(condition, loc), detail::to_ref<T>(a, loc),
                                       detail::to_ref<T>(b, loc), loc));
}

// The quotient rounded up, of non-negative integers: the number of pieces of b that cover a.
template <class A, class B>
requires detail::Unmixed<A, B>
auto cdiv(const A& a, const B& b, SourceLoc loc = SourceLoc::here()) {
  using T = detail::common_element_t<A, B>;
  static_assert(detail::is_int_element<T>, "cdiv divides integers");
  return Scalar<T>(detail::make_cdiv(detail::to_ref<T>(a, loc), detail::to_ref<T>(b, loc), loc));
}
template <std::integral A, std::integral B>
constexpr auto cdiv(A a, B b) {
  return (a + b - 1) / b;
}

// Mixtures of scalar types without a common type: chosen only to say so.
template <class A, class B>
requires detail::Mixed<A, B> Int32 operator+(const A&, const B&) { return detail::mixture<A, B>(); }
template <class A, class B>
requires detail::Mixed<A, B> Int32 operator-(const A&, const B&) { return detail::mixture<A, B>(); }
template <class A, class B>
requires detail::Mixed<A, B> Int32 operator*(const A&, const B&) { return detail::mixture<A, B>(); }
template <class A, class B>
requires detail::Mixed<A, B> Int32 operator/(const A&, const B&) { return detail::mixture<A, B>(); }
template <class A, class B>
requires detail::Mixed<A, B> Int32 operator%(const A&, const B&) { return detail::mixture<A, B>(); }
template <class A, class B>
requires detail::Mixed<A, B> Int32 operator<(const A&, const B&) { return detail::mixture<A, B>(); }
template <class A, class B>
requires detail::Mixed<A, B> Int32 operator<=(const A&, const B&) { return detail::mixture<A, B>(); }
template <class A, class B>
requires detail::Mixed<A, B> Int32 operator>(const A&, const B&) { return detail::mixture<A, B>(); }
template <class A, class B>
requires detail::Mixed<A, B> Int32 operator>=(const A&, const B&) { return detail::mixture<A, B>(); }
template <class A, class B>
requires detail::Mixed<A, B> Int32 operator==(const A&, const B&) { return detail::mixture<A, B>(); }
template <class A, class B>
requires detail::Mixed<A, B> Int32 operator!=(const A&, const B&) { return detail::mixture<A, B>(); }
template <class A, class B>
requires detail::Mixed<A, B> Int32 min(const A&, const B&) { return detail::mixture<A, B>(); }
template <class A, class B>
requires detail::Mixed<A, B> Int32 max(const A&, const B&) { return detail::mixture<A, B>(); }
template <class A, class B>
requires detail::Mixed<A, B> Int32 cdiv(const A&, const B&) { return detail::mixture<A, B>(); }

}  // namespace tessera
