// The base of all statements, the control statements that both IRs share, and the dispatch over statement kinds.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "ir/expr.hpp"

namespace tessera::ir {

enum class StmtKind : std::uint8_t {
#define TESSERA_NODE(section, Name) section##_##Name,
#include "ir/nodes.def"
#undef TESSERA_NODE
};
const char* name_of(StmtKind kind);

struct Stmt {
  StmtKind kind;
  SourceLoc loc;  // the user's line

 protected:
  Stmt(StmtKind k, SourceLoc l) : kind(k), loc(l) {}
};

using Block = std::vector<Stmt*>;

// CRTP-free helper: each final struct names its kind once.
template <StmtKind K>
struct StmtOf : Stmt {
  static constexpr StmtKind static_kind = K;

 protected:
  explicit StmtOf(SourceLoc l) : Stmt(K, l) {}
};

template <class T>
const T* as(const Stmt* s) {
  return s->kind == T::static_kind ? static_cast<const T*>(s) : nullptr;
}
template <class T>
T* as(Stmt* s) {
  return s->kind == T::static_kind ? static_cast<T*>(s) : nullptr;
}

namespace control {

// An immutable scalar: `value` is computed here, once.
struct Let final : StmtOf<StmtKind::control_Let> {
  const Value* value;
  const Expr* init;
  Let(SourceLoc l, const Value* v, const Expr* e) : StmtOf(l), value(v), init(e) {}
};

struct DeclareVar final : StmtOf<StmtKind::control_DeclareVar> {
  const Var* var;
  const Expr* init;
  DeclareVar(SourceLoc l, const Var* v, const Expr* e) : StmtOf(l), var(v), init(e) {}
};

struct AssignVar final : StmtOf<StmtKind::control_AssignVar> {
  const Var* var;
  const Expr* value;
  AssignVar(SourceLoc l, const Var* v, const Expr* e) : StmtOf(l), var(v), value(e) {}
};

// for (induction = begin; induction < end; induction += step); step is positive. Bounds are evaluated once.
struct For final : StmtOf<StmtKind::control_For> {
  const Value* induction;
  const Expr* begin;
  const Expr* end;
  const Expr* step;
  int unroll = 1;  // 1: left to the compiler; 0: completely; n: by n
  Block body;
  For(SourceLoc l, const Value* v, const Expr* b, const Expr* e, const Expr* s)
      : StmtOf(l), induction(v), begin(b), end(e), step(s) {}
};

// Repeats until a Break; Continue goes to the top of the body.
struct Loop final : StmtOf<StmtKind::control_Loop> {
  Block body;
  explicit Loop(SourceLoc l) : StmtOf(l) {}
};

struct If final : StmtOf<StmtKind::control_If> {
  const Expr* condition;
  Block then_body;
  Block else_body;
  If(SourceLoc l, const Expr* c) : StmtOf(l), condition(c) {}
};

// Leave, or go to the next iteration of, the innermost For or Loop.
struct Break final : StmtOf<StmtKind::control_Break> {
  explicit Break(SourceLoc l) : StmtOf(l) {}
};
struct Continue final : StmtOf<StmtKind::control_Continue> {
  explicit Continue(SourceLoc l) : StmtOf(l) {}
};

}  // namespace control
}  // namespace tessera::ir
