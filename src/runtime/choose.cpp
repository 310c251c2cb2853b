// How a bucket's candidate is chosen: by a record, by measuring, or by a static estimate.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "runtime/parallel.hpp"
#include "runtime/snapshot.hpp"
#include "runtime/specialisation.hpp"
#include "runtime/tuning_settings.hpp"
#include "support/error_text.hpp"
#include "tune/estimate.hpp"
#include "tune/tuner.hpp"

namespace tessera::runtime {
using Status = CandidateReport::Status;

namespace {

// Whether a record's choice can be improved on with this budget.
bool to_be_continued(const tune::Record& record, const Tuning& tuning) {
  return !record.complete && tuning.mode != Tuning::never && (!tuning.seconds || *tuning.seconds > record.seconds);
}

// The most promising first; of equals the one that needs less.
std::vector<std::size_t> analytic_order(const std::vector<CandidateReport>& rows,
                                        const std::vector<double>& estimates) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t i) {
    return std::make_tuple(rows[i].status != Status::ranked, estimates[i], rows[i].register_estimate,
                           rows[i].shared_bytes);
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return order;
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

Bucket* Specialisation::choose(RuntimeArguments arguments, SourceLoc call, void* stream, ProgressTask& progress) {
  const Tuning tuning = with_environment(environment_.tuning);
  Bucket bucket;
  bucket.bounds = bounds_of(arguments);
  bucket.text = bucket_text(bucket.bounds);
  std::optional<tune::Record> record;
  const bool compared = variants_.size() > 1 || environment_.program.always_measured;
  if (compared && !device_->simulated()) record = RecordStore(environment_.cache, identity(bucket)).load();
  const bool known = record && choose_by_record(&bucket, *record, progress);
  std::optional<TuningTask> later;
  if (!known || to_be_continued(*record, tuning)) {
    std::vector<std::size_t> all(variants_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    lower(all, progress);
    std::vector<CandidateReport> rows;
    for (const Variant& variant : variants_) rows.push_back(variant.row);
    require_candidate(rows);
    const Plans plans = plan_all(rows, arguments, call);
    const bool nothing = std::all_of(plans.begin(), plans.end(), [](const auto& p) { return !p || p->empty; });
    if (nothing) return nullptr;
    const std::vector<double> guess = estimates(rows, arguments, plans);
    if (!known) bucket.rows = rows;
    if (!compared || (rows.size() == 1 && device_->simulated())) {
      choose_only(&bucket, progress);
    } else if (device_->simulated()) {
      bucket.note = "the simulated device has no clock";
      choose_by_estimate(&bucket, guess, progress);
    } else if (tuning.mode == Tuning::now) {
      tune_now(&bucket, task(bucket, std::move(rows), guess, record, tuning, call), arguments, guess, progress);
    } else {
      if (!known) {
        bucket.note = "not measured: the tuning mode is never";
        choose_by_estimate(&bucket, guess, progress);
      }
      if (tuning.mode == Tuning::background) later.emplace(task(bucket, std::move(rows), guess, record, tuning, call));
    }
  }
  progress.finish(fmt::format("{}{}{}",
                              variants_[bucket.winner].row.config.empty()
                                  ? std::string("ready")
                                  : "chose " + variants_[bucket.winner].row.config,
                              bucket.text.empty() ? "" : " for ", bucket.text));
  buckets_.push_back(std::move(bucket));
  if (later) tune_in_background(&buckets_.back(), std::move(*later), arguments, stream);
  return &buckets_.back();
}

bool Specialisation::choose_by_record(Bucket* bucket, const tune::Record& record, ProgressTask& progress) {
  const auto winner =
      std::find_if(variants_.begin(), variants_.end(), [&](const Variant& v) { return v.row.config == record.winner; });
  if (!record.chosen || winner == variants_.end() || record.rows.size() != variants_.size()) return false;
  const auto number = static_cast<std::size_t>(winner - variants_.begin());
  lower({number}, progress);
  if (winner->row.status != Status::ranked || winner->lowered->hash != record.text_hash) return false;
  load({number}, progress);
  if (!winner->executable) return false;
  bucket->winner = number;
  bucket->ranking = Report::Ranking::recorded;
  for (const Variant& variant : variants_) {
    const auto row = std::find_if(record.rows.begin(), record.rows.end(),
                                  [&](const tune::RecordRow& r) { return r.report.config == variant.row.config; });
    bucket->rows.push_back(row == record.rows.end() ? variant.row : row->report);
  }
  bucket->record_path = RecordStore(environment_.cache, record.identity).path();
  bucket->partial = !record.complete;
  if (bucket->partial) bucket->note = "which is partial";
  return true;
}

void Specialisation::load(const std::vector<std::size_t>& which, ProgressTask& progress) {
  std::vector<std::size_t> missing;
  for (const std::size_t i : which) {
    if (!variants_[i].executable && variants_[i].row.status == Status::ranked) missing.push_back(i);
  }
  if (missing.empty()) return;
  progress.phase(device_->needs_cubin() ? "compiling" : "preparing", missing.size());
  BuildCounters counters;
  for (const std::size_t i : missing) {
    Variant& variant = variants_[i];
    try {
      const jit::Compiled compiled =
          build(&variant, environment_.program.name, environment_.toolchain, environment_.cache, *device_, &counters);
      variant.executable = runtime::load(variant, *device_, compiled.cubin);
    } catch (const Error& error) {
      if (variants_.size() == 1) throw;
      variant.row.status = Status::failed;
      variant.row.reason = first_message(error);
    }
    progress.advance();
  }
  environment_.counters.compiled += counters.compiled;
  environment_.counters.cache_hits += counters.cache_hits;
}

void Specialisation::choose_only(Bucket* bucket, ProgressTask& progress) {
  load({0}, progress);
  bucket->rows[0] = variants_[0].row;
  bucket->rows[0].status = Status::chosen;
  bucket->ranking = Report::Ranking::single;
  bucket->winner = 0;
}

std::vector<double> Specialisation::estimates(const std::vector<CandidateReport>& rows, RuntimeArguments arguments,
                                              const Plans& plans) const {
  const std::vector<std::int64_t> values = scalar_values(arguments);
  std::vector<double> result(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!plans[i]) continue;
    const std::array<std::int64_t, 3>& grid = plans[i]->grid;
    const int registers = rows[i].registers > 0 ? rows[i].registers : rows[i].register_estimate;
    result[i] = tune::estimate_us(*variants_[i].lowered->kernel, values, grid[0] * grid[1] * grid[2], registers,
                                  device_->multiprocessors());
  }
  return result;
}

// The first that can be compiled and loaded, in the order of the estimates.
void Specialisation::choose_by_estimate(Bucket* bucket, const std::vector<double>& estimates, ProgressTask& progress) {
  std::vector<CandidateReport>& rows = bucket->rows;
  bucket->ranking = Report::Ranking::estimated;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].status == Status::ranked) rows[i].time_us = estimates[i];
  }
  for (const std::size_t i : analytic_order(rows, estimates)) {
    if (rows[i].status != Status::ranked) continue;
    load({i}, progress);
    if (variants_[i].executable) {
      const double estimate = rows[i].time_us;
      rows[i] = variants_[i].row;
      rows[i].time_us = estimate;
      rows[i].status = Status::chosen;
      bucket->winner = i;
      return;
    }
    rows[i] = variants_[i].row;
  }
  throw tune::no_candidate(rows, environment_.program.name, environment_.program.loc);
}

