// How a bucket's candidate is chosen: by a record, by measuring, or by a static estimate.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/hash.hpp"
#include "runtime/parallel.hpp"
#include "runtime/specialisation.hpp"
#include "trial/isolated_executor.hpp"
#include "tune/estimate.hpp"
#include "tune/tuner.hpp"

namespace tessera::runtime {
using Status = CandidateReport::Status;

namespace {

std::vector<std::size_t> ranked_rows(const std::vector<CandidateReport>& rows) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].status == Status::ranked) result.push_back(i);
  }
  return result;
}

}  // namespace

// Everything that the choice depends on, but for the text of the candidates: tracing them all only to look up a record
// would cost most of what the record saves. The record holds the hash of its winner's text, which is traced anyway; if
// that has changed, the record is not used. So after an edit of the script that leaves the recorded winner's code as it
// is, the choice stays, though another candidate may have become faster.
std::string Specialisation::identity(const Bucket& bucket) const {
  const detail::Program& program = environment_.program;
  std::string text = fmt::format("script {}\nconstants {}\nalignment {:#x}\nbucket {}\n", program.name,
                                 fmt::join(constants_, " "), alignment_, fmt::join(bucket.bounds, " "));
  text += fmt::format("device {}, {} multiprocessors\ndriver {}\ntarget {}\n", device_->name(),
                      device_->multiprocessors(), device_->driver(), target_text(environment_.toolchain, *device_));
  for (const detail::ParamInfo& param : program.params) {
    text += fmt::format("parameter {} {} {}\n", param.name, static_cast<int>(param.kind), name_of(param.type));
  }
  for (const detail::Candidate& candidate : program.candidates) text += "candidate " + candidate.config + "\n";
  return text;
}

bool Specialisation::choose_by_record(Bucket* bucket, ProgressTask& progress) {
  if (variants_.size() == 1 || device_->simulated()) return false;
  const std::string id = identity(*bucket);
  const std::string key = hash_hex(id);
  const std::optional<std::string> text = environment_.cache.load_record(key);
  if (!text) return false;
  const std::optional<tune::Record> record = tune::parse_record(*text);
  if (!record || record->identity != id || record->rows.size() != variants_.size()) return false;
  const auto winner = std::find_if(variants_.begin(), variants_.end(),
                                   [&](const Variant& v) { return v.row.config == record->winner; });
  if (winner == variants_.end()) return false;
  bucket->winner = static_cast<std::size_t>(winner - variants_.begin());
  lower({bucket->winner}, progress);
  if (winner->row.status != Status::ranked || winner->lowered->hash != record->text_hash) return false;
  load({bucket->winner}, progress);
  if (!winner->executable) return false;
  bucket->ranking = Report::Ranking::recorded;
  bucket->rows = record->rows;
  bucket->record_path = environment_.cache.record_path(key).string();
  return true;
}

void Specialisation::write_record(Bucket* bucket) const {
  tune::Record record;
  record.identity = identity(*bucket);
  record.winner = variants_[bucket->winner].row.config;
  record.text_hash = variants_[bucket->winner].lowered->hash;
  record.device = device_->name();
  record.driver = device_->driver();
  record.compiler = environment_.toolchain.compiler();
  record.bucket = bucket->text;
  record.rows = bucket->rows;
  const std::string key = hash_hex(record.identity);
  environment_.cache.store_record(key, tune::to_json(record));
  if (!environment_.cache.root().empty()) bucket->record_path = environment_.cache.record_path(key).string();
}

void Specialisation::load(const std::vector<std::size_t>& which, ProgressTask& progress) {
  std::vector<std::size_t> missing;
  for (const std::size_t i : which) {
    if (!variants_[i].executable && variants_[i].row.status == Status::ranked) missing.push_back(i);
  }
  if (missing.empty()) return;
  progress.phase(device_->needs_cubin() ? "compiling" : "preparing", missing.size());
  std::vector<jit::Compiled> compiled(missing.size());
  std::vector<std::optional<Error>> errors(missing.size());
  BuildCounters counters;
  parallel_for(missing.size(), 0, [&](std::size_t i) {
    try {
      compiled[i] = build(&variants_[missing[i]], environment_.program.name, environment_.toolchain, environment_.cache,
                          *device_, &counters);
    } catch (const Error& error) {
      errors[i] = error;
    }
    progress.advance();
  });
  environment_.counters.compiled += counters.compiled;
  environment_.counters.cache_hits += counters.cache_hits;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    Variant& variant = variants_[missing[i]];
    try {
      if (!errors[i]) variant.executable = device_->load(variant.lowered->kernel, compiled[i].cubin);
    } catch (const Error& error) {
      errors[i] = error;
    }
    if (!errors[i]) continue;
    if (variants_.size() == 1) throw Error(*errors[i]);
    variant.row.status = Status::failed;
    variant.row.reason =
        errors[i]->diagnostics().empty() ? errors[i]->what() : errors[i]->diagnostics().front().message;
  }
}

