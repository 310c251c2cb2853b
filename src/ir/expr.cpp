#include "ir/expr.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "tessera/core/error.hpp"

namespace tessera::ir {

const char* name_of(ExprKind kind) {
  static constexpr const char* names[] = {
      "constant", "param",      "block_idx",   "grid_dim",   "cluster_rank", "sm_count",    "value", "var", "operand",
      "index",    "thread_idx", "lane_idx",    "warp_idx",   "elect_one",    "shared_base", "reg",   "neg", "bit_not",
      "not",      "cast",       "add",         "sub",        "mul",          "div",         "mod",   "min", "max",
      "and",      "or",         "xor",         "shl",        "shr",          "lt",          "le",    "gt",  "ge",
      "eq",       "ne",         "logical_and", "logical_or", "select"};
  return names[static_cast<int>(kind)];
}

namespace {

std::uint64_t mix(std::uint64_t h, std::uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2);
  return h * 0xff51afd7ed558ccdULL;
}

std::uint64_t hash_of(const Expr& e) {
  std::uint64_t h = mix(static_cast<std::uint64_t>(e.kind), static_cast<std::uint64_t>(e.type));
  h = mix(h, static_cast<std::uint64_t>(e.integer));
  h = mix(h, std::bit_cast<std::uint64_t>(e.real));
  if (e.value != nullptr) h = mix(h, e.value->id);
  if (e.var != nullptr) h = mix(h, e.var->id);
  if (e.array != nullptr) h = mix(h, e.array->id);
  for (const Expr* a : e.args) h = mix(h, a->id);
  return h;
}

bool same(const Expr& a, const Expr& b) {
  return a.kind == b.kind && a.type == b.type && a.integer == b.integer &&
         std::bit_cast<std::uint64_t>(a.real) == std::bit_cast<std::uint64_t>(b.real) && a.value == b.value &&
         a.var == b.var && a.array == b.array && a.args == b.args;
}

}  // namespace

const Expr* ExprPool::intern(Expr&& e) {
  const std::uint64_t h = hash_of(e);
  const auto [first, last] = interned_.equal_range(h);
  for (auto it = first; it != last; ++it) {
    if (same(*it->second, e)) return it->second;
  }
  infer_facts(e);
  e.id = next_id_++;
  const Expr* made = arena_.make<Expr>(std::move(e));
  interned_.emplace(h, made);
  return made;
}

const Expr* ExprPool::constant(DType type, std::int64_t v) {
  if (is_float(type)) return real(type, static_cast<double>(v));
  Expr e{};
  e.kind = ExprKind::constant;
  e.type = type;
  e.integer = wrap_to(type, v);
  return intern(std::move(e));
}

const Expr* ExprPool::real(DType type, double v) {
  Expr e{};
  e.kind = ExprKind::constant;
  e.type = type;
  switch (type) {  // a literal has the value that its type can hold
    case DType::f16: e.real = static_cast<float>(float16(static_cast<float>(v))); break;
    case DType::bf16: e.real = static_cast<float>(bfloat16(static_cast<float>(v))); break;
    case DType::f8e4m3: e.real = static_cast<float>(float8_e4m3(static_cast<float>(v))); break;
    case DType::f8e5m2: e.real = static_cast<float>(float8_e5m2(static_cast<float>(v))); break;
    default: e.real = static_cast<float>(v); break;
  }
  return intern(std::move(e));
}

const Expr* ExprPool::leaf(ExprKind kind, DType type, std::int64_t integer) {
  Expr e{};
  e.kind = kind;
  e.type = type;
  e.integer = integer;
  return intern(std::move(e));
}

const Expr* ExprPool::bounded_leaf(ExprKind kind, DType type, std::int64_t integer, std::int64_t low, std::int64_t high,
                                   std::int64_t divisor) {
  Expr e{};
  e.kind = kind;
  e.type = type;
  e.integer = integer;
  e.low = low;
  e.high = high;
  e.divisor = divisor;
  return intern(std::move(e));
}

const Expr* ExprPool::value(const Value* v) {
  Expr e{};
  e.kind = ExprKind::value;
  e.type = v->type;
  e.value = v;
  return intern(std::move(e));
}

const Expr* ExprPool::var(const Var* v) {
  Expr e{};
  e.kind = ExprKind::var;
  e.type = v->type;
  e.var = v;
  return intern(std::move(e));
}

const Expr* ExprPool::reg(const RegArray* array, const Expr* index) {
  Expr e{};
  e.kind = ExprKind::reg;
  e.type = array->type;
  e.array = array;
  e.args = {index};
  return intern(std::move(e));
}

