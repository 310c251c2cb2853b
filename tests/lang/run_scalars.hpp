// Executes the scalar part of a tile program as one thread of one block does: control flow, values and variables. What
// the thread prints and what it does to mbarriers is recorded. Bounds that the expressions claim are checked.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/match.hpp"
#include "ir/tile.hpp"

namespace tessera::test {

struct Place {  // of the thread
  std::int64_t block = 0, blocks = 1, rank = 0;
  int thread = 0;
};
struct BarrierEvent {
  std::string what;  // "wait full", "arrive empty", "expect full", "remote empty"
  std::int64_t index = 0;
  std::int64_t value = 0;  // phase, count, bytes, block
  bool operator==(const BarrierEvent&) const = default;
};

class ScalarRun {
 public:
  ScalarRun(const ir::tile::Kernel& kernel, std::vector<std::int64_t> params, Place place)
      : params_(std::move(params)), place_(place) {
    block(kernel.body);
  }
  std::vector<std::vector<std::int64_t>> printed;
  std::vector<BarrierEvent> barriers;

 private:
  enum class Flow { next, leave, again };

  std::int64_t eval(const ir::Expr* e) {
    const std::int64_t v = compute(e);
    if (is_integer(e->type) && e->type != DType::u64) {
      EXPECT_TRUE(e->low <= v && v <= e->high)
          << ir::to_string(e) << " is " << v << ", outside " << e->low << ".." << e->high;
    }
    return v;
  }
  std::int64_t compute(const ir::Expr* e) {
    using K = ir::ExprKind;
    switch (e->kind) {
      case K::constant: return e->integer;
      case K::param: return params_.at(static_cast<std::size_t>(e->integer));
      case K::block_idx: return e->integer == 0 ? place_.block : 0;
      case K::grid_dim: return e->integer == 0 ? place_.blocks : 1;
      case K::cluster_rank: return place_.rank;
      case K::value: return values_.at(e->value);
      case K::var: return vars_.at(e->var);
      case K::cast: return ir::wrap_to(e->type, eval(e->args[0]));
      case K::neg: return ir::wrap_to(e->type, -eval(e->args[0]));
      case K::logical_not: return eval(e->args[0]) == 0 ? 1 : 0;
      case K::select: {
        const std::int64_t a = compute(e->args[1]), b = compute(e->args[2]);
        return eval(e->args[0]) != 0 ? a : b;
      }
      default: break;
    }
    std::int64_t result = 0;
    const std::int64_t a = eval(e->args.at(0)), b = eval(e->args.at(1));
    EXPECT_TRUE(ir::evaluate_integer(e->kind, e->args[0]->type, a, b, &result)) << ir::to_string(e);
    return result;
  }

  bool executes(const ir::tile::Group& g) const {
    const int t = place_.thread;
    if (g.each_warp) return t >= g.begin && t < g.begin + g.count && t % 32 == 0;
    return t >= g.begin && t < g.begin + g.count;
  }

  Flow block(const ir::Block& body) {
    for (const ir::Stmt* s : body) {
      const Flow flow = statement(s);
      if (flow != Flow::next) return flow;
    }
    return Flow::next;
  }
  void record(const char* what, const ir::tile::BarrierRef& b, std::int64_t value) {
    barriers.push_back({std::string(what) + " " + b.array->name, eval(b.index), value});
  }
  Flow statement(const ir::Stmt* stmt) {
    using namespace ir;
    return match(
        stmt, overloaded{
                  [&](const control::Let& s) { return values_[s.value] = eval(s.init), Flow::next; },
                  [&](const control::DeclareVar& s) { return vars_[s.var] = eval(s.init), Flow::next; },
                  [&](const control::AssignVar& s) { return vars_[s.var] = eval(s.value), Flow::next; },
                  [&](const control::For& s) {
                    const std::int64_t end = eval(s.end), step = eval(s.step);
                    for (std::int64_t i = eval(s.begin); i < end; i += step) {
                      values_[s.induction] = i;
                      if (block(s.body) == Flow::leave) break;
                    }
                    return Flow::next;
                  },
                  [&](const control::Loop& s) {
                    for (int pass = 0; block(s.body) != Flow::leave; ++pass) {
                      if (pass > 100000) throw std::runtime_error("a loop without end");
                    }
                    return Flow::next;
                  },
                  [&](const control::If& s) { return block(eval(s.condition) != 0 ? s.then_body : s.else_body); },
                  [&](const control::Break&) { return Flow::leave; },
                  [&](const control::Continue&) { return Flow::again; },
                  [&](const tile::ThreadGroup& s) { return executes(s.group) ? block(s.body) : Flow::next; },
                  [&](const tile::Print& s) {
                    std::vector<std::int64_t> line;
                    for (const Expr* e : s.args) line.push_back(eval(e));
                    printed.push_back(std::move(line));
                    return Flow::next;
                  },
                  [&](const tile::WaitBarrier& s) { return record("wait", s.barrier, eval(s.phase)), Flow::next; },
                  [&](const tile::ArriveExpectTx& s) { return record("expect", s.barrier, eval(s.bytes)), Flow::next; },
                  [&](const tile::ArriveBarrier& s) {
                    if (s.cta != nullptr)
                      record("remote", s.barrier, eval(s.cta));
                    else
                      record("arrive", s.barrier, s.count);
                    return Flow::next;
                  },
                  [&](const Stmt&) { return Flow::next; },
              });
  }

  std::vector<std::int64_t> params_;
  Place place_;
  std::map<const ir::Value*, std::int64_t> values_;
  std::map<const ir::Var*, std::int64_t> vars_;
};

}  // namespace tessera::test
