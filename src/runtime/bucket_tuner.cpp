#include "runtime/bucket_tuner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "runtime/launch_notes.hpp"
#include "runtime/parallel.hpp"
#include "runtime/tune_executor.hpp"
#include "support/error_text.hpp"
#include "tune/tuner.hpp"

namespace tessera::runtime {
using Status = CandidateReport::Status;

namespace {

// Of a budget, so that something can be measured of what was compiled.
constexpr double compile_share = 0.6;
constexpr auto save_interval = std::chrono::milliseconds(250);

// Kernels that measure at once disturb each other, so one does at a time; in the background it can wait.
class Turn {
 public:
  explicit Turn(const std::atomic<bool>* cancelled) : lock_(mutex(), std::defer_lock) {
    while (!lock_.try_lock() && (cancelled == nullptr || !*cancelled))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  std::unique_lock<std::mutex> lock_;
};

bool same_state(const CandidateReport& a, const CandidateReport& b) {
  return a.status == b.status && a.result_class == b.result_class && a.rounds == b.rounds;
}

}  // namespace

BucketTuner::BucketTuner(TuningTask task, const std::atomic<bool>* cancelled, ProgressTask* progress)
    : task_(std::move(task)),
      cancelled_(cancelled),
      progress_(progress),
      store_(task_.cache, task_.identity),
      saved_(task_.rows) {}

double BucketTuner::spent() const {
  return task_.seconds_before + std::chrono::duration<double>(Clock::now() - begin_).count();
}

std::string BucketTuner::cut_reason() const {
  if (cancelled() || !task_.seconds) return "the tuning was ended before its turn";
  return fmt::format("the budget of {:g} s was spent", *task_.seconds);
}

std::vector<std::size_t> BucketTuner::in_order() const {
  std::vector<std::size_t> result;
  for (const std::size_t i : task_.order) {
    if (task_.rows[i].status == Status::ranked) result.push_back(i);
  }
  return result;
}

TuningOutcome BucketTuner::run(RuntimeArguments arguments) {
  std::vector<Entry> entries(task_.variants.size());
  const ir::thread::Kernel* any = nullptr;
  for (const std::size_t i : in_order()) {
    entries[i].kernel = task_.variants[i].lowered->kernel;
    any = entries[i].kernel.get();
  }
  const CandidateMemory memory = find_memory(arguments, entries, *task_.device);
  if (any != nullptr) buffers_ = note_buffers(memory, arguments, *any);
  launches_.resize(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].kernel) launches_[i] = note_launch(memory, arguments, *entries[i].kernel, *task_.device, task_.call);
  }
  trial_ = task_.device->start_trial();  // comes up while the candidates compile
  compile();
  prune_flaws();
  if (in_order().empty()) throw tune::no_candidate(task_.rows, task_.kernel, task_.loc);
  save(false);
  measure(arguments);
  outcome_.variants = std::move(task_.variants);
  outcome_.rows = std::move(task_.rows);
  outcome_.compiled = counters_.compiled;
  outcome_.cache_hits = counters_.cache_hits;
  return std::move(outcome_);
}

void BucketTuner::compile() {
  const std::vector<std::size_t> wanted = in_order();
  if (progress_ != nullptr) progress_->phase("compiling", wanted.size());
  std::vector<jit::Compiled> compiled(wanted.size());
  std::vector<char> done(wanted.size()), built(wanted.size());
  parallel_for(wanted.size(), 0, [&](std::size_t k) {
    if (k > 0 && over(compile_share)) return;
    done[k] = 1;
    built[k] = compile_one(wanted[k], &compiled[k]) ? 1 : 0;
    if (progress_ != nullptr) progress_->advance();
  });
  // At least one, whatever the time is.
  for (std::size_t k = 0; k < wanted.size() && std::count(built.begin(), built.end(), 1) == 0 && !cancelled(); ++k) {
    if (done[k] != 0) continue;
    done[k] = 1;
    built[k] = compile_one(wanted[k], &compiled[k]) ? 1 : 0;
  }
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    if (done[k] != 0) continue;
    task_.rows[wanted[k]].status = Status::unused;
    task_.rows[wanted[k]].reason = cut_reason();
  }
  load(wanted, compiled);
}

// Each candidate is touched by one thread.
bool BucketTuner::compile_one(std::size_t candidate, jit::Compiled* compiled) {
  Variant& variant = task_.variants[candidate];
  if (!variant.executable) {
    try {
      *compiled = build(&variant, task_.kernel, task_.toolchain, task_.cache, *task_.device, &counters_);
    } catch (const Error& error) {
      fail(candidate, error);
      return false;
    }
  }
  CandidateReport& row = task_.rows[candidate];
  row.registers = variant.row.registers;
  row.spill_bytes = variant.row.spill_bytes;
  row.remarks = variant.row.remarks;
  return true;
}

void BucketTuner::load(const std::vector<std::size_t>& candidates, std::vector<jit::Compiled>& compiled) {
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    Variant& variant = task_.variants[candidates[k]];
    if (variant.executable || task_.rows[candidates[k]].status != Status::ranked) continue;
    try {
      variant.executable = runtime::load(variant, *task_.device, compiled[k].cubin);
    } catch (const Error& error) {
      fail(candidates[k], error);
    }
  }
}

void BucketTuner::fail(std::size_t candidate, const Error& error) {
  for (CandidateReport* row : {&task_.rows[candidate], &task_.variants[candidate].row}) {
    row->status = Status::failed;
    row->reason = first_message(error);
  }
}

