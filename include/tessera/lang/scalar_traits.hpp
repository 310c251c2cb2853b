// Which C++ and traced types may meet in one expression, decided at compile time.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "tessera/core/dtype.hpp"

namespace tessera {

template <class T>
class Scalar;
template <class S>
class Var;

namespace detail {

struct BlockAxis;
struct GridAxis;

// The element type of a traced scalar (value or variable), else void.
template <class X>
struct traced_element {
  using type = void;
};
template <class T>
struct traced_element<Scalar<T>> {
  using type = T;
};
template <class T>
struct traced_element<Var<Scalar<T>>> {
  using type = T;
};
template <>
struct traced_element<BlockAxis> {
  using type = std::int32_t;
};
template <>
struct traced_element<GridAxis> {
  using type = std::int32_t;
};
template <class X>
using traced_element_t = typename traced_element<std::remove_cvref_t<X>>::type;
template <class X>
concept TracedScalar = !std::is_void_v<traced_element_t<X>>;

template <class T>
inline constexpr bool is_half = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <class T>
inline constexpr bool is_float8_element = std::is_same_v<T, float8_e4m3> || std::is_same_v<T, float8_e5m2>;
template <class T>
inline constexpr bool is_float_element = std::is_same_v<T, float> || is_half<T>;
template <class T>
inline constexpr bool is_int_element = std::is_integral_v<T> && !std::is_same_v<T, bool>;

// Whether every value of U is a value of T.
template <class U, class T>
constexpr bool widens() {
  if constexpr (std::is_same_v<U, T>) {
    return true;
  } else if constexpr (is_int_element<U> && is_int_element<T>) {
    return (std::is_signed_v<U> == std::is_signed_v<T> && sizeof(U) <= sizeof(T)) ||
           (std::is_unsigned_v<U> && std::is_signed_v<T> && sizeof(U) < sizeof(T));
  } else {
    return is_half<U> && std::is_same_v<T, float>;
  }
}

// C++ numbers that may stand where a traced T is expected.
template <class A, class T>
concept LiteralFor = (is_int_element<T> && std::integral<A> && !std::is_same_v<A, bool>) ||
                     (is_float_element<T> && ((std::is_arithmetic_v<A> && !std::is_same_v<A, bool>) || is_half<A>)) ||
                     (is_float8_element<T> && std::is_arithmetic_v<A> && !std::is_same_v<A, bool>) ||
                     (std::is_same_v<T, bool> && std::is_same_v<A, bool>);

template <class X, class T>
concept AcceptedAs = LiteralFor<std::remove_cvref_t<X>, T> ||(TracedScalar<X>&& widens<traced_element_t<X>, T>());

template <class A>
inline constexpr bool is_number = std::is_arithmetic_v<std::remove_cvref_t<A>> || is_half<std::remove_cvref_t<A>>;
template <class A>
concept ScalarLike = TracedScalar<A> || is_number<A>;

// The type in which A op B is computed; void where there is none. Two C++ numbers meet in their own common type, of
// 32 or 64 bits; floats in float.
template <class A, class B>
constexpr auto common_element() {
  using X = std::remove_cvref_t<A>;
  using Y = std::remove_cvref_t<B>;
  using U = traced_element_t<X>;
  using V = traced_element_t<Y>;
  if constexpr (TracedScalar<X> && TracedScalar<Y>) {
    if constexpr (widens<U, V>())
      return std::type_identity<V>{};
    else if constexpr (widens<V, U>())
      return std::type_identity<U>{};
    else
      return std::type_identity<void>{};
  } else if constexpr (TracedScalar<X>) {
    if constexpr (LiteralFor<Y, U>)
      return std::type_identity<U>{};
    else
      return std::type_identity<void>{};
  } else if constexpr (TracedScalar<Y>) {
    if constexpr (LiteralFor<X, V>)
      return std::type_identity<V>{};
    else
      return std::type_identity<void>{};
  } else if constexpr (std::is_same_v<X, bool> && std::is_same_v<Y, bool>) {
    return std::type_identity<bool>{};
  } else if constexpr (std::is_floating_point_v<X> || std::is_floating_point_v<Y>) {
    return std::type_identity<float>{};
  } else if constexpr (is_half<X> && is_half<Y>) {
    return std::type_identity<float>{};
  } else if constexpr (std::is_integral_v<X> && std::is_integral_v<Y>) {
    using C = std::common_type_t<X, Y>;  // at least an int
    using Narrow = std::conditional_t<std::is_signed_v<C>, std::int32_t, std::uint32_t>;
    using Wide = std::conditional_t<std::is_signed_v<C>, std::int64_t, std::uint64_t>;
    return std::type_identity<std::conditional_t<sizeof(C) <= 4, Narrow, Wide>>{};
  } else {
    return std::type_identity<void>{};
  }
}
template <class A, class B>
using common_element_t = typename decltype(common_element<A, B>())::type;

}  // namespace detail
}  // namespace tessera
