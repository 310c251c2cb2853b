// Constant folding, algebraic simplification and the facts (bounds, divisors) that drive it.
//
// Integer rules, for operands of one type whose arithmetic is known not to wrap where a rule needs that:
//   x + 0, x - 0, x * 1, x / 1, x | 0, x ^ 0, x << 0, x && true, x || false  ->  x
//   x * 0, x & 0, x % 1, x - x, x ^ x                                        ->  0
//   c op x  ->  x op c for commutative op;   (x + c1) + c2  ->  x + (c1 + c2);   (x * c1) * c2  ->  x * (c1 * c2)
//   (x + y) * c  ->  x * c + y * c
//   x / c   ->  0                  if 0 <= x < c
//   x % c   ->  x                  if 0 <= x < c;      0 if c divides x
//   (x * c1) / c2 -> x * (c1 / c2) if c2 divides c1;   x / (c2 / c1) if c1 divides c2 and x >= 0
//   (x * c1) % c2 -> (x % (c2 / c1)) * c1              if c1 divides c2 and x >= 0
//   (a + b + ...) / c, % c: the terms that c divides are taken out, if no term is negative; and a rest smaller than a
//   factor of c that divides the other terms drops out of the quotient
//   (x / c1) / c2 -> x / (c1 * c2) if x >= 0
//   comparisons decided by the bounds, select with a constant condition or equal branches
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ir/expr.hpp"

