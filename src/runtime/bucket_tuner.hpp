// Compiles and measures the candidates of a kernel for one bucket of sizes.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "runtime/candidate_memory.hpp"
#include "runtime/progress.hpp"
#include "runtime/record_store.hpp"
#include "runtime/variant.hpp"
#include "trial/isolated_executor.hpp"

namespace tessera::runtime {

// What is to be tuned. All in copies, or in things that live as long as the kernel, so that it can go on beside
// launches.
struct TuningTask {
  std::string kernel, bucket, identity;
  SourceLoc loc, call;
  const Toolchain& toolchain;
  const Cache& cache;
  std::shared_ptr<detail::DeviceState> device;
  std::vector<Variant> variants;       // lowered
  std::vector<CandidateReport> rows;   // those that are `ranked` take part
  std::vector<std::int64_t> measured;  // when, as in RecordRow
  std::vector<std::size_t> order;      // the most promising first
  std::optional<double> seconds;       // the budget, for all processes together
  double seconds_before = 0;           // what earlier ones have spent of it
  bool always_measured = false;        // as of the Program
};

struct TuningOutcome {
  std::vector<Variant> variants;
  std::vector<CandidateReport> rows;
  std::size_t winner = 0;
  bool measured = false;  // else `note` says why not, and no winner has been chosen
  bool partial = false;
  std::string note, record_path;
  std::string remark;  // on how it was measured
  std::uint64_t compiled = 0, cache_hits = 0, timed = 0;
};

class BucketTuner {
 public:
  // `cancelled` and `progress` may be null.
  BucketTuner(TuningTask task, const std::atomic<bool>* cancelled, ProgressTask* progress);
  // Reads the memory that the arguments point to and never writes it. Throws Error if no candidate can be used.
  TuningOutcome run(RuntimeArguments arguments);

 private:
  using Clock = std::chrono::steady_clock;
  void compile();
  bool compile_one(std::size_t candidate, jit::Compiled* compiled);
  void load(const std::vector<std::size_t>& candidates, std::vector<jit::Compiled>& compiled);
  void fail(std::size_t candidate, const Error& error);
  void prune_flaws();
  std::unique_ptr<CandidateExecutor> make_executor(RuntimeArguments arguments, const std::vector<Entry>& entries);
  void measure(RuntimeArguments arguments);
  void save_step();
  void save(bool finished);
  void forget();
  tune::Record record() const;

  double spent() const;  // seconds, over all processes
  bool cancelled() const { return cancelled_ != nullptr && *cancelled_; }
  bool over(double share) const { return cancelled() || (task_.seconds && spent() >= share * *task_.seconds); }
  std::string cut_reason() const;
  std::vector<std::size_t> in_order() const;  // the rows that take part

  TuningTask task_;
  const std::atomic<bool>* cancelled_;
  ProgressTask* progress_;
  RecordStore store_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_save_{};
  std::vector<tune::RecordBuffer> buffers_;
  std::vector<trial::Job> launches_;
  std::vector<CandidateReport> saved_;  // as they were then
  BuildCounters counters_;
  std::unique_ptr<trial::Session> trial_;
  TuningOutcome outcome_;
};

}  // namespace tessera::runtime