void ExprPool::set_facts(const Value* v, std::int64_t low, std::int64_t high, std::int64_t divisor) {
  value_facts_[v->id] = {low, high, divisor};
}
void ExprPool::set_facts(const Var* v, std::int64_t low, std::int64_t high) { var_facts_[v->id] = {low, high, 1}; }

std::int64_t wrap_to(DType type, std::int64_t v) {
  switch (type) {
    case DType::i8: return static_cast<std::int8_t>(v);
    case DType::i16: return static_cast<std::int16_t>(v);
    case DType::i32: return static_cast<std::int32_t>(v);
    case DType::u8: return static_cast<std::uint8_t>(v);
    case DType::u16: return static_cast<std::uint16_t>(v);
    case DType::u32: return static_cast<std::uint32_t>(v);
    case DType::boolean: return v != 0 ? 1 : 0;
    default: return v;  // 64 bits, and floats, which are not wrapped
  }
}

bool evaluate_integer(ExprKind kind, DType type, std::int64_t a, std::int64_t b, std::int64_t* result) {
  const auto ua = static_cast<std::uint64_t>(a);
  const auto ub = static_cast<std::uint64_t>(b);
  const bool is_u64 = type == DType::u64;
  const bool less = is_u64 ? ua < ub : a < b;
  std::int64_t r = 0;
  switch (kind) {
    case ExprKind::add: r = static_cast<std::int64_t>(ua + ub); break;
    case ExprKind::sub: r = static_cast<std::int64_t>(ua - ub); break;
    case ExprKind::mul: r = static_cast<std::int64_t>(ua * ub); break;
    case ExprKind::div:
    case ExprKind::mod: {
      if (b == 0) return false;
      const bool division = kind == ExprKind::div;
      if (is_u64) {
        r = static_cast<std::int64_t>(division ? ua / ub : ua % ub);
      } else if (b == -1) {
        r = division ? static_cast<std::int64_t>(0 - ua) : 0;
      } else {
        r = division ? a / b : a % b;
      }
      break;
    }
    case ExprKind::min: r = less ? a : b; break;
    case ExprKind::max: r = less ? b : a; break;
    case ExprKind::bit_and: r = a & b; break;
    case ExprKind::bit_or: r = a | b; break;
    case ExprKind::bit_xor: r = a ^ b; break;
    case ExprKind::shl:
    case ExprKind::shr:
      if (b < 0 || b >= 8 * size_of(type)) return false;
      if (kind == ExprKind::shl) {
        r = static_cast<std::int64_t>(ua << ub);
      } else {
        r = is_u64 ? static_cast<std::int64_t>(ua >> ub) : a >> b;
      }
      break;
    case ExprKind::lt: *result = less ? 1 : 0; return true;
    case ExprKind::ge: *result = less ? 0 : 1; return true;
    case ExprKind::gt: *result = (is_u64 ? ua > ub : a > b) ? 1 : 0; return true;
    case ExprKind::le: *result = (is_u64 ? ua > ub : a > b) ? 0 : 1; return true;
    case ExprKind::eq: *result = a == b ? 1 : 0; return true;
    case ExprKind::ne: *result = a != b ? 1 : 0; return true;
    case ExprKind::logical_and: *result = (a != 0 && b != 0) ? 1 : 0; return true;
    case ExprKind::logical_or: *result = (a != 0 || b != 0) ? 1 : 0; return true;
    default: return false;
  }
  *result = wrap_to(type, r);
  return true;
}

std::int64_t evaluate_on_host(const Expr* e, std::span<const std::int64_t> params, int sms) {
  const auto arg = [&](int i) { return evaluate_on_host(e->args[static_cast<std::size_t>(i)], params, sms); };
  switch (e->kind) {
    case ExprKind::constant: return e->integer;
    case ExprKind::param: return wrap_to(e->type, params[static_cast<std::size_t>(e->integer)]);
    case ExprKind::sm_count:
      if (sms > 0) return sms;
      break;
    case ExprKind::neg: return wrap_to(e->type, static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(arg(0))));
    case ExprKind::bit_not: return wrap_to(e->type, ~arg(0));
    case ExprKind::logical_not: return arg(0) == 0 ? 1 : 0;
    case ExprKind::cast: return wrap_to(e->type, arg(0));
    case ExprKind::select: return arg(0) != 0 ? arg(1) : arg(2);
    default: break;
  }
  if (is_leaf(e->kind) || e->args.size() != 2) {
    throw Error(ErrorKind::internal, {}, fmt::format("'{}' cannot be evaluated on the host", to_string(e)));
  }
  std::int64_t result = 0;
  if (!evaluate_integer(e->kind, e->args[0]->type, arg(0), arg(1), &result)) {
    throw Error(ErrorKind::user, {}, fmt::format("'{}' divides by zero or shifts too far at launch", to_string(e)));
  }
  return result;
}

