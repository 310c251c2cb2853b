// The one exception that Tessera throws. The library never prints or aborts.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "tessera/core/source_loc.hpp"

namespace tessera {

enum class ErrorKind {
  user,         // the program or a call is wrong; the message says what to change
  unsupported,  // legal, but this version or this machine cannot do it
  device,       // the driver, the compiler or the card failed
  internal      // a bug in Tessera
};

struct Note {
  SourceLoc loc;
  std::string message;
};

// One mistake: what was called, the values found, the values allowed, and how to fix it.
struct Diagnostic {
  SourceLoc loc;
  std::string message;
  std::string help;  // one sentence on the fix; may be empty
  std::vector<Note> notes;
};

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::vector<Diagnostic> diagnostics);
  Error(ErrorKind kind, SourceLoc loc, std::string message, std::string help = {}, std::vector<Note> notes = {});

  ErrorKind kind() const { return kind_; }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  // `file:line: error: message`, the source line where the file can be read, the notes and the help.
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  ErrorKind kind_;
  std::vector<Diagnostic> diagnostics_;
  std::string text_;
};

// The user's source line, if the file can still be read where the compiler saw it; empty otherwise.
std::string source_line(const SourceLoc& loc);

// One diagnostic as text, in the form that `Error::what` uses; `severity` is "error", "warning" or "remark".
std::string format_diagnostic(const Diagnostic& diagnostic, const char* severity);

}  // namespace tessera
