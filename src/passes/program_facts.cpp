#include "passes/program_facts.hpp"

#include <algorithm>

namespace tessera::passes {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

std::int64_t clamp(std::int64_t v) { return std::clamp(v, -unbounded, unbounded); }
std::int64_t plus(std::int64_t a, std::int64_t b) { return clamp(clamp(a) + clamp(b)); }
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return clamp(product);
  return (a < 0) == (b < 0) ? unbounded : -unbounded;
}

std::int64_t iterations(std::int64_t length, std::int64_t step) { return length <= 0 ? 0 : (length - 1) / step + 1; }
std::int64_t difference(std::int64_t a, std::int64_t b) { return plus(a, -clamp(b)); }

}  // namespace

Interval operator+(Interval a, Interval b) {
  // A bound that is unknown stays unknown, whatever is added to it.
  const bool no_low = a.low <= -unbounded || b.low <= -unbounded;
  const bool no_high = a.high >= unbounded || b.high >= unbounded;
  return {no_low ? -unbounded : plus(a.low, b.low), no_high ? unbounded : plus(a.high, b.high)};
}
Interval hull(Interval a, Interval b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }
Interval repeat(Interval once, Interval n) {
  return {times(once.low, once.low >= 0 ? n.low : n.high), times(once.high, once.high <= 0 ? n.low : n.high)};
}

ProgramFacts::ProgramFacts(const tile::Kernel& kernel) : kernel_(kernel), walk_(kernel) {
  for (const Site& site : walk_.sites) {
    positions_[site.stmt] = site.position;
    if (const auto* s = as<control::Let>(site.stmt)) definitions_[s->value] = site.position;
    if (const auto* s = as<control::For>(site.stmt)) definitions_[s->induction] = site.position;
    if (const auto* s = as<control::DeclareVar>(site.stmt)) declarations_[s->var] = site.position;
    if (const auto* s = as<control::AssignVar>(site.stmt)) assignments_[s->var].push_back(site.position);
  }
  find_skips();
}

// Everything around a break or continue, up to the body of its loop.
void ProgramFacts::find_skips() {
  for (const Site& site : walk_.sites) {
    if (site.stmt->kind != StmtKind::control_Break && site.stmt->kind != StmtKind::control_Continue) continue;
    skipping_.insert(site.stmt);
    for (auto it = site.blocks.rbegin(); it != site.blocks.rend(); ++it) {
      const Stmt* owner = walk_.owners[static_cast<std::size_t>(*it)];
      if (owner == nullptr || is_loop(owner)) break;
      skipping_.insert(owner);
    }
  }
}

const Stmt* ProgramFacts::loop_at(int loop) const {
  return walk_.sites[static_cast<std::size_t>(walk_.loops[static_cast<std::size_t>(loop)].first)].stmt;
}
const Span& ProgramFacts::span_of(const Stmt* loop) const {
  const int position = positions_.at(loop);
  return *std::find_if(walk_.loops.begin(), walk_.loops.end(), [&](const Span& s) { return s.first == position; });
}

Interval ProgramFacts::trips(const Stmt* loop) const {
  const auto* range = as<control::For>(loop);
  if (range == nullptr) return {1, unbounded};  // it may leave in the middle of the first
  const Expr *begin = range->begin, *end = range->end, *step = range->step;
  Interval n{iterations(difference(end->low, begin->high), std::max<std::int64_t>(step->high, 1)),
             iterations(difference(end->high, begin->low), std::max<std::int64_t>(step->low, 1))};
  if (begin == end) n = {0, 0};
  const bool leaves = std::any_of(range->body.begin(), range->body.end(), [&](Stmt* s) { return may_skip_rest(s); });
  if (leaves) n.low = std::min<std::int64_t>(n.low, 1);
  return n;
}

std::vector<int> ProgramFacts::branches(const Site& site) const {
  std::vector<int> result;
  for (const int b : site.blocks) {
    const Stmt* owner = walk_.owners[static_cast<std::size_t>(b)];
    const auto* branch = owner != nullptr ? as<control::If>(owner) : nullptr;
    if (branch != nullptr && !branch->condition->is_constant()) result.push_back(b);
  }
  return result;
}

bool ProgramFacts::related(const Site& a, const Site& b) const {
  const auto x = branches(a), y = branches(b);
  return std::equal(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(std::min(x.size(), y.size())), y.begin());
}