bool is_host_computable(const Expr* e) {
  if (is_leaf(e->kind))
    return e->kind == ExprKind::constant || e->kind == ExprKind::param || e->kind == ExprKind::sm_count;
  return std::all_of(e->args.begin(), e->args.end(), [](const Expr* a) { return is_host_computable(a); });
}

namespace {

const char* operator_text(ExprKind kind) {
  switch (kind) {
    case ExprKind::add: return "+";
    case ExprKind::sub: return "-";
    case ExprKind::mul: return "*";
    case ExprKind::div: return "/";
    case ExprKind::mod: return "%";
    case ExprKind::bit_and: return "&";
    case ExprKind::bit_or: return "|";
    case ExprKind::bit_xor: return "^";
    case ExprKind::shl: return "<<";
    case ExprKind::shr: return ">>";
    case ExprKind::lt: return "<";
    case ExprKind::le: return "<=";
    case ExprKind::gt: return ">";
    case ExprKind::ge: return ">=";
    case ExprKind::eq: return "==";
    case ExprKind::ne: return "!=";
    case ExprKind::logical_and: return "&&";
    case ExprKind::logical_or: return "||";
    default: return nullptr;
  }
}

std::string leaf_text(const Expr* e) {
  static constexpr const char* axes[] = {"x", "y", "z"};
  switch (e->kind) {
    case ExprKind::constant:
      if (is_float(e->type)) return fmt::format("{}", e->real);
      if (e->type == DType::boolean) return e->integer != 0 ? "true" : "false";
      if (e->type == DType::u64) return fmt::format("{}", static_cast<std::uint64_t>(e->integer));
      return fmt::format("{}", e->integer);
    case ExprKind::param: return fmt::format("param{}", e->integer);
    case ExprKind::block_idx: return fmt::format("blockIdx.{}", axes[e->integer]);
    case ExprKind::grid_dim: return fmt::format("gridDim.{}", axes[e->integer]);
    case ExprKind::cluster_rank: return "cluster_rank";
    case ExprKind::sm_count: return "sm_count";
    case ExprKind::value: return e->value->name.empty() ? fmt::format("v{}", e->value->id) : e->value->name;
    case ExprKind::var: return e->var->name.empty() ? fmt::format("var{}", e->var->id) : e->var->name;
    case ExprKind::operand: return fmt::format("in{}", e->integer);
    case ExprKind::index: return fmt::format("i{}", e->integer);
    case ExprKind::thread_idx: return "thread";
    case ExprKind::lane_idx: return "lane";
    case ExprKind::warp_idx: return "warp";
    case ExprKind::elect_one: return "elect_one()";
    case ExprKind::shared_base: return "shared";
    default: return "?";
  }
}

void print(const Expr* e, bool nested, std::string& out) {
  if (is_leaf(e->kind)) {
    out += leaf_text(e);
    return;
  }
  const auto call = [&](const std::string& name) {
    out += name + "(";
    for (std::size_t i = 0; i < e->args.size(); ++i) {
      if (i > 0) out += ", ";
      print(e->args[i], false, out);
    }
    out += ")";
  };
  switch (e->kind) {
    case ExprKind::reg:
      out += e->array->name.empty() ? fmt::format("r{}", e->array->id) : e->array->name;
      out += '[';
      print(e->args[0], false, out);
      out += ']';
      return;
    case ExprKind::neg: out += '-'; return print(e->args[0], true, out);
    case ExprKind::bit_not: out += '~'; return print(e->args[0], true, out);
    case ExprKind::logical_not: out += '!'; return print(e->args[0], true, out);
    case ExprKind::cast: return call(name_of(e->type));
    case ExprKind::min: return call("min");
    case ExprKind::max: return call("max");
    case ExprKind::select: return call("select");
    default: break;
  }
  if (nested) out += '(';
  print(e->args[0], true, out);
  out += fmt::format(" {} ", operator_text(e->kind));
  print(e->args[1], true, out);
  if (nested) out += ')';
}

}  // namespace

std::string to_string(const Expr* e) {
  std::string out;
  print(e, false, out);
  return out;
}

}  // namespace tessera::ir
