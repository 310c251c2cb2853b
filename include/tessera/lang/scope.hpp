// Control flow and thread groups of a kernel. Each is traced once, whatever its condition will be on the device:
//   for (auto k : range(0, n, 64)) {...}      for (auto _ : loop_while([&] { return i < n; })) {...}
//   if (auto _ = when(i < n)) {...}            if (auto _ = otherwise()) {...}
//   if (auto _ = single_thread()) {...}        if (auto _ = warp_group(4, 4)) {...}
#pragma once

#include <functional>

#include "tessera/lang/arguments.hpp"

namespace tessera {

namespace lang {
class Tracer;
}

namespace detail {

// The threads of the current group, as the C++ code of a helper asks for them.
int group_threads(SourceLoc loc);

// An open branch or thread group. Only a named one converts to bool, so a body cannot follow a scope that has closed.
class [[nodiscard]] Scope {
 public:
  Scope(lang::Tracer* tracer, bool entered) : tracer_(tracer), entered_(entered) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope();
  explicit operator bool() & { return entered_; }
  explicit operator bool() && = delete;  // write `if (auto _ = when(...))`: the name keeps the scope open

 private:
  lang::Tracer* tracer_;
  bool entered_;
};

enum class LoopState : std::uint8_t { idle, open, done };

// What range and loop_while have in common: one pass over the body, and a mark if C++ control flow leaves it.
class [[nodiscard]] Loop {
 public:
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  struct End {};

 protected:
  Loop(ScalarRef begin, ScalarRef end, ScalarRef step, DType type, int unroll, SourceLoc loc);
  Loop(std::function<ScalarRef()> condition, SourceLoc loc);
  ~Loop();
  ScalarRef enter();
  void leave();
  bool done() const { return state_ == LoopState::done; }

 private:
  void emit_range();
  void skip_body();
  lang::Tracer* tracer_;
  SourceLoc loc_;
  ScalarRef begin_, end_, step_;
  DType type_ = DType::i32;
  int unroll_ = 1;
  std::function<ScalarRef()> condition_;
  LoopState state_ = LoopState::idle;
  int passes_ = 0;
  std::uint32_t first_scope_ = 0, scope_ = 0;
  int exceptions_;
};

template <class T>
class [[nodiscard]] Range : public Loop {
 public:
  Range(ScalarRef begin, ScalarRef end, ScalarRef step, int unroll, SourceLoc loc)
      : Loop(begin, end, step, dtype_of<T>, unroll, loc) {}
  struct Iterator {
    Range* range;
    Scalar<T> operator*() const { return Scalar<T>(range->enter()); }
    Iterator& operator++() { return range->leave(), *this; }
    bool operator!=(End) const { return !range->done(); }
  };
  Iterator begin() { return {this}; }
  End end() { return {}; }
};

class [[nodiscard]] While : public Loop {
 public:
  While(std::function<ScalarRef()> condition, SourceLoc loc) : Loop(std::move(condition), loc) {}
  struct [[maybe_unused]] Pass {};
  struct Iterator {
    While* loop;
    Pass operator*() const { return loop->enter(), Pass{}; }
    Iterator& operator++() { return loop->leave(), *this; }
    bool operator!=(End) const { return !loop->done(); }
  };
  Iterator begin() { return {this}; }
  End end() { return {}; }
};

Scope open_when(const ScalarRef& condition, SourceLoc loc);

template <class X>
concept Bound = (std::integral<X> && !std::is_same_v<X, bool>) ||
                (TracedScalar<X> && is_int_element<traced_element_t<X>>);
// The type of a range's values: that of its traced bounds, Int32 if all are C++ numbers.
template <class A, class B, class C>
struct bound_type {
  template <class X, class Y>
  static constexpr auto meet() {
    if constexpr (!TracedScalar<X> && !TracedScalar<Y>)
      return std::type_identity<std::int32_t>{};
    else
      return std::type_identity<common_element_t<X, Y>>{};
  }
  using AB = typename decltype(meet<A, B>())::type;
  static_assert(!std::is_void_v<AB>, "the bounds of a range have no common type; write cast<Int64>(x) or the like");
  using First = std::conditional_t<TracedScalar<A> || TracedScalar<B>, Scalar<AB>, int>;
  using type = typename decltype(meet<First, C>())::type;
  static_assert(!std::is_void_v<type>, "the step of a range has no common type with its bounds");
};

}  // namespace detail

// unroll: 1 leaves the loop to the compiler, n unrolls it by n, unroll_all completely.
struct RangeOptions {
  int unroll = 1;
};
inline constexpr int unroll_all = 0;

// for (begin; < end; += step), executed by the current group; step is positive. The bounds are evaluated once.
template <detail::Bound B, detail::Bound E, detail::Bound S>
auto range(const B& begin, const E& end, const S& step, RangeOptions options = {}, SourceLoc loc = SourceLoc::here()) {
  using T = typename detail::bound_type<B, E, S>::type;
  return detail::Range<T>(detail::to_ref<T>(begin, loc), detail::to_ref<T>(end, loc), detail::to_ref<T>(step, loc),
                          options.unroll, loc);
}
template <detail::Bound B, detail::Bound E>
auto range(const B& begin, const E& end, RangeOptions options = {}, SourceLoc loc = SourceLoc::here()) {
  return range(begin, end, 1, options, loc);
}
template <detail::Bound E>
auto range(const E& end, RangeOptions options = {}, SourceLoc loc = SourceLoc::here()) {
  return range(0, end, 1, options, loc);
}

// Repeats while the function, traced at the top of every iteration, gives true.
template <class F>
detail::While loop_while(F condition, SourceLoc loc = SourceLoc::here()) {
  static_assert(std::is_invocable_v<F>,
                "loop_while takes a lambda, so that the condition is evaluated again in every iteration: "
                "loop_while([&] { return i < n; })");
  return detail::While([f = std::move(condition), loc] { return detail::to_ref<bool>(f(), loc); }, loc);
}
// `break` and `continue` of the innermost loop of the kernel.
void break_loop(SourceLoc loc = SourceLoc::here());
void continue_loop(SourceLoc loc = SourceLoc::here());

// The body is executed where the condition holds; otherwise() directly after it, where it does not.
template <detail::BoolLike C>
detail::Scope when(const C& condition, SourceLoc loc = SourceLoc::here()) {
  return detail::open_when(detail::to_ref<bool>(condition, loc), loc);
}
detail::Scope otherwise(SourceLoc loc = SourceLoc::here());

// `count` threads from thread `begin` of the current group.
detail::Scope thread_group(const detail::HostInt& begin, const detail::HostInt& count,
                           SourceLoc loc = SourceLoc::here());
// `warps` warps from warp `begin` of the current group.
detail::Scope warp_group(const detail::HostInt& begin, const detail::HostInt& warps, SourceLoc loc = SourceLoc::here());
detail::Scope single_warp(const detail::HostInt& warp = 0, SourceLoc loc = SourceLoc::here());
// One thread of the current group: any one of its first warp (the hardware elects it), or that of the given number.
detail::Scope single_thread(const detail::HostInt& thread = -1, SourceLoc loc = SourceLoc::here());
// One thread of each warp of the current group of whole warps, elected by the hardware. Only scalar code,
// mbarrier.arrive, mbarrier.arrive_remote and printf stand inside.
detail::Scope single_thread_of_each_warp(SourceLoc loc = SourceLoc::here());

}  // namespace tessera
