// Scalar expressions, shared by the tile IR and the thread IR.
//
// An expression is immutable and pure: evaluating it has no effect, and its value depends only on its leaves. Leaves
// are constants, kernel parameters, special registers, immutable values (`Value`: a `Let` or a loop's induction
// variable), and, in the thread IR, mutable variables and register elements, which are read when the statement that
// holds the expression executes. Structurally equal expressions of one pool are the same object.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "support/arena.hpp"
#include "tessera/core/dtype.hpp"
#include "tessera/core/source_loc.hpp"

namespace tessera::ir {

enum class ExprKind : std::uint8_t {
  // leaves
  constant,      // `integer` (also bool) or `real`, by type
  param,         // scalar kernel parameter number `integer`
  block_idx,     // i32; axis `integer` (0 = x, 1 = y, 2 = z)
  grid_dim,      // i32; axis `integer`
  cluster_rank,  // i32: rank of the CTA in its cluster, 0 where there is none
  sm_count,      // i32: SMs of the device; known to the launch only, never in device code
  value,         // immutable value `value`
  var,           // mutable variable `var`
  operand,       // tile Compute: element of input tensor number `integer`, broadcast to the output's index
  index,         // tile Compute: i32 index of the element along dimension `integer`
  thread_idx,    // thread IR, i32: linear thread index in the CTA
  lane_idx,      // thread IR, i32: 0..31
  warp_idx,      // thread IR, i32: warp index in the CTA, known to be the same in all lanes of a warp
  elect_one,     // thread IR, bool: true in exactly one lane of the (converged) warp; PTX elect.sync
  shared_base,   // thread IR, u32: shared-window address of the CTA's dynamic shared memory, aligned to 1024
  reg,           // thread IR: element args[0] of register array `array`
  // unary
  neg,
  bit_not,
  logical_not,
  cast,  // value conversion to `type`; float to int truncates and saturates as PTX cvt does, float to float rounds to
         // even
  // binary: both operands have one type; comparisons and logic give bool, the others the operands' type
  add,
  sub,
  mul,
  div,  // integers truncate towards zero
  mod,  // sign of the dividend, as in C
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  shl,
  shr,  // arithmetic for signed types
  lt,
  le,
  gt,
  ge,
  eq,
  ne,
  logical_and,  // both sides are evaluated
  logical_or,
  // ternary
  select  // args: condition, value if true, value if false; all evaluated
};

constexpr bool is_leaf(ExprKind k) { return k <= ExprKind::shared_base; }
constexpr bool is_comparison(ExprKind k) { return k >= ExprKind::lt && k <= ExprKind::ne; }
const char* name_of(ExprKind kind);

// An immutable scalar of the program: defined once, by a Let statement or as a loop's induction variable.
struct Value {
  std::uint32_t id;
  DType type;
  std::string name;  // as the user wrote it where that is known, else empty
  SourceLoc loc;
};

// A mutable scalar variable, one copy a thread.
struct Var {
  std::uint32_t id;
  DType type;
  std::string name;
  SourceLoc loc;
};

// Thread IR: a per-thread array of `size` elements, packed into 32-bit registers (64-bit types take two each, bool
// one).
struct RegArray {
  std::uint32_t id;
  DType type;
  std::uint32_t size;
  std::string name;
  SourceLoc loc;
};

struct Expr {
  ExprKind kind;
  DType type;
  std::uint32_t id;  // dense within the pool, in order of creation: operands have smaller ids
  std::int64_t integer = 0;
  double real = 0;
  const Value* value = nullptr;
  const Var* var = nullptr;
  const RegArray* array = nullptr;
  std::vector<const Expr*> args;

  // Facts for integer types: lower and upper bound (inclusive), and a positive number that divides every value it takes
  // (0 for the constant 0).
  std::int64_t low = INT64_MIN;
  std::int64_t high = INT64_MAX;
  std::int64_t divisor = 1;

  bool is_constant() const { return kind == ExprKind::constant; }
  bool is_constant(std::int64_t v) const { return kind == ExprKind::constant && !is_float(type) && integer == v; }
};

// Builds expressions: interns, folds constants and simplifies integer arithmetic by the known bounds and divisors.
class ExprPool {
 public:
  explicit ExprPool(support::Arena& arena) : arena_(arena) {}
  ExprPool(const ExprPool&) = delete;
  ExprPool& operator=(const ExprPool&) = delete;

