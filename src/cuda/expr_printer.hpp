// Expressions as C++ text, with no more parentheses than a careful reader wants.
#pragma once

#include <string>
#include <vector>

#include "cuda/names.hpp"
#include "cuda/prelude.hpp"
#include "ir/expr.hpp"

namespace tessera::cuda {

// Binding strength of an operator, weakest first.
enum class Precedence : int {
  any,
  ternary,
  logical_or,
  logical_and,
  bit_or,
  bit_xor,
  bit_and,
  equality,
  relation,
  shift,
  sum,
  product,
  unary,
  primary
};

// Which special registers a kernel reads; they are read once, at its head.
struct SpecialRegisters {
  bool block[3] = {}, grid[3] = {};
  bool thread = false, lane = false, warp = false, elected = false, shared = false, cluster_rank = false;
};

const char* cuda_type(DType type);

class ExprPrinter {
 public:
  ExprPrinter(ir::ExprPool& pool, Names& names, Prelude& prelude, std::vector<std::string> params, bool readable)
      : pool_(pool), names_(names), prelude_(prelude), params_(std::move(params)), readable_(readable) {}

  // Text that may stand where an operator that binds as strongly as `least` expects an operand.
  std::string text(const ir::Expr* e, Precedence least = Precedence::any);
  // Element `index` of a register array, as a value of the array's type.
  std::string element(const ir::RegArray* array, const ir::Expr* index, Precedence* precedence);
  // The statement that gives `var` a new value: "x += 2;" where the value is made from the old one.
  std::string update_of(const ir::Var* var, const ir::Expr* value);
  // The float that a value of any float type stands for.
  std::string as_float(const ir::Expr* e, Precedence least = Precedence::any);
  // Index of the 32-bit register (of the 64-bit one for 64-bit types) that holds element `index`.
  std::string register_index(const ir::RegArray* array, const ir::Expr* index);
  // Where `index` lies within its 32-bit register, in elements; -1 if that is not known.
  static int position_in_word(const ir::RegArray* array, const ir::Expr* index);

  ir::ExprPool& pool() { return pool_; }
  const SpecialRegisters& special() const { return special_; }
  const std::string& param(std::size_t i) const { return params_[i]; }

 private:
  std::string print(const ir::Expr* e, Precedence* precedence);
  std::string constant(const ir::Expr* e, Precedence* precedence);
  std::string leaf(const ir::Expr* e, Precedence* precedence);
  std::string cast(const ir::Expr* e, Precedence* precedence);
  std::string unary(const ir::Expr* e, Precedence* precedence);
  std::string binary(const ir::Expr* e, Precedence* precedence);
  std::string integer_binary(const ir::Expr* e, Precedence* precedence);
  std::string small_float_binary(const ir::Expr* e, Precedence* precedence);
  std::string infix(const ir::Expr* e, const std::string& a_prefix, Precedence* precedence);
  std::string call(const char* helper, std::initializer_list<std::string> arguments, Precedence* precedence);
  std::string round_to(DType type, const std::string& value, Precedence* precedence);

  ir::ExprPool& pool_;
  Names& names_;
  Prelude& prelude_;
  std::vector<std::string> params_;
  bool readable_;
  SpecialRegisters special_;
};

}  // namespace tessera::cuda
