// Counts of arrivals at mbarriers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "passes/barrier_uses.hpp"
#include "passes/static_hazards.hpp"

namespace tessera::passes {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

// Whether numbers of `parts`, each as often as wanted, add up to `sum`.
bool add_up(const std::set<std::int64_t>& parts, std::int64_t sum) {
  if (parts.count(1) != 0) return true;
  std::vector<bool> reached(static_cast<std::size_t>(sum) + 1, false);
  reached[0] = true;
  for (std::size_t n = 1; n < reached.size(); ++n) {
    reached[n] = std::any_of(parts.begin(), parts.end(), [&](std::int64_t p) {
      return p <= static_cast<std::int64_t>(n) && reached[n - static_cast<std::size_t>(p)];
    });
  }
  return reached.back();
}

// Of the barriers that it may stand for.
std::int64_t largest_count(const tile::BarrierRef& barrier) {
  const Interval range = index_of(barrier);
  const auto at = [&](std::int64_t i) { return barrier.array->counts.begin() + static_cast<std::ptrdiff_t>(i); };
  return *std::max_element(at(range.low), at(range.high) + 1);
}

class Arrivals {
 public:
  Arrivals(const ProgramFacts& facts, const tile::BarrierArray* array, HazardList& out)
      : facts_(facts), array_(array), uses_(barrier_uses(facts, array)), out_(out) {}

  void check() {
    for (std::size_t i = 0; i < array_->counts.size(); ++i) {
      if (check_sum(static_cast<std::int64_t>(i))) break;  // the others are alike
    }
    for (const BarrierUse& use : uses_) {
      if (use.kind == BarrierUse::Kind::wait) check_wait(use);
    }
    check_copies();
  }

 private:
  bool reaches(const BarrierUse& use, std::int64_t index) const {
    const Interval range = index_of(*use.barrier);
    return range.low <= index && index <= range.high;
  }

  // All arrivals of one execution of a statement are at one barrier, so that phases are made of such lumps.
  bool check_sum(std::int64_t index) {
    std::set<std::int64_t> lumps;
    const BarrierUse* largest = nullptr;
    std::vector<Note> notes;
    for (const BarrierUse& use : uses_) {
      if (!use.arrives() || !reaches(use, index)) continue;
      if (!facts_.is_uniform(use.site->group)) return false;
      if (lumps.insert(use.arrivals).second) notes.push_back({use.stmt().loc, arrivals_text(use.arrivals)});
      if (largest == nullptr || use.arrivals > largest->arrivals) largest = &use;
    }
    const std::int64_t count = array_->counts[static_cast<std::size_t>(index)];
    if (largest == nullptr || (add_up(lumps, count) && largest->arrivals <= largest_count(*largest->barrier)))
      return false;
    const std::string name = name_of(*largest->barrier);
    Diagnostic d;
    d.loc = largest->stmt().loc;
    if (largest->arrivals > count) {
      d.message = fmt::format("{} at once at '{}' by {}, but a phase of it takes {}", arrivals_text(largest->arrivals),
                              name, to_string(largest->site->group), count);
      notes.clear();
    } else {
      d.message = fmt::format("arrivals at '{}' come in lumps of {}, which never make up the {} of a phase", name,
                              fmt::join(lumps, " and "), count);
    }
    d.help = largest->arrivals > count
                 ? fmt::format(
                       "let fewer threads arrive (single_thread(), single_thread_of_each_warp()), or allocate "
                       "the barrier for {}",
                       arrivals_text(largest->arrivals))
                 : "allocate the barrier for the number of all arrivals that make up a phase";
    d.notes = std::move(notes);
    d.notes.push_back({array_->loc, fmt::format("allocated here for {}", arrivals_text(count))});
    out_.add(Hazard::barrier_arrivals, true, name, std::move(d));
    return true;
  }

