// A kernel for one device, one set of compile-time constants and one alignment of its pointers.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/background.hpp"
#include "runtime/bucket_tuner.hpp"
#include "runtime/cache.hpp"
#include "runtime/launch_plan.hpp"
#include "runtime/progress.hpp"
#include "runtime/toolchain.hpp"
#include "runtime/variant.hpp"
#include "tessera/runtime/program.hpp"
#include "tessera/runtime/tuning.hpp"
#include "tune/record.hpp"

namespace tessera::runtime {

// What is chosen for the run-time integers of one bucket: each rounds up to the same power of two (0 and less to 0).
struct Bucket {
  std::vector<std::int64_t> bounds;  // one a run-time argument; 0 for what is not an integer
  std::string text;                  // "m_size in (2048, 4096]"
  std::size_t winner = 0;
  Report::Ranking ranking = Report::Ranking::single;
  std::vector<CandidateReport> rows;
  std::string record_path;
  std::string note;      // as in Report
  bool partial = false;  // as in Report
  std::string remark;    // on how it was measured
};

std::int64_t bucket_bound(std::int64_t value);

class Specialisation;

// A launch that is checked and ready.
struct Prepared {
  Specialisation* owner = nullptr;
  const Bucket* bucket = nullptr;  // null: no candidate was needed, for there are no blocks
  std::shared_ptr<const ir::thread::Kernel> kernel;
  std::shared_ptr<const Executable> executable;  // null: nothing runs
  LaunchPlan plan;
};

class Specialisation {
 public:
  struct Environment {
    const detail::Program& program;
    const Toolchain& toolchain;
    const Cache& cache;
    Report::Counters& counters;
    const Tuning& tuning;                       // what the program asks for
    Background& background;                     // ends before this object
    std::mutex& mutex;                          // held by whoever calls a method
    const std::function<void()>& forget_plans;  // a bucket has another winner
  };
  Specialisation(Environment environment, std::shared_ptr<detail::DeviceState> device,
                 std::vector<std::int64_t> constants, std::uint64_t alignment);

  bool matches(const detail::DeviceState* device, const std::vector<std::int64_t>& constants,
               std::uint64_t alignment) const {
    return device_.get() == device && same_program(constants, alignment);
  }
  bool same_program(const std::vector<std::int64_t>& constants, std::uint64_t alignment) const {
    return alignment_ == alignment && constants_ == constants;
  }
  // Takes over what another device's specialisation of the same program has traced and lowered.
  void share(const Specialisation& other);

  // The launch for these arguments: checked and planned, and chosen, compiled and tuned where that is new. The last
  // three are a user Error if `captured` says that the launch's stream is being captured.
  Prepared prepare(RuntimeArguments arguments, SourceLoc call, void* stream, const std::function<bool()>& captured);

  detail::DeviceState& device() const { return *device_; }
  const Variant& winner(const Bucket& bucket) const { return variants_[bucket.winner]; }
  // The report of a choice; a null bucket is that of a launch without blocks.
  Report report(const Bucket* bucket) const;

 private:
  using Plans = std::vector<std::unique_ptr<LaunchPlan>>;  // one a candidate; null: it does not take part

  std::vector<std::int64_t> bounds_of(RuntimeArguments arguments) const;
  Bucket* find_bucket(RuntimeArguments arguments);
  Bucket* choose(RuntimeArguments arguments, SourceLoc call, void* stream, ProgressTask& progress);
  bool choose_by_record(Bucket* bucket, const tune::Record& record, ProgressTask& progress);
  void choose_only(Bucket* bucket, ProgressTask& progress);
  void choose_by_estimate(Bucket* bucket, const std::vector<double>& estimates, ProgressTask& progress);
  void tune_now(Bucket* bucket, TuningTask task, RuntimeArguments arguments, const std::vector<double>& estimates,
                ProgressTask& progress);
  void tune_in_background(Bucket* bucket, TuningTask task, RuntimeArguments arguments, void* stream);
  void install(Bucket* bucket, TuningOutcome outcome);
  void lower(const std::vector<std::size_t>& which, ProgressTask& progress);
  void load(const std::vector<std::size_t>& which, ProgressTask& progress);
  void require_candidate(const std::vector<CandidateReport>& rows) const;
  Plans plan_all(std::vector<CandidateReport>& rows, RuntimeArguments arguments, SourceLoc call) const;
  std::vector<double> estimates(const std::vector<CandidateReport>& rows, RuntimeArguments arguments,
                                const Plans& plans) const;
  TuningTask task(const Bucket& bucket, std::vector<CandidateReport> rows, const std::vector<double>& estimates,
                  const std::optional<tune::Record>& earlier, const Tuning& tuning, SourceLoc call) const;
  std::string identity(const Bucket& bucket) const;
  std::string bucket_text(const std::vector<std::int64_t>& bounds) const;

  Environment environment_;
  std::shared_ptr<detail::DeviceState> device_;
  std::vector<std::int64_t> constants_;
  std::uint64_t alignment_;
  std::vector<Variant> variants_;
  std::deque<Bucket> buckets_;
};

}  // namespace tessera::runtime
