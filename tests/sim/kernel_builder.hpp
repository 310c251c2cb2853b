// Writes thread IR by hand, for tests of the simulated Hopper.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/thread.hpp"
#include "sim/simulator.hpp"

namespace tessera::testing {

using ir::Expr;
using ir::ExprKind;
namespace thread = ir::thread;

// An expression with operators; integers become constants of the other operand's type.
class E {
 public:
  E(ir::ExprPool* pool, const Expr* e) : pool_(pool), e_(e) {}
  operator const Expr*() const { return e_; }
  const Expr* operator->() const { return e_; }

  E binary(ExprKind kind, E other) const { return {pool_, pool_->binary(kind, e_, other.e_)}; }
  E binary(ExprKind kind, std::int64_t other) const { return binary(kind, constant(other)); }
  E constant(std::int64_t v) const {
    return {pool_, is_float(e_->type) ? pool_->real(e_->type, static_cast<double>(v)) : pool_->constant(e_->type, v)};
  }
  E cast(DType type) const { return {pool_, pool_->cast(type, e_)}; }
  E unary(ExprKind kind) const { return {pool_, pool_->unary(kind, e_)}; }

 private:
  ir::ExprPool* pool_;
  const Expr* e_;
};

template <class T>
E operator+(E a, T b) {
  return a.binary(ExprKind::add, b);
}
template <class T>
E operator-(E a, T b) {
  return a.binary(ExprKind::sub, b);
}
template <class T>
E operator*(E a, T b) {
  return a.binary(ExprKind::mul, b);
}
template <class T>
E operator/(E a, T b) {
  return a.binary(ExprKind::div, b);
}
template <class T>
E operator%(E a, T b) {
  return a.binary(ExprKind::mod, b);
}
template <class T>
E operator^(E a, T b) {
  return a.binary(ExprKind::bit_xor, b);
}
template <class T>
E operator&(E a, T b) {
  return a.binary(ExprKind::bit_and, b);
}
template <class T>
E operator<<(E a, T b) {
  return a.binary(ExprKind::shl, b);
}
template <class T>
E operator<(E a, T b) {
  return a.binary(ExprKind::lt, b);
}
template <class T>
E operator>=(E a, T b) {
  return a.binary(ExprKind::ge, b);
}
template <class T>
E operator==(E a, T b) {
  return a.binary(ExprKind::eq, b);
}
template <class T>
E operator!=(E a, T b) {
  return a.binary(ExprKind::ne, b);
}
inline E operator&&(E a, E b) { return a.binary(ExprKind::logical_and, b); }

class KernelBuilder {
 public:
  using Body = std::function<void()>;

  explicit KernelBuilder(int warps = 1, std::uint32_t shared_bytes = 0) {
    kernel.context = std::make_shared<ir::Context>();
    kernel.name = "test";
    kernel.loc = SourceLoc::here();
    kernel.warps = warps;
    kernel.shared_bytes = shared_bytes;
    for (auto& g : kernel.grid) g = pool().i64(1);
    blocks_.push_back(&kernel.body);
  }
  KernelBuilder(const KernelBuilder&) = delete;
  KernelBuilder& operator=(const KernelBuilder&) = delete;

  ir::ExprPool& pool() { return kernel.context->expr; }
  E e(const Expr* x) { return {&pool(), x}; }
  E i32(std::int64_t v) { return e(pool().i32(v)); }
  E i64(std::int64_t v) { return e(pool().i64(v)); }
  E u32(std::int64_t v) { return e(pool().u32(v)); }
  E real(DType t, double v) { return e(pool().real(t, v)); }
  E leaf(ExprKind kind, DType type = DType::i32, std::int64_t n = 0) { return e(pool().leaf(kind, type, n)); }
  E lane() { return e(pool().bounded_leaf(ExprKind::lane_idx, DType::i32, 0, 0, 31)); }
  E warp() { return e(pool().bounded_leaf(ExprKind::warp_idx, DType::i32, 0, 0, 31)); }
  E thread_idx() { return e(pool().bounded_leaf(ExprKind::thread_idx, DType::i32, 0, 0, 1023)); }
  E block_idx(int axis) { return leaf(ExprKind::block_idx, DType::i32, axis); }
  E shared(std::int64_t offset) { return leaf(ExprKind::shared_base, DType::u32) + offset; }
  E elect() { return leaf(ExprKind::elect_one, DType::boolean); }
  E reg(const ir::RegArray* a, const Expr* index) { return e(pool().reg(a, index)); }
  E reg(const ir::RegArray* a, int index) { return reg(a, i32(index)); }
  E var(const ir::Var* v) { return e(pool().var(v)); }
  E select(E c, E a, E b) { return e(pool().select(c, a, b)); }

  std::uint32_t pointer(DType type, std::string name) { return add_param({std::move(name), type, true, 16}); }
  E scalar(DType type, std::string name) {
    const auto index = add_param({std::move(name), type, false, 0});
    return leaf(ExprKind::param, type, index);
  }
  void region(std::string name, std::uint32_t offset, std::uint32_t bytes, bool barrier = false) {
    kernel.regions.push_back({std::move(name), offset, bytes, barrier, SourceLoc{}});
  }

