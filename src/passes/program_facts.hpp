// What the text of a program says about its run: how often statements are executed, and what its scalars are.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "passes/walk.hpp"

namespace tessera::passes {

// All integers from `low` to `high`; beyond `unbounded` nothing is known.
struct Interval {
  std::int64_t low = 0;
  std::int64_t high = 0;
  bool operator==(const Interval&) const = default;
};
inline constexpr std::int64_t unbounded = std::int64_t{1} << 60;

Interval operator+(Interval a, Interval b);
Interval hull(Interval a, Interval b);
Interval repeat(Interval once, Interval times);  // the sum over so many executions; times.low >= 0

class ProgramFacts {
 public:
  explicit ProgramFacts(const ir::tile::Kernel& kernel);

  const ir::tile::Kernel& kernel() const { return kernel_; }
  const Walk& walk() const { return walk_; }
  const Site& site(const ir::Stmt* s) const { return walk_.sites[static_cast<std::size_t>(positions_.at(s))]; }
  const ir::Stmt* loop_at(int loop) const;  // the statement of Walk::loops[loop]
  const Span& span_of(const ir::Stmt* loop) const;

  // How often the body of a loop is begun each time that the loop is reached.
  Interval trips(const ir::Stmt* loop) const;
  // Whether a break or continue inside `s` may skip what follows `s` in its block.
  bool may_skip_rest(const ir::Stmt* s) const { return skipping_.count(s) != 0; }
  // The branches around a statement that are taken or not, outermost first: indices into Walk::blocks.
  std::vector<int> branches(const Site& site) const;
  // Whether one of two statements is executed wherever the other is, as far as branches go.
  bool related(const Site& a, const Site& b) const;

  // Whether `e` may have two values within one run of the loop.
  bool changes_in(const ir::Expr* e, const Span& loop) const;
  // The value of `e` when the statement at `site` is executed for the first time, if that is certain.
  std::optional<std::int64_t> first_value(const ir::Expr* e, const Site& site) const;
  // Where all blocks of a cluster get to `branch` together and exactly one of them takes it.
  bool is_taken_in_turns(const ir::control::If& branch) const;
  // Whether all threads of the group always hold the same values, so that they go the same way.
  bool is_uniform(const ir::tile::Group& group) const;

 private:
  void find_skips();
  bool is_same_in_cluster(const ir::Expr* e) const;
  bool assigned_before_first_use(const ir::Var* var, int position, const Site& use) const;
  std::optional<std::int64_t> evaluate(const ir::Expr* e, int position, const Site& use) const;

  const ir::tile::Kernel& kernel_;
  Walk walk_;
  std::unordered_map<const ir::Stmt*, int> positions_;
  std::unordered_map<const ir::Value*, int> definitions_;  // positions of Lets and of loops
  std::unordered_map<const ir::Var*, int> declarations_;
  std::unordered_map<const ir::Var*, std::vector<int>> assignments_;
  std::set<const ir::Stmt*> skipping_;
};

// Adds up over the statements of a block, as often as each is executed, what `weigh` gives for one execution of one.
class Totals {
 public:
  using Weigh = std::function<Interval(const ir::Stmt&, const ir::tile::Group&)>;
  // A block that runs as a whole: the kernel, the body of a loop, a branch.
  struct Part {
    const ir::Block* block = nullptr;
    Interval once;                // over one execution
    std::size_t first_inner = 0;  // the parts in it stand before it, from here on
  };

  // `blocks`: the weights are sums over so many blocks of a cluster that execute the statement, 1 for a single block.
  Totals(const ProgramFacts& facts, Weigh weigh, int blocks = 1)
      : facts_(facts), weigh_(std::move(weigh)), blocks_(blocks) {}
  Interval of(const ir::Block& block, const ir::tile::Group& group);
  Interval of_kernel() { return part(facts_.kernel().body, facts_.kernel().root_group()); }
  const std::vector<Part>& parts() const { return parts_; }  // inner ones first

 private:
  Interval part(const ir::Block& block, const ir::tile::Group& group);
  Interval statement(const ir::Stmt& s, const ir::tile::Group& group);
  Interval share(Interval all) const;

  const ProgramFacts& facts_;
  Weigh weigh_;
  int blocks_;
  std::vector<Part> parts_;
};

}  // namespace tessera::passes
