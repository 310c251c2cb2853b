// Phases of mbarriers that are waited for in loops.
#include <fmt/format.h>

#include <algorithm>

#include "ir/tile_printer.hpp"
#include "passes/barrier_uses.hpp"
#include "passes/static_hazards.hpp"

namespace tessera::passes {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

class Phases {
 public:
  Phases(const ProgramFacts& facts, const tile::BarrierArray* array, HazardList& out)
      : facts_(facts), array_(array), out_(out) {
    for (const BarrierUse& use : barrier_uses(facts, array)) {
      if (use.arrives()) arrivals_.push_back(use);
      if (use.kind == BarrierUse::Kind::wait) waits_.push_back(use);
    }
  }

  void check() {
    if (!one_phase_a_round()) return;
    for (const BarrierUse& wait : waits_) {
      if (wait.site->loops.empty()) continue;
      check_flip(wait);
      check_trips(wait);
    }
  }

 private:
  // Every arrival stands in a loop and in no branch, and all of them together make one phase of a barrier.
  bool one_phase_a_round() const {
    std::int64_t sum = 0;
    for (const BarrierUse& use : arrivals_) {
      const Site& site = *use.site;
      if (use.remote || site.loops.empty() || !facts_.branches(site).empty() || leaves(site)) return false;
      if (!facts_.is_uniform(site.group)) return false;
      sum += use.arrivals;
    }
    return !arrivals_.empty() &&
           std::all_of(array_->counts.begin(), array_->counts.end(), [&](std::int64_t count) { return count == sum; });
  }
  // Whether some loop around it may be left, or an iteration of it cut short.
  bool leaves(const Site& site) const {
    return std::any_of(site.loops.begin(), site.loops.end(), [&](int l) {
      bool skips = false;
      for_each_child_block(facts_.loop_at(l), [&](const Block& b) {
        skips = std::any_of(b.begin(), b.end(), [&](const Stmt* s) { return facts_.may_skip_rest(s); });
      });
      return skips;
    });
  }

  // The parity is the same in all iterations of all loops, while the barrier goes from phase to phase.
  void check_flip(const BarrierUse& wait) {
    const Site& site = *wait.site;
    const Expr* phase = as<tile::WaitBarrier>(site.stmt)->phase;
    const Span& outermost = facts_.walk().loops[static_cast<std::size_t>(site.loops.front())];
    if (facts_.changes_in(phase, outermost)) return;
    const bool one_barrier = array_->counts.size() == 1 || (wait.barrier->index->is_constant() && all_at(wait));
    if (!one_barrier) return;
    Interval rounds{1, 1};
    for (const int l : site.loops) rounds = repeat(rounds, facts_.trips(facts_.loop_at(l)));
    if (rounds.high < 2) return;
    const int loop = site.loops.back();
    const bool together = std::all_of(arrivals_.begin(), arrivals_.end(),
                                      [&](const BarrierUse& a) { return a.site->loops == site.loops; });
    const bool certain = together && facts_.branches(site).empty() && rounds.low >= 2;
    const std::string name = name_of(*wait.barrier);
    out_.add(
        Hazard::barrier_phase, certain, name,
        {site.stmt->loc,
         fmt::format("this waits for parity {} of '{}' in every iteration, but each completes a phase, and the "
                     "parity of phases alternates",
                     to_string(phase), name),
         "keep the parity in a variable and flip it after each wait: Var<UInt32> phase = 0u; ... phase ^= 1u;",
         {{facts_.loop_at(loop)->loc, "the loop"}, {arrivals_.front().stmt().loc, "the phase is completed here"}}});
  }
  bool all_at(const BarrierUse& wait) const {
    return std::all_of(arrivals_.begin(), arrivals_.end(),
                       [&](const BarrierUse& a) { return a.barrier->index == wait.barrier->index; });
  }

  // The wait stands in as many loops as the arrivals, in ones of the same lengths but for the innermost.
  void check_trips(const BarrierUse& wait) {
    const Site& site = *wait.site;
    const Expr* phase = as<tile::WaitBarrier>(site.stmt)->phase;
    const Stmt* loop = facts_.loop_at(site.loops.back());
    const Stmt* other = facts_.loop_at(arrivals_.front().site->loops.back());
    if (!facts_.branches(site).empty() || leaves(site) || !facts_.changes_in(phase, facts_.span_of(loop))) return;
    for (const BarrierUse& arrival : arrivals_) {
      if (!alike(site.loops, arrival.site->loops)) return;
      if (!same_range(other, facts_.loop_at(arrival.site->loops.back()))) return;
    }
    const auto more = surplus(loop, other);
    const auto first = facts_.first_value(phase, site);
    const auto slots = static_cast<std::int64_t>(array_->counts.size());
    // Parity 1 of a new barrier counts as complete: the first round of a ring waits for nothing.
    if (!more || !first || *more <= (*first == 0 ? 0 : slots) || (*first != 0 && site.loops.size() > 1)) return;
    const std::string name = name_of(*wait.barrier);
    out_.add(Hazard::deadlock, false, name,
             {site.stmt->loc,
              fmt::format("'{}' is waited for in {} more iterations than complete a phase of it", name, *more),
              "let both loops have the same number of iterations",
              {{loop->loc, "this one waits: " + tile::statement_text(loop)},
               {other->loc, "this one arrives: " + tile::statement_text(other)}}});
  }

  bool alike(const std::vector<int>& a, const std::vector<int>& b) const {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i + 1 < a.size(); ++i) {
      if (a[i] != b[i] && !same_range(facts_.loop_at(a[i]), facts_.loop_at(b[i]))) return false;
    }
    return true;
  }
  static bool same_range(const Stmt* a, const Stmt* b) {
    if (a == b) return true;
    const auto *x = as<control::For>(a), *y = as<control::For>(b);
    return x != nullptr && y != nullptr && x->begin == y->begin && x->end == y->end && x->step == y->step;
  }
  // How many iterations more `a` has than `b` wherever it has any, if the text shows it.
  std::optional<std::int64_t> surplus(const Stmt* a, const Stmt* b) const {
    const auto *x = as<control::For>(a), *y = as<control::For>(b);
    if (x == nullptr || y == nullptr || a == b || x->begin != y->begin || x->step != y->step) return std::nullopt;
    if (!x->step->is_constant()) return std::nullopt;
    const Interval m = facts_.trips(a), n = facts_.trips(b);
    if (m.low == m.high && n.low == n.high) return m.low - n.low;
    const auto [base, added] = split(x->end);
    const auto [other_base, other_added] = split(y->end);
    const std::int64_t step = x->step->integer;
    if (base != other_base || (added - other_added) % step != 0) return std::nullopt;
    return (added - other_added) / step;
  }
  // The end of a range as something and a constant.
  static std::pair<const Expr*, std::int64_t> split(const Expr* e) {
    if (e->is_constant()) return {nullptr, e->integer};
    const bool sum = e->kind == ExprKind::add || e->kind == ExprKind::sub;
    if (!sum || !e->args[1]->is_constant()) return {e, 0};
    return {e->args[0], e->kind == ExprKind::add ? e->args[1]->integer : -e->args[1]->integer};
  }

  const ProgramFacts& facts_;
  const tile::BarrierArray* array_;
  BarrierUses arrivals_, waits_;
  HazardList& out_;
};

}  // namespace

void check_barrier_phases(const ProgramFacts& facts, HazardList& out) {
  for (const tile::BarrierArray* array : facts.kernel().barriers) Phases(facts, array, out).check();
}

}  // namespace tessera::passes
