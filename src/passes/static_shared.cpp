// The order of what engines and threads do with tiles in shared memory: bulk groups of TMA stores, and proxy fences.
#include <fmt/format.h>

#include <algorithm>

#include "passes/path_walk.hpp"
#include "passes/static_hazards.hpp"

namespace tessera::passes {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

bool reads_variables(const Expr* e) {
  return e->kind == ExprKind::var || std::any_of(e->args.begin(), e->args.end(), reads_variables);
}

// Whether two parts share elements for certain. `same_iteration`: values have not changed between the two uses.
bool overlaps(const tile::SharedView& a, const tile::SharedView& b, bool same_iteration) {
  if (a.tensor != b.tensor || a.cta != b.cta) return false;
  for (std::size_t d = 0; d < a.extents.size(); ++d) {
    const Expr *x = a.origin[d], *y = b.origin[d];
    const std::int64_t whole = a.tensor->shape[d];
    if (a.extents[d] == whole || b.extents[d] == whole) continue;
    if (x->is_constant() && y->is_constant()) {
      if (x->integer >= y->integer + b.extents[d] || y->integer >= x->integer + a.extents[d]) return false;
    } else if (x != y || !same_iteration || reads_variables(x)) {
      return false;
    }
  }
  return true;
}

class BulkOrder final : public PathWalk {
 public:
  BulkOrder(const ProgramFacts& facts, HazardList& out) : PathWalk(facts), out_(out) {}

 private:
  void visit(const Stmt& s, const Place& place, State& state) override {
    if (s.kind == StmtKind::tile_TmaStore) {
      begin(state, s, place.agent);
    } else if (s.kind == StmtKind::tile_TmaCommit) {
      commit(state, place.agent);
    } else if (const auto* wait_ = as<tile::TmaWait>(&s)) {
      wait(state, place.agent, wait_->pending);
    } else if (const auto* write = as<tile::StoreShared>(&s)) {
      check_write(*write, place.group, state);
    }
  }

  // The thread that issued the store takes part in the write, so that the program's order is theirs.
  void check_write(const tile::StoreShared& s, const tile::Group& group, const State& state) {
    for (const auto& [position, p] : state) {
      const auto* store = as<tile::TmaStore>(p.by);
      if (p.over || !covers(group, candidates(facts_.site(p.by).group)) || !may_meet(p, s)) continue;
      if (!overlaps(*store->src, *s.dst, !p.around)) continue;
      out_.add(Hazard::bulk_group, is_certain(p, s), s.dst->tensor->name,
               {s.loc,
                fmt::format("{} is written while the {}() of line {} may still read it", describe(*s.dst->tensor),
                            name_of(*store), store->loc.line),
                "let the thread that issued the store commit it and wait, tma.wait_group(0, {.read = true}), and "
                "synchronise with it, before the tile is written again",
                {{store->loc, "the engine reads the tile from here on"}}});
    }
  }

  void end(const State& state) override {
    for (const auto& [position, p] : state) {
      if (p.over) continue;
      const auto* store = as<tile::TmaStore>(p.by);
      Diagnostic d{store->loc, {}, {}, {}};
      if (p.groups < 0) {
        d.message = fmt::format("this {}() is never committed, so that no wait covers it", name_of(*store));
        d.help = "let the same thread call tma.commit_group() after the stores, and tma.wait_group() before the end";
      } else {
        d.message = fmt::format("nothing waits for this {}(): the block may end while the engine reads {}",
                                name_of(*store), describe(*store->src->tensor));
        d.help = "let the same thread call tma.wait_group(0, {.read = true}) before the kernel ends";
      }
      out_.add(Hazard::bulk_group, true, store->src->tensor->name, std::move(d));
    }
  }

  static const char* name_of(const tile::TmaStore& s) { return s.add ? "tma.reduce_add" : "tma.shared_to_global"; }

  HazardList& out_;
};

class ProxyFences final : public PathWalk {
 public:
  ProxyFences(const ProgramFacts& facts, HazardList& out) : PathWalk(facts), out_(out) {}

 private:
  void visit(const Stmt& s, const Place& place, State& state) override {
    if (s.kind == StmtKind::tile_StoreShared) begin(state, s, 0);
    if (s.kind == StmtKind::tile_FenceProxyAsync) {
      for (auto& [position, p] : state) p.over = true;  // whoever executes it
    }
    for (const SharedUse& use : async_shared_uses(&s)) {
      if (!use.write) check_read(s, *use.view, place.group, state);
    }
  }

  // Only among the same threads is the program's order that of the two.
  void check_read(const Stmt& s, const tile::SharedView& view, const tile::Group& group, const State& state) {
    for (const auto& [position, p] : state) {
      const auto* write = as<tile::StoreShared>(p.by);
      if (p.over || !may_meet(p, s) || !overlaps(*write->dst, view, !p.around)) continue;
      if (!covers(facts_.site(p.by).group, candidates(group))) continue;
      out_.add(Hazard::proxy_fence, is_certain(p, s), view.tensor->name,
               {s.loc,
                fmt::format("{} is written by ordinary stores and read here by an asynchronous engine, with no "
                            "fence.proxy_async() between the two",
                            describe(*view.tensor)),
                "execute fence.proxy_async() in the threads that wrote the tile, before the barrier that hands it over",
                {{write->loc, "written here"}}});
    }
  }

  HazardList& out_;
};

}  // namespace

void check_bulk_order(const ProgramFacts& facts, HazardList& out) {
  const auto& sites = facts.walk().sites;
  const bool stores =
      std::any_of(sites.begin(), sites.end(), [](const Site& s) { return s.stmt->kind == StmtKind::tile_TmaStore; });
  if (stores) BulkOrder(facts, out).run();
}

void check_proxy_fences(const ProgramFacts& facts, HazardList& out) { ProxyFences(facts, out).run(); }

}  // namespace tessera::passes
