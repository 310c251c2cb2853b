#include "passes/path_walk.hpp"

#include <algorithm>

namespace tessera::passes {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

constexpr int most_groups = 64;  // no wait leaves more of them pending
constexpr int most_rounds = 4;   // of a loop, before what still changes counts as over

}  // namespace

void PathWalk::run() {
  State state;
  start(state);
  if (const Path last = block(facts_.kernel().body, {facts_.kernel().root_group(), 0}, std::move(state))) end(*last);
}

Pending& PathWalk::begin(State& state, const Stmt& s, int agent) const {
  Pending& p = state[facts_.site(&s).position];
  p = {&s, agent};
  return p;
}
void PathWalk::commit(State& state, int agent) {
  for (auto& [position, p] : state) {
    if (p.agent == agent) p.groups = std::min(p.groups + 1, most_groups);
  }
}
void PathWalk::wait(State& state, int agent, int pending) {
  for (auto& [position, p] : state) p.over = p.over || (p.agent == agent && p.groups >= pending);
}

bool PathWalk::may_meet(const Pending& p, const Stmt& s) const {
  return p.by == nullptr || facts_.related(facts_.site(p.by), facts_.site(&s));
}
bool PathWalk::is_certain(const Pending& p, const Stmt& s) const { return !p.uncertain && may_meet(p, s); }

void PathWalk::join(Path& into, const Path& other) {
  if (!other) return;
  if (!into) {
    into = other;
    return;
  }
  for (const auto& [position, p] : *other) {
    const auto [it, inserted] = into->emplace(position, p);
    if (inserted) continue;
    Pending& mine = it->second;
    mine.groups = std::max(mine.groups, p.groups);
    mine.over = mine.over || p.over;
    mine.around = mine.around || p.around;
    mine.uncertain = mine.uncertain || p.uncertain;
  }
}

PathWalk::Path PathWalk::block(const Block& statements, const Place& place, Path path) {
  for (const Stmt* s : statements) path = statement(*s, place, std::move(path));
  return path;
}

PathWalk::Place PathWalk::inner(const Stmt& s, const Place& outer) const {
  const tile::Group& group = as<tile::ThreadGroup>(&s)->group;
  if (group.elect) return {group, outer.group == group ? outer.agent : -1 - facts_.site(&s).position};
  return {group, group.begin};
}

PathWalk::Path PathWalk::statement(const Stmt& s, const Place& place, Path path) {
  if (!path) return path;
  if (const auto* g = as<tile::ThreadGroup>(&s)) {
    State before = *path;
    Path after = block(g->body, inner(s, place), std::move(path));
    return after ? std::move(after) : Path(std::move(before));  // the other threads go on
  }
  if (const auto* f = as<control::For>(&s)) return loop(s, f->body, place, *path);
  if (const auto* l = as<control::Loop>(&s)) return loop(s, l->body, place, *path);
  if (const auto* branch = as<control::If>(&s)) {
    const bool known = branch->condition->is_constant(), yes = branch->condition->integer != 0;
    Path taken, other;
    if (!known || yes) taken = block(branch->then_body, place, path);
    if (!known || !yes) other = block(branch->else_body, place, std::move(path));
    join(taken, other);
    return taken;
  }
  if (s.kind == StmtKind::control_Break || s.kind == StmtKind::control_Continue) {
    LoopExits& exits = exits_.back();
    join(s.kind == StmtKind::control_Break ? exits.breaks : exits.continues, path);
    return std::nullopt;
  }
  visit(s, place, *path);
  return path;
}

PathWalk::Path PathWalk::iteration(const Block& body, const Place& place, const State& head, Path& breaks) {
  exits_.emplace_back();
  Path last = block(body, place, head);
  join(last, exits_.back().continues);
  join(breaks, exits_.back().breaks);
  exits_.pop_back();
  return last;
}

void PathWalk::go_round(State& state, const Span& loop, bool uncertain) const {
  for (auto& [position, p] : state) {
    if (!loop.contains(position)) continue;
    p.around = true;
    p.uncertain = p.uncertain || uncertain;
  }
}

PathWalk::Path PathWalk::loop(const Stmt& s, const Block& body, const Place& place, const State& entry) {
  const Interval trips = facts_.trips(&s);
  if (trips.high == 0) return entry;
  const Span& span = facts_.span_of(&s);
  Path leaving;
  Path last = iteration(body, place, entry, leaving);
  Path head = entry;
  for (int round = 1; last && trips.high > 1; ++round) {
    Path next = head, back = last;
    go_round(*back, span, trips.low < 2);
    join(next, back);
    if (next == head) break;
    if (round > most_rounds) {
      for (auto& [position, p] : *next) {
        const auto it = head->find(position);
        p.over = p.over || it == head->end() || !(it->second == p);
      }
    }
    head = std::move(next);
    last = iteration(body, place, *head, leaving);
  }
  if (s.kind == StmtKind::control_Loop) return leaving;
  if (trips.low == 0) join(last, entry);
  join(last, leaving);
  return last;
}

}  // namespace tessera::passes
