#include "cuda/memory_helpers.hpp"

#include <fmt/format.h>

#include <string>

#include "tessera/core/error.hpp"

namespace tessera::cuda {
namespace {

struct Access {
  bool load = false;
  std::string space;  // PTX state space
  bool masked = false;
  int bytes = 0;
  std::string function;
  std::string register_type;  // empty for accesses of 1 and 2 bytes
  bool global() const { return space == "global"; }
};

bool consume(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

struct SpaceName {
  const char *word, *space;
};
constexpr SpaceName spaces[] = {{"global_", "global"}, {"shared_", "shared"}, {"cluster_", "shared::cluster"}};

bool parse_name(std::string_view text, Access* a) {
  a->function = std::string(text);
  a->load = consume(text, "load_");
  if (!a->load && !consume(text, "store_")) return false;
  for (const auto& [word, space] : spaces) {
    if (!consume(text, word)) continue;
    a->space = space;
    break;
  }
  if (a->space.empty()) return false;
  for (const int bytes : {16, 8, 4, 2, 1}) {
    if (!consume(text, std::to_string(bytes))) continue;
    a->bytes = bytes;
    break;
  }
  a->masked = consume(text, "_if");
  return a->bytes != 0 && text.empty();
}

struct RegisterClass {
  const char* name;
  char constraint;
  int bytes;
  const char* suffix;
};
constexpr RegisterClass classes[] = {{"unsigned", 'r', 4, "b32"},
                                     {"int", 'r', 4, "b32"},
                                     {"float", 'f', 4, "f32"},
                                     {"long long", 'l', 8, "b64"},
                                     {"unsigned long long", 'l', 8, "b64"}};

// 1 and 2 bytes travel in one 32-bit word: ld zero-extends, st takes the low bits.
std::string scalar_text(const Access& a) {
  const std::string type = a.bytes == 1 ? "u8" : "u16";
  const std::string pointer = a.global() ? (a.load ? "const void* p" : "void* p") : "unsigned p";
  const char* address = a.global() ? "l" : "r";
  const std::string guard = a.masked ? "{ .reg .pred on; setp.ne.u32 on, %2, 0; @on " : "";
  const std::string mask = a.masked ? ", \"r\"((unsigned)on)" : "";
  const char* close = a.masked ? " }" : "";
  if (a.load) {
    return fmt::format(
        "DEVICE unsigned {0}({1}{2}) {{\n"
        "  unsigned v = 0;\n"
        "  asm volatile(\"{3}ld.{4}.{5} %0, [%1];{6}\" : \"+r\"(v) : \"{7}\"(p){8} : \"memory\");\n"
        "  return v;\n}}\n",
        a.function, a.masked ? "bool on, " : "", pointer, guard, a.space, type, close, address, mask);
  }
  return fmt::format(
      "DEVICE void {0}({1}unsigned v, {2}) {{\n"
      "  asm volatile(\"{3}st.{4}.{5} [%1], %0;{6}\" :: \"r\"(v), \"{7}\"(p){8} : \"memory\");\n}}\n",
      a.function, a.masked ? "bool on, " : "", pointer, guard, a.space, type, close, address, mask);
}

std::string vector_text(const Access& a, const RegisterClass& c) {
  const int count = a.bytes / c.bytes;
  std::string list, operands, zero;
  for (int i = 0; i < count; ++i) {
    list += fmt::format("{}%{}", i == 0 ? "" : ", ", i);
    operands +=
        fmt::format("{}\"{}{}\"(r[{}])", i == 0 ? "" : ", ", a.load ? (a.masked ? "+" : "=") : "", c.constraint, i);
    zero += fmt::format("r[{}] = ", i);
  }
  if (count > 1) list = "{" + list + "}";
  const std::string type = count > 1 ? fmt::format("v{}.{}", count, c.suffix) : std::string(c.suffix);
  const std::string address = fmt::format("[%{}]", count);
  const std::string body = a.load ? fmt::format("ld.{}.{} {}, {};", a.space, type, list, address)
                                  : fmt::format("st.{}.{} {}, {};", a.space, type, address, list);
  const std::string code =
      a.masked ? fmt::format("{{ .reg .pred on; setp.ne.u32 on, %{}, 0; @on {} }}", count + 1, body) : body;
  const std::string inputs =
      fmt::format("\"{}\"(p){}", a.global() ? "l" : "r", a.masked ? ", \"r\"((unsigned)on)" : "");
  const std::string pointer = a.global() ? (a.load ? "const void* p" : "void* p") : "unsigned p";
  const std::string signature = fmt::format("DEVICE void {}({}{}{}* r, {}) {{\n", a.function,
                                            a.masked ? "bool on, " : "", a.load ? "" : "const ", c.name, pointer);
  if (a.load) {
    return fmt::format("{}{}  asm volatile(\"{}\"\n               : {} : {} : \"memory\");\n}}\n", signature,
                       a.masked ? "  " + zero + "0;\n" : "", code, operands, inputs);
  }
  return fmt::format("{}  asm volatile(\"{}\"\n               :: {}, {} : \"memory\");\n}}\n", signature, code,
                     operands, inputs);
}

}  // namespace

bool is_memory_helper_name(std::string_view identifier) {
  Access a;
  return parse_name(identifier, &a);
}

std::string memory_helper(std::string_view key) {
  const std::size_t colon = key.find(':');
  Access a;
  if (colon != std::string_view::npos && parse_name(key.substr(0, colon), &a)) {
    a.register_type = std::string(key.substr(colon + 1));
    if (a.bytes <= 2 && a.register_type.empty()) return scalar_text(a);
    for (const RegisterClass& c : classes)
      if (a.register_type == c.name && a.bytes >= c.bytes) return vector_text(a, c);
  }
  throw Error(ErrorKind::internal, {}, fmt::format("the CUDA prelude has no helper '{}'", key));
}

}  // namespace tessera::cuda
