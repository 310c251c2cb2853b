#include "export/c_expr.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::exporter {
using ir::Expr;
using ir::ExprKind;

namespace {

constexpr std::size_t longest_text = 1 << 16;

struct Helper {
  const char* name;
  const char* text;
};
// Conversions of unsigned to signed integers keep the bits: so it is with every compiler that CUDA works with.
constexpr std::array helpers{
    Helper{"as_bool", "static int64_t as_bool(int64_t v) { return v != 0; }\n"},
    Helper{"as_i8", "static int64_t as_i8(int64_t v) { return (int8_t)(uint8_t)(uint64_t)v; }\n"},
    Helper{"as_i16", "static int64_t as_i16(int64_t v) { return (int16_t)(uint16_t)(uint64_t)v; }\n"},
    Helper{"as_i32", "static int64_t as_i32(int64_t v) { return (int32_t)(uint32_t)(uint64_t)v; }\n"},
    Helper{"as_u8", "static int64_t as_u8(int64_t v) { return (uint8_t)(uint64_t)v; }\n"},
    Helper{"as_u16", "static int64_t as_u16(int64_t v) { return (uint16_t)(uint64_t)v; }\n"},
    Helper{"as_u32", "static int64_t as_u32(int64_t v) { return (uint32_t)(uint64_t)v; }\n"},
    Helper{"bits_of",
           "static int64_t bits_of(float v) {\n  uint32_t bits;\n  memcpy(&bits, &v, sizeof bits);\n  return "
           "(int64_t)bits;\n}\n"},
    Helper{"add", "static int64_t add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }\n"},
    Helper{"sub", "static int64_t sub(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }\n"},
    Helper{"mul", "static int64_t mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }\n"},
    Helper{
        "quotient",
        "static int64_t quotient(int64_t a, int64_t b, int* bad) {\n  if (b == 0) {\n    *bad = 1;\n    return 0;\n  "
        "}\n  return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;\n}\n"},
    Helper{"remainder_of",
           "static int64_t remainder_of(int64_t a, int64_t b, int* bad) {\n  if (b == 0) {\n    *bad = 1;\n    return "
           "0;\n  }\n  return b == -1 ? 0 : a % b;\n}\n"},
    Helper{"quotient_u64",
           "static int64_t quotient_u64(int64_t a, int64_t b, int* bad) {\n  if (b == 0) {\n    *bad = 1;\n    return "
           "0;\n  }\n  return (int64_t)((uint64_t)a / (uint64_t)b);\n}\n"},
    Helper{"remainder_u64",
           "static int64_t remainder_u64(int64_t a, int64_t b, int* bad) {\n  if (b == 0) {\n    *bad = 1;\n    return "
           "0;\n  }\n  return (int64_t)((uint64_t)a % (uint64_t)b);\n}\n"},
    Helper{"least", "static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }\n"},
    Helper{"most", "static int64_t most(int64_t a, int64_t b) { return a < b ? b : a; }\n"},
    Helper{"less_u64", "static int64_t less_u64(int64_t a, int64_t b) { return (uint64_t)a < (uint64_t)b; }\n"},
    Helper{"least_u64",
           "static int64_t least_u64(int64_t a, int64_t b) { return (uint64_t)a < (uint64_t)b ? a : b; }\n"},
    Helper{"most_u64", "static int64_t most_u64(int64_t a, int64_t b) { return (uint64_t)a < (uint64_t)b ? b : a; }\n"},
    Helper{"both", "static int64_t both(int64_t a, int64_t b) { return a != 0 && b != 0; }\n"},
    Helper{"either", "static int64_t either(int64_t a, int64_t b) { return a != 0 || b != 0; }\n"},
    Helper{"shifted_left",
           "static int64_t shifted_left(int64_t a, int64_t by, int width, int* bad) {\n  if (by < 0 || by >= width) "
           "{\n    *bad = 1;\n    return 0;\n  }\n  return (int64_t)((uint64_t)a << by);\n}\n"},
    Helper{"shifted_right",
           "static int64_t shifted_right(int64_t a, int64_t by, int width, int* bad) {\n  if (by < 0 || by >= width) "
           "{\n    *bad = 1;\n    return 0;\n  }\n  return a < 0 ? ~(~a >> by) : a >> by;\n}\n"},
    Helper{"shifted_right_u64",
           "static int64_t shifted_right_u64(int64_t a, int64_t by, int* bad) {\n  if (by < 0 || by >= 64) {\n    *bad "
           "= 1;\n    return 0;\n  }\n  return (int64_t)((uint64_t)a >> by);\n}\n"},
};

int bits(DType type) { return 8 * size_of(type); }

bool is_narrow(DType type) { return is_integer(type) && size_of(type) <= 4; }

// A text that binds as strongly as a call or a name.
bool is_primary(const std::string& text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0 && text[i] == ' ') return false;
    if (depth == 0 && i == 0 && (text[i] == '-' || text[i] == '~' || text[i] == '!')) return false;
  }
  return true;
}

