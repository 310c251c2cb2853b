// Translates thread IR to a Program. Internal to compile().
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "sim/program.hpp"
#include "sim/uniformity.hpp"

namespace tessera::sim {

class Compiler {
 public:
  Compiler(const ir::thread::Kernel& kernel, std::span<const std::int64_t> params, Program& program);
  void run();

 private:
  struct Slot {
    std::uint32_t offset = no_slot;
    bool lanes = false;
    bool known() const { return offset != no_slot; }
  };
  // The slots that one statement, block or loop holds, given back together.
  using Held = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // offset, size

  // Slots. `take` reuses what was given back; `fresh` never does, as the image needs.
  std::uint32_t fresh(std::uint32_t size);
  std::uint32_t take(std::uint32_t size, Held& held);
  void give_back(Held& held);
  static std::uint32_t slot_size(DType type, bool lanes) { return !lanes ? 8U : size_of(type) == 8 ? 256U : 128U; }
  Slot constant_slot(DType type, std::uint64_t raw, bool lanes);
  void write_image(std::uint32_t offset, DType type, std::uint64_t raw);

  // Expressions: the slot of `e`, computing it first where needed. Results live until the end of the statement.
  Slot evaluate(const ir::Expr* e);
  std::uint32_t evaluate_lanes(const ir::Expr* e);  // as lanes, broadcasting a scalar
  Slot leaf(const ir::Expr* e);
  Slot read_register(const ir::Expr* e);
  Slot operation(const ir::Expr* e, Held& held);
  std::uint32_t as_lanes(Slot slot, DType type, Held& held);
  void evaluate_into(const ir::Expr* e, Slot dst);
  static bool can_fail(const ir::Expr* e);
  // A division or remainder by a power of two of a number known not to be negative, as shift or mask.
  bool simple_division(const ir::Expr* e, ir::ExprKind* kind, std::int64_t* constant) const;

  // Loop-invariant code: computed before the loop into slots that it holds.
  bool is_invariant(const ir::Expr* e);
  void hoist(const ir::Expr* e, Held& held);
  void hoist_block(const ir::Block& block, Held& held);

  // Statements. `to_end` collects the jumps to the end of the block, for lanes that have left it.
  using Jumps = std::vector<std::uint32_t>;
  void block(const ir::Block& b, Jumps& to_end);
  void statement(const ir::Stmt* s, Jumps& to_end, Held& scope, std::vector<std::uint32_t>& scope_values);
  void branch(const ir::control::If& s, Jumps& to_end);
  void lane_branch(const ir::control::If& s, std::uint32_t condition, Jumps& to_end);
  void for_loop(const ir::control::For& s);
  void endless_loop(const ir::control::Loop& s);
  void loop_body(const ir::Block& body, Instr begin, Instr next);
  void instruction(const ir::Stmt* s);
  void register_instruction(const ir::Stmt* s);
  void write_regs(const ir::thread::WriteRegs& s);
  template <class S>
  void global_access(Op op, const S& s, const ir::thread::RegRef& reg);
  void barrier_instruction(const ir::Stmt* s);
  void copy_instruction(const ir::Stmt* s);
  void wgmma_instruction(const ir::Stmt* s);
  void follow(const ir::RegArray* array);
  RegPlace place(const ir::thread::RegRef& ref);
  const RegInfo& registers(const ir::RegArray* array);
  Instr& emit(Op op, const ir::Stmt* s);
  Instr& emit(Op op, const ir::Stmt* s, Operands operands);
  std::uint32_t here() const { return static_cast<std::uint32_t>(program_.code.size()); }
  void patch(Jumps& jumps);
  void end_statement();

  const ir::thread::Kernel& kernel_;
  std::span<const std::int64_t> params_;
  Program& program_;
  Uniformity uniformity_;
  const LaneOps& lanes_;
  const LaneOps& scalars_;
  const ir::Stmt* current_ = nullptr;

  std::uint32_t frame_size_ = 0;
  std::map<std::uint32_t, std::vector<std::uint32_t>> free_;          // by size
  std::map<std::pair<std::uint64_t, int>, std::uint32_t> constants_;  // raw value, size (negative: scalar)
  std::vector<Slot> values_, vars_;
  std::vector<Slot> held_;  // by expression: computed before an enclosing loop
  std::vector<Slot> memo_;  // by expression: computed in this statement
  std::vector<std::uint32_t> memoized_;
  std::vector<std::uint32_t> lane_memo_;  // by expression: the broadcast of its scalar in this statement
  std::vector<std::uint32_t> lane_memoized_;
  std::vector<std::uint32_t> hoist_seen_;
  std::uint32_t hoist_round_ = 0;
  std::vector<std::uint32_t> hoisted_;  // expressions in held_, innermost loop last
  Held temporaries_;
  std::uint32_t depth_ = 0;
};

// Calls f(expr) on every expression that `s` itself evaluates (not those of nested statements).
void for_each_expr(const ir::Stmt* s, const std::function<void(const ir::Expr*)>& f);

}  // namespace tessera::sim
