#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/check.hpp"

namespace tessera {
namespace {

std::string counted(std::uint64_t n, const char* noun) { return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s"); }

// "random:7" is member 7 of the family "random:".
struct Member {
  std::string_view family;
  std::uint64_t number = 0;
};
std::optional<Member> member_of(std::string_view schedule) {
  const std::size_t colon = schedule.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  Member member{schedule.substr(0, colon + 1)};
  const char* end = schedule.data() + schedule.size();
  const auto [rest, status] = std::from_chars(schedule.data() + colon + 1, end, member.number);
  if (status != std::errc{} || rest != end) return std::nullopt;
  return member;
}

// "eager, lazy, random:1 to 6": members of a family that count on are one entry.
std::string schedule_list(const std::vector<std::string>& schedules) {
  std::string list;
  for (std::size_t first = 0; first < schedules.size();) {
    const std::optional<Member> start = member_of(schedules[first]);
    std::size_t next = first + 1;
    while (start && next < schedules.size()) {
      const std::optional<Member> member = member_of(schedules[next]);
      if (!member || member->family != start->family || member->number != start->number + (next - first)) break;
      ++next;
    }
    if (!list.empty()) list += ", ";
    list += schedules[first];
    if (next - first > 1) list += fmt::format(" to {}", start->number + (next - first - 1));
    first = next;
  }
  return list;
}

std::string subject(const CheckReport& report) {
  const std::string kernel = report.kernel.empty() ? "kernel" : report.kernel;
  return report.config.empty() ? kernel : fmt::format("{} ({})", kernel, report.config);
}

std::string work_done(const CheckReport& report) {
  if (report.schedules.empty()) return "no schedule was run";
  return fmt::format("{} ({}), {} and {} of warps run", counted(report.schedules.size(), "schedule"),
                     schedule_list(report.schedules), counted(report.blocks, "block"),
                     counted(report.statements, "statement"));
}

std::string times_seen(const Finding& finding) {
  if (finding.schedule.empty()) return "seen in the kernel itself, before it ran";
  const auto& b = finding.block;
  std::string text = finding.count == 1 ? "seen once" : fmt::format("seen {} times", finding.count);
  text += fmt::format("; {}in block ({}, {}, {})", finding.count == 1 ? "" : "first ", b[0], b[1], b[2]);
  if (finding.warp >= 0) text += fmt::format(", warp {}", finding.warp);
  return text + "; reproduce with --schedule " + finding.schedule;
}

}  // namespace

std::string CheckReport::text() const {
  if (clean()) return fmt::format("{}: no hazard found; {}\n", subject(*this), work_done(*this));
  std::string out = fmt::format("{}: {}; {}\n", subject(*this), counted(findings.size(), "finding"), work_done(*this));
  for (const Finding& finding : findings) {
    out += '\n' + format_diagnostic(finding.diagnostic, name_of(finding.hazard)) + '\n';
    out += "  " + times_seen(finding) + '\n';
  }
  return out;
}

}  // namespace tessera
