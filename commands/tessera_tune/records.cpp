#include "tessera_tune/records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/hash.hpp"

namespace tessera::tune_command {
namespace fs = std::filesystem;
using nlohmann::ordered_json;
using Status = CandidateReport::Status;

namespace {

constexpr std::size_t shown_key = 12;

double best_us(const tune::Record& record) {
  const tune::RecordRow* winner = record.winning_row();
  return winner == nullptr ? 0 : winner->report.time_us;
}

std::string age_text(std::int64_t updated) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now).count() - updated;
  if (seconds < 120) return fmt::format("{} s", std::max<std::int64_t>(seconds, 0));
  if (seconds < 2 * 3600) return fmt::format("{} min", seconds / 60);
  if (seconds < 2 * 86400) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} days", seconds / 86400);
}

std::string winner_text(const tune::Record& record) {
  if (!record.chosen) return "(none yet)";
  return record.winner.empty() ? "(no configuration)" : record.winner;
}

void print_json(const std::vector<Stored>& records) {
  ordered_json list = ordered_json::array();
  for (const Stored& one : records) {
    const tune::Record& r = one.record;
    list.push_back({{"key", one.key},
                    {"kernel", r.kernel},
                    {"bucket", r.bucket},
                    {"device", r.device},
                    {"driver", r.driver},
                    {"winner", r.chosen ? ordered_json(r.winner) : ordered_json()},
                    {"time_us", best_us(r)},
                    {"updated", r.updated},
                    {"complete", r.complete},
                    {"candidates", r.rows.size()}});
  }
  std::puts(list.dump(2).c_str());
}

std::string row_line(const tune::RecordRow& row, std::size_t width) {
  const CandidateReport& r = row.report;
  std::string line =
      fmt::format("  {:<{}}  {:<8}", r.config.empty() ? "(no configuration)" : r.config, width, to_string(r.status));
  line += r.rounds > 0 ? fmt::format("  {:>10.2f} us ±{:<8.2f} {:>3} launches", r.time_us, r.spread_us, r.rounds)
                       : fmt::format("{:36}", "");
  if (r.registers > 0) line += fmt::format("  {} registers", r.registers);
  if (r.shared_bytes > 0) line += fmt::format("  {} B shared", r.shared_bytes);
  if (!r.reason.empty()) line += "  " + r.reason;
  return line;
}

bool chosen_kernel(const tune::Record& record, const std::vector<std::string>& kernels) {
  return kernels.empty() || std::find(kernels.begin(), kernels.end(), record.kernel) != kernels.end();
}

}  // namespace

std::vector<Stored> all_records(const runtime::Cache& cache) {
  std::vector<Stored> result;
  std::error_code code;
  for (const auto& file : fs::directory_iterator(cache.root() / "tuning", code)) {
    if (file.path().extension() != ".json" || file.path().filename().string().front() == '.') continue;
    const std::string key = file.path().stem().string();
    const std::optional<std::string> text = cache.load_record(key);
    std::optional<tune::Record> record;
    if (text) record = tune::parse_record(*text);
    if (record && runtime::hash_hex(record->identity) == key) result.push_back({key, std::move(*record)});
  }
  std::sort(result.begin(), result.end(), [](const Stored& a, const Stored& b) {
    return std::tie(a.record.kernel, a.record.bucket, a.record.device, a.key) <
           std::tie(b.record.kernel, b.record.bucket, b.record.device, b.key);
  });
  return result;
}

std::optional<Stored> find_record(const runtime::Cache& cache, const std::string& prefix) {
  std::vector<Stored> found = all_records(cache);
  std::erase_if(found, [&](const Stored& one) { return !one.key.starts_with(prefix); });
  if (found.size() == 1) return std::move(found.front());
  if (found.empty()) {
    fmt::print(stderr, "tessera-tune: no record in {} has a key that begins with {}; see tessera-tune list\n",
               cache.root().string(), prefix);
  } else {
    fmt::print(stderr, "tessera-tune: {} records have keys that begin with {}; give more digits:\n", found.size(),
               prefix);
    for (const Stored& one : found) fmt::print(stderr, "  {}  {} {}\n", one.key, one.record.kernel, one.record.bucket);
  }
  return std::nullopt;
}

int list(const runtime::Cache& cache, const std::vector<std::string>& kernels, bool json) {
  std::vector<Stored> records = all_records(cache);
  std::erase_if(records, [&](const Stored& one) { return !chosen_kernel(one.record, kernels); });
  if (json) {
    print_json(records);
    return done;
  }
  for (const Stored& one : records) {
    const tune::Record& r = one.record;
    fmt::print("{}  {}  {}  on {}: {}  {:.1f} us  {} old  {}\n", one.key.substr(0, shown_key), r.kernel,
               r.bucket.empty() ? "any size" : r.bucket, r.device, winner_text(r), best_us(r), age_text(r.updated),
               r.complete ? "whole" : "partial");
  }
  if (records.empty()) fmt::print("no tuning records in {}\n", cache.root().string());
  return done;
}

int show(const runtime::Cache& cache, const std::string& prefix) {
  const std::optional<Stored> found = find_record(cache, prefix);
  if (!found) return refused;
  const tune::Record& r = found->record;
  fmt::print("{}: {}\n  file      {}\n  sizes     {}\n  device    {}\n  driver    {}\n  compiler  {}\n", r.kernel,
             winner_text(r), cache.record_path(found->key).string(), r.bucket, r.device, r.driver, r.compiler);
  fmt::print("  measured  {} ago, in {:.1f} s, {}\n", age_text(r.updated), r.seconds,
             r.complete ? "whole" : "partial: some candidates have not been tried");
  for (const tune::RecordBuffer& b : r.buffers) {
    fmt::print("  buffer    {} ({}): {} bytes{}{}\n", b.region.name, name_of(b.type), b.region.bytes,
               b.region.read ? ", read" : "", b.region.written ? ", written" : "");
  }
  std::size_t width = 18;
  for (const tune::RecordRow& row : r.rows) width = std::max(width, row.report.config.size());
  for (const tune::RecordRow& row : r.rows) fmt::print("{}\n", row_line(row, width));
  return done;
}

}  // namespace tessera::tune_command
