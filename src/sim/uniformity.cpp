#include "sim/uniformity.hpp"

#include "ir/match.hpp"

namespace tessera::sim {
using namespace ir;

Uniformity::Uniformity(const thread::Kernel& kernel)
    : value_varies_(kernel.context->value_count(), 0),
      var_varies_(kernel.context->var_count(), 0),
      var_depth_(kernel.context->var_count(), 0),
      memo_(kernel.context->expr.size(), 0) {
  // Everything is uniform until shown otherwise; loops carry facts backwards, so repeat until nothing changes.
  do {
    changed_ = false;
    visit(kernel.body, 0);
    ++round_;
  } while (changed_);
}

bool Uniformity::varies(const Expr* e) const {
  switch (e->kind) {
    case ExprKind::constant:
    case ExprKind::param:
    case ExprKind::block_idx:
    case ExprKind::grid_dim:
    case ExprKind::cluster_rank:
    case ExprKind::warp_idx:
    case ExprKind::shared_base: return false;
    case ExprKind::value: return value_varies_[e->value->id] != 0;
    case ExprKind::var: return var_varies_[e->var->id] != 0;
    case ExprKind::thread_idx:
    case ExprKind::lane_idx:
    case ExprKind::elect_one:
    case ExprKind::reg: return true;
    default: break;
  }
  std::uint32_t& memo = memo_[e->id];
  if (memo >> 1 == round_) return (memo & 1U) != 0;
  bool any = false;
  for (const Expr* arg : e->args) any = any || varies(arg);
  memo = 2 * round_ + (any ? 1U : 0U);
  return any;
}

bool Uniformity::has_lane_bounds(const control::For& loop) const {
  return varies(loop.begin) || varies(loop.end) || varies(loop.step);
}

// True if a Break or Continue of this loop stands under a divergent If.
bool Uniformity::leaves_divergently(const Block& body, bool divergent) const {
  for (const Stmt* s : body) {
    if (s->kind == StmtKind::control_Break || s->kind == StmtKind::control_Continue) {
      if (divergent) return true;
    }
    if (const auto* branch = as<control::If>(s)) {
      const bool inner = divergent || varies(branch->condition);
      if (leaves_divergently(branch->then_body, inner) || leaves_divergently(branch->else_body, inner)) return true;
    }
  }
  return false;
}

void Uniformity::assign(const Var* v, const Expr* e, int divergent_depth) {
  if (var_varies_[v->id] != 0) return;
  if (varies(e) || divergent_depth > var_depth_[v->id]) {
    var_varies_[v->id] = 1;
    changed_ = true;
    ++round_;
  }
}

void Uniformity::visit_loop(const Block& body, bool lane_bounds, int divergent_depth) {
  const bool divergent = lane_bounds || leaves_divergently(body, false);
  visit(body, divergent_depth + (divergent ? 1 : 0));
}

void Uniformity::visit(const Block& block, int divergent_depth) {
  const auto mark = [this](const Value* v, bool varying) {
    if (!varying || value_varies_[v->id] != 0) return;
    value_varies_[v->id] = 1;
    changed_ = true;
    ++round_;
  };
  for (const Stmt* s : block) {
    match(s, overloaded{[&](const control::Let& let) { mark(let.value, varies(let.init)); },
                        [&](const control::DeclareVar& d) {
                          var_depth_[d.var->id] = divergent_depth;
                          assign(d.var, d.init, divergent_depth);
                        },
                        [&](const control::AssignVar& a) { assign(a.var, a.value, divergent_depth); },
                        [&](const control::If& branch) {
                          const int inner = divergent_depth + (varies(branch.condition) ? 1 : 0);
                          visit(branch.then_body, inner);
                          visit(branch.else_body, inner);
                        },
                        [&](const control::For& loop) {
                          mark(loop.induction, has_lane_bounds(loop));
                          visit_loop(loop.body, has_lane_bounds(loop), divergent_depth);
                        },
                        [&](const control::Loop& loop) { visit_loop(loop.body, false, divergent_depth); },
                        [](const Stmt&) {}});
  }
}

}  // namespace tessera::sim
