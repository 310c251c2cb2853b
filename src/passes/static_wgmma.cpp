// The order of a warpgroup's products and of what else touches their registers.
#include <fmt/format.h>

#include <algorithm>

#include "passes/path_walk.hpp"
#include "passes/static_hazards.hpp"

namespace tessera::passes {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

bool holds(const std::vector<tile::RegisterTensor*>& list, const tile::RegisterTensor* t) {
  return t != nullptr && std::find(list.begin(), list.end(), t) != list.end();
}

class WgmmaOrder final : public PathWalk {
 public:
  WgmmaOrder(const ProgramFacts& facts, HazardList& out) : PathWalk(facts), out_(out) {
    for (const Site& site : facts.walk().sites) {
      const auto* w = as<tile::Wgmma>(site.stmt);
      if (w == nullptr) continue;
      operands_.insert(w->acc);
      if (w->a_registers != nullptr) operands_.insert(w->a_registers);
    }
  }
  bool has_products() const { return !operands_.empty(); }

 private:
  // Products belong to their warpgroup; accesses, which only a fence ends, to an agent of their own.
  static int products_of(const tile::Group& g) { return g.begin; }
  static int accesses_of(const tile::Group& g) { return -1 - g.begin; }

  // No fence has been executed yet.
  void start(State& state) override {
    for (int first = 0; first < facts_.kernel().warps * 32; first += 128) {
      const int agent = accesses_of({first, 128});
      state[agent] = {nullptr, agent};
    }
  }

  void visit(const Stmt& s, const Place& place, State& state) override {
    if (s.kind == StmtKind::tile_WgmmaFence) {
      for (auto& [position, p] : state) p.over = p.over || p.agent == accesses_of(place.group);
    } else if (const auto* w = as<tile::Wgmma>(&s)) {
      check_fence(*w, place.group, state);
      begin(state, s, products_of(place.group));
    } else if (s.kind == StmtKind::tile_WgmmaCommit) {
      commit(state, products_of(place.group));
    } else if (const auto* wait_ = as<tile::WgmmaWait>(&s)) {
      wait(state, products_of(place.group), wait_->pending);
    } else if (s.kind != StmtKind::tile_AllocRegister) {
      access(s, place.group, state);
    }
  }

  void check_fence(const tile::Wgmma& w, const tile::Group& group, const State& state) {
    if (!state.at(accesses_of(group)).over) {
      out_.add(Hazard::wgmma, true, w.acc->name,
               {w.loc,
                "wgmma.mma() before any wgmma.fence()",
                "execute wgmma.fence() before the first product, and after other code touched its registers",
                {}});
      return;
    }
    std::set<const tile::RegisterTensor*> unfenced{w.acc, w.a_registers};
    for (auto it = state.rbegin(); it != state.rend(); ++it) {  // of several accesses the last
      const Pending& p = it->second;
      if (p.over || p.by == nullptr || p.agent != accesses_of(group) || !may_meet(p, w)) continue;
      const Operands o = register_operands(p.by);
      for (const tile::RegisterTensor* t : {w.acc, w.a_registers}) {
        const bool written = holds(o.writes, t);
        if ((!written && !holds(o.reads, t)) || unfenced.erase(t) == 0) continue;
        out_.add(Hazard::wgmma, is_certain(p, w), t->name,
                 {w.loc,
                  fmt::format("{} is {} without a wgmma.fence() before this product", describe(*t),
                              written ? "written" : "read"),
                  "execute wgmma.fence() between other accesses to the registers of a product and the product",
                  {{p.by->loc, written ? "written here" : "read here"}}});
      }
    }
  }

  void access(const Stmt& s, const tile::Group& group, State& state) {
    const Operands o = register_operands(&s);
    bool touches = false;
    for (const auto* list : {&o.reads, &o.writes}) {
      touches |= std::any_of(list->begin(), list->end(), [&](const auto* t) { return operands_.count(t) != 0; });
    }
    if (!touches) return;
    for (const auto& [position, p] : state) {
      if (p.over || p.by == nullptr || p.by->kind != StmtKind::tile_Wgmma || !may_meet(p, s)) continue;
      const auto* w = as<tile::Wgmma>(p.by);
      const bool written = holds(o.writes, w->acc);
      if (written || holds(o.reads, w->acc)) {
        report_access(s, p, *w, *w->acc, written, "accumulates into it");
      } else if (holds(o.writes, w->a_registers)) {
        report_access(s, p, *w, *w->a_registers, true, "reads it");
      }
    }
    begin(state, s, accesses_of(group));
  }

  void report_access(const Stmt& s, const Pending& p, const tile::Wgmma& w, const tile::RegisterTensor& t, bool written,
                     const char* use) {
    out_.add(Hazard::wgmma, is_certain(p, s), t.name,
             {s.loc,
              fmt::format("{} is {} while the wgmma.mma() of line {} is under way", describe(t),
                          written ? "written" : "read", w.loc.line),
              p.groups < 0 ? "commit the product (wgmma.commit_group()) and wait for it (wgmma.wait_group(0)) first"
                           : "wait for its group first: wgmma.wait_group(0)",
              {{w.loc, use}}});
  }

  void end(const State& state) override {
    for (const auto& [position, p] : state) {
      if (p.over || p.groups >= 0 || p.by == nullptr || p.by->kind != StmtKind::tile_Wgmma) continue;
      out_.add(Hazard::wgmma, true, as<tile::Wgmma>(p.by)->acc->name,
               {p.by->loc,
                "this wgmma.mma() is never committed, so that no wait covers it",
                "execute wgmma.commit_group() after the products of a group, and wgmma.wait_group() before their "
                "results are used",
                {}});
    }
  }

  HazardList& out_;
  std::set<const tile::RegisterTensor*> operands_;
};

}  // namespace

void check_wgmma_order(const ProgramFacts& facts, HazardList& out) {
  WgmmaOrder order(facts, out);
  if (order.has_products()) order.run();
}

}  // namespace tessera::passes
