#include "cuda/expr_printer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "tessera/core/error.hpp"

namespace tessera::cuda {

using ir::Expr;
using ir::ExprKind;

namespace {

__extension__ using Wide = __int128;

struct Operator {
  const char* text;
  Precedence precedence;
};

Operator operator_of(ExprKind kind) {
  switch (kind) {
    case ExprKind::add: return {"+", Precedence::sum};
    case ExprKind::sub: return {"-", Precedence::sum};
    case ExprKind::mul: return {"*", Precedence::product};
    case ExprKind::div: return {"/", Precedence::product};
    case ExprKind::mod: return {"%", Precedence::product};
    case ExprKind::bit_and: return {"&", Precedence::bit_and};
    case ExprKind::bit_or: return {"|", Precedence::bit_or};
    case ExprKind::bit_xor: return {"^", Precedence::bit_xor};
    case ExprKind::shl: return {"<<", Precedence::shift};
    case ExprKind::shr: return {">>", Precedence::shift};
    case ExprKind::lt: return {"<", Precedence::relation};
    case ExprKind::le: return {"<=", Precedence::relation};
    case ExprKind::gt: return {">", Precedence::relation};
    case ExprKind::ge: return {">=", Precedence::relation};
    case ExprKind::eq: return {"==", Precedence::equality};
    case ExprKind::ne: return {"!=", Precedence::equality};
    case ExprKind::logical_and: return {"&&", Precedence::logical_and};
    case ExprKind::logical_or: return {"||", Precedence::logical_or};
    default: return {nullptr, Precedence::any};
  }
}

bool is_small_float(DType t) { return t == DType::f16 || t == DType::bf16; }
// As the helpers' names have it.
const char* float_name(DType t) {
  if (t == DType::f16) return "f16";
  if (t == DType::bf16) return "bf16";
  return t == DType::f8e4m3 ? "e4m3" : "e5m2";
}
bool is_narrow(DType t) { return !is_float(t) && size_of(t) < 4 && t != DType::boolean; }

struct Range {
  Wide low, high;
};

Range type_range(DType t) {
  if (t == DType::boolean) return {0, 1};
  const int bits = 8 * size_of(t);
  const Wide one = 1;
  return is_signed(t) ? Range{-(one << (bits - 1)), (one << (bits - 1)) - 1} : Range{0, (one << bits) - 1};
}

Range facts(const Expr* e) {
  const Range type = type_range(e->type);
  if (e->type == DType::u64) return type;  // facts of u64 are not tracked past 2^63
  return {std::max<Wide>(e->low, type.low), std::min<Wide>(e->high, type.high)};
}

// Whether the exact result of an integer operation may lie outside its type.
bool may_wrap(const Expr* e) {
  const Range a = facts(e->args[0]);
  const Range b = e->args.size() > 1 ? facts(e->args[1]) : a;
  Range r{};
  switch (e->kind) {
    case ExprKind::neg: r = {-a.high, -a.low}; break;
    case ExprKind::add: r = {a.low + b.low, a.high + b.high}; break;
    case ExprKind::sub: r = {a.low - b.high, a.high - b.low}; break;
    case ExprKind::mul: {
      if (e->type == DType::u64) return true;
      const Wide c[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
      r = {*std::min_element(c, c + 4), *std::max_element(c, c + 4)};
      break;
    }
    case ExprKind::div:
    case ExprKind::mod:  // only the smallest number divided by -1 overflows
      return is_signed(e->type) && b.low <= -1 && b.high >= -1 && a.low == type_range(e->type).low;
    case ExprKind::shl: {
      if (a.low < 0 || b.low < 0 || b.high > 63 || e->type == DType::u64) return true;
      r = {0, a.high << static_cast<int>(b.high)};
      break;
    }
    case ExprKind::bit_not: return !is_signed(e->type);
    default: return false;
  }
  const Range type = type_range(e->type);
  return r.low < type.low || r.high > type.high;
}

// The prelude function for signed arithmetic that may wrap around.
std::string wrapping_helper(const Expr* e) {
  const std::string width = e->type == DType::i64 ? "64" : "";
  switch (e->kind) {
    case ExprKind::add: return "wrap_add" + width;
    case ExprKind::sub: return "wrap_sub" + width;
    case ExprKind::mul: return "wrap_mul" + width;
    case ExprKind::shl: return "wrap_shl" + width;
    case ExprKind::div: return "wrap_div" + width;
    default: return "wrap_mod" + width;
  }
}

// Whether a + (b + c) may be written a + b + c: no partial sum can overflow where the whole does not.
bool sums_freely(const Expr* e) {
  const auto natural = [](const Expr* a) { return !is_signed(a->type) || a->low >= 0; };
  const Expr* b = e->args[1];
  return e->kind == ExprKind::add && b->kind == ExprKind::add && is_integer(e->type) && size_of(e->type) >= 4 &&
         !may_wrap(e) && !may_wrap(b) && natural(e->args[0]) && natural(b->args[0]) && natural(b->args[1]);
}

bool mixes_bits(ExprKind k) {
  return k == ExprKind::bit_and || k == ExprKind::bit_or || k == ExprKind::bit_xor || k == ExprKind::shl ||
         k == ExprKind::shr;
}

}  // namespace

const char* cuda_type(DType type) {
  switch (type) {
    case DType::f16: return "f16";
    case DType::bf16: return "bf16";
    case DType::f32: return "float";
    case DType::i8: return "signed char";
    case DType::i16: return "short";
    case DType::i32: return "int";
    case DType::i64: return "long long";
    case DType::u8: return "unsigned char";
    case DType::u16: return "unsigned short";
    case DType::u32: return "unsigned";
    case DType::u64: return "unsigned long long";
    case DType::boolean: return "bool";
    case DType::f8e4m3:
    case DType::f8e5m2: return "unsigned char";
  }
  return "?";
}

std::string ExprPrinter::text(const Expr* e, Precedence least) {
  Precedence precedence = Precedence::primary;
  const std::string out = print(e, &precedence);
  return precedence < least ? "(" + out + ")" : out;
}

std::string ExprPrinter::as_float(const Expr* e, Precedence least) {
  if (!is_small_float(e->type) && !is_float8(e->type)) return text(e, least);
  Precedence precedence = Precedence::primary;
  return call(fmt::format("{}_to_float", float_name(e->type)).c_str(), {text(e)}, &precedence);
}

std::string ExprPrinter::call(const char* helper, std::initializer_list<std::string> arguments,
                              Precedence* precedence) {
  prelude_.use(helper);
  *precedence = Precedence::primary;
  return fmt::format("{}({})", helper, fmt::join(arguments, ", "));
}

std::string ExprPrinter::round_to(DType type, const std::string& value, Precedence* precedence) {
  return call(fmt::format("float_to_{}", float_name(type)).c_str(), {value}, precedence);
}

std::string ExprPrinter::print(const Expr* e, Precedence* precedence) {
  *precedence = Precedence::primary;
  switch (e->kind) {
    case ExprKind::constant: return constant(e, precedence);
    case ExprKind::reg: return element(e->array, e->args[0], precedence);
    case ExprKind::neg:
    case ExprKind::bit_not:
    case ExprKind::logical_not: return unary(e, precedence);
    case ExprKind::cast: return cast(e, precedence);
    case ExprKind::select:
      *precedence = Precedence::ternary;
      return fmt::format("{} ? {} : {}", text(e->args[0], Precedence::logical_or),
                         text(e->args[1], Precedence::logical_or), text(e->args[2], Precedence::ternary));
    default: return ir::is_leaf(e->kind) ? leaf(e, precedence) : binary(e, precedence);
  }
}

std::string ExprPrinter::constant(const Expr* e, Precedence* precedence) {
  if (e->type == DType::f32) {
    const auto value = static_cast<float>(e->real);
    if (!std::isfinite(value)) return fmt::format("__uint_as_float({:#x}u)", std::bit_cast<std::uint32_t>(value));
    std::string out = fmt::format("{}", value);
    if (out.find_first_of(".e") == std::string::npos) out += ".0";
    if (out.front() == '-') *precedence = Precedence::unary;
    return out + "f";
  }
  if (is_small_float(e->type)) {
    const auto value = static_cast<float>(e->real);
    const unsigned bits = e->type == DType::f16 ? float16::from_float(value) : bfloat16::from_float(value);
    return readable_ ? fmt::format("{:#06x} /* {} */", bits, value) : fmt::format("{:#06x}", bits);
  }
  if (is_float8(e->type)) {
    const auto value = static_cast<float>(e->real);
    const unsigned bits = e->type == DType::f8e4m3 ? float8_e4m3::from_float(value) : float8_e5m2::from_float(value);
    return readable_ ? fmt::format("{:#04x} /* {} */", bits, value) : fmt::format("{:#04x}", bits);
  }
  if (e->type == DType::boolean) return e->integer != 0 ? "true" : "false";
  if (e->type == DType::u64) return fmt::format("{}ull", static_cast<std::uint64_t>(e->integer));
  if (e->type == DType::u32) return fmt::format("{}u", static_cast<std::uint32_t>(e->integer));
  const char* suffix = e->type == DType::i64 ? "ll" : "";
  if (e->integer == INT64_MIN || (e->type == DType::i32 && e->integer == INT32_MIN)) {  // has no literal of its own
    return fmt::format("({}{} - 1)", e->integer + 1, suffix);
  }
  if (e->integer < 0) *precedence = Precedence::unary;
  return fmt::format("{}{}", e->integer, suffix);
}

std::string ExprPrinter::leaf(const Expr* e, Precedence*) {
  const auto axis = static_cast<std::size_t>(e->integer);
  switch (e->kind) {
    case ExprKind::param: return params_.at(axis);
    case ExprKind::block_idx: special_.block[axis] = true; return fmt::format("block_{}", "xyz"[axis]);
    case ExprKind::grid_dim: special_.grid[axis] = true; return fmt::format("grid_{}", "xyz"[axis]);
    case ExprKind::cluster_rank:
      special_.cluster_rank = true;
      prelude_.use("cta_rank");
      return "cluster_rank";
    case ExprKind::value: return names_.of(e->value);
    case ExprKind::var: return names_.of(e->var);
    case ExprKind::thread_idx: special_.thread = true; return "thread";
    case ExprKind::lane_idx: special_.lane = true; return "lane";
    case ExprKind::warp_idx: special_.warp = true; return "warp";
    case ExprKind::elect_one:
      special_.elected = true;
      prelude_.use("elect_one");
      return "elected";
    case ExprKind::shared_base: special_.shared = true; return "shared";
    default: break;
  }
  throw Error(ErrorKind::internal, {}, fmt::format("'{}' has no place in a thread program", ir::to_string(e)));
}

int ExprPrinter::position_in_word(const ir::RegArray* array, const Expr* index) {
  const int per_word = array->type == DType::boolean ? 1 : std::max(1, 4 / size_of(array->type));
  if (index->is_constant()) return static_cast<int>(index->integer % per_word);
  if (index->divisor % per_word == 0) return 0;
  // base + constant, as unrolled code has it
  if (index->kind == ExprKind::add && index->args[1]->is_constant() && index->args[0]->divisor % per_word == 0 &&
      index->args[1]->integer >= 0)
    return static_cast<int>(index->args[1]->integer % per_word);
  return -1;
}

std::string ExprPrinter::register_index(const ir::RegArray* array, const Expr* index) {
  const int per_word = array->type == DType::boolean ? 1 : std::max(1, 4 / size_of(array->type));
  if (per_word == 1) return text(index);
  const int position = position_in_word(array, index);
  if (position < 0) return text(pool_.div(index, per_word));
  // The word of an element that is not its first: divide what is left without the remainder, which is exact.
  return text(pool_.div(pool_.add(index, -position), per_word));
}

std::string ExprPrinter::element(const ir::RegArray* array, const Expr* index, Precedence* precedence) {
  const std::string& name = names_.of(array);
  const int bytes = size_of(array->type);
  *precedence = Precedence::primary;
  if (array->type == DType::boolean || bytes >= 4) return fmt::format("{}[{}]", name, text(index));
  const int position = position_in_word(array, index);
  std::string bits;
  if (bytes == 2 && position >= 0) {
    bits =
        call(position == 0 ? "lo16" : "hi16", {fmt::format("{}[{}]", name, register_index(array, index))}, precedence);
  } else {
    bits = call(bytes == 2 ? "get16" : "get8", {name, text(index)}, precedence);
  }
  if (array->type == DType::i16 || array->type == DType::i8) {
    *precedence = Precedence::unary;
    return fmt::format("({}){}", cuda_type(array->type), bits);
  }
  return bits;
}

std::string ExprPrinter::cast(const Expr* e, Precedence* precedence) {
  const Expr* a = e->args[0];
  if (e->type == DType::boolean) {
    *precedence = Precedence::equality;
    if (is_float(a->type)) return as_float(a, Precedence::relation) + " != 0.0f";
    return text(a, Precedence::relation) + " != 0";
  }
  if (is_float(a->type) && !is_float(e->type)) {
    static constexpr const char* helpers[] = {"",
                                              "",
                                              "",
                                              "float_to_i8",
                                              "float_to_i16",
                                              "float_to_i32",
                                              "float_to_i64",
                                              "float_to_u8",
                                              "float_to_u16",
                                              "float_to_u32",
                                              "float_to_u64",
                                              ""};
    return call(helpers[static_cast<int>(e->type)], {as_float(a)}, precedence);
  }
  if (is_float(a->type) && e->type == DType::f32) return as_float(a);
  if (e->type == DType::f16 && is_float8(a->type))
    return call(fmt::format("{}_to_f16", float_name(a->type)).c_str(), {text(a)}, precedence);
  if (is_small_float(e->type) || is_float8(e->type)) {
    if (is_float(a->type)) return round_to(e->type, as_float(a), precedence);
    return round_to(e->type, "(float)" + text(a, Precedence::unary), precedence);
  }
  *precedence = Precedence::unary;
  return fmt::format("({}){}", cuda_type(e->type), text(a, Precedence::unary));
}

std::string ExprPrinter::unary(const Expr* e, Precedence* precedence) {
  const Expr* a = e->args[0];
  if (is_small_float(e->type)) return round_to(e->type, "-" + as_float(a, Precedence::unary), precedence);
  *precedence = Precedence::unary;
  if (e->kind == ExprKind::logical_not) return "!" + text(a, Precedence::unary);
  std::string operand = text(a, Precedence::unary);
  if (e->kind == ExprKind::neg && operand.front() == '-') operand = "(" + operand + ")";
  if (e->kind == ExprKind::neg && is_integer(e->type) && size_of(e->type) >= 4 && is_signed(e->type) && may_wrap(e)) {
    return call(e->type == DType::i64 ? "wrap_sub64" : "wrap_sub", {"0", text(a)}, precedence);
  }
  const std::string out = (e->kind == ExprKind::neg ? "-" : "~") + operand;
  return is_narrow(e->type) && may_wrap(e) ? fmt::format("({})({})", cuda_type(e->type), out) : out;
}

// The plain operator between the operands' texts.
std::string ExprPrinter::infix(const Expr* e, const std::string& a_prefix, Precedence* precedence) {
  const Operator op = operator_of(e->kind);
  *precedence = op.precedence;
  const auto next = static_cast<Precedence>(static_cast<int>(op.precedence) + 1);
  // Mixed bit operators and shifts are always bracketed, equal ones in a row are not.
  const auto operand = [&](const Expr* a, Precedence least) {
    const Operator inner = operator_of(a->kind);
    const bool bracket = inner.text != nullptr && a->kind != e->kind &&
                         (mixes_bits(e->kind) || (e->kind == ExprKind::logical_or && a->kind == ExprKind::logical_and));
    return text(a, bracket ? Precedence::primary : least);
  };
  const Expr* b = e->args[1];
  std::string left = operand(e->args[0], a_prefix.empty() ? op.precedence : Precedence::unary);
  if (e->kind == ExprKind::add && b->is_constant() && !is_float(e->type) && b->integer < 0 && b->integer > INT32_MIN) {
    return fmt::format("{}{} - {}", a_prefix, left, -b->integer);
  }
  // The left operand decides the type, so a small constant on the right needs no suffix.
  const bool small = b->is_constant() && is_integer(b->type) && b->integer >= 0 && b->integer <= INT32_MAX;
  const std::string right = small && !e->args[0]->is_constant() ? fmt::format("{}", b->integer)
                                                                : operand(b, sums_freely(e) ? op.precedence : next);
  return fmt::format("{}{} {} {}", a_prefix, left, op.text, right);
}

std::string ExprPrinter::update_of(const ir::Var* var, const Expr* value) {
  const Operator op = operator_of(value->kind);
  const bool compound = op.text != nullptr && op.precedence >= Precedence::bit_or &&
                        op.precedence != Precedence::equality && op.precedence != Precedence::relation &&
                        value->args[0]->kind == ExprKind::var && value->args[0]->var == var;
  const std::string whole = text(value);
  const std::string head = fmt::format("{} {} ", names_.of(var), op.text == nullptr ? "" : op.text);
  if (!compound || whole.compare(0, head.size(), head) != 0) return fmt::format("{} = {};", names_.of(var), whole);
  return fmt::format("{} {}= {};", names_.of(var), op.text, whole.substr(head.size()));
}

std::string ExprPrinter::integer_binary(const Expr* e, Precedence* precedence) {
  if (!may_wrap(e)) return infix(e, "", precedence);
  if (is_narrow(e->type) || e->type == DType::boolean) {
    Precedence inner = Precedence::any;
    // Two 16-bit unsigned factors are promoted to int, whose product may overflow.
    const std::string prefix = e->type == DType::u16 && e->kind == ExprKind::mul ? "(unsigned)" : "";
    const std::string value = infix(e, prefix, &inner);
    *precedence = Precedence::unary;
    return fmt::format("({})({})", cuda_type(e->type), value);
  }
  if (!is_signed(e->type)) return infix(e, "", precedence);
  const std::string helper = wrapping_helper(e);
  return call(helper.c_str(), {text(e->args[0]), text(e->args[1])}, precedence);
}

// Computed in float and rounded to the type; for binary16 sums and products the native instruction gives the same bits.
std::string ExprPrinter::small_float_binary(const Expr* e, Precedence* precedence) {
  const DType type = e->args[0]->type;
  const bool native = type == DType::f16;
  if (native && e->kind == ExprKind::add) return call("f16_add", {text(e->args[0]), text(e->args[1])}, precedence);
  if (native && e->kind == ExprKind::sub) return call("f16_sub", {text(e->args[0]), text(e->args[1])}, precedence);
  if (native && e->kind == ExprKind::mul) return call("f16_mul", {text(e->args[0]), text(e->args[1])}, precedence);
  const std::string a = as_float(e->args[0]);
  const std::string b = as_float(e->args[1]);
  if (e->kind == ExprKind::min || e->kind == ExprKind::max)
    return round_to(type, fmt::format("{}({}, {})", e->kind == ExprKind::min ? "fminf" : "fmaxf", a, b), precedence);
  if (e->kind == ExprKind::mod) return round_to(type, fmt::format("fmodf({}, {})", a, b), precedence);
  const Operator op = operator_of(e->kind);
  const std::string value = fmt::format("{} {} {}", a, op.text, b);
  if (!ir::is_comparison(e->kind)) return round_to(type, value, precedence);
  *precedence = op.precedence;
  return value;
}

std::string ExprPrinter::binary(const Expr* e, Precedence* precedence) {
  const DType operands = e->args[0]->type;
  if (is_small_float(operands)) return small_float_binary(e, precedence);
  if (e->kind == ExprKind::min || e->kind == ExprKind::max) {
    const char* name = e->kind == ExprKind::min ? "min" : "max";
    if (operands == DType::f32) name = e->kind == ExprKind::min ? "fminf" : "fmaxf";
    return fmt::format("{}({}, {})", name, text(e->args[0]), text(e->args[1]));
  }
  if (operands == DType::f32) {
    if (e->kind == ExprKind::mod) return fmt::format("fmodf({}, {})", text(e->args[0]), text(e->args[1]));
    return infix(e, "", precedence);
  }
  return integer_binary(e, precedence);
}

}  // namespace tessera::cuda
