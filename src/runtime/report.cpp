#include "tessera/runtime/report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {

const char* to_string(CandidateReport::Status status) {
  switch (status) {
    case CandidateReport::Status::unused: return "unused";
    case CandidateReport::Status::failed: return "failed";
    case CandidateReport::Status::pruned: return "pruned";
    case CandidateReport::Status::rejected: return "rejected";
    case CandidateReport::Status::dropped: return "dropped";
    case CandidateReport::Status::ranked: return "ranked";
    case CandidateReport::Status::chosen: return "chosen";
  }
  return "?";
}

namespace {

const char* ranking_text(Report::Ranking ranking) {
  switch (ranking) {
    case Report::Ranking::single: return "the only candidate";
    case Report::Ranking::measured: return "measured now";
    case Report::Ranking::recorded: return "by the tuning record";
    case Report::Ranking::estimated: return "by a static estimate";
  }
  return "?";
}

std::string row_text(const CandidateReport& row, std::size_t width) {
  std::string line = fmt::format("  {:<{}}  {:<8}", row.config.empty() ? "(no configuration)" : row.config, width,
                                 to_string(row.status));
  if (row.time_us > 0) line += fmt::format("  {:>9.1f} us", row.time_us);
  if (row.rounds > 1) line += fmt::format(" ±{:.1f}", row.spread_us);
  if (row.registers > 0) line += fmt::format("  {} registers", row.registers);
  if (row.registers == 0 && row.register_estimate > 0)
    line += fmt::format("  about {} registers", row.register_estimate);
  if (row.shared_bytes > 0) line += fmt::format("  {} B shared", row.shared_bytes);
  if (row.spill_bytes > 0) line += fmt::format("  spills {} B", row.spill_bytes);
  if (!row.remarks.empty() && row.status != CandidateReport::Status::pruned) line += "  " + row.remarks.front();
  if (!row.reason.empty()) line += "  " + row.reason;
  return line + "\n";
}

}  // namespace

std::string Report::to_string() const {
  if (kernel.empty()) return "not called yet\n";
  std::string text =
      fmt::format("{} on {}: {} ({}{}{})\n", kernel, device, config.empty() ? "no configuration" : config,
                  ranking_text(ranking), note.empty() ? "" : ", ", note);
  const auto line = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<9} {}\n", name, value);
  };
  line("sizes", bucket);
  line("driver", driver);
  line("compiler", compiler);
  line("CUDA", cuda_path);
  line("record", record_path);
  for (const std::string& remark : remarks) line("remark", remark);
  std::size_t width = 18;
  for (const CandidateReport& row : candidates) width = std::max(width, row.config.size());
  for (const CandidateReport& row : candidates) text += row_text(row, width);
  return text;
}

}  // namespace tessera
