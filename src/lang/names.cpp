#include "lang/names.hpp"

#include <cctype>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "support/source_file.hpp"

namespace tessera::lang {
namespace {

using Lines = std::vector<std::string>;
using Tokens = std::vector<std::string>;

// The lines of a source file, kept for the life of the process (a file that cannot be read is an empty one).
std::shared_ptr<const Lines> lines_of(const char* path) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Lines>, std::less<>> files;
  const std::lock_guard lock(mutex);
  auto& entry = files[path];
  if (!entry) {
    auto lines = std::make_shared<Lines>();
    std::ifstream file = support::open_source(path);
    for (std::string line; lines->size() < 1'000'000 && std::getline(file, line);) lines->push_back(line);
    entry = lines;
  }
  return entry;
}

bool is_identifier_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_identifier(const std::string& token) {
  return !token.empty() && is_identifier_char(token[0]) && std::isdigit(static_cast<unsigned char>(token[0])) == 0;
}

// Identifiers, numbers and single punctuation; `::` is one token; comments end the line, string contents are dropped.
Tokens tokenize(const std::string& line) {
  Tokens tokens;
  for (std::size_t i = 0; i < line.size();) {
    const char c = line[i];
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++i;
    } else if (is_identifier_char(c)) {
      std::size_t end = i;
      while (end < line.size() && is_identifier_char(line[end])) ++end;
      tokens.push_back(line.substr(i, end - i));
      i = end;
    } else if (line.compare(i, 2, "//") == 0) {
      break;
    } else if (line.compare(i, 2, "::") == 0) {
      tokens.emplace_back("::");
      i += 2;
    } else if (c == '"') {
      std::size_t end = i + 1;
      while (end < line.size() && line[end] != '"') end += line[end] == '\\' ? 2 : 1;
      tokens.emplace_back("\"");
      i = end + 1;
    } else {
      tokens.emplace_back(1, c);
      ++i;
    }
  }
  return tokens;
}

// `NAME =` or `NAME :` just before token `i`, over qualifications such as tessera:: and mbarrier. in between.
std::optional<std::string> name_before(const Tokens& t, std::size_t i) {
  while (i >= 2 && (t[i - 1] == "::" || t[i - 1] == ".") && is_identifier(t[i - 2])) i -= 2;
  if (i >= 2 && (t[i - 1] == "=" || t[i - 1] == ":") && is_identifier(t[i - 2])) return t[i - 2];
  return std::nullopt;
}

// The name after `Var<...>`.
std::optional<std::string> name_after_template(const Tokens& t, std::size_t i) {
  int depth = 0;
  for (++i; i < t.size(); ++i) {
    if (t[i] == "<") ++depth;
    if (t[i] == ">") --depth;
    if (depth == 0 && t[i] != ">") return is_identifier(t[i]) ? std::optional(t[i]) : std::nullopt;
  }
  return std::nullopt;
}

bool is_reserved(const std::string& name) { return name == "_" || name == "operator" || name == "return"; }

}  // namespace

std::string declared_name(SourceLoc loc, std::string_view callee, int occurrence) {
  if (!loc.known()) return {};
  const auto lines = lines_of(loc.file);
  if (loc.line > lines->size()) return {};
  const Tokens t = tokenize((*lines)[loc.line - 1]);
  std::vector<std::string> found;
  for (std::size_t i = 0; i < t.size(); ++i) {
    std::optional<std::string> name;
    if (callee.empty()) {  // TYPE NAME =
      if (i >= 2 && t[i] == "=" && is_identifier(t[i - 1]) && is_identifier(t[i - 2])) name = t[i - 1];
    } else if (t[i] == callee) {
      name = callee == "Var" ? name_after_template(t, i) : name_before(t, i);
      if (!name) name.emplace();
    }
    if (name) found.push_back(is_reserved(*name) ? std::string() : *name);
  }
  if (found.empty()) return {};
  return found[static_cast<std::size_t>(occurrence) % found.size()];
}

std::vector<std::string> parameter_names(SourceLoc loc, std::size_t count) {
  if (!loc.known() || count == 0) return {};
  const auto lines = lines_of(loc.file);
  if (loc.line > lines->size()) return {};
  for (std::size_t back = loc.line; back > 0 && loc.line - back < 200; --back) {
    const auto at = (*lines)[back - 1].find("operator()(");
    if (at == std::string::npos) continue;
    std::string text = (*lines)[back - 1].substr(at + 10);
    for (std::size_t next = back; next < loc.line && text.find('{') == std::string::npos; ++next)
      text += ' ' + (*lines)[next];
    const Tokens t = tokenize(text);
    std::vector<std::string> names;
    int depth = 0;
    for (std::size_t i = 0; i < t.size(); ++i) {
      if (t[i] == "(" || t[i] == "<") ++depth;
      const bool closes = t[i] == ")" && depth == 1;
      if (depth == 1 && (closes || t[i] == ",") && i >= 2 && is_identifier(t[i - 1]) && t[i - 2] != "(" &&
          t[i - 2] != ",") {
        names.push_back(t[i - 1]);
      }
      if (t[i] == ")" || t[i] == ">") --depth;
      if (closes) break;
    }
    return names.size() == count ? names : std::vector<std::string>{};
  }
  return {};
}

}  // namespace tessera::lang
