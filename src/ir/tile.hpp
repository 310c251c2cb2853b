// The tile IR: the traced program. Instructions work on whole tiles and are executed by the current thread group;
// layouts are filled in by inference.
#pragma once

#include "ir/tile_async.hpp"
#include "ir/tile_tensors.hpp"

namespace tessera::ir::tile {

struct ThreadGroup final : StmtOf<StmtKind::tile_ThreadGroup> {
  Group group;
  Block body;
  ThreadGroup(SourceLoc l, Group g) : StmtOf(l), group(g) {}
};

struct AllocRegister final : StmtOf<StmtKind::tile_AllocRegister> {
  RegisterTensor* out;
  AllocRegister(SourceLoc l, RegisterTensor* o) : StmtOf(l), out(o) {}
};

// out[i...] = value, where value's leaves `operand k` are ins[k] at the same index (size-1 and missing leading
// dimensions broadcast) and `index d` is i_d. Covers fill, cast, arithmetic, comparison, select and assignment.
// `out` may be among `ins`. For a fresh result `out` is defined here; a named tensor is overwritten.
struct Compute final : StmtOf<StmtKind::tile_Compute> {
  RegisterTensor* out;
  std::vector<RegisterTensor*> ins;
  const Expr* value;
  Compute(SourceLoc l, RegisterTensor* o, std::vector<RegisterTensor*> i, const Expr* v)
      : StmtOf(l), out(o), ins(std::move(i)), value(v) {}
};

// out[j, i] = in[i, j]; out shares in's registers.
struct Transpose final : StmtOf<StmtKind::tile_Transpose> {
  RegisterTensor* out;
  RegisterTensor* in;
  Transpose(SourceLoc l, RegisterTensor* o, RegisterTensor* i) : StmtOf(l), out(o), in(i) {}
};

// out = a copy of the elements `begin`, `begin` + 1, ... of dimension `dim` of in, as many as out has; begin is a
// multiple of their number.
struct Slice final : StmtOf<StmtKind::tile_Slice> {
  RegisterTensor* out;
  RegisterTensor* in;
  int dim;
  std::int64_t begin;
  Slice(SourceLoc l, RegisterTensor* o, RegisterTensor* i, int d, std::int64_t b)
      : StmtOf(l), out(o), in(i), dim(d), begin(b) {}
};

// Inserted by layout inference: the same tile in another layout, by way of shared scratch.
struct ConvertLayout final : StmtOf<StmtKind::tile_ConvertLayout> {
  RegisterTensor* out;
  RegisterTensor* in;
  SharedTensor* scratch;  // in a row-major layout; null where no element changes its thread
  ConvertLayout(SourceLoc l, RegisterTensor* o, RegisterTensor* i, SharedTensor* s)
      : StmtOf(l), out(o), in(i), scratch(s) {}
};

// out[i...] = view[offsets + i]; elements outside the view read 0.
struct LoadGlobal final : StmtOf<StmtKind::tile_LoadGlobal> {
  RegisterTensor* out;
  GlobalView* view;
  std::vector<const Expr*> offsets;  // one a dimension, i32 or i64
  LoadGlobal(SourceLoc l, RegisterTensor* o, GlobalView* v, std::vector<const Expr*> off)
      : StmtOf(l), out(o), view(v), offsets(std::move(off)) {}
};
// view[offsets + i] = src[i...]; elements outside the view are dropped.
struct StoreGlobal final : StmtOf<StmtKind::tile_StoreGlobal> {
  GlobalView* view;
  RegisterTensor* src;
  std::vector<const Expr*> offsets;
  StoreGlobal(SourceLoc l, GlobalView* v, RegisterTensor* s, std::vector<const Expr*> off)
      : StmtOf(l), view(v), src(s), offsets(std::move(off)) {}
};

struct AllocShared final : StmtOf<StmtKind::tile_AllocShared> {
  SharedTensor* out;
  AllocShared(SourceLoc l, SharedTensor* o) : StmtOf(l), out(o) {}
};
// A hint: the user will not use the tile again. The plan never trusts it over its own liveness.
struct FreeShared final : StmtOf<StmtKind::tile_FreeShared> {
  SharedTensor* tensor;
  FreeShared(SourceLoc l, SharedTensor* t) : StmtOf(l), tensor(t) {}
};
struct LoadShared final : StmtOf<StmtKind::tile_LoadShared> {
  RegisterTensor* out;
  SharedView* src;
  bool streamed = false;  // fetched fragment by fragment at its only consumer (a Dot); set by a pass
  LoadShared(SourceLoc l, RegisterTensor* o, SharedView* s) : StmtOf(l), out(o), src(s) {}
};
struct StoreShared final : StmtOf<StmtKind::tile_StoreShared> {
  SharedView* dst;
  RegisterTensor* src;
  StoreShared(SourceLoc l, SharedView* d, RegisterTensor* s) : StmtOf(l), dst(d), src(s) {}
};

// acc[m, n] += sum over k of a[m, k] * b[k, n], on the tensor cores (mma.sync).
struct Dot final : StmtOf<StmtKind::tile_Dot> {
  RegisterTensor* a;
  RegisterTensor* b;
  RegisterTensor* acc;
  Dot(SourceLoc l, RegisterTensor* a_, RegisterTensor* b_, RegisterTensor* acc_) : StmtOf(l), a(a_), b(b_), acc(acc_) {}
};

// Barrier among the threads of the current group.
struct Sync final : StmtOf<StmtKind::tile_Sync> {
  explicit Sync(SourceLoc l) : StmtOf(l) {}
};

// printf by the first thread of the group; pieces and args as in thread::PrintThread.
struct Print final : StmtOf<StmtKind::tile_Print> {
  std::vector<std::string> pieces;
  std::vector<const Expr*> args;
  Print(SourceLoc l, std::vector<std::string> p, std::vector<const Expr*> a)
      : StmtOf(l), pieces(std::move(p)), args(std::move(a)) {}
};
// Prints `message` and all elements in index order.
struct PrintTensor final : StmtOf<StmtKind::tile_PrintTensor> {
  std::string message;
  RegisterTensor* tensor;           // or
  SharedView* shared;               // (exactly one is set)
  SharedTensor* scratch = nullptr;  // set by lowering for register tensors
  PrintTensor(SourceLoc l, std::string m, RegisterTensor* t, SharedView* s)
      : StmtOf(l), message(std::move(m)), tensor(t), shared(s) {}
};

struct Kernel {
  std::shared_ptr<Context> context = std::make_shared<Context>();
  std::string name;
  SourceLoc loc;
  std::vector<Param> params;
  std::array<const Expr*, 3> grid{};  // over parameters only
  int warps = 0;
  std::array<int, 3> cluster{1, 1, 1};     // CTAs
  bool dependent_launch = false;           // may start before the previous kernel of its stream has finished
  std::vector<RegisterTensor*> registers;  // index = id
  std::vector<SharedTensor*> shared;
  std::vector<GlobalView*> views;
  std::vector<BarrierArray*> barriers;
  std::vector<NamedBarrier*> named_barriers;
  Block body;

  RegisterTensor* new_register(DType type, Shape shape, std::string name, SourceLoc loc, Group group);
  SharedTensor* new_shared(DType type, Shape shape, std::string name, SourceLoc loc);
  GlobalView* new_view(GlobalView view);
  SharedView* new_shared_view(SharedView view);
  SharedView* whole(SharedTensor* tensor);  // a view of all of it
  BarrierArray* new_barriers(std::vector<std::int64_t> counts, std::string name, SourceLoc loc);
  NamedBarrier* new_named_barrier(int threads, std::string name, SourceLoc loc);
  int cluster_size() const { return cluster[0] * cluster[1] * cluster[2]; }
  Group root_group() const { return {0, warps * 32, false}; }
};

// Readable text of the whole kernel, with layouts and shared offsets once they are known.
std::string to_string(const Kernel& kernel, bool with_locations = true);

// Throws an internal Error listing every broken rule; the rules stand at the top of tile_verifier.cpp.
void verify(const Kernel& kernel);

}  // namespace tessera::ir::tile