bool ProgramFacts::changes_in(const Expr* e, const Span& loop) const {
  if (e->kind == ExprKind::value) {
    const auto it = definitions_.find(e->value);
    if (it == definitions_.end()) return true;
    if (!loop.contains(it->second)) return false;
    const auto* let = as<control::Let>(walk_.sites[static_cast<std::size_t>(it->second)].stmt);
    return let == nullptr || changes_in(let->init, loop);
  }
  if (e->kind == ExprKind::var) {
    const auto declared = declarations_.find(e->var);
    if (declared == declarations_.end() || loop.contains(declared->second)) return true;
    const auto it = assignments_.find(e->var);
    return it != assignments_.end() &&
           std::any_of(it->second.begin(), it->second.end(), [&](int p) { return loop.contains(p); });
  }
  return std::any_of(e->args.begin(), e->args.end(), [&](const Expr* a) { return changes_in(a, loop); });
}

// Whether `var`, read at `position` on the way to the first execution of `use`, may hold an assigned value.
bool ProgramFacts::assigned_before_first_use(const Var* var, int position, const Site& use) const {
  const auto it = assignments_.find(var);
  if (it == assignments_.end()) return false;
  for (const int p : it->second) {
    const Site& assignment = walk_.sites[static_cast<std::size_t>(p)];
    if (!meets(candidates(assignment.group), candidates(use.group))) continue;  // other threads have their own
    if (p < position) return true;
    // Later in a loop around both: a way round that loop without the use comes by here first.
    std::size_t common = 0;
    while (common < use.loops.size() && common < assignment.loops.size() &&
           use.loops[common] == assignment.loops[common]) {
      ++common;
    }
    if (common == 0) continue;
    for (std::size_t l = common; l < use.loops.size(); ++l) {
      if (trips(loop_at(use.loops[l])).low == 0) return true;
    }
    if (!branches(use).empty()) return true;
  }
  return false;
}

std::optional<std::int64_t> ProgramFacts::evaluate(const Expr* e, int position, const Site& use) const {
  if (e->is_constant()) return e->integer;
  if (e->kind == ExprKind::value) {
    const auto it = definitions_.find(e->value);
    if (it == definitions_.end()) return std::nullopt;
    const Stmt* s = walk_.sites[static_cast<std::size_t>(it->second)].stmt;
    if (const auto* let = as<control::Let>(s)) return evaluate(let->init, it->second, use);
    return evaluate(as<control::For>(s)->begin, it->second, use);
  }
  if (e->kind == ExprKind::var) {
    const auto it = declarations_.find(e->var);
    if (it == declarations_.end() || assigned_before_first_use(e->var, position, use)) return std::nullopt;
    const auto* declared = as<control::DeclareVar>(walk_.sites[static_cast<std::size_t>(it->second)].stmt);
    return evaluate(declared->init, it->second, use);
  }
  if (is_leaf(e->kind) || is_float(e->type) || e->args.empty()) return std::nullopt;
  std::vector<std::int64_t> args;
  for (const Expr* a : e->args) {
    if (is_float(a->type)) return std::nullopt;
    const auto value = evaluate(a, position, use);
    if (!value) return std::nullopt;
    args.push_back(*value);
  }
  if (e->kind == ExprKind::select) return args[0] != 0 ? args[1] : args[2];
  if (e->kind == ExprKind::cast) return wrap_to(e->type, args[0]);
  std::int64_t result = 0;
  if (args.size() != 2 || !evaluate_integer(e->kind, e->args[0]->type, args[0], args[1], &result)) return std::nullopt;
  return result;
}

std::optional<std::int64_t> ProgramFacts::first_value(const Expr* e, const Site& site) const {
  if (is_float(e->type)) return std::nullopt;
  return evaluate(e, site.position, site);
}

