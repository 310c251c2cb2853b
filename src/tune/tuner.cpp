#include "tune/tuner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "support/error_text.hpp"
#include "tune/agreement.hpp"
#include "tune/times.hpp"

namespace tessera::tune {
using Status = CandidateReport::Status;

namespace {

// An outlier is not slower than that: what is so far off needs no second chance.
constexpr double beyond_doubt = 20;

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
        times_(rows.size()),
        rank_(rows.size()) {
    std::vector<std::size_t> order = options.order;
    if (order.empty()) {
      order.resize(rows.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      rank_[order[i]] = i;
      if (rows_[order[i]].status == Status::ranked) alive_.push_back(order[i]);
    }
  }

  std::size_t run() {
    check_results();
    if (alive_.empty()) throw no_candidate(rows_, kernel_, loc_);
    if (worth_timing()) time_all();
    return choose();
  }

 private:
  bool worth_timing() const { return alive_.size() > 1 || (options_.time_single && !alive_.empty()); }
  bool enough() const { return options_.enough && options_.enough(); }
  void save() const {
    if (options_.save) options_.save();
  }

  // Runs `work`; if it throws, the candidate has failed.
  template <class Work>
  bool attempt(std::size_t candidate, const Work& work) {
    try {
      work();
      return true;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      fail(candidate, first_message(error));
      return false;
    }
  }
  void fail(std::size_t candidate, std::string reason) {
    rows_[candidate].status = Status::failed;
    rows_[candidate].reason = std::move(reason);
    if (executor_.isolated()) save();
  }
  void leave_out(std::size_t candidate) {
    rows_[candidate].status = Status::unused;
    rows_[candidate].reason = options_.enough_reason;
  }

  void check_results() {
    std::vector<std::size_t> waiting = alive_;
    phase("checking results", waiting.size());
    restore_classes(waiting);
    // A budget does not end what no majority has decided yet.
    while (!waiting.empty() && !(enough() && agreement_.right().has_value())) {
      const std::size_t i = waiting.front();
      waiting.erase(waiting.begin());
      const bool ran = attempt(i, [&] {
        rows_[i].result_class = static_cast<int>(agreement_.add(i, executor_.run(i, std::move(spare_)), &spare_));
      });
      if (ran) save();
      advance();
    }
    for (const std::size_t i : waiting) leave_out(i);
    alive_.clear();
    if (agreement_.empty()) return;
    const std::optional<std::size_t> right = agreement_.right();
    if (!right) throw disagreement();
    reject_all_but(*right);
    alive_ = agreement_.classes()[*right].members;
    std::sort(alive_.begin(), alive_.end(), [&](std::size_t a, std::size_t b) { return rank_[a] < rank_[b]; });
    save();
  }

  // Of each class that an earlier process found one member runs, for its result; the others are taken at their word.
  void restore_classes(std::vector<std::size_t>& waiting) {
    std::map<int, std::vector<std::size_t>> known;
    for (const std::size_t i : waiting) {
      if (rows_[i].result_class >= 0) known[rows_[i].result_class].push_back(i);
    }
    std::erase_if(waiting, [&](std::size_t i) { return rows_[i].result_class >= 0; });
    for (auto& [old_number, members] : known) {
      std::optional<std::size_t> number;
      for (const std::size_t i : members) {
        if (!number) {
          attempt(i, [&] { number = agreement_.add(i, executor_.run(i, std::move(spare_)), &spare_); });
        } else {
          agreement_.join(*number, i);
        }
        if (number) rows_[i].result_class = static_cast<int>(*number);
        advance();
      }
    }
  }

  Error disagreement() const {
    std::vector<Note> notes;
    const std::vector<Agreement::Class>& classes = agreement_.classes();
    for (const Agreement::Class& one : classes) {
      const Difference d = difference(classes.front().outputs, one.outputs);
      for (const std::size_t member : one.members) {
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

  void reject_all_but(std::size_t right) {
    const std::vector<Agreement::Class>& classes = agreement_.classes();
    std::size_t total = 0;
    for (const Agreement::Class& one : classes) total += one.members.size();
    for (std::size_t c = 0; c < classes.size(); ++c) {
      for (const std::size_t member : classes[c].members) rows_[member].result_class = c == right ? 0 : 1;
      if (c == right) continue;
      const Difference d = difference(classes[right].outputs, classes[c].outputs);
      for (const std::size_t member : classes[c].members) {
        rows_[member].status = Status::rejected;
        rows_[member].reason = fmt::format("wrong result: {} (as {} of {} candidates have it)", d.to_string(),
                                           classes[right].members.size(), total);
      }
    }
  }

  void time_all() {
    first_pass();
    give_second_chances();
    second_look();
    for (std::size_t i = 0; i < rows_.size(); ++i) note_times(i);
    save();
  }

  // Times `who` in an order that rotates from round to round, so that no one always runs first.
  void time_round(std::vector<std::size_t> who) {
    for (std::size_t i = 0; i < who.size(); ++i) {
      if (enough()) break;
      time_one(who[(i + static_cast<std::size_t>(round_)) % who.size()]);
    }
    ++round_;
    std::erase_if(alive_, [&](std::size_t i) { return rows_[i].status == Status::failed; });
  }
  void time_one(std::size_t candidate) {
    attempt(candidate, [&] {
      const double ms = executor_.time(candidate);
      if (!std::isfinite(ms) || ms < 0) return fail(candidate, fmt::format("the clock said {} ms", ms));
      times_.add(candidate, round_, std::max(ms, 1e-7));
      spent_ms_ += ms;
    });
  }

  void first_pass() {
    phase("timing", static_cast<std::size_t>(options_.rounds));
    while (round_ < options_.rounds && worth_timing() && !enough()) {
      if (round_ >= options_.least_rounds && spent_ms_ > options_.budget_ms) break;
      time_round(alive_);
      drop_hopeless();
      for (const std::size_t i : alive_) note_times(i);
      save();
      advance();
    }
  }

  double best_median() const {
    double best = std::numeric_limits<double>::infinity();
    for (const std::size_t i : alive_) {
      if (times_.count(i) > 0) best = std::min(best, times_.median_of(i));
    }
    return best;
  }

  void drop_hopeless() {
    const double best = best_median();
    std::erase_if(alive_, [&](std::size_t i) {
      const int launches = times_.count(i);
      const double factor = launches < 2 ? options_.hopeless_at_once : options_.hopeless;
      if (launches == 0 || times_.least(i) <= factor * best) return false;
      drop(i, best);
      return true;
    });
  }
  void drop(std::size_t i, double best) {
    note_times(i);
    rows_[i].status = Status::dropped;
    rows_[i].reason = fmt::format("{:.1f} times as slow as the best", times_.median_of(i) / best);
    dropped_.push_back(i);
  }

  // One more launch for those that left early; who is not hopeless in it was disturbed, and is measured anew.
  void give_second_chances() {
    const double best = best_median();
    const std::vector<std::size_t> candidates = std::exchange(dropped_, {});
    for (const std::size_t i : candidates) {
      if (enough() || times_.least(i) > beyond_doubt * best) {
        dropped_.push_back(i);
        continue;
      }
      const int before = times_.count(i);
      time_one(i);
      if (rows_[i].status == Status::failed) continue;
      const double limit = options_.hopeless * best;
      if (times_.count(i) == before || times_.least(i) > limit) {
        drop(i, best);
        continue;
      }
      times_.forget(i);
      rows_[i].status = Status::ranked;
      rows_[i].reason.clear();
      alive_.push_back(i);
      revived_.push_back(i);
    }
    ++round_;
  }

  // Those among whom the leader is: timed often enough, or as often as any.
  std::vector<std::size_t> well_timed() const {
    int most = 0;
    for (const std::size_t i : alive_) most = std::max(most, times_.count(i));
    std::vector<std::size_t> result;
    for (const std::size_t i : alive_) {
      if (times_.count(i) > 0 && times_.count(i) >= std::min(most, options_.least_rounds)) result.push_back(i);
    }
    return result;
  }

  // The leader and those that may still be faster; empty if it is clear who is.
  std::vector<std::size_t> contenders() const {
    const std::vector<std::size_t> timed = well_timed();
    if (timed.empty()) return alive_;
    const std::size_t leader = times_.leader(timed);
    std::vector<std::size_t> result;
    for (const std::size_t i : alive_) {
      if (i == leader) continue;
      const bool revived = std::find(revived_.begin(), revived_.end(), i) != revived_.end();
      const Gap gap = times_.gap(i, leader);
      const bool open = !gap.separated() && !gap.tied(options_.tie);
      if (open || (revived && times_.count(i) < options_.rounds)) result.push_back(i);
    }
    if (!result.empty()) result.insert(result.begin(), leader);
    return result;
  }

  void second_look() {
    const double limit = spent_ms_ + options_.leader_budget_ms;
    bool said = false;
    for (int i = 0; i < options_.leader_rounds && spent_ms_ < limit && !enough(); ++i) {
      const std::vector<std::size_t> who = contenders();
      if (who.size() < 2) return;
      if (!said) phase("comparing the fastest", static_cast<std::size_t>(options_.leader_rounds));
      said = true;
      time_round(who);
      advance();
    }
  }

  void note_times(std::size_t i) {
    CandidateReport& row = rows_[i];
    row.rounds = times_.count(i);
    if (row.rounds == 0) return;
    row.time_us = times_.median_of(i) * 1e3;
    row.spread_us = times_.spread_of(i) * 1e3;
  }

  // Best first. Of those that tie with the best the earlier one in the tuner's order.
  std::vector<std::size_t> ranking() {
    std::vector<std::size_t> timed, rest;
    for (const std::size_t i : alive_) (times_.count(i) > 0 ? timed : rest).push_back(i);
    for (const std::size_t i : rest) leave_out(i);
    if (timed.empty()) return rest;  // in the tuner's order
    const std::size_t leader = times_.leader(well_timed());
    std::vector<double> score(rows_.size());
    for (const std::size_t i : timed) {
      score[i] = (1 + times_.gap(i, leader).share) * (rows_[i].flawed() ? 1 + options_.flaw_penalty : 1.0);
    }
    std::sort(timed.begin(), timed.end(), [&](std::size_t a, std::size_t b) {
      return score[a] != score[b] ? score[a] < score[b] : rank_[a] < rank_[b];
    });
    const double limit = score[timed.front()] * (1 + options_.tie);
    const auto tied = std::find_if(timed.begin(), timed.end(), [&](std::size_t i) { return score[i] > limit; });
    std::sort(timed.begin(), tied, [&](std::size_t a, std::size_t b) { return rank_[a] < rank_[b]; });
    for (auto it = timed.begin() + 1; it < tied; ++it) {
      rows_[*it].reason =
          fmt::format("as fast as {}, which comes first in the analytic order", rows_[timed.front()].config);
    }
    timed.insert(timed.end(), rest.begin(), rest.end());
    return timed;
  }

  // The fastest one that still gives its result after all the timing; a candidate with a race may not. When all leaders
  // fail here, one that was too slow is better than none.
  std::size_t choose() {
    std::vector<std::size_t> order = ranking();
    std::sort(dropped_.begin(), dropped_.end(),
              [&](std::size_t a, std::size_t b) { return rows_[a].time_us < rows_[b].time_us; });
    order.insert(order.end(), dropped_.begin(), dropped_.end());
    const std::size_t right = *agreement_.right();
    const std::vector<Output>& expected = agreement_.classes()[right].outputs;
    for (const std::size_t i : order) {
      Difference d;
      const bool ran = attempt(i, [&] {
        std::vector<Output> outputs = executor_.run(i, std::move(spare_));
        d = difference(expected, outputs);
        spare_ = std::move(outputs);
      });
      if (ran && d.different == 0) {
        rows_[i].status = Status::chosen;
        rows_[i].reason.clear();
        return i;
      }
      if (!ran) continue;
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
  Times times_;
  std::vector<std::size_t> rank_;   // a candidate's place in the tuner's order
  std::vector<std::size_t> alive_;  // in that order until the times are known
  std::vector<std::size_t> dropped_, revived_;
  Agreement agreement_;
  std::vector<Output> spare_;  // outputs that nobody needs any more; fresh memory costs more than the copy into it
  int round_ = 0;
  double spent_ms_ = 0;
};

}  // namespace

std::size_t measure(std::vector<CandidateReport>& rows, Executor& executor, const std::string& kernel, SourceLoc loc,
                    const Options& options, const Progress& progress) {
  return Tuner(rows, executor, kernel, loc, options, progress).run();
}

bool complete(const std::vector<CandidateReport>& rows, const Options& options) {
  std::size_t right = 0, often = 0;
  for (const CandidateReport& row : rows) {
    if (row.status == Status::unused) return false;
    if (row.status != Status::ranked && row.status != Status::chosen) continue;
    ++right;
    if (row.rounds >= options.least_rounds) ++often;
  }
  return right <= 1 || often == right;
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
