#include "check/waivers.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace tessera::checker {

namespace {

bool waives(std::string_view line, std::string_view hazard) {
  constexpr std::string_view mark = "tessera-check: allow(";
  const std::size_t comment = line.find("//");
  const std::size_t at = comment == std::string_view::npos ? comment : line.find(mark, comment);
  if (at == std::string_view::npos) return false;
  std::string_view names = line.substr(at + mark.size());
  names = names.substr(0, names.find(')'));
  while (!names.empty()) {
    const std::size_t comma = std::min(names.find(','), names.size());
    std::string_view name = names.substr(0, comma);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (name == hazard) return true;
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return false;
}

}  // namespace

std::uint64_t take_waived(std::vector<Finding>& findings) {
  return static_cast<std::uint64_t>(std::erase_if(findings, [](const Finding& f) {
    const auto at = [&](const SourceLoc& loc) { return waives(source_line(loc), name_of(f.hazard)); };
    const auto& notes = f.diagnostic.notes;
    return at(f.diagnostic.loc) || std::any_of(notes.begin(), notes.end(), [&](const Note& n) { return at(n.loc); });
  }));
}

}  // namespace tessera::checker
