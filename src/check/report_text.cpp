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

// "random:7" is member 7 of the family "random"; "order:3.1" is one of a family without numbers.
std::string_view family_of(std::string_view schedule) { return schedule.substr(0, schedule.find(':')); }
std::optional<std::uint64_t> member_of(std::string_view schedule) {
  const std::size_t colon = schedule.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::uint64_t number = 0;
  const char* end = schedule.data() + schedule.size();
  const auto [rest, status] = std::from_chars(schedule.data() + colon + 1, end, number);
  if (status != std::errc{} || rest != end) return std::nullopt;
  return number;
}

// Those from `first` on that are listed as one: numbers that count on, else more of one family than are worth reading.
struct Group {
  std::size_t size = 1;
  std::string text;
};
Group group_at(const std::vector<std::string>& schedules, std::size_t first) {
  constexpr std::size_t worth_reading = 3;
  const std::optional<std::uint64_t> start = member_of(schedules[first]);
  std::size_t counting = 1, family = 1;
  const auto same = [&](std::size_t n) {
    return first + n < schedules.size() && family_of(schedules[first + n]) == family_of(schedules[first]);
  };
  while (start && same(counting) && member_of(schedules[first + counting]) == *start + counting) ++counting;
  if (counting > 1) return {counting, fmt::format("{} to {}", schedules[first], *start + counting - 1)};
  while (same(family) && !member_of(schedules[first + family])) ++family;
  if (start || family <= worth_reading) return {1, schedules[first]};
  return {family, fmt::format("{} of {}", family, family_of(schedules[first]))};
}

// "eager, lazy, random:1 to 6, 64 of order"
std::string schedule_list(const std::vector<std::string>& schedules) {
  std::string list;
  for (std::size_t first = 0; first < schedules.size();) {
    const Group group = group_at(schedules, first);
    if (!list.empty()) list += ", ";
    list += group.text;
    first += group.size;
  }
  return list;
}

std::string subject(const CheckReport& report) {
  const std::string kernel = report.kernel.empty() ? "kernel" : report.kernel;
  return report.config.empty() ? kernel : fmt::format("{} ({})", kernel, report.config);
}

std::string work_done(const CheckReport& report) {
  if (report.schedules.empty()) return "no schedule was run";
  std::string text = fmt::format("{} ({}), {} and {} of warps run", counted(report.schedules.size(), "schedule"),
                                 schedule_list(report.schedules), counted(report.blocks, "block"),
                                 counted(report.statements, "statement"));
  if (report.waived != 0) text += fmt::format("; {} waived in the source", counted(report.waived, "finding"));
  return text;
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
