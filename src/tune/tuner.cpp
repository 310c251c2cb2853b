#include "tune/tuner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::tune {
using Status = CandidateReport::Status;

namespace {

// Candidates that computed the same.
struct ResultClass {
  std::vector<Output> outputs;  // of its first member
  std::vector<std::size_t> members;
};

template <class T>
std::uint64_t count_nans_as(const Output& output) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i + sizeof(T) <= output.bytes.size(); i += sizeof(T)) {
    T bits{};
    std::copy_n(output.bytes.data() + i, sizeof(T), reinterpret_cast<std::byte*>(&bits));
    if (std::isnan(static_cast<float>(bits))) ++count;
  }
  return count;
}

std::uint64_t count_nans(const std::vector<Output>& outputs) {
  std::uint64_t count = 0;
  for (const Output& output : outputs) {
    if (output.type == DType::f16) count += count_nans_as<float16>(output);
    if (output.type == DType::bf16) count += count_nans_as<bfloat16>(output);
    if (output.type == DType::f32) count += count_nans_as<float>(output);
    if (output.type == DType::f8e4m3) count += count_nans_as<float8_e4m3>(output);
    if (output.type == DType::f8e5m2) count += count_nans_as<float8_e5m2>(output);
  }
  return count;
}

// The first difference between two sets of outputs; none if they agree.
Difference difference(const std::vector<Output>& expected, const std::vector<Output>& found) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Difference d = compare(expected[i], found[i]);
    if (d.different != 0) return d;
  }
  return {};
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

class Tuner {
 public:
  Tuner(std::vector<CandidateReport>& rows, Executor& executor, const std::string& kernel, SourceLoc loc,
        const Options& options, const Progress& progress)
      : rows_(rows),
        executor_(executor),
        kernel_(kernel),
        loc_(loc),
        options_(options),
        progress_(progress),
        times_(rows.size()) {}

