// The C names and types of a kernel's parameters.
#include <array>
#include <cctype>
#include <set>

#include "export/c_expr.hpp"
#include "export/model.hpp"

namespace tessera::exporter {
using detail::ParamInfo;
using detail::ParamKind;

namespace {

// Keywords of C and C++, and what the source calls its own.
constexpr std::array reserved = {"alignas",    "alignof",   "and",
                                 "asm",        "auto",      "bool",
                                 "break",      "case",      "catch",
                                 "char",       "class",     "concept",
                                 "const",      "continue",  "default",
                                 "delete",     "do",        "double",
                                 "else",       "enum",      "explicit",
                                 "export",     "extern",    "false",
                                 "float",      "for",       "friend",
                                 "goto",       "if",        "inline",
                                 "int",        "long",      "mutable",
                                 "namespace",  "new",       "not",
                                 "operator",   "or",        "private",
                                 "protected",  "public",    "register",
                                 "requires",   "restrict",  "return",
                                 "short",      "signed",    "sizeof",
                                 "static",     "struct",    "switch",
                                 "template",   "this",      "throw",
                                 "true",       "try",       "typedef",
                                 "typename",   "union",     "unsigned",
                                 "using",      "virtual",   "void",
                                 "volatile",   "while",     "xor",
                                 "module",     "stream",    "in",
                                 "plan",       "bad",       "status",
                                 "entry",      "result",    "multiprocessors",
                                 "NULL",       "memcpy",    "memset",
                                 "level_of",   "gap",       "distance",
                                 "encode_map", "run_plan",  "map_storage",
                                 "unload",     "read_file", "directory",
                                 "tried",      "best",      "unused",
                                 "context",    "away",      "least_distance",
                                 "dims",       "strides",   "box",
                                 "base",       "device",    "index",
                                 "variants",   "entries",   "images",
                                 "texts",      "load_file", "variant",
                                 "linux",      "unix",      "I"};

std::string identifier(const std::string& name) {
  std::string result;
  for (const char c : name) result += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (result.empty() || std::isdigit(static_cast<unsigned char>(result.front())) != 0) result.insert(0, "p_");
  if (result.front() == '_') result.insert(0, "p");
  return result;
}

}  // namespace

std::string upper(const std::string& name) {
  std::string result;
  for (const char c : name) result += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

std::vector<std::string> c_names(const Model& model) {
  std::set<std::string> taken(reserved.begin(), reserved.end());
  std::vector<std::string> names;
  for (const ParamInfo& param : model.params) {
    std::string name = identifier(param.name);
    while (taken.count(name) != 0 || is_helper_name(name)) name += '_';
    taken.insert(name);
    names.push_back(name);
  }
  return names;
}

const char* c_type(const ParamInfo& param) {
  if (param.kind == ParamKind::pointer) return "CUdeviceptr";
  switch (param.type) {
    case DType::f32: return "float";
    case DType::boolean: return "bool";
    case DType::i8: return "int8_t";
    case DType::i16: return "int16_t";
    case DType::i32: return "int32_t";
    case DType::i64: return "int64_t";
    case DType::u8:
    case DType::f8e4m3:
    case DType::f8e5m2: return "uint8_t";
    case DType::u16:
    case DType::f16:
    case DType::bf16: return "uint16_t";
    case DType::u32: return "uint32_t";
    case DType::u64: return "uint64_t";
  }
  return "int32_t";
}

std::string c_meaning(const ParamInfo& param) {
  if (param.kind == ParamKind::pointer) return std::string("address of ") + name_of(param.type) + " elements";
  if (is_float(param.type) && param.type != DType::f32) return std::string("the bits of a ") + name_of(param.type);
  return name_of(param.type);
}

}  // namespace tessera::exporter
