#include "cuda/wgmma_helpers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ir/wgmma_shape.hpp"
#include "tessera/core/error.hpp"

namespace tessera::cuda {
namespace {

struct TypeName {
  DType type;
  const char* name;  // in PTX and in our functions' names
};
constexpr TypeName type_names[] = {{DType::f32, "f32"},     {DType::f16, "f16"},     {DType::bf16, "bf16"},
                                   {DType::f8e4m3, "e4m3"}, {DType::f8e5m2, "e5m2"}, {DType::i8, "s8"},
                                   {DType::u8, "u8"},       {DType::i32, "s32"}};

// Operands of 32-bit floats are read as tf32.
std::string name_in_ptx(DType type, bool operand) {
  if (operand && type == DType::f32) return "tf32";
  for (const TypeName& t : type_names)
    if (t.type == type) return t.name;
  return "?";
}

struct Form {
  DType a = DType::f16, b = DType::f16, accumulator = DType::f32;
  int n = 0;
  bool a_registers = false, a_mn = false, b_mn = false, negate_a = false, negate_b = false;

  int k() const { return 32 / size_of(a); }
  int d_words() const { return accumulator == DType::f16 ? n / 4 : n / 2; }
};

std::string name_of_form(const Form& f) {
  return fmt::format("wgmma_m64n{}k{}_{}_{}_{}{}{}{}{}{}", f.n, f.k(), name_in_ptx(f.accumulator, false),
                     name_in_ptx(f.a, true), name_in_ptx(f.b, true), f.a_registers ? "_ra" : "", f.a_mn ? "_mna" : "",
                     f.b_mn ? "_mnb" : "", f.negate_a ? "_nega" : "", f.negate_b ? "_negb" : "");
}

bool consume(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}
bool consume_number(std::string_view& text, int* value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (code != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}
bool consume_type(std::string_view& text, bool operand, DType* type) {
  for (const TypeName& t : type_names) {
    if (!consume(text, "_" + name_in_ptx(t.type, operand))) continue;
    *type = t.type;
    return true;
  }
  return false;
}

bool parse(std::string_view text, Form* f) {
  const std::string_view whole = text;
  int k = 0;
  if (!consume(text, "wgmma_m64n") || !consume_number(text, &f->n) || !consume(text, "k") ||
      !consume_number(text, &k) || !consume_type(text, false, &f->accumulator) || !consume_type(text, true, &f->a) ||
      !consume_type(text, true, &f->b))
    return false;
  f->a_registers = consume(text, "_ra");
  f->a_mn = consume(text, "_mna");
  f->b_mn = consume(text, "_mnb");
  f->negate_a = consume(text, "_nega");
  f->negate_b = consume(text, "_negb");
  return text.empty() && ir::wgmma_shape_error(f->a, f->b, f->accumulator, f->n).empty() && whole == name_of_form(*f);
}

bool parse_keep(std::string_view text, std::string* type, int* words) {
  if (!consume(text, "keep_")) return false;
  *type = consume(text, "float_")      ? "float"
          : consume(text, "unsigned_") ? "unsigned"
          : consume(text, "int_")      ? "int"
                                       : "";
  return !type->empty() && consume_number(text, words) && *words > 0 && text.empty();
}

// "%first, %first+1, ..."
std::string numbers(int first, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += fmt::format("{}%{}", i == 0 ? "" : ", ", first + i);
  return out;
}
std::string tied(const char* array, char constraint, int first, int count) {
  std::string out;
  for (int i = 0; i < count; ++i)
    out += fmt::format("{}\"+{}\"({}[{}])", i == 0 ? "" : ", ", constraint, array, first + i);
  return out;
}

// The scales of a and b and, for 16-bit operands, which are MN-major: immediates behind the predicate.
std::string immediates(const Form& f) {
  if (f.accumulator == DType::i32) return "";
  std::string out = fmt::format(", {}, {}", f.negate_a ? -1 : 1, f.negate_b ? -1 : 1);
  if (size_of(f.a) != 2) return out;
  if (!f.a_registers) out += f.a_mn ? ", 1" : ", 0";
  return out + (f.b_mn ? ", 1" : ", 0");
}

std::string wgmma_text(const Form& f) {
  const int d = f.d_words();
  const bool floats = f.accumulator == DType::f32;
  const char* d_type = floats ? "float" : f.accumulator == DType::i32 ? "int" : "unsigned";
  const int a_words = f.a_registers ? 4 : 2, b = d + a_words, predicate = b + 2;
  const std::string a_parameter = f.a_registers ? fmt::format("const {}* a", f.a == DType::f32 ? "float" : "unsigned")
                                                : "unsigned a_low, unsigned a_high";
  std::string a_inputs = "\"r\"(a_low), \"r\"(a_high)", a_operand = "a", a_move;
  if (f.a_registers) {
    a_operand = fmt::format("{{{}}}", numbers(d, 4));
    a_inputs.clear();
    const char* convert = f.a == DType::f32 ? "__float_as_uint" : "";
    for (int i = 0; i < 4; ++i) a_inputs += fmt::format("{}\"r\"({}(a[{}]))", i == 0 ? "" : ", ", convert, i);
  } else {
    a_move = fmt::format("mov.b64 a, {{%{}, %{}}}; ", d, d + 1);
  }
  return fmt::format(
      "DEVICE void {}({}* d, {}, unsigned b_low, unsigned b_high, int accumulate) {{\n"
      "  asm volatile(\"{{ .reg .pred p; .reg .b64 a, b;\\n\"\n"
      "               \"setp.ne.b32 p, %{}, 0; {}mov.b64 b, {{%{}, %{}}};\\n\"\n"
      "               \"wgmma.mma_async.sync.aligned.m64n{}k{}.{}.{}.{} \"\n"
      "               \"{{{}}}, \"\n"
      "               \"{}, b, p{}; }}\"\n"
      "               : {}\n"
      "               : {}, \"r\"(b_low), \"r\"(b_high), \"r\"(accumulate));\n}}\n",
      name_of_form(f), d_type, a_parameter, predicate, a_move, b, b + 1, f.n, f.k(), name_in_ptx(f.accumulator, false),
      name_in_ptx(f.a, true), name_in_ptx(f.b, true), numbers(0, d), a_operand, immediates(f),
      tied("d", floats ? 'f' : 'r', 0, d), a_inputs);
}

// No instruction, but the compiler must have the registers' values after whatever stands before it.
std::string keep_text(std::string_view name, const std::string& type, int words) {
  constexpr int chunk = 64;
  std::string out = fmt::format("DEVICE void {}({}* r) {{\n", name, type);
  for (int i = 0; i < words; i += chunk) {
    out += fmt::format("  asm volatile(\"\" : {} :: \"memory\");\n",
                       tied("r", type == "float" ? 'f' : 'r', i, std::min(chunk, words - i)));
  }
  return out + "}\n";
}

}  // namespace

std::string wgmma_function(const ir::thread::Wgmma& s) {
  Form f;
  f.a = s.a_type;
  f.b = s.b_type;
  f.accumulator = s.accumulator_type;
  f.n = s.n;
  f.a_registers = s.a_registers.array != nullptr;
  f.a_mn = s.a_mn_major;
  f.b_mn = s.b_mn_major;
  f.negate_a = s.negate_a;
  f.negate_b = s.negate_b;
  return name_of_form(f);
}

std::string keep_function(std::string_view register_type, int words) {
  return fmt::format("keep_{}_{}", register_type, words);
}

bool is_wgmma_helper_name(std::string_view identifier) {
  Form f;
  std::string type;
  int words = 0;
  return parse(identifier, &f) || parse_keep(identifier, &type, &words);
}

std::string wgmma_helper(std::string_view key) {
  Form f;
  std::string type;
  int words = 0;
  std::string_view name = key;
  if (consume(name, "wgmma:") && parse(name, &f)) return wgmma_text(f);
  name = key;
  if (consume(name, "keep:") && parse_keep(name, &type, &words)) return keep_text(name, type, words);
  throw Error(ErrorKind::internal, {}, fmt::format("the CUDA prelude has no helper '{}'", key));
}

}  // namespace tessera::cuda