std::string primary(const std::string& text) { return is_primary(text) ? text : "(" + text + ")"; }

const char* comparison(ExprKind kind) {
  switch (kind) {
    case ExprKind::lt: return "<";
    case ExprKind::le: return "<=";
    case ExprKind::gt: return ">";
    case ExprKind::ge: return ">=";
    case ExprKind::eq: return "==";
    case ExprKind::ne: return "!=";
    case ExprKind::bit_and: return "&";
    case ExprKind::bit_or: return "|";
    case ExprKind::bit_xor: return "^";
    default: return nullptr;
  }
}

}  // namespace

std::string integer_literal(std::int64_t value) {
  if (value == INT64_MIN) return "(-INT64_C(9223372036854775807) - 1)";
  if (value > INT32_MAX || value <= INT32_MIN) return fmt::format("INT64_C({})", value);
  return fmt::format("{}", value);
}

std::string helper_text(const std::set<std::string>& wanted) {
  std::string text;
  for (const Helper& helper : helpers) {
    if (wanted.count(helper.name) != 0) text += helper.text;
  }
  return text;
}

bool is_helper_name(const std::string& name) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  const std::string stem = name.substr(0, digits);
  const bool numbered = digits < name.size() && (stem == "t" || stem == "extent_");
  return numbered || std::any_of(helpers.begin(), helpers.end(), [&](const Helper& h) { return name == h.name; });
}

void CExpressions::count(const Expr* root) {
  if (root == nullptr || uses_[root]++ > 0) return;
  for (const Expr* argument : root->args) count(argument);
}

bool CExpressions::can_fail(const Expr* e) {
  if (const auto known = fails_.find(e); known != fails_.end()) return known->second;
  bool result = false;
  const bool divides = e->kind == ExprKind::div || e->kind == ExprKind::mod;
  const bool shifts = e->kind == ExprKind::shl || e->kind == ExprKind::shr;
  if (divides) result = !e->args[1]->is_constant() || e->args[1]->integer == 0;
  if (shifts) {
    const Expr* by = e->args[1];
    result = !by->is_constant() || by->integer < 0 || by->integer >= bits(e->args[0]->type);
  }
  for (const Expr* argument : e->args) result = can_fail(argument) || result;
  return fails_[e] = result;
}

std::string CExpressions::text(const Expr* root, bool* failing) {
  if (failing != nullptr) *failing = can_fail(root);
  return print(root);
}

std::vector<std::string> CExpressions::take_definitions() { return std::exchange(definitions_, {}); }

std::string CExpressions::print(const Expr* e) {
  if (ir::is_leaf(e->kind)) return leaf(e);
  if (const auto named = named_.find(e); named != named_.end()) return named->second;
  std::string text;
  switch (e->kind) {
    case ExprKind::neg: text = wrapped(e->type, call("sub", {"0", print(e->args[0])})); break;
    case ExprKind::bit_not: text = wrapped(e->type, "~" + primary(print(e->args[0]))); break;
    case ExprKind::logical_not: text = primary(print(e->args[0])) + " == 0"; break;
    case ExprKind::cast: text = wrapped(e->type, print(e->args[0])); break;
    case ExprKind::select:
      text = fmt::format("{} != 0 ? (int64_t){} : {}", primary(print(e->args[0])), primary(print(e->args[1])),
                         primary(print(e->args[2])));
      break;
    default: text = binary(e);
  }
  if (text.size() > longest_text) {
    throw Error(ErrorKind::unsupported, {}, "a size of the kernel is too long an expression for C",
                "compute grids, extents and strides from the parameters with fewer divisions");
  }
  // Only what cannot fail may be computed where it is perhaps not needed.
  if (uses_[e] < 2 || can_fail(e) || text.find('(') == std::string::npos) return text;
  std::string name = fmt::format("t{}", next_++);
  definitions_.push_back(fmt::format("const int64_t {} = {};", name, text));
  return named_[e] = name;
}

