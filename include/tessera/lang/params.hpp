// From a script's operator() to the kernel's parameters, and the trace of a script.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/lang/script.hpp"
#include "tessera/lang/tensor.hpp"
#include "tessera/runtime/program.hpp"

namespace tessera {

template <class T>
class PtrArg;  // what a launch passes for a Ptr<T>: tessera/runtime/buffer.hpp

// static constexpr auto params = names("m", "n", ...): the parameters' names in messages and in the emitted code.
template <class... N>
constexpr std::array<const char*, sizeof...(N)> names(const N&... n) {
  return {static_cast<const char*>(n)...};
}

namespace detail {

template <class P>
constexpr DType integer_dtype() {
  if constexpr (std::is_same_v<P, bool>)
    return DType::boolean;
  else if constexpr (sizeof(P) == 1)
    return std::is_signed_v<P> ? DType::i8 : DType::u8;
  else if constexpr (sizeof(P) == 2)
    return std::is_signed_v<P> ? DType::i16 : DType::u16;
  else if constexpr (sizeof(P) == 4)
    return std::is_signed_v<P> ? DType::i32 : DType::u32;
  else
    return std::is_signed_v<P> ? DType::i64 : DType::u64;
}

// For a parameter of type P (without const and reference): its kind, its type, and the C++ type that a launch takes.
template <class P>
struct ParamTraits {
  static_assert(
      always_false<P>,
      "a kernel parameter must be a run-time value (Int32, Float32, ... or Ptr<T>) or a compile-time constant "
      "(int, bool or an enumeration)");
  static constexpr ParamKind kind = ParamKind::constant;
  static constexpr DType type = DType::i32;
  using Host = int;
};
template <class T>
struct ParamTraits<Scalar<T>> {
  static constexpr ParamKind kind = ParamKind::scalar;
  static constexpr DType type = dtype_of<T>;
  using Host = T;
};
template <class T>
struct ParamTraits<Ptr<T>> {
  static constexpr ParamKind kind = ParamKind::pointer;
  static constexpr DType type = dtype_of<T>;
  using Host = PtrArg<T>;
};
template <class P>
requires(std::is_integral_v<P>) struct ParamTraits<P> {
  static constexpr ParamKind kind = ParamKind::constant;
  static constexpr DType type = integer_dtype<P>();
  using Host = P;
};
template <class P>
requires(std::is_enum_v<P>) struct ParamTraits<P> {
  static constexpr ParamKind kind = ParamKind::constant;
  static constexpr DType type = integer_dtype<std::underlying_type_t<P>>();
  using Host = P;
};

template <class F>
struct Signature {
  static_assert(always_false<F>, "the operator() of a script is a plain member function that returns void");
};
template <class C, class... A>
struct Signature<void (C::*)(A...)> {
  using Params = std::tuple<std::remove_cvref_t<A>...>;
  using Host = std::tuple<typename ParamTraits<std::remove_cvref_t<A>>::Host...>;
};
template <class C, class... A>
struct Signature<void (C::*)(A...) const> : Signature<void (C::*)(A...)> {};
template <class C, class... A>
struct Signature<void (C::*)(A...) noexcept> : Signature<void (C::*)(A...)> {};
template <class C, class... A>
struct Signature<void (C::*)(A...) const noexcept> : Signature<void (C::*)(A...)> {};

template <class S>
constexpr bool check_script() {
  static_assert(std::is_base_of_v<Script, S>, "a kernel is a class derived from tessera::Script");
  static_assert(
      requires { &S::operator(); },
      "a script has exactly one operator(), neither overloaded nor a template: it is the kernel's program");
  return true;
}
template <class S, bool = check_script<S>()>
struct ScriptSignature : Signature<decltype(&S::operator())> {};

// The parameters of S::operator(), and the C++ types that a launch takes for them.
template <class S>
using Params = typename ScriptSignature<S>::Params;
template <class S>
using HostArguments = typename ScriptSignature<S>::Host;

// The type's name without namespaces and template arguments.
template <class S>
std::string type_name() {
  const std::string_view text = __PRETTY_FUNCTION__;
  std::size_t begin = text.find("S = ") + 4;
  std::size_t end = text.find_first_of(";]", begin);
  std::string_view name = text.substr(begin, end - begin);
  name = name.substr(0, name.find('<'));
  if (const auto colon = name.rfind("::"); colon != std::string_view::npos) name = name.substr(colon + 2);
  return std::string(name);
}

template <class S>
std::vector<ParamInfo> param_infos() {
  std::vector<ParamInfo> result;
  [&]<class... P>(std::type_identity<std::tuple<P...>>) {
    (result.push_back(
         {ParamTraits<P>::kind, ParamTraits<P>::type, std::string("p").append(std::to_string(result.size()))}),
     ...);
  }(std::type_identity<Params<S>>{});
  if constexpr (requires { S::params; }) {
    static_assert(std::tuple_size_v<Params<S>> == std::tuple_size_v<std::remove_cvref_t<decltype(S::params)>>,
                  "`params` must name every parameter of operator()");
    for (std::size_t i = 0; i < result.size(); ++i) result[i].name = S::params[i];
  }
  return result;
}

// The kernel parameter number `index` as an object of the language.
ScalarRef make_param(int index, DType type);
Origin param_origin();

template <class S, std::size_t I>
auto make_argument(std::span<const std::int64_t> constants) {
  using P = std::tuple_element_t<I, Params<S>>;
  constexpr int index = []<std::size_t... J>(std::index_sequence<J...>) {
    return (0 + ... + (ParamTraits<std::tuple_element_t<J, Params<S>>>::kind == ParamKind::constant ? 0 : 1));
  }
  (std::make_index_sequence<I>());
  if constexpr (ParamTraits<P>::kind == ParamKind::constant)
    return static_cast<P>(constants[I]);
  else if constexpr (ParamTraits<P>::kind == ParamKind::scalar)
    return P(make_param(index, ParamTraits<P>::type));
  else
    return P(index, ScalarRef{}, param_origin());
}

// Sets up the tracer of this thread, calls `body`, checks the result; again for the audit. Throws tessera::Error.
std::shared_ptr<ir::tile::Kernel> run_trace(const std::string& name, const std::vector<ParamInfo>& params, bool named,
                                            const std::function<void()>& body, SourceLoc loc);

// Traces the script: its tile program. `constants` has one entry a parameter; those of compile-time parameters are
// read. The script is copied for every pass; a pass that repeats or skips bodies checks that no C++ state depends on
// them.
template <class S>
std::shared_ptr<ir::tile::Kernel> trace(S script, std::span<const std::int64_t> constants,
                                        SourceLoc loc = SourceLoc::here()) {
  constexpr std::size_t count = std::tuple_size_v<Params<S>>;
  return run_trace(
      type_name<S>(), param_infos<S>(), requires { S::params; },
      [&] {
        S copy = script;
        [&]<std::size_t... I>(std::index_sequence<I...>) {
          std::tuple arguments{make_argument<S, I>(constants)...};
          std::apply([&](auto&... a) { copy(a...); }, arguments);
        }
        (std::make_index_sequence<count>());
      },
      loc);
}

}  // namespace detail
}  // namespace tessera