  const Expr* constant(DType type, std::int64_t v);
  const Expr* real(DType type, double v);
  const Expr* i32(std::int64_t v) { return constant(DType::i32, v); }
  const Expr* i64(std::int64_t v) { return constant(DType::i64, v); }
  const Expr* u32(std::int64_t v) { return constant(DType::u32, v); }
  const Expr* boolean(bool v) { return constant(DType::boolean, v ? 1 : 0); }

  const Expr* leaf(ExprKind kind, DType type, std::int64_t integer = 0);  // param, block_idx, ..., shared_base
  // As `leaf`, with bounds and a divisor that hold for the leaf; the first mention of a leaf decides them.
  const Expr* bounded_leaf(ExprKind kind, DType type, std::int64_t integer, std::int64_t low, std::int64_t high,
                           std::int64_t divisor = 1);
  const Expr* value(const Value* v);  // bounds come from set_facts
  const Expr* var(const Var* v);
  const Expr* reg(const RegArray* array, const Expr* index);

  // Records bounds of a value before its first use (loop induction variables, lets).
  void set_facts(const Value* v, std::int64_t low, std::int64_t high, std::int64_t divisor);
  // The same for a variable; every value assigned to it must keep them.
  void set_facts(const Var* v, std::int64_t low, std::int64_t high);

  const Expr* unary(ExprKind kind, const Expr* a);
  const Expr* binary(ExprKind kind, const Expr* a, const Expr* b);
  const Expr* select(const Expr* condition, const Expr* a, const Expr* b);
  const Expr* cast(DType type, const Expr* a);

  const Expr* add(const Expr* a, const Expr* b) { return binary(ExprKind::add, a, b); }
  const Expr* sub(const Expr* a, const Expr* b) { return binary(ExprKind::sub, a, b); }
  const Expr* mul(const Expr* a, const Expr* b) { return binary(ExprKind::mul, a, b); }
  const Expr* div(const Expr* a, const Expr* b) { return binary(ExprKind::div, a, b); }
  const Expr* mod(const Expr* a, const Expr* b) { return binary(ExprKind::mod, a, b); }
  const Expr* add(const Expr* a, std::int64_t b) { return add(a, constant(a->type, b)); }
  const Expr* mul(const Expr* a, std::int64_t b) { return mul(a, constant(a->type, b)); }
  const Expr* div(const Expr* a, std::int64_t b) { return div(a, constant(a->type, b)); }
  const Expr* mod(const Expr* a, std::int64_t b) { return mod(a, constant(a->type, b)); }
  const Expr* both(const Expr* a, const Expr* b) { return binary(ExprKind::logical_and, a, b); }

  std::uint32_t size() const { return next_id_; }

 private:
  const Expr* intern(Expr&& e);
  const Expr* fold(ExprKind kind, const Expr* a, const Expr* b);
  const Expr* simplify(ExprKind kind, const Expr* a, const Expr* b);
  const Expr* simplify_division(ExprKind kind, const Expr* a, const Expr* b);
  const Expr* by_factor(ExprKind kind, const Expr* a, const Expr* b);
  void infer_facts(Expr& e) const;

  struct Facts {
    std::int64_t low, high, divisor;
  };
  support::Arena& arena_;
  std::unordered_multimap<std::uint64_t, const Expr*> interned_;
  std::unordered_map<std::uint32_t, Facts> value_facts_, var_facts_;
  std::uint32_t next_id_ = 0;
};

// The value that `v` has as an integer of `type` (two's complement wrap-around).
std::int64_t wrap_to(DType type, std::int64_t v);

// Applies an integer or boolean operator to constants; false when the result is undefined (division by zero, a shift
// by the width or more).
bool evaluate_integer(ExprKind kind, DType operand_type, std::int64_t a, std::int64_t b, std::int64_t* result);

// Evaluates an expression whose leaves are constants and scalar parameters (a grid size, a stride, an extent) on the
// host. Throws an internal Error for any other leaf and a user Error for a division by zero. `sms`: the device's SMs.
std::int64_t evaluate_on_host(const Expr* e, std::span<const std::int64_t> params, int sms = 0);

// True if only constants, parameters and the number of SMs occur in `e`.
bool is_host_computable(const Expr* e);

// Readable form for dumps, in C-like syntax.
std::string to_string(const Expr* e);

}  // namespace tessera::ir