  template <class S, class... Args>
  S* add(Args&&... args) {
    S* s = kernel.context->arena.make<S>(std::forward<Args>(args)...);
    blocks_.back()->push_back(s);
    return s;
  }
  E let(E init, SourceLoc loc = SourceLoc::here()) {
    auto* v = kernel.context->new_value(init->type, "", loc);
    add<ir::control::Let>(loc, v, init);
    return e(pool().value(v));
  }
  const ir::Var* declare(E init, SourceLoc loc = SourceLoc::here()) {
    auto* v = kernel.context->new_var(init->type, "", loc);
    add<ir::control::DeclareVar>(loc, v, init);
    return v;
  }
  void assign(const ir::Var* v, E value, SourceLoc loc = SourceLoc::here()) {
    add<ir::control::AssignVar>(loc, v, value);
  }
  void when(E condition, const Body& body, const Body& otherwise = {}, SourceLoc loc = SourceLoc::here()) {
    auto* s = add<ir::control::If>(loc, condition);
    nested(s->then_body, body);
    if (otherwise) nested(s->else_body, otherwise);
  }
  void loop(E begin, E end, E step, const std::function<void(E)>& body, SourceLoc loc = SourceLoc::here()) {
    auto* v = kernel.context->new_value(begin->type, "i", loc);
    auto* s = add<ir::control::For>(loc, v, begin, end, step);
    nested(s->body, [&] { body(e(pool().value(v))); });
  }
  void endless(const Body& body, SourceLoc loc = SourceLoc::here()) { nested(add<ir::control::Loop>(loc)->body, body); }
  void leave(SourceLoc loc = SourceLoc::here()) { add<ir::control::Break>(loc); }
  void next(SourceLoc loc = SourceLoc::here()) { add<ir::control::Continue>(loc); }

  const ir::RegArray* regs(DType type, std::uint32_t size, std::string name = "", SourceLoc loc = SourceLoc::here()) {
    auto* a = kernel.context->new_regs(type, size, std::move(name), loc);
    add<thread::DeclareRegs>(loc, a);
    return a;
  }
  thread::RegRef ref(const ir::RegArray* a, const Expr* index) { return {a, index}; }
  thread::RegRef ref(const ir::RegArray* a, int index = 0) { return {a, i32(index)}; }
  void write(const ir::RegArray* a, const Expr* index, std::vector<const Expr*> values,
             SourceLoc loc = SourceLoc::here()) {
    add<thread::WriteRegs>(loc, thread::RegRef{a, index}, std::move(values));
  }
  void write(const ir::RegArray* a, int index, std::vector<const Expr*> values, SourceLoc loc = SourceLoc::here()) {
    write(a, i32(index), std::move(values), loc);
  }
  // Stores `value` to element `offset` of a pointer parameter.
  void store(std::uint32_t param, E offset, E value, const Expr* mask = nullptr, SourceLoc loc = SourceLoc::here()) {
    const auto* a = regs(value->type, 1, "value", loc);
    write(a, 0, {value}, loc);
    add<thread::StoreGlobalVector>(loc, ref(a), 1, param, offset.cast(DType::i64), mask);
  }
  void sync(SourceLoc loc = SourceLoc::here()) { add<thread::BarrierSync>(loc, 0, kernel.warps * 32); }
  void fence(SourceLoc loc = SourceLoc::here()) {
    add<thread::Fence>(loc, thread::FenceKind::proxy_async_shared, std::string());
  }

  ir::thread::Kernel kernel;

 private:
  std::uint32_t add_param(ir::Param p) {
    kernel.params.push_back(std::move(p));
    return static_cast<std::uint32_t>(kernel.params.size() - 1);
  }
  void nested(ir::Block& block, const Body& body) {
    blocks_.push_back(&block);
    body();
    blocks_.pop_back();
  }
  std::vector<ir::Block*> blocks_;
};

template <class T>
sim::Argument buffer(std::vector<T>& v) {
  return {0, reinterpret_cast<std::byte*>(v.data()), v.size() * sizeof(T)};
}
inline sim::Argument scalar(std::int64_t v) { return {v, nullptr, 0}; }

inline sim::Options options(const char* schedule = "eager", int threads = 1) {
  sim::Options o;
  o.schedule = Schedule::parse(schedule);
  o.threads = threads;
  return o;
}

inline const char* const all_schedules[] = {"eager", "lazy", "random:1", "random:2", "random:3"};

// The error that running the kernel gives; an empty one (kind internal, no diagnostics) if it runs through.
inline Error error_of(const thread::Kernel& kernel, const std::vector<sim::Argument>& arguments,
                      const sim::Options& options = {}) {
  try {
    sim::run(kernel, arguments, options);
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorKind::internal, std::vector<Diagnostic>{});
}

}  // namespace tessera::testing
