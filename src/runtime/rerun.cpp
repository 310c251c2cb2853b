#include "runtime/rerun.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "runtime/job_executor.hpp"
#include "runtime/launch_notes.hpp"
#include "runtime/random.hpp"
#include "trial/isolated_executor.hpp"
#include "trial/session.hpp"

namespace tessera::runtime {
using Status = CandidateReport::Status;

namespace {

void check_device(const tune::Record& record, const detail::DeviceState& device) {
  if (record.device == device.name() && record.driver == device.driver()) return;
  throw Error(ErrorKind::user, {},
              fmt::format("the record of {} was made on {} with driver {}, this is {} with driver {}", record.kernel,
                          record.device, record.driver, device.name(), device.driver()),
              "run it where the record holds; a program that meets another device makes a record of its own");
}

// What can be measured again takes part; `jobs` gets its launches, with their cubins.
std::vector<CandidateReport> take_part(const tune::Record& record, const Cache& cache, std::vector<trial::Job>* jobs) {
  std::vector<CandidateReport> rows;
  for (const tune::RecordRow& row : record.rows) {
    CandidateReport report = row.report;
    jobs->emplace_back();
    if (report.status == Status::ranked || report.status == Status::chosen) report.status = Status::unused;
    std::optional<CacheEntry> entry;
    if (row.launch && row.report.status != Status::pruned) entry = cache.load(row.launch->entry, true, true);
    if (entry) {
      report = CandidateReport();
      report.config = row.report.config;
      report.warps = row.report.warps;
      report.shared_bytes = row.report.shared_bytes;
      report.register_estimate = row.report.register_estimate;
      report.registers = row.report.registers;
      report.spill_bytes = row.report.spill_bytes;
      report.remarks = row.report.remarks;
      report.status = Status::ranked;
      jobs->back() = row.launch->job;
      jobs->back().cubin = std::move(entry->compiled.cubin);
    }
    rows.push_back(std::move(report));
  }
  return rows;
}

// The candidates on content that is made up: normally distributed numbers, and zeros for integers, since those that are
// indices must not point anywhere.
trial::Candidates with_content(const tune::Record& record, std::vector<trial::Job> jobs) {
  trial::Candidates result;
  for (const tune::RecordBuffer& buffer : record.buffers) {
    const std::size_t region = result.regions.size();
    result.regions.push_back(watched_region(buffer));
    if (buffer.region.written)
      result.outputs.push_back({static_cast<std::uint32_t>(region), buffer.type, region, 0, buffer.region.bytes});
  }
  result.jobs = std::move(jobs);
  result.fill = [&record](std::size_t region, std::span<std::byte> content) {
    const DType type = record.buffers[region].type;
    if (is_float(type))
      normal_numbers(content.data(), type, content.size() / static_cast<std::size_t>(size_of(type)), region + 1);
  };
  return result;
}

std::unique_ptr<CandidateExecutor> make_executor(const tune::Record& record, std::vector<trial::Job> jobs,
                                                 detail::DeviceState& device, std::string* remark) {
  const auto candidates = [&] { return with_content(record, jobs); };
  std::unique_ptr<CandidateExecutor> executor = trial::make_executor(
      device, device.start_trial(), candidates,
      [&](std::unique_ptr<Timer> timer) {
        return std::make_unique<JobExecutor>(device, std::move(timer), candidates());
      },
      remark);
  if (!executor) throw Error(ErrorKind::user, {}, fmt::format("{} has no clock", device.name()), "use a GPU");
  return executor;
}

// What was measured takes the place of what the record said; the rest stays.
tune::Record updated(const tune::Record& old, const std::vector<CandidateReport>& rows, std::size_t winner,
                     const std::vector<char>& took_part) {
  tune::Record result = old;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    tune::RecordRow& row = result.rows[i];
    if (took_part[i] != 0) {
      row.report = rows[i];
      row.measured = tune::seconds_since_1970();
    } else if (row.report.status == Status::chosen) {
      row.report.status = Status::ranked;
    }
  }
  result.chosen = true;
  result.winner = rows[winner].config;
  result.text_hash = result.rows[winner].text_hash;
  std::vector<CandidateReport> all;
  for (const tune::RecordRow& row : result.rows) all.push_back(row.report);
  result.complete = tune::complete(all);
  result.updated = tune::seconds_since_1970();
  return result;
}

}  // namespace

Rerun rerun(const tune::Record& record, const std::shared_ptr<detail::DeviceState>& device, const Cache& cache,
            std::optional<double> seconds, ProgressTask* progress) {
  check_device(record, *device);
  std::vector<trial::Job> jobs;
  std::vector<CandidateReport> rows = take_part(record, cache, &jobs);
  std::vector<char> took_part;
  for (const CandidateReport& row : rows) took_part.push_back(row.status == Status::ranked ? 1 : 0);
  if (std::count(took_part.begin(), took_part.end(), 1) == 0) {
    throw Error(ErrorKind::user, {},
                fmt::format("none of the {} candidates of {} can be measured again: the cache has no cubin of them",
                            rows.size(), record.kernel),
                "run the program, which compiles and measures them");
  }
  Rerun result;
  const std::unique_ptr<CandidateExecutor> executor = make_executor(record, std::move(jobs), *device, &result.remark);
  const auto begin = std::chrono::steady_clock::now();
  tune::Options options;
  options.time_single = true;
  options.enough = [&] {
    return seconds && std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() >= *seconds;
  };
  if (seconds) options.enough_reason = fmt::format("the budget of {:g} s was spent", *seconds);
  // The fastest first, so that a budget leaves out the least promising.
  for (std::size_t i = 0; i < rows.size(); ++i) options.order.push_back(i);
  const auto before = [&](std::size_t i) {
    const CandidateReport& row = record.rows[i].report;
    return std::make_pair(row.time_us <= 0, row.time_us);
  };
  std::stable_sort(options.order.begin(), options.order.end(),
                   [&](std::size_t a, std::size_t b) { return before(a) < before(b); });
  tune::Progress steps;
  if (progress != nullptr) {
    steps.phase = [&](const std::string& name, std::size_t total) { progress->phase(name, total); };
    steps.advance = [&] { progress->advance(); };
  }
  const std::size_t winner = tune::measure(rows, *executor, record.kernel, {}, options, steps);
  result.record = updated(record, rows, winner, took_part);
  return result;
}

}  // namespace tessera::runtime
