// SARIF 2.1.0; the paragraphs in the comments are those of the standard with its errata 01.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "check/hazard_text.hpp"
#include "tessera/check.hpp"
#include "tessera/version.hpp"

namespace tessera {
namespace {
using nlohmann::ordered_json;

constexpr const char* source_root = "%SRCROOT%";  // the name that code review services know

std::string percent_encoded(std::string_view path) {
  constexpr std::string_view kept = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string uri;
  for (const char c : path) {
    if (kept.find(c) != std::string_view::npos) {
      uri += c;
    } else {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return uri;
}

// A relative path stays relative, to the folder that the compiler ran in. One that leaves that folder becomes absolute,
// as URIs here should have no ".." (3.10.2).
ordered_json artifact_json(const char* file) {
  std::filesystem::path path = std::filesystem::path(file).lexically_normal();
  if (path.is_relative() && *path.begin() == "..") {
    std::error_code ignored;
    path = std::filesystem::absolute(path, ignored).lexically_normal();
  }
  if (path.is_absolute()) return {{"uri", "file://" + percent_encoded(path.generic_string())}};
  return {{"uri", percent_encoded(path.generic_string())}, {"uriBaseId", source_root}};
}

// Braces stand for arguments unless they are doubled (3.11.5), and brackets before a parenthesis for a link (3.11.6).
std::string message_text(std::string_view message) {
  std::string text;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const char c = message[i];
    if (c == ']' && i + 1 < message.size() && message[i + 1] == '(') text += '\\';
    if (c == '{' || c == '}') text += c;
    text += c;
  }
  return text;
}

ordered_json physical_json(const SourceLoc& loc) {
  ordered_json region = {{"startLine", loc.line}};
  const std::string source = source_line(loc);
  if (!source.empty()) region["snippet"] = {{"text", source}};
  return {{"artifactLocation", artifact_json(loc.file)}, {"region", region}};
}

ordered_json location_json(const Finding& finding) {
  ordered_json location = ordered_json::object();
  if (finding.diagnostic.loc.known()) location["physicalLocation"] = physical_json(finding.diagnostic.loc);
  if (!finding.kernel.empty()) {
    location["logicalLocations"] = ordered_json::array({{{"name", finding.kernel}, {"kind", "function"}}});
  }
  return location;
}

ordered_json related_json(const std::vector<Note>& notes) {
  ordered_json related = ordered_json::array();
  for (const Note& note : notes) {
    ordered_json location = {{"id", related.size() + 1}};
    if (note.loc.known()) location["physicalLocation"] = physical_json(note.loc);
    location["message"] = {{"text", message_text(note.message)}};
    related.push_back(std::move(location));
  }
  return related;
}

// Numbers are line numbers, indices of blocks and offsets: what an edit elsewhere or another schedule changes.
std::string without_numbers(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) out += c;
    if (digit && (out.empty() || out.back() != '#')) out += '#';
  }
  return out;
}

std::string trimmed(const std::string& line) {
  const std::size_t first = line.find_first_not_of(" \t\r");
  return first == std::string::npos ? "" : line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

// FNV-1a: short, and the same everywhere and for ever, which is what a fingerprint is for.
std::string fingerprint(const Finding& finding) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&hash](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    hash = (hash ^ 0xffu) * 0x100000001b3u;  // no byte of UTF-8, so that "ab", "c" and "a", "bc" differ
  };
  const Diagnostic& d = finding.diagnostic;
  add(name_of(finding.hazard));
  add(finding.kernel);
  add(without_numbers(finding.object));
  add(std::filesystem::path(d.loc.file).filename().string());
  add(trimmed(source_line(d.loc)));
  add(without_numbers(d.message));
  for (const Note& note : d.notes) add(trimmed(source_line(note.loc)));
  return fmt::format("{:016x}", hash);
}

ordered_json result_json(const Finding& finding, const std::string& print) {
  const Diagnostic& d = finding.diagnostic;
  const std::string message = d.help.empty() ? d.message : d.message + "\nHelp: " + d.help;
  ordered_json result = {{"ruleId", name_of(finding.hazard)},
                         {"ruleIndex", static_cast<int>(finding.hazard)},
                         {"level", "error"},
                         {"message", {{"text", message_text(message)}}},
                         {"locations", ordered_json::array()},
                         {"relatedLocations", related_json(d.notes)},
                         {"partialFingerprints", {{"tesseraFinding/v1", print}}}};
  ordered_json location = location_json(finding);
  if (!location.empty()) result["locations"].push_back(std::move(location));
  ordered_json properties = {{"object", finding.object}, {"block", finding.block}, {"count", finding.count}};
  if (!finding.schedule.empty()) properties["schedule"] = finding.schedule;
  if (finding.warp >= 0) properties["warp"] = finding.warp;
  result["properties"] = std::move(properties);
  return result;
}

// Two findings that look the same are told apart by their order.
ordered_json results_json(const std::vector<Finding>& findings) {
  ordered_json results = ordered_json::array();
  std::map<std::string, int> seen;
  for (const Finding& finding : findings) {
    const std::string print = fingerprint(finding);
    results.push_back(result_json(finding, fmt::format("{}:{}", print, ++seen[print])));
  }
  return results;
}

ordered_json rules_json() {
  ordered_json rules = ordered_json::array();
  for (const checker::HazardText& text : checker::hazard_texts()) {
    rules.push_back({{"id", name_of(text.hazard)},
                     {"shortDescription", {{"text", text.title}}},
                     {"fullDescription", {{"text", text.description}}},
                     {"help", {{"text", text.help}}},
                     {"defaultConfiguration", {{"level", "error"}}}});
  }
  return rules;
}

}  // namespace

std::string CheckReport::sarif() const {
  const ordered_json driver = {
      {"name", "tessera-check"}, {"version", version()}, {"semanticVersion", version()}, {"rules", rules_json()}};
  const ordered_json root = {{"description", {{"text", "The folder that the compiler of the kernel was run in."}}}};
  const ordered_json properties = {
      {"kernel", kernel}, {"config", config}, {"schedules", schedules}, {"blocks", blocks}, {"statements", statements}};
  const ordered_json run = {{"tool", {{"driver", driver}}},
                            {"invocations", ordered_json::array({{{"executionSuccessful", true}}})},
                            {"automationDetails", {{"id", fmt::format("tessera-check/{}/", kernel)}}},
                            {"originalUriBaseIds", {{source_root, root}}},
                            {"results", results_json(findings)},
                            {"properties", properties}};
  const ordered_json log = {
      {"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs", ordered_json::array({run})}};
  return log.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace tessera
