// Writes thread programs by hand for the tests of what comes after lowering.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/thread.hpp"

namespace tessera::golden {

using ir::Expr;
using ir::ExprKind;
namespace control = ir::control;
namespace thread = ir::thread;

class Builder {
 public:
  explicit Builder(std::string name, int warps) {
    kernel.context = std::make_shared<ir::Context>();
    kernel.name = std::move(name);
    kernel.loc = at(1);
    kernel.warps = warps;
    kernel.grid = {e().i64(1), e().i64(1), e().i64(1)};
    blocks_.push_back(&kernel.body);
  }

  ir::ExprPool& e() { return kernel.context->expr; }
  static SourceLoc at(std::uint32_t line) { return {"/some/where/kernels.cpp", "f", line}; }
  // Statements made from here on stand on this line of the imaginary source.
  Builder& line(std::uint32_t n) {
    line_ = n;
    return *this;
  }

  template <class T, class... Args>
  T* add(Args&&... args) {
    T* s = kernel.context->arena.make<T>(at(line_), std::forward<Args>(args)...);
    blocks_.back()->push_back(s);
    return s;
  }
  template <class F>
  void within(ir::Block& block, F&& f) {
    blocks_.push_back(&block);
    f();
    blocks_.pop_back();
  }

  const Expr* scalar(std::string name, DType type) {
    kernel.params.push_back({std::move(name), type, false, 16});
    return e().leaf(ExprKind::param, type, static_cast<std::int64_t>(kernel.params.size()) - 1);
  }
  std::uint32_t pointer(std::string name, DType type, bool written) {
    kernel.params.push_back({std::move(name), type, true, 16});
    const auto index = static_cast<std::uint32_t>(kernel.params.size() - 1);
    if (written) kernel.written_params.push_back(index);
    return index;
  }
  const Expr* let(std::string name, const Expr* init, std::int64_t low = INT64_MIN, std::int64_t high = INT64_MAX,
                  std::int64_t divisor = 1) {
    const ir::Value* v = kernel.context->new_value(init->type, std::move(name), at(line_));
    if (low == INT64_MIN && high == INT64_MAX) {
      low = init->low;
      high = init->high;
      divisor = init->divisor;
    }
    e().set_facts(v, low, high, divisor);
    add<control::Let>(v, init);
    return e().value(v);
  }
  const ir::Var* var(std::string name, const Expr* init) {
    const ir::Var* v = kernel.context->new_var(init->type, std::move(name), at(line_));
    add<control::DeclareVar>(v, init);
    return v;
  }
  const ir::RegArray* regs(std::string name, DType type, std::uint32_t size) {
    const ir::RegArray* a = kernel.context->new_regs(type, size, std::move(name), at(line_));
    add<thread::DeclareRegs>(a);
    return a;
  }
  // for (name = 0; name < end; name += step) with the body written by f(induction value).
  template <class F>
  control::For* loop(std::string name, std::int64_t end, std::int64_t step, int unroll, F&& f) {
    const ir::Value* v = kernel.context->new_value(DType::i32, std::move(name), at(line_));
    e().set_facts(v, 0, (end - 1) / step * step, step);
    auto* s = add<control::For>(v, e().i32(0), e().i32(end), e().i32(step));
    s->unroll = unroll;
    within(s->body, [&] { f(e().value(v)); });
    return s;
  }
  template <class F>
  control::If* when(const Expr* condition, F&& f) {
    auto* s = add<control::If>(condition);
    within(s->then_body, f);
    return s;
  }

  const Expr* i32(std::int64_t v) { return e().i32(v); }
  const Expr* u32(std::int64_t v) { return e().u32(v); }
  const Expr* thread_idx() { return e().bounded_leaf(ExprKind::thread_idx, DType::i32, 0, 0, kernel.warps * 32 - 1); }
  const Expr* lane() { return e().bounded_leaf(ExprKind::lane_idx, DType::i32, 0, 0, 31); }
  const Expr* warp() { return e().bounded_leaf(ExprKind::warp_idx, DType::i32, 0, 0, kernel.warps - 1); }
  const Expr* block(int axis) { return e().bounded_leaf(ExprKind::block_idx, DType::i32, axis, 0, INT32_MAX); }
  const Expr* elected() { return e().leaf(ExprKind::elect_one, DType::boolean); }
  const Expr* shared(std::int64_t offset = 0) {
    return e().add(e().bounded_leaf(ExprKind::shared_base, DType::u32, 0, 0, 232448, 1024), offset);
  }
  thread::RegRef ref(const ir::RegArray* a, const Expr* index) { return {a, index}; }
  template <std::integral T>  // a template, so that a literal 0 is no null pointer
  thread::RegRef ref(const ir::RegArray* a, T index) {
    return {a, i32(static_cast<std::int64_t>(index))};
  }
  const Expr* reg(const ir::RegArray* a, std::int64_t index) { return e().reg(a, i32(index)); }

  thread::Kernel kernel;

 private:
  std::vector<ir::Block*> blocks_;
  std::uint32_t line_ = 2;
};

}  // namespace tessera::golden
