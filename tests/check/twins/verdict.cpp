#include "verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>

#include "tessera/core/error.hpp"

namespace tessera::twins {

namespace {

// Whether one of the names after `word`, up to the next `<-`, is the twin's.
bool marked(const std::string& line, const std::string& word, const std::string& name) {
  const std::size_t begin = line.find("<- " + word + ":");
  if (begin == std::string::npos) return false;
  const std::size_t end = line.find("<-", begin + 2);
  std::stringstream names(line.substr(begin + word.size() + 4, end - begin - word.size() - 4));
  for (std::string one; names >> one;) {
    if (one.back() == ',') one.pop_back();
    if (one == name) return true;
    if (!one.empty() && one.back() == '*' && name.compare(0, one.size() - 1, one, 0, one.size() - 1) == 0) return true;
  }
  return false;
}

std::string text_of(const Diagnostic& d) {
  std::string text = d.message + "\n" + d.help;
  for (const Note& note : d.notes) text += "\n" + note.message;
  return text;
}

bool says(const std::string& text, std::uint32_t line) {
  const std::string words = fmt::format("line {}", line);
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
    const std::size_t end = at + words.size();
    if (end == text.size() || std::isdigit(static_cast<unsigned char>(text[end])) == 0) return true;
  }
  return false;
}

// By a location, or in words.
bool names(const Diagnostic& d, const std::set<std::uint32_t>& lines) {
  const std::string text = text_of(d);
  return std::any_of(lines.begin(), lines.end(), [&](std::uint32_t line) {
    const bool noted = std::any_of(d.notes.begin(), d.notes.end(), [&](const Note& n) { return n.loc.line == line; });
    return d.loc.line == line || noted || says(text, line);
  });
}

std::string summary(const Finding& f) {
  return fmt::format("[{}] object '{}'\n{}", name_of(f.hazard), f.object, format_diagnostic(f.diagnostic, "finding"));
}

}  // namespace

Marks marks_of(const Twin& twin) {
  Marks marks;
  std::ifstream file(twin.file);
  std::string line;
  for (std::uint32_t number = 1; std::getline(file, line); ++number) {
    if (marked(line, "first", twin.about.name)) marks.first.insert(number);
    if (marked(line, "second", twin.about.name)) marks.second.insert(number);
  }
  return marks;
}

std::string mismatch(const Twin& twin, const Marks& marks, const Finding& finding) {
  const Diagnostic& d = finding.diagnostic;
  if (twin.about.expected.count(finding.hazard) == 0) return "another kind of hazard";
  // Every warp that waits is part of a deadlock, whichever the report begins with.
  if (finding.hazard != Hazard::deadlock && marks.first.count(d.loc.line) + marks.second.count(d.loc.line) == 0) {
    return "at a line that is not marked";
  }
  if (!names(d, marks.first)) return "does not name the line marked 'first'";
  if (!marks.second.empty() && !names(d, marks.second)) return "does not name the line marked 'second'";
  const std::string text = finding.object + "\n" + text_of(d);
  std::stringstream objects(twin.about.object);
  for (std::string object; std::getline(objects, object, '|');) {
    if (text.find(object) != std::string::npos) return {};
  }
  return fmt::format("does not name {}", twin.about.object);
}

std::vector<sim::Schedule> schedules(int count) {
  std::vector<sim::Schedule> result{{sim::Schedule::Kind::eager, 0}, {sim::Schedule::Kind::lazy, 0}};
  for (int seed = 1; static_cast<int>(result.size()) < count; ++seed) {
    result.push_back({sim::Schedule::Kind::random, static_cast<std::uint64_t>(seed)});
  }
  return result;
}

Variant::Variant(const Twin& twin, bool broken) : twin_(twin), broken_(broken), marks_(marks_of(twin)) {
  try {
    prepared_ = twin.make(broken);
  } catch (const Error& error) {
    refused_ = true;
    refusal_ = error.what();
    if (!broken || !twin.about.while_tracing || error.kind() != ErrorKind::user) return;
    for (const Diagnostic& d : error.diagnostics()) {
      Finding finding;
      finding.hazard = *twin.about.expected.begin();
      finding.diagnostic = d;
      if (mismatch(twin, marks_, finding).empty()) refusal_.clear();
    }
  }
}

std::string Variant::check(const sim::Schedule& schedule) const {
  if (marks_.first.empty()) return "no line is marked with its name";
  if (refused_) return refusal_;
  if (broken_ && twin_.about.while_tracing) return "not refused while tracing";
  std::vector<Finding> findings;
  sim::Options options;
  options.schedule = schedule;
  options.threads = 1;
  options.findings = &findings;
  options.print = [](std::string_view) {};
  bool right = false;
  try {
    right = prepared_.run([&](const ir::thread::Kernel& kernel, const std::vector<sim::Argument>& arguments) {
      sim::run(kernel, arguments, options);
    });
  } catch (const Error& error) {
    return fmt::format("{}: an error instead of a finding: {}", schedule.to_string(), error.what());
  }
  if (broken_) return check_found(options, findings);
  if (!findings.empty()) return fmt::format("{}: a false alarm: {}", schedule.to_string(), summary(findings.front()));
  return right ? "" : schedule.to_string() + ": wrong results";
}

bool Variant::shown_by_text() const {
  return std::any_of(prepared_.by_text.begin(), prepared_.by_text.end(),
                     [&](const Finding& f) { return mismatch(twin_, marks_, f).empty(); });
}

std::string Variant::blamed_by_text() const {
  return prepared_.by_text.empty() ? "" : "a false alarm from the text: " + summary(prepared_.by_text.front());
}

std::string Variant::check_found(const sim::Options& options, const std::vector<Finding>& findings) const {
  std::string others;
  for (const Finding& finding : findings) {
    const std::string why = mismatch(twin_, marks_, finding);
    if (why.empty()) return {};
    others += fmt::format("\n  {}: {}", why, summary(finding));
  }
  return options.schedule.to_string() + (findings.empty() ? ": nothing found" : ": not found, but:" + others);
}

}  // namespace tessera::twins
