// Which values are the same in all lanes of a warp.
#pragma once

#include <vector>

#include "ir/thread.hpp"

namespace tessera::sim {

// A value is uniform if its leaves are, and a variable if in addition no assignment to it stands under control flow
// that may differ by lane and lies within the variable's scope.
class Uniformity {
 public:
  explicit Uniformity(const ir::thread::Kernel& kernel);

  bool is_uniform(const ir::Expr* e) const { return !varies(e); }
  bool is_uniform(const ir::Value* v) const { return value_varies_[v->id] == 0; }
  bool is_uniform(const ir::Var* v) const { return var_varies_[v->id] == 0; }
  // True if a For's bounds differ by lane.
  bool has_lane_bounds(const ir::control::For& loop) const;

 private:
  void visit(const ir::Block& block, int divergent_depth);
  void visit_loop(const ir::Block& body, bool lane_bounds, int divergent_depth);
  void assign(const ir::Var* v, const ir::Expr* e, int divergent_depth);
  bool varies(const ir::Expr* e) const;
  bool leaves_divergently(const ir::Block& body, bool divergent) const;

  std::vector<char> value_varies_, var_varies_;
  std::vector<int> var_depth_;               // number of divergent constructs around the declaration
  mutable std::vector<std::uint32_t> memo_;  // by expression: 2 * round + varies
  mutable std::uint32_t round_ = 1;
  bool changed_ = false;
};

}  // namespace tessera::sim
