// Scalars and variables.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lang/names.hpp"
#include "lang/tracer.hpp"

namespace tessera::detail {

using lang::Tracer;

namespace {

ir::ExprKind kind_of(Op op) {
  using K = ir::ExprKind;
  static constexpr K kinds[] = {K::neg,     K::bit_not, K::logical_not, K::add,         K::sub,       K::mul,
                                K::div,     K::mod,     K::min,         K::max,         K::bit_and,   K::bit_or,
                                K::bit_xor, K::shl,     K::shr,         K::lt,          K::le,        K::gt,
                                K::ge,      K::eq,      K::ne,          K::logical_and, K::logical_or};
  return kinds[static_cast<int>(op)];
}

// False, with the mistake recorded, if the operation is undefined whatever its left side is.
bool is_defined(Tracer& t, Op op, const ir::Expr* b, SourceLoc loc) {
  if (!b->is_constant() || !is_integer(b->type)) return true;
  if ((op == Op::div || op == Op::mod) && b->integer == 0) {
    t.error(loc,
            op == Op::div ? "an integer is divided by the constant 0" : "a remainder of a division by the constant 0",
            "the divisor must not be 0");
    return false;
  }
  const std::int64_t width = 8 * size_of(b->type);
  if ((op == Op::shl || op == Op::shr) && (b->integer < 0 || b->integer >= width)) {
    t.error(loc, fmt::format("a shift by {} of a {}", b->integer, name_of(b->type)),
            fmt::format("shift by 0 to {} bits", width - 1));
    return false;
  }
  return true;
}

ScalarRef apply(Tracer& t, Op op, const ir::Expr* a, const ir::Expr* b, SourceLoc loc) {
  if (a == nullptr || b == nullptr || !is_defined(t, op, b, loc)) return {};
  return t.scalar(t.expr().binary(kind_of(op), a, b), loc);
}

}  // namespace

ScalarRef make_integer(DType type, std::int64_t value, SourceLoc loc) {
  Tracer& t = Tracer::current("a traced value", loc);
  return {t.expr().constant(type, value), {t.id, 0, loc}};
}

ScalarRef make_real(DType type, double value, SourceLoc loc) {
  Tracer& t = Tracer::current("a traced value", loc);
  const ir::Expr* e = t.expr().real(type, value);
  if (std::isfinite(value) && !std::isfinite(e->real)) {
    t.error(loc, fmt::format("{} does not fit into {}", value, name_of(type)), "use a wider type or a smaller number");
    return {};
  }
  return {e, {t.id, 0, loc}};
}

ScalarRef make_out_of_range(DType type, const std::string& value, SourceLoc loc) {
  Tracer::current("a traced value", loc)
      .error(loc,
             fmt::format("the C++ number {} does not fit into {}, the type of the traced value it meets", value,
                         name_of(type)),
             "use a number in range, or convert the traced value first with cast<Int64>(x) or the like");
  return {};
}

ScalarRef make_unary(Op op, const ScalarRef& a, SourceLoc loc) {
  Tracer& t = Tracer::current("an operator on a traced value", loc);
  const ir::Expr* e = t.use(a, loc);
  return e == nullptr ? ScalarRef{} : t.scalar(t.expr().unary(kind_of(op), e), loc);
}

ScalarRef make_binary(Op op, const ScalarRef& a, const ScalarRef& b, SourceLoc loc) {
  Tracer& t = Tracer::current("an operator on a traced value", loc);
  return apply(t, op, t.use(a, loc), t.use(b, loc), loc);
}

ScalarRef make_select(const ScalarRef& condition, const ScalarRef& a, const ScalarRef& b, SourceLoc loc) {
  Tracer& t = Tracer::current("select()", loc);
  const ir::Expr* c = t.use(condition, loc);
  const ir::Expr* x = t.use(a, loc);
  const ir::Expr* y = t.use(b, loc);
  if (c == nullptr || x == nullptr || y == nullptr) return {};
  return t.scalar(t.expr().select(c, x, y), loc);
}

ScalarRef make_cast(DType type, const ScalarRef& a, SourceLoc loc) {
  Tracer& t = Tracer::current("cast()", loc);
  const ir::Expr* e = t.use(a, loc);
  return e == nullptr || !lang::check_cast(t, e->type, type, loc) ? ScalarRef{} : t.scalar(t.expr().cast(type, e), loc);
}

ScalarRef make_cdiv(const ScalarRef& a, const ScalarRef& b, SourceLoc loc) {
  Tracer& t = Tracer::current("cdiv()", loc);
  const ir::Expr* x = t.use(a, loc);
  const ir::Expr* y = t.use(b, loc);
  if (x == nullptr || y == nullptr || !is_defined(t, Op::div, y, loc)) return {};
  // (a + b - 1) / b would wrap for a near the end of the type.
  ir::ExprPool& p = t.expr();
  const ir::Expr* quotient = p.div(x, y);
  const ir::Expr* rest = p.binary(ir::ExprKind::ne, p.mod(x, y), p.constant(x->type, 0));
  return t.scalar(p.add(quotient, p.cast(x->type, rest)), loc);
}

ScalarRef make_block_idx(int axis, SourceLoc loc) {
  Tracer& t = Tracer::current("blockIdx", loc);
  // The grid has at most 2^31 - 1 blocks in x and 65535 in y and z (CUDA C++ programming guide, compute capabilities).
  std::int64_t high = axis == 0 ? 0x7ffffffeLL : 65534;
  // Where attrs.blocks is known already its bound is tighter, so that block * blockIdx.x is known not to wrap.
  const ir::Expr* blocks = t.kernel->grid[static_cast<std::size_t>(axis)];
  if (blocks != nullptr && blocks->high > 0) high = std::min(high, blocks->high - 1);
  return {t.expr().bounded_leaf(ir::ExprKind::block_idx, DType::i32, axis, 0, high), t.origin(loc)};
}
ScalarRef make_grid_dim(int axis, SourceLoc loc) {
  Tracer& t = Tracer::current("gridDim", loc);
  std::int64_t high = axis == 0 ? 0x7fffffffLL : 65535;
  const ir::Expr* blocks = t.kernel->grid[static_cast<std::size_t>(axis)];
  if (blocks != nullptr && blocks->high > 0) high = std::min(high, blocks->high);
  return {t.expr().bounded_leaf(ir::ExprKind::grid_dim, DType::i32, axis, 1, high), t.origin(loc)};
}

ScalarRef bind_value(const ScalarRef& value, const char* name, SourceLoc loc) {
  Tracer& t = Tracer::current("a helper", loc);
  const ir::Expr* e = t.use(value, loc);
  if (e == nullptr || ir::is_leaf(e->kind)) return value;
  return t.let(e, name, loc);
}

ScalarRef bind_bounded(const ScalarRef& value, const char* name, std::int64_t low, std::int64_t high, SourceLoc loc) {
  Tracer& t = Tracer::current("a helper", loc);
  const ir::Expr* e = t.use(value, loc);
  if (e == nullptr || (e->low >= low && e->high <= high)) return value;
  return t.let(e, name, loc, std::max(low, e->low), std::min(high, e->high));
}

ScalarRef in_place(const VarRef& ref, SourceLoc loc) {
  Tracer& t = Tracer::current("a helper", loc);
  const ir::Var* var = t.use(ref, loc);
  return var == nullptr ? ScalarRef{} : ScalarRef{t.expr().var(var), t.origin(loc)};
}

void report(SourceLoc loc, const std::string& message, const std::string& help) {
  Tracer::current("a helper", loc).error(loc, message, help);
}

Bounds bounds_of(const ScalarRef& value) {
  if (value.expr == nullptr) return {INT64_MIN, INT64_MAX};
  return {value.expr->low, value.expr->high};
}

ScalarRef make_param(int index, DType type) {
  Tracer& t = Tracer::current("a kernel parameter", {});
  return {t.expr().leaf(ir::ExprKind::param, type, index), t.origin(t.kernel->loc)};
}
Origin param_origin() {
  Tracer& t = Tracer::current("a kernel parameter", {});
  return t.origin(t.kernel->loc);
}

namespace {

VarRef declare(Tracer& t, DType type, const ScalarRef& init, const char* name, SourceLoc loc) {
  const ir::Expr* e = t.use(init, loc);
  if (e == nullptr) return {};
  if (t.scope().kind == lang::ScopeKind::index_function) {
    t.error(loc, "a Var is declared inside a function of the index", "compute the element from immutable values");
    return {};
  }
  const ir::Var* var = t.kernel->context->new_var(type, name != nullptr ? name : t.fresh_name(loc, "Var"), loc);
  t.emit<ir::control::DeclareVar>(loc, var, e);
  return {var, t.origin(loc)};
}

}  // namespace

VarRef declare_var(DType type, const ScalarRef& init, SourceLoc loc) {
  return declare(Tracer::current("Var", loc), type, init, nullptr, loc);
}

VarRef declare_bounded_var(DType type, const ScalarRef& init, const char* name, std::int64_t low, std::int64_t high,
                           SourceLoc loc) {
  Tracer& t = Tracer::current("Var", loc);
  const VarRef ref = declare(t, type, init, name, loc);
  if (ref.var == nullptr) return ref;
  t.expr().set_facts(ref.var, low, high);
  t.bounded_vars[ref.var] = {low, high};
  return ref;
}

ScalarRef read_var(const VarRef& ref, SourceLoc loc) {
  Tracer& t = Tracer::current("a Var", loc);
  const ir::Var* var = t.use(ref, loc);
  return var == nullptr ? ScalarRef{} : t.let(t.expr().var(var), var->name, loc);
}

void assign_var(const VarRef& ref, const ScalarRef& value, SourceLoc loc) {
  Tracer& t = Tracer::current("an assignment to a Var", loc);
  const ir::Var* var = t.use(ref, loc);
  const ir::Expr* e = t.use(value, loc);
  if (var == nullptr || e == nullptr) return;
  if (t.scope().kind == lang::ScopeKind::index_function) {
    t.error(loc, "a Var is assigned inside a function of the index", "compute the element from immutable values");
    return;
  }
  if (const auto it = t.bounded_vars.find(var);
      it != t.bounded_vars.end() && (e->low < it->second.first || e->high > it->second.second)) {
    t.error(loc,
            fmt::format("{} is assigned to {}, whose values are bound to lie in {}..{}", ir::to_string(e),
                        lang::quoted(var->name, "a variable"), it->second.first, it->second.second),
            "assign a value whose bounds are known: reduce it with %, min or select");
    return;
  }
  t.emit<ir::control::AssignVar>(loc, var, e);
}

void update_var(const VarRef& ref, Op op, const ScalarRef& value, SourceLoc loc) {
  Tracer& t = Tracer::current("an assignment to a Var", loc);
  const ir::Var* var = t.use(ref, loc);
  const ir::Expr* b = t.use(value, loc);
  if (var == nullptr || b == nullptr || !is_defined(t, op, b, loc)) return;
  // The variable is read and written by one statement, so no Let is needed.
  assign_var(ref, {t.expr().binary(kind_of(op), t.expr().var(var), b), t.origin(loc)}, loc);
}

}  // namespace tessera::detail