  // A wait for the first phase of a barrier that gets fewer arrivals in the whole run than a phase takes.
  void check_wait(const BarrierUse& wait) {
    const std::int64_t cluster = facts_.kernel().cluster_size();
    Totals arriving(facts_, [&](const Stmt& s, const tile::Group&) { return weigh(s, *wait.barrier, cluster); });
    const std::int64_t most = arriving.of_kernel().high;
    Totals waiting(facts_, [&](const Stmt& s, const tile::Group&) {
      return &s == &wait.stmt() ? Interval{1, 1} : Interval{};
    });
    const Interval executions = waiting.of_kernel();
    const Interval range = index_of(*wait.barrier);
    std::int64_t count = INT64_MAX;
    for (std::int64_t i = range.low; i <= range.high; ++i)
      count = std::min(count, array_->counts[static_cast<std::size_t>(i)]);
    if (most >= count || executions.high == 0) return;
    // Parity 1 passes until the first phase completes. A ring's producer waits so, and in a later round in vain.
    const Expr* phase = as<tile::WaitBarrier>(wait.site->stmt)->phase;
    const auto first = facts_.first_value(phase, *wait.site);
    const bool later_round = first == 1 && !phase->is_constant() && executions.high > range.high - range.low + 1;
    if (first != 0 && !later_round) return;
    const std::string name = name_of(*wait.barrier);
    Diagnostic d{wait.stmt().loc, {}, {}, {}};
    if (most == 0) {
      d.message = fmt::format("nothing arrives at '{}', so that this wait never ends", name);
      d.help = "let a thread arrive at it: with arrive_and_expect_tx() where copies complete on it, else with arrive()";
    } else {
      d.message = fmt::format("a phase of '{}' takes {}, but the kernel arrives {} at most: this wait never ends", name,
                              arrivals_text(count), most == 1 ? "once" : fmt::format("{} times", most));
      d.help = "allocate the barrier for the number of arrivals that make up a phase, or let all threads arrive";
      for (const BarrierUse& use : uses_) {
        if (use.arrives() && may_be_same(*use.barrier, *wait.barrier))
          d.notes.push_back({use.stmt().loc, arrivals_text(use.arrivals)});
      }
    }
    d.notes.push_back({array_->loc, fmt::format("allocated here for {}", arrivals_text(count))});
    out_.add(Hazard::deadlock, first == 0, name, std::move(d));
  }

  Interval weigh(const Stmt& s, const tile::BarrierRef& at, std::int64_t cluster) const {
    const auto it = std::find_if(uses_.begin(), uses_.end(), [&](const BarrierUse& u) { return u.site->stmt == &s; });
    if (it == uses_.end() || !it->arrives() || !may_be_same(*it->barrier, at)) return {};
    return {0, it->remote ? it->arrivals * cluster : it->arrivals};
  }

  // The tile is read too early, or the block ends while the engine writes to its memory.
  void check_copies() {
    const auto is = [](BarrierUse::Kind kind) { return [kind](const BarrierUse& u) { return u.kind == kind; }; };
    if (std::any_of(uses_.begin(), uses_.end(), is(BarrierUse::Kind::wait))) return;
    const auto copy = std::find_if(uses_.begin(), uses_.end(), is(BarrierUse::Kind::copy));
    if (copy == uses_.end()) return;
    const std::string name = name_of(*copy->barrier);
    out_.add(Hazard::race, true, name,
             {copy->stmt().loc,
              fmt::format("the copy completes on '{}', for which nobody waits", name),
              "wait (mbarrier.wait) before the tile is read, and before the kernel ends",
              {{array_->loc, "allocated here"}}});
  }

  const ProgramFacts& facts_;
  const tile::BarrierArray* array_;
  BarrierUses uses_;
  HazardList& out_;
};

// Arrivals that follow each other with nothing in between that could wait for their phase.
class Bursts {
 public:
  Bursts(const ProgramFacts& facts, HazardList& out) : facts_(facts), out_(out) {
    for (const tile::BarrierArray* array : facts.kernel().barriers) {
      const BarrierUses uses = barrier_uses(facts, array);
      const bool waits =
          std::any_of(uses.begin(), uses.end(), [](const BarrierUse& u) { return u.kind == BarrierUse::Kind::wait; });
      for (const BarrierUse& use : uses) {
        if (waits && use.arrives() && !use.remote) arrivals_.emplace(use.site->stmt, use);
      }
    }
  }
  void check() { block(facts_.kernel().body); }

 private:
  using Key = std::pair<const tile::BarrierArray*, const Expr*>;