namespace tessera::ir {
namespace {

__extension__ using Wide = __int128;

struct Range {
  Wide low, high;
};

Range type_range(DType t) {
  switch (t) {
    case DType::boolean: return {0, 1};
    case DType::i8: return {-128, 127};
    case DType::u8: return {0, 255};
    case DType::i16: return {-32768, 32767};
    case DType::u16: return {0, 65535};
    case DType::i32: return {INT32_MIN, INT32_MAX};
    case DType::u32: return {0, UINT32_MAX};
    default: return {INT64_MIN, INT64_MAX};  // u64 beyond 2^63 is not tracked
  }
}

bool within(const Range& inner, const Range& outer) { return inner.low >= outer.low && inner.high <= outer.high; }

Range product(const Range& a, const Range& b) {
  const Wide c[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  return {*std::min_element(c, c + 4), *std::max_element(c, c + 4)};
}

std::int64_t gcd_of(std::int64_t a, std::int64_t b) { return std::gcd(a, b); }

// select(x == c, a, x) does not take x where it is c, which matters at the end of x's range: a counter that goes round.
Range range_of_select(const Expr& e) {
  const Expr *condition = e.args[0], *other = e.args[2];
  const Range a{e.args[1]->low, e.args[1]->high};
  Range b{other->low, other->high};
  const bool excludes = condition->kind == ExprKind::eq && condition->args[0] == other &&
                        condition->args[1]->is_constant() && is_integer(other->type);
  if (excludes && condition->args[1]->integer == other->high) --b.high;
  if (excludes && condition->args[1]->integer == other->low) ++b.low;
  if (b.low > b.high) return a;
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

// Others have no defined result (evaluate_integer).
bool is_shift(std::int64_t amount, int most) { return amount >= 0 && amount <= most; }

// The exact mathematical range of an operation, before wrapping; false where nothing useful is known.
bool range_of(const Expr& e, Range* out) {
  const auto range = [&](std::size_t i) { return Range{e.args[i]->low, e.args[i]->high}; };
  switch (e.kind) {
    case ExprKind::add: *out = {range(0).low + range(1).low, range(0).high + range(1).high}; return true;
    case ExprKind::sub: *out = {range(0).low - range(1).high, range(0).high - range(1).low}; return true;
    case ExprKind::mul: *out = product(range(0), range(1)); return true;
    case ExprKind::neg: *out = {-range(0).high, -range(0).low}; return true;
    case ExprKind::min:
      *out = {std::min(range(0).low, range(1).low), std::min(range(0).high, range(1).high)};
      return true;
    case ExprKind::max:
      *out = {std::max(range(0).low, range(1).low), std::max(range(0).high, range(1).high)};
      return true;
    case ExprKind::select: *out = range_of_select(e); return true;
    case ExprKind::cast:
      if (is_float(e.args[0]->type)) return false;
      *out = range(0);
      return true;
    case ExprKind::div:  // towards zero
      if (range(1).low <= 0) return false;
      *out = {std::min(range(0).low / range(1).low, range(0).low / range(1).high),
              std::max(range(0).high / range(1).low, range(0).high / range(1).high)};
      return true;
    case ExprKind::mod:
      if (range(0).low < 0 || range(1).low <= 0) return false;
      *out = {0, std::min(range(0).high, range(1).high - 1)};
      return true;
    case ExprKind::bit_and:
      if (range(0).low < 0 || range(1).low < 0) return false;
      *out = {0, std::min(range(0).high, range(1).high)};
      return true;
    case ExprKind::bit_or:
    case ExprKind::bit_xor: {
      if (range(0).low < 0 || range(1).low < 0) return false;
      Wide cover = 1;
      while (cover <= std::max(range(0).high, range(1).high)) cover *= 2;
      *out = {0, cover - 1};
      return true;
    }
    case ExprKind::shr:
      if (range(0).low < 0 || !e.args[1]->is_constant() || !is_shift(e.args[1]->integer, 63)) return false;
      *out = {range(0).low >> e.args[1]->integer, range(0).high >> e.args[1]->integer};
      return true;
    case ExprKind::shl:
      if (range(0).low < 0 || !e.args[1]->is_constant() || !is_shift(e.args[1]->integer, 31)) return false;
      *out = {range(0).low << e.args[1]->integer, range(0).high << e.args[1]->integer};
      return true;
    default: return false;
  }
}

std::int64_t divisor_of(const Expr& e) {
  const auto d = [&](std::size_t i) { return e.args[i]->divisor; };
  switch (e.kind) {
    case ExprKind::add:
    case ExprKind::sub: return gcd_of(d(0), d(1));
    case ExprKind::min:
    case ExprKind::max: return gcd_of(d(0), d(1));
    case ExprKind::select: return gcd_of(d(1), d(2));
    case ExprKind::neg:
    case ExprKind::cast: return d(0);
    case ExprKind::mul: {
      const Wide p = static_cast<Wide>(d(0)) * d(1);
      return p > (Wide{1} << 40) ? std::max(d(0), d(1)) : static_cast<std::int64_t>(p);
    }
    case ExprKind::mod: return gcd_of(d(0), d(1));
    case ExprKind::div:
      if (e.args[1]->is_constant() && e.args[1]->integer > 0 && d(0) % e.args[1]->integer == 0)
        return d(0) / e.args[1]->integer;
      return 1;
    case ExprKind::shl:
      if (e.args[1]->is_constant() && is_shift(e.args[1]->integer, 30)) return d(0) << e.args[1]->integer;
      return 1;
    default: return 1;
  }
}

bool commutative(ExprKind k) {
  switch (k) {
    case ExprKind::add:
    case ExprKind::mul:
    case ExprKind::min:
    case ExprKind::max:
    case ExprKind::bit_and:
    case ExprKind::bit_or:
    case ExprKind::bit_xor:
    case ExprKind::eq:
    case ExprKind::ne:
    case ExprKind::logical_and:
    case ExprKind::logical_or: return true;
    default: return false;
  }
}

// Whether computing `kind` on a and b stays inside their type, so that it is ordinary integer arithmetic.
bool exact(ExprKind kind, const Expr* a, const Expr* b) {
  Expr e{};
  e.kind = kind;
  e.type = a->type;
  e.args = {a, b};
  Range r{};
  return range_of(e, &r) && within(r, type_range(a->type));
}

// The terms of a sum. False if one can be negative or the sum can leave its type.
bool nonnegative_terms(const Expr* e, std::vector<const Expr*>& terms) {
  if (e->kind == ExprKind::add) return nonnegative_terms(e->args[0], terms) && nonnegative_terms(e->args[1], terms);
  terms.push_back(e);
  return e->low >= 0;
}

struct Split {
  std::vector<const Expr*> multiples;  // terms that c divides
  std::vector<const Expr*> rest;
};
bool split_terms(const Expr* sum, std::int64_t c, Split* split) {
  std::vector<const Expr*> terms;
  if (sum->kind != ExprKind::add || !nonnegative_terms(sum, terms)) return false;
  Wide high = 0;
  for (const Expr* t : terms) {
    high += t->high;
    (t->divisor % c == 0 ? split->multiples : split->rest).push_back(t);
  }
  return !split->multiples.empty() && high <= type_range(sum->type).high;
}

}  // namespace

void ExprPool::infer_facts(Expr& e) const {
  if (is_float(e.type)) return;
  const Range type = type_range(e.type);
  if (e.kind == ExprKind::constant) {
    e.low = e.high = e.integer;
    e.divisor = 1;
    if (e.integer != INT64_MIN) e.divisor = e.integer < 0 ? -e.integer : e.integer;
    return;
  }
  if (e.kind == ExprKind::value) {
    if (const auto it = value_facts_.find(e.value->id); it != value_facts_.end()) {
      e.low = it->second.low;
      e.high = it->second.high;
      e.divisor = it->second.divisor;
    }
  }
  if (e.kind == ExprKind::var) {
    if (const auto it = var_facts_.find(e.var->id); it != var_facts_.end()) {
      e.low = it->second.low;
      e.high = it->second.high;
    }
  }
  if (e.type == DType::u64 && !is_leaf(e.kind)) return;  // values past 2^63 are not tracked
  Range r{e.low, e.high};
  bool exact_divisor = is_leaf(e.kind);
  if (!is_leaf(e.kind) && !is_comparison(e.kind)) {
    const bool known = range_of(e, &r);
    exact_divisor = known && within(r, type);
    if (!exact_divisor) r = type;
  } else if (is_comparison(e.kind)) {
    r = type;
  }
  e.low = static_cast<std::int64_t>(std::max(r.low, type.low));
  e.high = static_cast<std::int64_t>(std::min(r.high, type.high));
  if (!is_leaf(e.kind)) {
    e.divisor = divisor_of(e);
    // Wrapping keeps only powers of two.
    if (!exact_divisor && e.divisor != 0) e.divisor &= -e.divisor;
    if (e.divisor == 0) e.divisor = 1;
  }
}

const Expr* ExprPool::fold(ExprKind kind, const Expr* a, const Expr* b) {
  if (!a->is_constant() || !b->is_constant()) return nullptr;
  if (is_float(a->type)) return nullptr;  // left to the target, so that rounding is decided in one place
  std::int64_t r = 0;
  if (!evaluate_integer(kind, a->type, a->integer, b->integer, &r)) return nullptr;
  const bool to_bool = is_comparison(kind) || kind == ExprKind::logical_and || kind == ExprKind::logical_or;
  return constant(to_bool ? DType::boolean : a->type, r);
}

// (x + r) / c == (x / g) / (c / g) and (x + r) % c == (x / g) % (c / g) * g + r, where g divides x and c, and 0 <= r <
// g.
const Expr* ExprPool::by_factor(ExprKind kind, const Expr* a, const Expr* b) {
  std::vector<const Expr*> terms;
  if (a->kind != ExprKind::add || !nonnegative_terms(a, terms)) return nullptr;
  for (const Expr* term : terms) {
    const std::int64_t g = gcd_of(term->divisor, b->integer);
    Split split;
    if (g <= 1 || g == b->integer || !split_terms(a, g, &split)) continue;
    const Expr* rest = constant(a->type, 0);
    for (const Expr* t : split.rest) rest = binary(ExprKind::add, rest, t);
    if (rest->high >= g) continue;
    const Expr* whole = constant(a->type, 0);
    for (const Expr* t : split.multiples)
      whole = binary(ExprKind::add, whole, binary(ExprKind::div, t, constant(a->type, g)));
    const Expr* inner = binary(kind, whole, constant(a->type, b->integer / g));
    if (kind == ExprKind::div) return inner;
    return binary(ExprKind::add, binary(ExprKind::mul, inner, constant(a->type, g)), rest);
  }
  return nullptr;
}

// a / b and a % b for a positive constant b, where a is a product, a quotient or a sum.
const Expr* ExprPool::simplify_division(ExprKind kind, const Expr* a, const Expr* b) {
  const std::int64_t c = b->integer;
  const bool quotient = kind == ExprKind::div;
  const bool by_constant = a->args.size() == 2 && a->args[1]->is_constant() && a->args[1]->integer > 0;
  const std::int64_t factor = by_constant ? a->args[1]->integer : 0;
  if (a->kind == ExprKind::mul && by_constant && exact(ExprKind::mul, a->args[0], a->args[1])) {
    if (quotient && factor % c == 0) return binary(ExprKind::mul, a->args[0], constant(a->type, factor / c));
    if (c % factor == 0 && a->args[0]->low >= 0) {
      const Expr* inner = binary(kind, a->args[0], constant(a->type, c / factor));
      return quotient ? inner : binary(ExprKind::mul, inner, a->args[1]);
    }
  }
  if (quotient && a->kind == ExprKind::div && by_constant && a->args[0]->low >= 0 &&
      factor <= type_range(a->type).high / c)
    return binary(ExprKind::div, a->args[0], constant(a->type, factor * c));
  Split split;
  if (!split_terms(a, c, &split)) return by_factor(kind, a, b);
  const Expr* rest = constant(a->type, 0);
  for (const Expr* t : split.rest) rest = binary(ExprKind::add, rest, t);
  const Expr* result = binary(kind, rest, b);
  if (!quotient) return result;
  for (const Expr* t : split.multiples) result = binary(ExprKind::add, binary(ExprKind::div, t, b), result);
  return result;
}

const Expr* ExprPool::simplify(ExprKind kind, const Expr* a, const Expr* b) {
  const bool bc = b->is_constant();
  const std::int64_t c = bc ? b->integer : 0;
  switch (kind) {
    case ExprKind::add:
      if (b->is_constant(0)) return a;
      if (bc && a->kind == ExprKind::add && a->args[1]->is_constant())
        return binary(ExprKind::add, a->args[0], constant(a->type, a->args[1]->integer + c));
      // Constants float outwards, so that offsets from one base share it.
      if (!bc && a->kind == ExprKind::add && a->args[1]->is_constant())
        return binary(ExprKind::add, binary(ExprKind::add, a->args[0], b), a->args[1]);
      if (b->kind == ExprKind::add && b->args[1]->is_constant())
        return binary(ExprKind::add, binary(ExprKind::add, a, b->args[0]), b->args[1]);
      return nullptr;
    case ExprKind::sub:
      if (b->is_constant(0)) return a;
      if (a == b) return constant(a->type, 0);
      return nullptr;
    case ExprKind::mul:
      if (b->is_constant(1)) return a;
      if (b->is_constant(0)) return b;
      if (bc && a->kind == ExprKind::mul && a->args[1]->is_constant())
        return binary(ExprKind::mul, a->args[0], constant(a->type, a->args[1]->integer * c));
      if (bc && a->kind == ExprKind::add)
        return binary(ExprKind::add, binary(ExprKind::mul, a->args[0], b), binary(ExprKind::mul, a->args[1], b));
      return nullptr;
    case ExprKind::div:
      if (b->is_constant(1)) return a;
      if (!bc || c <= 0) return nullptr;
      if (a->low >= 0 && a->high < c) return constant(a->type, 0);
      return simplify_division(kind, a, b);
    case ExprKind::mod:
      if (!bc || c <= 0) return nullptr;
      if (c == 1 || a->divisor % c == 0) return constant(a->type, 0);
      if (a->low >= 0 && a->high < c) return a;
      return simplify_division(kind, a, b);
    case ExprKind::min:
      if (a == b || a->high <= b->low) return a;
      return b->high <= a->low ? b : nullptr;
    case ExprKind::max:
      if (a == b || a->low >= b->high) return a;
      return b->low >= a->high ? b : nullptr;
    case ExprKind::bit_and: return b->is_constant(0) ? b : (a == b ? a : nullptr);
    case ExprKind::bit_or: return b->is_constant(0) || a == b ? a : nullptr;
    case ExprKind::bit_xor:
      if (b->is_constant(0)) return a;
      return a == b ? constant(a->type, 0) : nullptr;
    case ExprKind::shl:
    case ExprKind::shr: return b->is_constant(0) ? a : nullptr;
    case ExprKind::lt:
      if (a->high < b->low) return boolean(true);
      return a->low >= b->high || a == b ? boolean(false) : nullptr;
    case ExprKind::le:
      if (a->high <= b->low || a == b) return boolean(true);
      return a->low > b->high ? boolean(false) : nullptr;
    case ExprKind::gt: return simplify(ExprKind::lt, b, a);
    case ExprKind::ge: return simplify(ExprKind::le, b, a);
    case ExprKind::eq:
      if (a == b) return boolean(true);
      return a->high < b->low || b->high < a->low ? boolean(false) : nullptr;
    case ExprKind::ne:
      if (a == b) return boolean(false);
      return a->high < b->low || b->high < a->low ? boolean(true) : nullptr;
    case ExprKind::logical_and:
      if (bc) return c != 0 ? a : b;
      return a == b ? a : nullptr;
    case ExprKind::logical_or:
      if (bc) return c != 0 ? b : a;
      return a == b ? a : nullptr;
    default: return nullptr;
  }
}

const Expr* ExprPool::binary(ExprKind kind, const Expr* a, const Expr* b) {
  if (commutative(kind) && a->is_constant() && !b->is_constant()) std::swap(a, b);
  if (const Expr* folded = fold(kind, a, b)) return folded;
  // The bounds of u64 values past 2^63 are not tracked, and floats do not obey these rules (NaN, -0).
  if (!is_float(a->type) && a->type != DType::u64) {
    if (const Expr* simpler = simplify(kind, a, b)) return simpler;
  }
  Expr e{};
  e.kind = kind;
  const bool to_bool = is_comparison(kind) || kind == ExprKind::logical_and || kind == ExprKind::logical_or;
  e.type = to_bool ? DType::boolean : a->type;
  e.args = {a, b};
  return intern(std::move(e));
}

const Expr* ExprPool::unary(ExprKind kind, const Expr* a) {
  if (a->is_constant() && !is_float(a->type)) {
    if (kind == ExprKind::neg)
      return constant(a->type, static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a->integer)));
    if (kind == ExprKind::bit_not) return constant(a->type, ~a->integer);
    if (kind == ExprKind::logical_not) return boolean(a->integer == 0);
  }
  if (a->is_constant() && kind == ExprKind::neg) return real(a->type, -a->real);
  if (kind == ExprKind::logical_not && a->kind == ExprKind::logical_not) return a->args[0];
  Expr e{};
  e.kind = kind;
  e.type = a->type;
  e.args = {a};
  return intern(std::move(e));
}

const Expr* ExprPool::select(const Expr* condition, const Expr* a, const Expr* b) {
  if (condition->is_constant()) return condition->integer != 0 ? a : b;
  if (a == b) return a;
  Expr e{};
  e.kind = ExprKind::select;
  e.type = a->type;
  e.args = {condition, a, b};
  return intern(std::move(e));
}

const Expr* ExprPool::cast(DType type, const Expr* a) {
  if (a->type == type) return a;
  if (a->is_constant()) {
    if (!is_float(a->type) && !is_float(type)) return constant(type, a->integer);
    if (is_float(a->type) && is_float(type)) return real(type, a->real);
    if (!is_float(a->type) && a->integer >= -(1 << 24) && a->integer <= (1 << 24))
      return real(type, static_cast<double>(a->integer));
  }
  // A widening cast of a value that is known to fit can be undone.
  if (a->kind == ExprKind::cast && !is_float(type) && !is_float(a->type) && a->args[0]->type == type &&
      within({a->args[0]->low, a->args[0]->high}, type_range(a->type)))
    return a->args[0];
  Expr e{};
  e.kind = ExprKind::cast;
  e.type = type;
  e.args = {a};
  return intern(std::move(e));
}

}  // namespace tessera::ir