TuningTask Specialisation::task(const Bucket& bucket, std::vector<CandidateReport> rows,
                                const std::vector<double>& estimates, const std::optional<tune::Record>& earlier,
                                const Tuning& tuning, SourceLoc call) const {
  std::vector<std::int64_t> measured(rows.size());
  std::vector<std::size_t> order = analytic_order(rows, estimates);
  if (earlier) {
    std::vector<std::string> texts;
    for (const Variant& variant : variants_) texts.push_back(variant.lowered->hash);
    take_over(*earlier, texts, &rows, &measured);
  }
  return {environment_.program.name,
          bucket.text,
          identity(bucket),
          environment_.program.loc,
          call,
          environment_.toolchain,
          environment_.cache,
          device_,
          variants_,
          std::move(rows),
          std::move(measured),
          std::move(order),
          tuning.seconds,
          earlier ? earlier->seconds : 0,
          environment_.program.always_measured};
}

void Specialisation::tune_now(Bucket* bucket, TuningTask task, RuntimeArguments arguments,
                              const std::vector<double>& estimates, ProgressTask& progress) {
  TuningOutcome outcome = BucketTuner(std::move(task), nullptr, &progress).run(arguments);
  const bool measured = outcome.measured;
  if (!measured) bucket->rows = outcome.rows;
  install(bucket, std::move(outcome));
  if (!measured) choose_by_estimate(bucket, estimates, progress);
}

// The caller's buffers may change as soon as this returns, so that the candidates get copies of them.
void Specialisation::tune_in_background(Bucket* bucket, TuningTask task, RuntimeArguments arguments, void* stream) {
  std::shared_ptr<Snapshot> snapshot;
  try {
    std::vector<Entry> entries(variants_.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (task.rows[i].status == Status::ranked) entries[i].kernel = variants_[i].lowered->kernel;
    }
    snapshot = std::make_shared<Snapshot>(device_, arguments, entries, stream);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::device) throw;
    bucket->note = "not tuned in the background: " + first_message(error);
    return;
  }
  bucket->note = "tuning in the background";
  bucket->partial = true;
  auto shared = std::make_shared<TuningTask>(std::move(task));
  environment_.background.submit([this, bucket, shared, snapshot](const std::atomic<bool>& cancelled) {
    std::string failure;
    TuningOutcome outcome;
    try {
      outcome = BucketTuner(std::move(*shared), &cancelled, nullptr).run(snapshot->arguments());
    } catch (const std::exception& error) {
      const auto* ours = dynamic_cast<const Error*>(&error);
      failure = ours != nullptr ? first_message(*ours) : error.what();
    }
    if (cancelled) return;
    const std::lock_guard lock(environment_.mutex);
    if (failure.empty()) {
      install(bucket, std::move(outcome));
    } else {
      bucket->note = "the tuning in the background failed: " + failure;
    }
  });
}

// What was compiled is kept for other buckets; launches of this one are planned anew.
void Specialisation::install(Bucket* bucket, TuningOutcome outcome) {
  for (std::size_t i = 0; i < variants_.size(); ++i) {
    Variant& built = outcome.variants[i];
    if (variants_[i].executable) continue;
    variants_[i].executable = std::move(built.executable);
    variants_[i].row = std::move(built.row);
    variants_[i].directory = std::move(built.directory);
  }
  environment_.counters.compiled += outcome.compiled;
  environment_.counters.cache_hits += outcome.cache_hits;
  environment_.counters.timed += outcome.timed;
  bucket->note = std::move(outcome.note);
  if (!outcome.measured) return;
  bucket->rows = std::move(outcome.rows);
  bucket->winner = outcome.winner;
  bucket->ranking = Report::Ranking::measured;
  bucket->partial = outcome.partial;
  bucket->record_path = std::move(outcome.record_path);
  bucket->remark = std::move(outcome.remark);
  environment_.forget_plans();
}

}  // namespace tessera::runtime
