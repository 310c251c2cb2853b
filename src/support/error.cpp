#include "tessera/core/error.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string>

#include "support/source_file.hpp"

namespace tessera {
namespace {

void append_located(std::string& out, const SourceLoc& loc, const char* severity, const std::string& message) {
  if (loc.known()) fmt::format_to(std::back_inserter(out), "{}:{}: ", loc.file, loc.line);
  fmt::format_to(std::back_inserter(out), "{}: {}", severity, message);
  const std::string line = source_line(loc);
  if (!line.empty()) fmt::format_to(std::back_inserter(out), "\n{:5} | {}", loc.line, line);
}

}  // namespace

std::string source_line(const SourceLoc& loc) {
  if (!loc.known()) return {};
  std::ifstream file = support::open_source(loc.file);
  std::string line;
  for (std::uint32_t n = 0; n < loc.line; ++n) {
    if (!std::getline(file, line)) return {};
  }
  return line;
}

std::string format_diagnostic(const Diagnostic& diagnostic, const char* severity) {
  std::string out;
  append_located(out, diagnostic.loc, severity, diagnostic.message);
  for (const Note& note : diagnostic.notes) {
    out += '\n';
    append_located(out, note.loc, "note", note.message);
  }
  if (!diagnostic.help.empty()) out += "\n  help: " + diagnostic.help;
  return out;
}

Error::Error(ErrorKind kind, std::vector<Diagnostic> diagnostics) : kind_(kind), diagnostics_(std::move(diagnostics)) {
  const char* severity = "error";
  if (kind == ErrorKind::internal) severity = "internal error (a bug in Tessera, please report it)";
  for (const Diagnostic& d : diagnostics_) {
    if (!text_.empty()) text_ += '\n';
    text_ += format_diagnostic(d, severity);
  }
}

Error::Error(ErrorKind kind, SourceLoc loc, std::string message, std::string help, std::vector<Note> notes)
    : Error(kind, {Diagnostic{loc, std::move(message), std::move(help), std::move(notes)}}) {}

}  // namespace tessera
