#include "check/sync_statements.hpp"

#include <algorithm>
#include <set>

#include "ir/match.hpp"

namespace tessera::checker {
using namespace ir;  // NOLINT(google-build-using-namespace)

const char* sync_name(const Stmt* s) {
  using K = StmtKind;
  switch (s->kind) {
    case K::thread_BarrierSync: return "barrier.sync";
    case K::thread_BarrierArrive: return "barrier.arrive";
    case K::thread_WarpSync: return "warp.sync";
    case K::thread_MbarrierInit: return "mbarrier.init";
    case K::thread_MbarrierArrive:
      return static_cast<const thread::MbarrierArrive*>(s)->cta == nullptr ? "mbarrier.arrive"
                                                                           : "mbarrier.arrive.remote";
    case K::thread_MbarrierArriveExpectTx: return "mbarrier.arrive.expect_tx";
    case K::thread_MbarrierWait: return "mbarrier.wait";
    case K::thread_Fence:
      return static_cast<const thread::Fence*>(s)->fence == thread::FenceKind::mbarrier_init ? "fence.mbarrier_init"
                                                                                             : "fence.proxy.async";
    case K::thread_WgmmaFence: return "wgmma.fence";
    case K::thread_WgmmaCommit: return "wgmma.commit_group";
    case K::thread_WgmmaWait: return "wgmma.wait_group";
    case K::thread_TmaCommit: return "tma.commit_group";
    case K::thread_TmaWait:
      return static_cast<const thread::TmaWait*>(s)->read ? "tma.wait_group.read" : "tma.wait_group";
    case K::thread_ClusterArrive: return "cluster.arrive";
    case K::thread_ClusterWait: return "cluster.wait";
    case K::thread_SetMaxRegisters: return "setmaxnreg";
    case K::thread_SignalFlag: return static_cast<const thread::SignalFlag*>(s)->add ? "flag.add" : "flag.signal";
    case K::thread_WaitFlag: return "flag.wait";
    default: return nullptr;
  }
}

namespace {

// Computes in the thread's registers, so that it does not matter on which side of it `sync` stands. For wgmma's
// statements it does: registers are what they are about.
bool only_computes(const Stmt* s, const Stmt* sync) {
  using K = StmtKind;
  switch (s->kind) {
    case K::control_Let:
    case K::control_DeclareVar:
    case K::control_AssignVar:
    case K::thread_DeclareRegs:
    case K::thread_CheckIndex:
    case K::thread_Comment: return true;
    case K::thread_WriteRegs: return sync->kind != K::thread_WgmmaFence && sync->kind != K::thread_WgmmaWait;
    default: return false;
  }
}
bool is_scalar(const Stmt* s) {
  return s->kind == StmtKind::control_Let || s->kind == StmtKind::thread_Comment ||
         s->kind == StmtKind::thread_CheckIndex;
}

// Calls f with the expressions of a scalar, of a synchronisation statement, or of an If around such.
template <class F>
void for_each_expr(const Stmt* s, const F& f) {
  match(s, overloaded{[&](const control::Let& n) { f(n.init); }, [&](const thread::CheckIndex& n) { f(n.index); },
                      [&](const control::If& n) {
                        f(n.condition);
                        for (const Stmt* nested : n.then_body) for_each_expr(nested, f);
                      },
                      [&](const thread::MbarrierInit& n) { f(n.address); },
                      [&](const thread::MbarrierArrive& n) {
                        f(n.address);
                        if (n.cta != nullptr) f(n.cta);
                      },
                      [&](const thread::MbarrierArriveExpectTx& n) {
                        f(n.address);
                        f(n.bytes);
                      },
                      [&](const thread::MbarrierWait& n) {
                        f(n.address);
                        f(n.parity);
                      },
                      [&](const thread::SignalFlag& n) {
                        f(n.offset);
                        f(n.value);
                      },
                      [&](const thread::WaitFlag& n) {
                        f(n.offset);
                        f(n.value);
                      },
                      [](const Stmt&) {}});
}

using Vars = std::set<const Var*>;
bool reads(const Expr* e, const Vars& vars) {
  if (e->kind == ExprKind::reg || (e->var != nullptr && vars.count(e->var) != 0)) return true;
  return std::any_of(e->args.begin(), e->args.end(), [&](const Expr* a) { return reads(a, vars); });
}
// Whether the values that a statement works with may change with `vars`, or are elements of registers.
bool depends(const Stmt* s, const Vars& vars) {
  bool result = false;
  for_each_expr(s, [&](const Expr* e) { result = result || reads(e, vars); });
  return result;
}
void add_assigned(const Stmt* s, Vars& vars) {
  if (const auto* assign = as<control::AssignVar>(s)) vars.insert(assign->var);
  for_each_child_block(s, [&](const Block& nested) {
    for (const Stmt* n : nested) add_assigned(n, vars);
  });
}

// Whether `block[first]` can go behind `block[last]` with no other effect than that the two change places: what is
// between computes the same on its other side, and so do the two.
bool can_exchange(const Block& block, std::size_t first, std::size_t last) {
  Vars before, between;
  add_assigned(block[first], before);
  for (std::size_t i = first + 1; i < last; ++i) add_assigned(block[i], between);
  const bool known = sync_of(block[first]) != nullptr;  // all of its expressions are seen by for_each_expr
  if (known ? depends(block[first], between) : !between.empty()) return false;
  for (std::size_t i = first + 1; i <= last; ++i) {
    const bool computes = block[i]->kind == StmtKind::thread_WriteRegs;
    if (!known && (computes || depends(block[i], before))) return false;
  }
  return true;
}

bool leaves(const Stmt* s) { return s->kind == StmtKind::control_Break || s->kind == StmtKind::control_Continue; }

}  // namespace

const Stmt* sync_of(const Stmt* s) {
  if (sync_name(s) != nullptr) return s;
  const auto* branch = as<control::If>(s);
  if (branch == nullptr || !branch->else_body.empty()) return nullptr;
  const Stmt* first = nullptr;
  for (const Stmt* nested : branch->then_body) {
    const Stmt* sync = sync_of(nested);
    if (sync == nullptr && !is_scalar(nested)) return nullptr;
    if (first == nullptr || (sync != nullptr && first->kind == StmtKind::thread_WarpSync)) first = sync;
  }
  return first;
}

std::optional<std::size_t> destination(const Block& block, std::size_t from, int step) {
  const Stmt* moved = sync_of(block[from]);
  if (moved == nullptr) return {};
  const auto end = step > 0 ? block.size() : std::size_t(-1);
  for (std::size_t to = from + static_cast<std::size_t>(step); to != end; to += static_cast<std::size_t>(step)) {
    const Stmt* passed = block[to];
    if (leaves(passed)) return {};
    if (only_computes(passed, moved)) continue;
    const Stmt* sync = sync_of(passed);
    if (sync != nullptr && sync->kind == moved->kind) return {};
    return can_exchange(block, std::min(from, to), std::max(from, to)) ? std::optional(to) : std::nullopt;
  }
  return {};
}

}  // namespace tessera::checker