// A candidate that spills, or whose wgmmas the assembler serialises, is not worth its time while one is without a flaw.
void BucketTuner::prune_flaws() {
  const std::vector<std::size_t> ranked = in_order();
  if (std::all_of(ranked.begin(), ranked.end(), [&](std::size_t i) { return task_.rows[i].flawed(); })) return;
  for (const std::size_t i : ranked) {
    CandidateReport& row = task_.rows[i];
    if (!row.flawed()) continue;
    row.status = Status::pruned;
    row.reason = row.spill_bytes > 0 ? fmt::format("spills {} bytes of registers, others do not", row.spill_bytes)
                                     : fmt::format("{}; others have no such remark", row.remarks.front());
  }
}

std::unique_ptr<CandidateExecutor> BucketTuner::make_executor(RuntimeArguments arguments,
                                                              const std::vector<Entry>& entries) {
  detail::DeviceState& device = *task_.device;
  return trial::make_executor(
      device, std::move(trial_), [&] { return trial::describe_candidates(device, arguments, entries, task_.call); },
      [&](std::unique_ptr<Timer> timer) {
        return std::make_unique<TuneExecutor>(device, std::move(timer), arguments, entries, task_.call);
      },
      &outcome_.remark);
}

// Leaves `measured` false if there is no clock, or no room for the copies that the candidates write to.
void BucketTuner::measure(RuntimeArguments arguments) {
  std::unique_ptr<CandidateExecutor> executor;
  std::vector<Entry> entries(task_.variants.size());
  const Turn turn(cancelled_);
  if (cancelled()) return;
  try {
    for (const std::size_t i : in_order())
      entries[i] = {task_.variants[i].lowered->kernel, task_.variants[i].executable.get()};
    task_.device->synchronize();  // the candidates read the caller's inputs
    executor = make_executor(arguments, entries);
    if (!executor) return;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::device) throw;
    outcome_.note = "not measured: " + first_message(error);
    warn(fmt::format("{} is not tuned, a static estimate chooses: {}", task_.kernel, first_message(error)));
    return;
  }
  tune::Progress steps;
  if (progress_ != nullptr) {
    steps.phase = [&](const std::string& name, std::size_t total) { progress_->phase(name, total); };
    steps.advance = [&] { progress_->advance(); };
  }
  tune::Options options;
  options.order = task_.order;
  options.time_single = task_.always_measured;
  options.enough = [&] { return over(1); };
  options.enough_reason = cut_reason();
  options.save = [&] { save_step(); };
  try {
    outcome_.winner = tune::measure(task_.rows, *executor, task_.kernel, task_.call, options, steps);
  } catch (const Error&) {
    if (!cancelled()) forget();
    throw;
  }
  outcome_.measured = true;
  outcome_.partial = !tune::complete(task_.rows, options);
  outcome_.timed = executor->timed();
  save(true);
  outcome_.record_path = store_.path();
}

// After each candidate that was checked; between rounds, where the GPU would cool down, now and then.
void BucketTuner::save_step() {
  bool checked = false;
  for (std::size_t i = 0; i < saved_.size(); ++i) {
    checked =
        checked || saved_[i].result_class != task_.rows[i].result_class || saved_[i].status != task_.rows[i].status;
  }
  if (checked || Clock::now() - last_save_ > save_interval) save(false);
}

void BucketTuner::save(bool finished) {
  const std::int64_t now = tune::seconds_since_1970();
  for (std::size_t i = 0; i < saved_.size(); ++i) {
    if (!same_state(saved_[i], task_.rows[i]) && task_.rows[i].status != Status::unused) task_.measured[i] = now;
  }
  tune::Record note = record();
  if (finished) {
    note.chosen = true;
    note.winner = task_.rows[outcome_.winner].config;
    note.text_hash = task_.variants[outcome_.winner].lowered->hash;
    note.complete = !outcome_.partial;
  }
  store_.save(note);
  saved_ = task_.rows;
  last_save_ = Clock::now();
}

// No candidate could be used. What was noted on the way there may be the fault of the moment.
void BucketTuner::forget() {
  const std::optional<tune::Record> there = store_.load();
  if (there && there->chosen) return;
  tune::Record note = record();
  for (tune::RecordRow& row : note.rows) {
    row.report.status = Status::unused;
    row.report.reason = "the tuning failed";
    row.report.result_class = -1;
    row.report.rounds = 0;
    row.report.time_us = row.report.spread_us = 0;
  }
  store_.replace(note);
}

tune::Record BucketTuner::record() const {
  tune::Record result;
  result.identity = task_.identity;
  result.kernel = task_.kernel;
  result.device = task_.device->name();
  result.driver = task_.device->driver();
  result.compiler = task_.toolchain.compiler();
  result.bucket = task_.bucket;
  result.seconds = spent();
  result.updated = tune::seconds_since_1970();
  result.buffers = buffers_;
  for (std::size_t i = 0; i < task_.rows.size(); ++i) {
    tune::RecordRow row;
    row.report = task_.rows[i];
    if (row.report.rounds == 0) row.report.time_us = 0;  // an estimate is nothing to go on from
    row.text_hash = task_.variants[i].lowered->hash;
    row.measured = task_.measured[i];
    if (const std::filesystem::path& entry = task_.variants[i].directory; !entry.empty() && launches_[i].threads > 0)
      row.launch = tune::RecordedLaunch{entry.filename().string(), launches_[i]};
    result.rows.push_back(std::move(row));
  }
  return result;
}

}  // namespace tessera::runtime