  std::size_t run() {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].status == Status::ranked) alive_.push_back(i);
    }
    cross_check();
    if (alive_.empty()) throw no_candidate(rows_, kernel_, loc_);
    time_all();
    return choose();
  }

 private:
  void cross_check() {
    phase("checking results", alive_.size());
    std::vector<ResultClass> classes;
    for (const std::size_t i : alive_) {
      try {
        place(classes, i, executor_.run(i, std::move(spare_)));
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::internal) throw;
        fail(i, error);
      }
      advance();
    }
    if (classes.empty()) {
      alive_.clear();
      return;
    }
    const std::size_t right = right_class(classes);
    for (std::size_t c = 0; c < classes.size(); ++c) {
      if (c != right) reject(classes[c], classes[right]);
    }
    alive_ = classes[right].members;
    expected_ = std::move(classes[right].outputs);
  }

  void place(std::vector<ResultClass>& classes, std::size_t candidate, std::vector<Output> outputs) {
    for (ResultClass& one : classes) {
      if (difference(one.outputs, outputs).different != 0) continue;
      one.members.push_back(candidate);
      spare_ = std::move(outputs);
      return;
    }
    classes.push_back({std::move(outputs), {candidate}});
  }

  std::size_t right_class(const std::vector<ResultClass>& classes) const {
    std::size_t largest = 0;
    for (const ResultClass& one : classes) largest = std::max(largest, one.members.size());
    std::vector<std::size_t> best;
    for (std::size_t c = 0; c < classes.size(); ++c) {
      if (classes[c].members.size() == largest) best.push_back(c);
    }
    if (best.size() == 1) return best.front();
    std::vector<std::uint64_t> nans;
    for (const std::size_t c : best) nans.push_back(count_nans(classes[c].outputs));
    const auto fewest = std::min_element(nans.begin(), nans.end());
    if (std::count(nans.begin(), nans.end(), *fewest) != 1) throw disagreement(classes);
    return best[static_cast<std::size_t>(fewest - nans.begin())];
  }

  Error disagreement(const std::vector<ResultClass>& classes) const {
    std::vector<Note> notes;
    for (const ResultClass& one : classes) {
      for (const std::size_t member : one.members) {
        const Difference d = difference(classes.front().outputs, one.outputs);
        notes.push_back({loc_, fmt::format("{}: {}", rows_[member].config,
                                           d.different == 0 ? "the reference of this comparison" : d.to_string())});
      }
    }
    return {
        ErrorKind::user, loc_,
        fmt::format("{}: the candidates compute different results and no majority tells which one is right", kernel_),
        "run the kernel on Device::sim(), which names races and missing waits; or pin a configuration that is known "
        "to be right",
        notes};
  }

  void reject(const ResultClass& wrong, const ResultClass& right) {
    const Difference d = difference(right.outputs, wrong.outputs);
    for (const std::size_t member : wrong.members) {
      rows_[member].status = Status::rejected;
      rows_[member].reason = fmt::format("wrong result: {} (as {} of {} candidates have it)", d.to_string(),
                                         right.members.size(), alive_.size());
    }
  }

  void fail(std::size_t candidate, const Error& error) {
    rows_[candidate].status = Status::failed;
    rows_[candidate].reason = error.diagnostics().empty() ? error.what() : error.diagnostics().front().message;
  }

  void time_all() {
    if (alive_.size() == 1) return;
    phase("timing", static_cast<std::size_t>(options_.rounds));
    double spent = 0;
    for (int round = 0; round < options_.rounds && alive_.size() > 1; ++round) {
      if (round >= options_.least_rounds && spent > options_.budget_ms) break;
      for (std::size_t i = 0; i < alive_.size(); ++i) {  // in rotating order, so that no one always runs first
        const std::size_t candidate = alive_[(i + static_cast<std::size_t>(round)) % alive_.size()];
        const double ms = executor_.time(candidate);
        times_[candidate].push_back(ms);
        spent += ms;
      }
      drop_hopeless(round == 0 ? options_.hopeless_at_once : options_.hopeless);
      advance();
    }
  }

  void drop_hopeless(double factor) {
    double best = std::numeric_limits<double>::infinity();
    for (const std::size_t i : alive_) best = std::min(best, median(times_[i]));
    std::erase_if(alive_, [&](std::size_t i) {
      const double mine = median(times_[i]);
      if (mine <= factor * best) return false;
      rows_[i].status = Status::dropped;
      rows_[i].time_us = mine * 1e3;
      rows_[i].reason = fmt::format("{:.1f} times as slow as the best", mine / best);
      return true;
    });
  }

  double score(std::size_t i) const {
    if (times_[i].empty()) return 0;
    double value = median(times_[i]);
    if (rows_[i].flawed()) value *= 1 + options_.flaw_penalty;
    return value;
  }

  // The fastest one that still gives its result after all the timing; a candidate with a race may not.
  std::size_t choose() {
    for (const std::size_t i : alive_) rows_[i].time_us = times_[i].empty() ? 0 : median(times_[i]) * 1e3;
    std::stable_sort(alive_.begin(), alive_.end(), [&](std::size_t a, std::size_t b) { return score(a) < score(b); });
    for (const std::size_t i : alive_) {
      std::vector<Output> outputs = executor_.run(i, std::move(spare_));
      const Difference d = difference(expected_, outputs);
      spare_ = std::move(outputs);
      if (d.different == 0) {
        rows_[i].status = Status::chosen;
        return i;
      }
      rows_[i].status = Status::rejected;
      rows_[i].reason = fmt::format("its result changes from run to run: {}", d.to_string());
    }
    throw no_candidate(rows_, kernel_, loc_);
  }

  void phase(const std::string& name, std::size_t total) const {
    if (progress_.phase) progress_.phase(name, total);
  }
  void advance() const {
    if (progress_.advance) progress_.advance();
  }

  std::vector<CandidateReport>& rows_;
  Executor& executor_;
  const std::string& kernel_;
  SourceLoc loc_;
  const Options& options_;
  const Progress& progress_;
  std::vector<std::size_t> alive_;
  std::vector<std::vector<double>> times_;
  std::vector<Output> expected_;
  std::vector<Output> spare_;  // outputs that nobody needs any more; fresh memory costs more than the copy into it
};

}  // namespace

std::size_t measure(std::vector<CandidateReport>& rows, Executor& executor, const std::string& kernel, SourceLoc loc,
                    const Options& options, const Progress& progress) {
  return Tuner(rows, executor, kernel, loc, options, progress).run();
}

Error no_candidate(const std::vector<CandidateReport>& rows, const std::string& kernel, SourceLoc loc,
                   const std::vector<SourceLoc>& places, ErrorKind kind) {
  std::vector<Note> notes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const SourceLoc place = i < places.size() && places[i].known() ? places[i] : loc;
    notes.push_back({place, fmt::format("{}: {}", rows[i].config.empty() ? kernel : rows[i].config, rows[i].reason)});
  }
  return {kind, loc, fmt::format("{}: none of its {} candidates can be used", kernel, rows.size()),
          "change the kernel or its space so that at least one configuration fits", notes};
}

}  // namespace tessera::tune
