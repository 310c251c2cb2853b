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

// Rules of a well-formed tile kernel. They hold after tracing and after every pass on the tile IR.
//
//  1. There are 1 to 32 warps, 1 to 8 blocks in a cluster, and three grid extents (i64) over constants, parameters and
//     the number of SMs.
//  2. Every Value, Var and register tensor is defined by exactly one statement, before its uses, in a block that
//     encloses them. A shared tile or barrier array is allocated once, before its uses, in an enclosing block.
//  3. Expressions of statements have only the leaves constant, param (a scalar one), block_idx, grid_dim, cluster_rank,
//     value, var; operand and index only inside Compute, in range.
//  4. Types: Let, DeclareVar, AssignVar and For agree with their Value or Var; conditions are bool; offsets are i32 or
//     i64 (i32 for TMA); barrier indices and blocks of a cluster i32, phases, byte counts and multicast masks u32; the
//     step of a loop is positive.
//  5. Break and Continue stand inside a loop, in the loop's thread group.
//  6. A thread group lies inside the group around it. An elected thread is one; one of each warp is of whole warps, and
//     executes only control statements, ArriveBarrier and Print.
//  7. A register tensor is used by the group that made it.
//  8. Shapes and element types: loads and stores agree with view or shared tile in type and rank (a tile: in shape);
//     Compute's inputs broadcast to its output and its value has the output's type; Transpose exchanges two extents;
//     Dot has fitting shapes in multiples of 16, 8, 16, one of its three type combinations, a group of whole warps.
//  9. Barrier counts and constant byte counts are 1 to 2^20 - 1; a constant barrier index is in range.
// 10. TMA loads and prefetches are executed by one thread or one whole warp; stores, commits and waits by one thread.
//     Multicast needs a cluster. Bulk reductions are of float16, bfloat16, float32, int32 and uint32.
// 11. Layouts, where set, have the tensor's shape; a register layout uses every thread of the group.
// 12. A shared view has an i32 origin and an extent within the tile for each dimension of its tile, and keeps some of
//     the dimensions, each once, the others with extent 1. One of another block needs a cluster, and only LoadShared
//     and StoreShared use it.
// 13. Wgmma has a in shared memory or in registers, fitting 2-D shapes in multiples of 64, 8 (integers: 8, 24, 16) and
//     32 bytes, one of its type combinations, a named accumulator, a bool for accumulate and negates floats only. It,
//     its fence, commit and wait (0 to 7) are executed by one warpgroup: 128 threads from a multiple of 128.
// 14. SetRegisters is a multiple of 8 in 24..256 for whole warpgroups. Named barriers are for a multiple of 32 threads,
//     32 to 1024, at most 15, of whole warps. ClusterSync is of the whole block, its halves of whole warps,
//     GridDependency of dependent launches.
// 15. Flags are elements of a view of u32 with one offset a dimension, and compared with u32; one thread signals.
//
// Throws an internal Error that lists every broken rule.
void verify(const Kernel& kernel);

}  // namespace tessera::ir::tile
