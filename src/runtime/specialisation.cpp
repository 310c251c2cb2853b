#include "runtime/specialisation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "runtime/parallel.hpp"
#include "support/error_text.hpp"
#include "tune/tuner.hpp"

namespace tessera::runtime {
using detail::ParamInfo;
using detail::ParamKind;
using Status = CandidateReport::Status;

std::int64_t bucket_bound(std::int64_t value) {
  if (value <= 0) return 0;
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(value)) & ~(std::uint64_t{1} << 63));
}

Specialisation::Specialisation(Environment environment, std::shared_ptr<detail::DeviceState> device,
                               std::vector<std::int64_t> constants, std::uint64_t alignment)
    : environment_(environment), device_(std::move(device)), constants_(std::move(constants)), alignment_(alignment) {
  variants_.resize(environment_.program.candidates.size());
  for (std::size_t i = 0; i < variants_.size(); ++i)
    variants_[i].row.config = environment_.program.candidates[i].config;
}

void Specialisation::share(const Specialisation& other) {
  for (std::size_t i = 0; i < variants_.size(); ++i) {
    if (variants_[i].lowered || !other.variants_[i].lowered) continue;
    variants_[i].lowered = other.variants_[i].lowered;
    judge(&variants_[i]);
  }
}

Prepared Specialisation::prepare(RuntimeArguments arguments, SourceLoc call, void* stream,
                                 const std::function<bool()>& captured) {
  Bucket* bucket = find_bucket(arguments);
  if (bucket == nullptr && captured()) {
    throw Error(
        ErrorKind::user, call,
        fmt::format("{}: the first call with such arguments traces, compiles and tunes, which cannot happen while "
                    "its stream is being captured into a graph",
                    environment_.program.name),
        "call kernel.compile(...) with the same arguments before the capture");
  }
  if (bucket == nullptr) {
    ProgressTask progress(environment_.program.name);
    bucket = choose(arguments, call, stream, progress);
  }
  Prepared result;
  result.owner = this;
  result.bucket = bucket;
  result.plan.empty = true;
  if (bucket == nullptr) return result;
  const Variant& winner = variants_[bucket->winner];
  make_plan(*winner.lowered->kernel, arguments, *device_, call, &result.plan);
  ++environment_.counters.planned;
  if (result.plan.empty) return result;
  result.kernel = winner.lowered->kernel;
  result.executable = winner.executable;
  return result;
}

// Sizes decide what is fast; the value of a float does not.
std::vector<std::int64_t> Specialisation::bounds_of(RuntimeArguments arguments) const {
  std::vector<std::int64_t> bounds;
  for (const ParamInfo& param : environment_.program.params) {
    if (param.kind == ParamKind::constant) continue;
    const bool sized = param.kind == ParamKind::scalar && !is_float(param.type);
    bounds.push_back(sized ? bucket_bound(arguments[bounds.size()]->integer) : 0);
  }
  return bounds;
}

Bucket* Specialisation::find_bucket(RuntimeArguments arguments) {
  const std::vector<std::int64_t> bounds = bounds_of(arguments);
  const auto found =
      std::find_if(buckets_.begin(), buckets_.end(), [&](const Bucket& bucket) { return bucket.bounds == bounds; });
  return found == buckets_.end() ? nullptr : &*found;
}

void Specialisation::lower(const std::vector<std::size_t>& which, ProgressTask& progress) {
  std::vector<std::size_t> missing;
  for (const std::size_t i : which) {
    if (!variants_[i].lowered) missing.push_back(i);
  }
  if (missing.empty()) return;
  progress.phase("tracing and lowering", missing.size());
  std::vector<std::shared_ptr<ir::tile::Kernel>> traced(missing.size());
  std::vector<std::shared_ptr<LoweredVariant>> results(missing.size());
  for (std::size_t i = 0; i < missing.size(); ++i) {
    results[i] = std::make_shared<LoweredVariant>();
    traced[i] = trace_candidate(environment_.program.candidates[missing[i]], constants_, alignment_, results[i].get());
  }
  const bool dumping = std::getenv("TESSERA_DUMP") != nullptr;  // dumps come one after another
  parallel_for(missing.size(), dumping ? 1 : 0, [&](std::size_t i) {
    if (traced[i]) lower_candidate(*traced[i], environment_.toolchain, results[i].get());
    progress.advance();
  });
  environment_.counters.traced += missing.size();
  for (std::size_t i = 0; i < missing.size(); ++i) {
    variants_[missing[i]].lowered = results[i];
    judge(&variants_[missing[i]]);
  }
}

