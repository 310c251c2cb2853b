#include "cuda/names.hpp"

#include "cuda/prelude.hpp"

namespace tessera::cuda {

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