std::string CExpressions::leaf(const Expr* e) {
  switch (e->kind) {
    case ExprKind::constant: return integer_literal(e->integer);
    case ExprKind::sm_count: multiprocessors_ = true; return "multiprocessors";
    case ExprKind::param: {
      const auto index = static_cast<std::size_t>(e->integer);
      params_used_.insert(index);
      const Param& param = params_.at(index);
      if (param.type == DType::f32) helpers_.insert("bits_of");
      return param.type == e->type ? param.text : wrapped(e->type, param.text);
    }
    default: break;
  }
  throw Error(ErrorKind::internal, {}, fmt::format("'{}' is not known to a launch", ir::to_string(e)));
}

std::string CExpressions::call(const std::string& helper, std::initializer_list<std::string> arguments) {
  helpers_.insert(helper);
  std::string text = helper + "(";
  for (const std::string& argument : arguments) text += (text.back() == '(' ? "" : ", ") + argument;
  return text + ")";
}

std::string CExpressions::wrapped(DType type, const std::string& value) {
  switch (type) {
    case DType::boolean: return call("as_bool", {value});
    case DType::i8: return call("as_i8", {value});
    case DType::i16: return call("as_i16", {value});
    case DType::i32: return call("as_i32", {value});
    case DType::u8: return call("as_u8", {value});
    case DType::u16: return call("as_u16", {value});
    case DType::u32: return call("as_u32", {value});
    default: return value;
  }
}

std::string CExpressions::division(const Expr* e, const std::string& a) {
  const Expr* by = e->args[1];
  const bool is_div = e->kind == ExprKind::div;
  const bool is_u64 = e->args[0]->type == DType::u64;
  const char* helper = is_u64 ? (is_div ? "quotient_u64" : "remainder_u64") : (is_div ? "quotient" : "remainder_of");
  if (!by->is_constant() || is_u64 || by->integer <= 0)
    return wrapped(e->args[0]->type, call(helper, {a, print(by), "&bad"}));
  return fmt::format("{} {} {}", primary(a), is_div ? "/" : "%", integer_literal(by->integer));
}

std::string CExpressions::shift(const Expr* e, const std::string& a) {
  const DType type = e->args[0]->type;
  const std::string by = print(e->args[1]);
  const std::string width = std::to_string(bits(type));
  if (e->kind == ExprKind::shl) return wrapped(type, call("shifted_left", {a, by, width, "&bad"}));
  if (type == DType::u64) return call("shifted_right_u64", {a, by, "&bad"});
  return call("shifted_right", {a, by, width, "&bad"});
}

std::string CExpressions::binary(const Expr* e) {
  if (e->args.size() != 2)
    throw Error(ErrorKind::internal, {}, fmt::format("'{}' is not known to a launch", ir::to_string(e)));
  const DType type = e->args[0]->type;
  const bool is_u64 = type == DType::u64;
  const std::string a = print(e->args[0]);
  if (e->kind == ExprKind::div || e->kind == ExprKind::mod) return division(e, a);
  if (e->kind == ExprKind::shl || e->kind == ExprKind::shr) return shift(e, a);
  const std::string b = print(e->args[1]);
  const bool exact = is_narrow(type) && !(e->kind == ExprKind::mul && type == DType::u32);  // 64 bits hold the result
  switch (e->kind) {
    case ExprKind::add: return wrapped(type, exact ? primary(a) + " + " + primary(b) : call("add", {a, b}));
    case ExprKind::sub: return wrapped(type, exact ? primary(a) + " - " + primary(b) : call("sub", {a, b}));
    case ExprKind::mul: return wrapped(type, exact ? primary(a) + " * " + primary(b) : call("mul", {a, b}));
    case ExprKind::min: return call(is_u64 ? "least_u64" : "least", {a, b});
    case ExprKind::max: return call(is_u64 ? "most_u64" : "most", {a, b});
    case ExprKind::logical_and: return call("both", {a, b});
    case ExprKind::logical_or: return call("either", {a, b});
    default: break;
  }
  if (is_u64 && e->kind != ExprKind::eq && e->kind != ExprKind::ne && ir::is_comparison(e->kind)) {
    const bool swapped = e->kind == ExprKind::gt || e->kind == ExprKind::le;
    const std::string less = call("less_u64", {swapped ? b : a, swapped ? a : b});
    return e->kind == ExprKind::lt || e->kind == ExprKind::gt ? less : less + " == 0";
  }
  return fmt::format("{} {} {}", primary(a), comparison(e->kind), primary(b));
}

}  // namespace tessera::exporter
