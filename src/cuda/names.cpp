#include "cuda/names.hpp"

#include <algorithm>
#include <array>

#include "cuda/prelude.hpp"

namespace tessera::cuda {
namespace {

// Words that no identifier of a printed kernel may take: keywords of C++ and names that CUDA or this printer defines.
constexpr std::array reserved_words = {"alignas",
                                       "alignof",
                                       "and",
                                       "asm",
                                       "auto",
                                       "bool",
                                       "break",
                                       "case",
                                       "catch",
                                       "char",
                                       "class",
                                       "const",
                                       "constexpr",
                                       "continue",
                                       "decltype",
                                       "default",
                                       "delete",
                                       "do",
                                       "double",
                                       "else",
                                       "enum",
                                       "explicit",
                                       "export",
                                       "extern",
                                       "false",
                                       "float",
                                       "for",
                                       "friend",
                                       "goto",
                                       "if",
                                       "inline",
                                       "int",
                                       "long",
                                       "mutable",
                                       "namespace",
                                       "new",
                                       "noexcept",
                                       "not",
                                       "nullptr",
                                       "operator",
                                       "or",
                                       "private",
                                       "protected",
                                       "public",
                                       "register",
                                       "requires",
                                       "return",
                                       "short",
                                       "signed",
                                       "sizeof",
                                       "static",
                                       "struct",
                                       "switch",
                                       "template",
                                       "this",
                                       "throw",
                                       "true",
                                       "try",
                                       "typedef",
                                       "typeid",
                                       "typename",
                                       "union",
                                       "unsigned",
                                       "using",
                                       "virtual",
                                       "void",
                                       "volatile",
                                       "while",
                                       "xor",
                                       "concept",
                                       "co_await",
                                       "co_yield",
                                       "co_return",
                                       "consteval",
                                       "constinit",
                                       "bitand",
                                       "bitor",
                                       "compl",
                                       "and_eq",
                                       "or_eq",
                                       "xor_eq",
                                       "not_eq",
                                       "thread_local",
                                       "DEVICE",
                                       "static_assert",
                                       "static_cast",
                                       "const_cast",
                                       "dynamic_cast",
                                       "reinterpret_cast",
                                       "wchar_t",
                                       "char8_t",
                                       "char16_t",
                                       "char32_t",
                                       "threadIdx",
                                       "blockIdx",
                                       "blockDim",
                                       "gridDim",
                                       "warpSize",
                                       "printf",
                                       "min",
                                       "max",
                                       "fminf",
                                       "fmaxf",
                                       "fmodf",
                                       "smem",
                                       "shared",
                                       "thread",
                                       "lane",
                                       "warp",
                                       "elected",
                                       "block_x",
                                       "block_y",
                                       "block_z",
                                       "grid_x",
                                       "grid_y",
                                       "grid_z",
                                       "cluster_rank",
                                       "t",
                                       "main",
                                       "half",
                                       "clock",
                                       "assert",
                                       "malloc",
                                       "free",
                                       "memcpy",
                                       "memset"};

}  // namespace

bool is_reserved_word(std::string_view identifier) {
  return std::find(reserved_words.begin(), reserved_words.end(), identifier) != reserved_words.end();
}

std::string c_identifier(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool digit = c >= '0' && c <= '9';
    if (digit && out.empty()) out += 'n';
    // Two underscores in a row, or one in front, are the implementation's.
    if (letter || digit)
      out += c;
    else if (!out.empty() && out.back() != '_')
      out += '_';
  }
  return out;
}

std::string Names::fresh(std::string_view wanted, std::string_view prefix) {
  const std::string base = readable_ ? c_identifier(wanted) : std::string();
  if (!base.empty() && !Prelude::is_reserved(base) && taken_.insert(base).second) return base;
  const std::string stem = base.empty() ? std::string(prefix) : base + (base.back() == '_' ? "" : "_");
  int& next = next_[stem];
  std::string name;
  do {
    name = stem + std::to_string(base.empty() ? next : next + 1);
    ++next;
  } while (Prelude::is_reserved(name) || !taken_.insert(name).second);
  return name;
}

const std::string& Names::lookup(const void* node, const std::string& wanted, std::string_view prefix) {
  const auto it = names_.find(node);
  if (it != names_.end()) return it->second;
  return names_.emplace(node, fresh(wanted, prefix)).first->second;
}

}  // namespace tessera::cuda
