// What the handles of the language hold inside, and the entry points of the tracer that the templates call.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/core/dtype.hpp"
#include "tessera/core/source_loc.hpp"

namespace tessera::ir {
struct Expr;
struct Var;
}  // namespace tessera::ir

namespace tessera::detail {

// Which trace and which scope of it an object of the language belongs to, and where it was made.
struct Origin {
  std::uint64_t trace = 0;  // 0: none, a constant
  std::uint32_t scope = 0;
  SourceLoc loc;
};

// A traced scalar. `expr` is null after a mistake that has been recorded already.
struct ScalarRef {
  const ir::Expr* expr = nullptr;
  Origin origin;
};

struct VarRef {
  const ir::Var* var = nullptr;
  Origin origin;
};

enum class Op : std::uint8_t {
  neg,
  bit_not,
  logical_not,
  add,
  sub,
  mul,
  div,
  mod,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  shl,
  shr,
  lt,
  le,
  gt,
  ge,
  eq,
  ne,
  logical_and,
  logical_or
};

ScalarRef make_integer(DType type, std::int64_t value, SourceLoc loc);
ScalarRef make_real(DType type, double value, SourceLoc loc);
ScalarRef make_out_of_range(DType type, const std::string& value, SourceLoc loc);
ScalarRef make_unary(Op op, const ScalarRef& a, SourceLoc loc);
ScalarRef make_binary(Op op, const ScalarRef& a, const ScalarRef& b, SourceLoc loc);
ScalarRef make_select(const ScalarRef& condition, const ScalarRef& a, const ScalarRef& b, SourceLoc loc);
ScalarRef make_cast(DType type, const ScalarRef& a, SourceLoc loc);
ScalarRef make_cdiv(const ScalarRef& a, const ScalarRef& b, SourceLoc loc);
ScalarRef make_block_idx(int axis, SourceLoc loc);
ScalarRef make_grid_dim(int axis, SourceLoc loc);

VarRef declare_var(DType type, const ScalarRef& init, SourceLoc loc);
// A variable of a helper: its name, and bounds that every value assigned to it must be known to keep, so that what is
// computed from it has bounds too.
VarRef declare_bounded_var(DType type, const ScalarRef& init, const char* name, std::int64_t low, std::int64_t high,
                           SourceLoc loc);
ScalarRef read_var(const VarRef& var, SourceLoc loc);
void assign_var(const VarRef& var, const ScalarRef& value, SourceLoc loc);
void update_var(const VarRef& var, Op op, const ScalarRef& value, SourceLoc loc);

// For helpers. The value computed here, once; `low` and `high` are bounds that the helper vouches for.
ScalarRef bind_value(const ScalarRef& value, const char* name, SourceLoc loc);
ScalarRef bind_bounded(const ScalarRef& value, const char* name, std::int64_t low, std::int64_t high, SourceLoc loc);
// The variable itself, for use in the very next assignment, which reads it there.
ScalarRef in_place(const VarRef& var, SourceLoc loc);
// Records a mistake of the kernel's author.
void report(SourceLoc loc, const std::string& message, const std::string& help);
// Bounds that are known for a value.
struct Bounds {
  std::int64_t low, high;
};
Bounds bounds_of(const ScalarRef& value);

template <class>
inline constexpr bool always_false = false;

}  // namespace tessera::detail