// Throws if no row can run: the candidate's own error if there is one candidate or all fail in the same way, else one
// Error that lists them.
void Specialisation::require_candidate(const std::vector<CandidateReport>& rows) const {
  if (std::any_of(rows.begin(), rows.end(), [](const CandidateReport& r) { return r.status == Status::ranked; }))
    return;
  std::vector<SourceLoc> places(rows.size());
  ErrorKind kind = ErrorKind::user;
  bool alike = true;
  const std::optional<Error>& first = variants_.front().lowered->error;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::optional<Error>& error = variants_[i].lowered->error;
    alike = alike && error && rows[i].reason == rows.front().reason;
    if (!error) continue;
    if (error->kind() == ErrorKind::internal) kind = ErrorKind::internal;
    if (!error->diagnostics().empty()) places[i] = error->diagnostics().front().loc;
  }
  if (!alike || !first)
    throw tune::no_candidate(rows, environment_.program.name, environment_.program.loc, places, kind);
  if (rows.size() == 1) throw Error(*first);
  std::vector<Diagnostic> diagnostics = first->diagnostics();
  if (!diagnostics.empty()) {
    diagnostics.front().notes.push_back(
        {environment_.program.loc,
         fmt::format("all {} configurations of {} fail this way", rows.size(), environment_.program.name)});
  }
  throw Error(first->kind(), std::move(diagnostics));
}

// Checks the arguments against every candidate. Rules that only some break rule these out; if all break one, it is the
// caller's mistake.
Specialisation::Plans Specialisation::plan_all(std::vector<CandidateReport>& rows, RuntimeArguments arguments,
                                               SourceLoc call) const {
  Plans plans(rows.size());
  std::optional<Error> first;
  bool any = false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].status != Status::ranked) continue;
    auto plan = std::make_unique<LaunchPlan>();
    try {
      make_plan(*variants_[i].lowered->kernel, arguments, *device_, call, plan.get());
      plans[i] = std::move(plan);
      any = true;
    } catch (const Error& error) {
      if (!first) first = error;
      rows[i].status = Status::failed;
      rows[i].reason = first_message(error);
    }
  }
  if (!any) throw Error(*first);
  return plans;
}

Report Specialisation::report(const Bucket* bucket) const {
  Report report;
  report.kernel = environment_.program.name;
  report.device = device_->name();
  report.driver = device_->driver();
  if (device_->needs_cubin()) report.compiler = environment_.toolchain.compiler();
  report.counters = environment_.counters;
  if (bucket == nullptr) return report;
  const Variant& winner = variants_[bucket->winner];
  report.config = winner.row.config;
  report.ranking = bucket->ranking;
  report.bucket = bucket->text;
  report.record_path = bucket->record_path;
  report.candidates = bucket->rows;
  report.note = bucket->note;
  report.partial = bucket->partial;
  if (!winner.directory.empty()) {
    report.directory = winner.directory.string();
    report.cuda_path = (winner.directory / "kernel.cu").string();
  }
  for (const Diagnostic& remark : winner.lowered->remarks)
    report.remarks.push_back(format_diagnostic(remark, "remark"));
  for (const std::string& remark : winner.row.remarks) report.remarks.push_back(remark);
  if (!bucket->remark.empty()) report.remarks.push_back(bucket->remark);
  return report;
}

std::string Specialisation::bucket_text(const std::vector<std::int64_t>& bounds) const {
  std::string text;
  std::size_t i = 0;
  for (const ParamInfo& param : environment_.program.params) {
    if (param.kind == ParamKind::constant) continue;
    const std::int64_t bound = bounds[i++];
    if (param.kind != ParamKind::scalar || !is_integer(param.type)) continue;
    text += text.empty() ? "" : ", ";
    text += bound <= 1 ? fmt::format("{} = {}", param.name, bound)
                       : fmt::format("{} in ({}, {}]", param.name, bound / 2, bound);
  }
  return text;
}

}  // namespace tessera::runtime