  static bool reads_variables(const Expr* e) {
    return e->kind == ExprKind::var || std::any_of(e->args.begin(), e->args.end(), reads_variables);
  }
  // Statements that may wait for other threads, or that are executed by some threads, or some number of times.
  static bool may_wait(const Stmt* s) {
    switch (s->kind) {
      case StmtKind::control_For:
      case StmtKind::control_Loop:
      case StmtKind::control_If:
      case StmtKind::control_Break:
      case StmtKind::control_Continue:
      case StmtKind::tile_Sync:
      case StmtKind::tile_WaitBarrier:
      case StmtKind::tile_NamedBarrierSync:
      case StmtKind::tile_NamedBarrierArrive:
      case StmtKind::tile_ClusterSync:
      case StmtKind::tile_ClusterArrive:
      case StmtKind::tile_ClusterWait:
      case StmtKind::tile_GridDependency:
      case StmtKind::tile_WaitFlag:
      case StmtKind::tile_TmaWait: return true;
      default: return false;
    }
  }

  // Outside branches and loops of unknown length.
  void block(const Block& statements) {
    for (const Stmt* s : statements) {
      if (const auto* g = as<tile::ThreadGroup>(s)) {
        block(g->body);
        continue;
      }
      if (may_wait(s)) since_.clear();
      if (const auto it = arrivals_.find(s); it != arrivals_.end()) arrive(it->second, 1);
      for_each_child_block(s, [&](const Block& b) {
        const int before = found_;
        since_.clear();
        block(b);
        if (found_ == before) repeated(s, b);
        since_.clear();
      });
    }
  }

  // A loop that only arrives: all its iterations are one burst at each barrier that it names by a constant.
  void repeated(const Stmt* loop, const Block& body) {
    const auto* range = as<control::For>(loop);
    const std::int64_t trips = range != nullptr ? facts_.trips(loop).low : 0;
    if (trips < 2 || std::any_of(body.begin(), body.end(), [](const Stmt* s) { return waits_inside(s); })) return;
    since_.clear();
    const std::function<void(const Block&)> arrivals = [&](const Block& b) {
      for (const Stmt* s : b) {
        const auto it = arrivals_.find(s);
        if (it != arrivals_.end() && it->second.barrier->index->is_constant()) arrive(it->second, trips);
        if (const auto* g = as<tile::ThreadGroup>(s)) arrivals(g->body);
      }
    };
    arrivals(body);
  }
  static bool waits_inside(const Stmt* s) {
    bool waits = may_wait(s);
    for_each_child_block(s, [&](const Block& b) { waits = waits || std::any_of(b.begin(), b.end(), waits_inside); });
    return waits;
  }

  void arrive(const BarrierUse& use, std::int64_t times) {
    const Expr* index = use.barrier->index;
    if (reads_variables(index) || !facts_.is_uniform(use.site->group)) return;
    auto& [sum, first] = since_[{use.barrier->array, index}];
    if (first == nullptr) first = &use;
    sum += use.arrivals * times;
    const std::int64_t count = largest_count(*use.barrier);
    if (sum <= count || (first == &use && times == 1)) return;  // one statement alone is check_sum's
    report(use, *first, sum, count);
  }

  void report(const BarrierUse& use, const BarrierUse& first, std::int64_t sum, std::int64_t count) {
    const std::string name = name_of(*use.barrier);
    Diagnostic d;
    d.loc = use.stmt().loc;
    d.message = fmt::format("{} at '{}' with no wait between them, but a phase of it takes {}", arrivals_text(sum),
                            name, count);
    d.help =
        "wait for a phase (mbarrier.wait) before arriving in the next one, or allocate the barrier for all arrivals";
    if (&first != &use) d.notes.push_back({first.stmt().loc, "the first of them"});
    d.notes.push_back({use.barrier->array->loc, fmt::format("allocated here for {}", arrivals_text(count))});
    out_.add(Hazard::barrier_arrivals, true, name, std::move(d));
    ++found_;
    since_.clear();
  }

  const ProgramFacts& facts_;
  HazardList& out_;
  std::unordered_map<const Stmt*, BarrierUse> arrivals_;
  std::map<Key, std::pair<std::int64_t, const BarrierUse*>> since_;  // looked up only
  int found_ = 0;
};

}  // namespace

void check_barrier_arrivals(const ProgramFacts& facts, HazardList& out) {
  for (const tile::BarrierArray* array : facts.kernel().barriers) Arrivals(facts, array, out).check();
  Bursts(facts, out).check();
}

}  // namespace tessera::passes