void Specialisation::rank(Bucket* bucket, RuntimeArguments arguments, SourceLoc call, const Plans& plans,
                          ProgressTask& progress) {
  std::vector<CandidateReport>& rows = bucket->rows;
  std::unique_ptr<trial::Session> trial;
  if (rows.size() > 1) trial = device_->start_trial();  // comes up while the candidates compile
  if (device_->needs_cubin()) {
    const std::vector<std::size_t> wanted = ranked_rows(rows);
    load(wanted, progress);
    for (const std::size_t i : wanted) rows[i] = variants_[i].row;
    prune_flaws(rows);
  }
  if (ranked_rows(rows).empty()) {
    throw tune::no_candidate(rows, environment_.program.name, environment_.program.loc);
  }
  if (rows.size() == 1) {
    bucket->ranking = Report::Ranking::single;
    bucket->winner = 0;
    rows[0].status = Status::chosen;
  } else if (!measure(bucket, arguments, call, std::move(trial), progress)) {
    estimate(bucket, arguments, plans);
  }
  load({bucket->winner}, progress);
  if (!variants_[bucket->winner].executable) {  // the only way to fail here is the device's: nothing is compiled now
    throw tune::no_candidate({variants_[bucket->winner].row}, environment_.program.name, environment_.program.loc);
  }
}

// A candidate that spills, or whose wgmmas the assembler serialises, is not worth its time while one is without a flaw.
void Specialisation::prune_flaws(std::vector<CandidateReport>& rows) const {
  const std::vector<std::size_t> ranked = ranked_rows(rows);
  if (std::all_of(ranked.begin(), ranked.end(), [&](std::size_t i) { return rows[i].flawed(); })) return;
  for (const std::size_t i : ranked) {
    CandidateReport& row = rows[i];
    if (!row.flawed()) continue;
    row.status = Status::pruned;
    row.reason = row.spill_bytes > 0 ? fmt::format("spills {} bytes of registers, others do not", row.spill_bytes)
                                     : fmt::format("{}; others have no such remark", row.remarks.front());
  }
}

void Specialisation::estimate(Bucket* bucket, RuntimeArguments arguments, const Plans& plans) {
  const std::vector<std::int64_t> values = scalar_values(arguments);
  const std::vector<std::size_t> ranked = ranked_rows(bucket->rows);
  for (const std::size_t i : ranked) {
    const std::array<std::int64_t, 3>& grid = plans[i]->grid;
    CandidateReport& row = bucket->rows[i];
    const int registers = row.registers > 0 ? row.registers : row.register_estimate;
    row.time_us = tune::estimate_us(*variants_[i].lowered->kernel, values, grid[0] * grid[1] * grid[2], registers,
                                    device_->multiprocessors());
  }
  bucket->winner = *std::min_element(ranked.begin(), ranked.end(), [&](std::size_t a, std::size_t b) {
    return bucket->rows[a].time_us < bucket->rows[b].time_us;
  });
  bucket->rows[bucket->winner].status = Status::chosen;
  bucket->ranking = Report::Ranking::estimated;
}

// False if there is no clock, or no room for the copies that the candidates write to.
bool Specialisation::measure(Bucket* bucket, RuntimeArguments arguments, SourceLoc call,
                             std::unique_ptr<trial::Session> trial, ProgressTask& progress) {
  std::unique_ptr<CandidateExecutor> executor;
  std::vector<Entry> entries(variants_.size());
  try {
    load(ranked_rows(bucket->rows), progress);
    for (const std::size_t i : ranked_rows(bucket->rows)) {
      entries[i] = {variants_[i].lowered->kernel, variants_[i].executable.get()};
    }
    device_->synchronize();  // the candidates read the caller's inputs
    executor = trial::make_executor(*device_, std::move(trial), arguments, entries, call, &bucket->remark);
    if (!executor) return false;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::device) throw;
    warn(fmt::format("{} is not tuned, a static estimate chooses: {}", environment_.program.name,
                     error.diagnostics().empty() ? error.what() : error.diagnostics().front().message));
    return false;
  }
  const tune::Progress steps{[&](const std::string& name, std::size_t total) { progress.phase(name, total); },
                             [&] { progress.advance(); }};
  bucket->winner = tune::measure(bucket->rows, *executor, environment_.program.name, call, {}, steps);
  bucket->ranking = Report::Ranking::measured;
  environment_.counters.timed += executor->timed();
  write_record(bucket);
  return true;
}

}  // namespace tessera::runtime
