// Identifiers of the printed kernel: the user's names made legal and unique, or generated ones.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "ir/context.hpp"

namespace tessera::cuda {

class Names {
 public:
  // readable: the user's names are kept; otherwise every name is a prefix and a number in order of first use.
  explicit Names(bool readable) : readable_(readable) {}

  const std::string& of(const ir::Value* v) { return lookup(v, v->name, "v"); }
  const std::string& of(const ir::Var* v) { return lookup(v, v->name, "x"); }
  const std::string& of(const ir::RegArray* a) { return lookup(a, a->name, "r"); }
  // A new identifier for something that has no node of its own (parameters, tensor maps, temporaries).
  std::string fresh(std::string_view wanted, std::string_view prefix);

 private:
  const std::string& lookup(const void* node, const std::string& wanted, std::string_view prefix);

  bool readable_;
  std::unordered_map<const void*, std::string> names_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> next_;
};

// `text` with every character that no C++ identifier may hold replaced.
std::string c_identifier(std::string_view text);

// Keywords, and the names that CUDA or this printer give a meaning to.
bool is_reserved_word(std::string_view identifier);

}  // namespace tessera::cuda