bool ProgramFacts::is_same_in_cluster(const Expr* e) const {
  if (e->kind == ExprKind::cluster_rank || e->kind == ExprKind::var) return false;
  if (e->kind == ExprKind::block_idx) return kernel_.cluster[static_cast<std::size_t>(e->integer)] == 1;
  if (e->kind == ExprKind::div && e->args[0]->kind == ExprKind::block_idx && e->args[1]->is_constant()) {
    const int extent = kernel_.cluster[static_cast<std::size_t>(e->args[0]->integer)];
    return e->args[1]->integer > 0 && e->args[1]->integer % extent == 0;
  }
  if (e->kind == ExprKind::value) {
    const auto it = definitions_.find(e->value);
    if (it == definitions_.end()) return false;
    const Stmt* s = walk_.sites[static_cast<std::size_t>(it->second)].stmt;
    if (const auto* let = as<control::Let>(s)) return is_same_in_cluster(let->init);
    const auto* loop = as<control::For>(s);
    return is_same_in_cluster(loop->begin) && is_same_in_cluster(loop->step);
  }
  return std::all_of(e->args.begin(), e->args.end(), [&](const Expr* a) { return is_same_in_cluster(a); });
}

bool ProgramFacts::is_taken_in_turns(const control::If& branch) const {
  const Expr* c = branch.condition;
  const auto is_rank = [](const Expr* e) { return e->kind == ExprKind::cluster_rank; };
  const auto is_a_rank = [&](const Expr* e) {
    return e->is_constant() && e->integer >= 0 && e->integer < kernel_.cluster_size();
  };
  if (c->kind != ExprKind::eq) return false;
  if (!(is_rank(c->args[0]) && is_a_rank(c->args[1])) && !(is_rank(c->args[1]) && is_a_rank(c->args[0]))) return false;
  for (const int b : site(&branch).blocks) {
    const Stmt* owner = walk_.owners[static_cast<std::size_t>(b)];
    if (owner == nullptr || owner->kind == StmtKind::tile_ThreadGroup) continue;
    const auto* loop = as<control::For>(owner);
    const auto* outer = as<control::If>(owner);
    if (outer != nullptr && is_same_in_cluster(outer->condition)) continue;
    if (loop == nullptr || !is_same_in_cluster(loop->begin) || !is_same_in_cluster(loop->end) ||
        !is_same_in_cluster(loop->step)) {
      return false;
    }
    if (std::any_of(loop->body.begin(), loop->body.end(), [&](Stmt* s) { return may_skip_rest(s); })) return false;
  }
  return true;
}

// Threads differ only by variables that some of them assign and others do not.
bool ProgramFacts::is_uniform(const tile::Group& group) const {
  if (group.threads() == 1) return true;
  return std::none_of(walk_.sites.begin(), walk_.sites.end(), [&](const Site& s) {
    if (s.stmt->kind != StmtKind::control_AssignVar) return false;
    return meets(candidates(s.group), candidates(group)) && !covers(s.group, group);
  });
}

Interval Totals::of(const Block& block, const tile::Group& group) {
  Interval sum;
  bool skipped = false;  // the rest, perhaps
  for (const Stmt* s : block) {
    const Interval once = statement(*s, group);
    sum = sum + (skipped ? hull(once, {0, 0}) : once);
    skipped |= facts_.may_skip_rest(s);
  }
  return sum;
}

Interval Totals::part(const Block& block, const tile::Group& group) {
  const std::size_t first = parts_.size();
  const Interval once = of(block, group);
  parts_.push_back({&block, once, first});
  return once;
}

// What falls to one block. Weights are those of so many blocks that do the same, and therefore multiples.
Interval Totals::share(Interval all) const {
  return {all.low <= -unbounded ? all.low : all.low / blocks_, all.high >= unbounded ? all.high : all.high / blocks_};
}

Interval Totals::statement(const Stmt& s, const tile::Group& group) {
  if (const auto* g = as<tile::ThreadGroup>(&s)) return of(g->body, g->group);
  if (const auto* loop = as<control::For>(&s)) return repeat(part(loop->body, group), facts_.trips(&s));
  if (const auto* loop = as<control::Loop>(&s)) return repeat(part(loop->body, group), facts_.trips(&s));
  if (const auto* branch = as<control::If>(&s)) {
    const Interval yes = part(branch->then_body, group), no = part(branch->else_body, group);
    if (branch->condition->is_constant()) return branch->condition->integer != 0 ? yes : no;
    if (blocks_ > 1 && facts_.is_taken_in_turns(*branch)) {  // one of the blocks that get here
      return share(yes) + repeat(share(no), {blocks_ - 1, blocks_ - 1});
    }
    return hull(yes, no);
  }
  return weigh_(s, group);
}

}  // namespace tessera::passes
