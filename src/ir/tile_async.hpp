// The asynchronous machine in the tile IR: mbarriers, TMA, wgmma, clusters, and what orders them.
#pragma once

#include "ir/cache_hint.hpp"
#include "ir/tile_tensors.hpp"

namespace tessera::ir::tile {

struct AllocBarriers final : StmtOf<StmtKind::tile_AllocBarriers> {
  BarrierArray* out;
  AllocBarriers(SourceLoc l, BarrierArray* o) : StmtOf(l), out(o) {}
};
struct ArriveBarrier final : StmtOf<StmtKind::tile_ArriveBarrier> {
  BarrierRef barrier;
  std::int64_t count;  // of each thread of the group
  const Expr* cta;     // i32: the rank in the cluster of the CTA whose barrier is meant; null: this CTA
  ArriveBarrier(SourceLoc l, BarrierRef b, std::int64_t n, const Expr* c = nullptr)
      : StmtOf(l), barrier(b), count(n), cta(c) {}
};
struct ArriveExpectTx final : StmtOf<StmtKind::tile_ArriveExpectTx> {
  BarrierRef barrier;
  const Expr* bytes;  // u32, declared by each thread of the group
  ArriveExpectTx(SourceLoc l, BarrierRef b, const Expr* n) : StmtOf(l), barrier(b), bytes(n) {}
};
struct WaitBarrier final : StmtOf<StmtKind::tile_WaitBarrier> {
  BarrierRef barrier;
  const Expr* phase;  // u32 parity
  WaitBarrier(SourceLoc l, BarrierRef b, const Expr* p) : StmtOf(l), barrier(b), phase(p) {}
};
// dst = view[offsets ...] by the TMA engine; elements outside the view arrive as 0 and count as bytes.
// With a `multicast` mask every CTA of the cluster whose bit is set receives the tile in its own `dst` and counts the
// bytes on its own `barrier`.
struct TmaLoad final : StmtOf<StmtKind::tile_TmaLoad> {
  GlobalView* src;
  SharedView* dst;
  std::vector<const Expr*> offsets;  // i32, one a dimension of the view
  BarrierRef barrier;
  const Expr* multicast = nullptr;  // u32; null: this CTA alone
  CacheHint hint = CacheHint::none;
  TmaLoad(SourceLoc l, GlobalView* s, SharedView* d, std::vector<const Expr*> off, BarrierRef b)
      : StmtOf(l), src(s), dst(d), offsets(std::move(off)), barrier(b) {}
};
// view[offsets ...] = src, or += src, by the TMA engine; elements outside the view are dropped. Belongs to the bulk
// group that the issuing thread commits next.
struct TmaStore final : StmtOf<StmtKind::tile_TmaStore> {
  SharedView* src;
  GlobalView* dst;
  std::vector<const Expr*> offsets;  // i32, one a dimension of the view
  bool add = false;                  // reduction instead of a store
  CacheHint hint = CacheHint::none;
  TmaStore(SourceLoc l, SharedView* s, GlobalView* d, std::vector<const Expr*> off)
      : StmtOf(l), src(s), dst(d), offsets(std::move(off)) {}
};
struct TmaCommit final : StmtOf<StmtKind::tile_TmaCommit> {
  explicit TmaCommit(SourceLoc l) : StmtOf(l) {}
};
// Until at most `pending` of this thread's newest bulk groups are under way. `read`: until their sources have been
// read, not until their results are visible.
struct TmaWait final : StmtOf<StmtKind::tile_TmaWait> {
  int pending;
  bool read;
  TmaWait(SourceLoc l, int n, bool r) : StmtOf(l), pending(n), read(r) {}
};
// Brings a box of `extents` elements at `offsets` of the view into L2.
struct TmaPrefetch final : StmtOf<StmtKind::tile_TmaPrefetch> {
  GlobalView* src;
  Shape extents;
  std::vector<const Expr*> offsets;
  TmaPrefetch(SourceLoc l, GlobalView* s, Shape e, std::vector<const Expr*> off)
      : StmtOf(l), src(s), extents(std::move(e)), offsets(std::move(off)) {}
};

// Warpgroup matrix multiply-accumulate (PTX ISA 9.7.15). The group is one warpgroup: 128 threads from a multiple of
// 128.
struct WgmmaFence final : StmtOf<StmtKind::tile_WgmmaFence> {
  explicit WgmmaFence(SourceLoc l) : StmtOf(l) {}
};
// acc[m, n] (+)= a[m, k] * b[k, n], asynchronously. a lies in shared memory (`a`) or in registers (`a_registers`).
// `accumulate` false: acc = a * b, whatever acc held.
struct Wgmma final : StmtOf<StmtKind::tile_Wgmma> {
  SharedView* a = nullptr;
  RegisterTensor* a_registers = nullptr;
  SharedView* b;
  RegisterTensor* acc;
  const Expr* accumulate;  // bool
  bool negate_a = false, negate_b = false;
  Wgmma(SourceLoc l, SharedView* a_, RegisterTensor* ar, SharedView* b_, RegisterTensor* d, const Expr* c)
      : StmtOf(l), a(a_), a_registers(ar), b(b_), acc(d), accumulate(c) {}
};
struct WgmmaCommit final : StmtOf<StmtKind::tile_WgmmaCommit> {
  explicit WgmmaCommit(SourceLoc l) : StmtOf(l) {}
};
// Until at most `pending` of the warpgroup's newest groups are under way.
struct WgmmaWait final : StmtOf<StmtKind::tile_WgmmaWait> {
  int pending;
  WgmmaWait(SourceLoc l, int n) : StmtOf(l), pending(n) {}
};
// From here on each thread of the group (whole warpgroups) has `count` registers (PTX setmaxnreg).
struct SetRegisters final : StmtOf<StmtKind::tile_SetRegisters> {
  int count;
  SetRegisters(SourceLoc l, int n) : StmtOf(l), count(n) {}
};
// The group's threads arrive at the barrier and wait for it, or arrive only.
struct NamedBarrierSync final : StmtOf<StmtKind::tile_NamedBarrierSync> {
  NamedBarrier* barrier;
  NamedBarrierSync(SourceLoc l, NamedBarrier* b) : StmtOf(l), barrier(b) {}
};
struct NamedBarrierArrive final : StmtOf<StmtKind::tile_NamedBarrierArrive> {
  NamedBarrier* barrier;
  NamedBarrierArrive(SourceLoc l, NamedBarrier* b) : StmtOf(l), barrier(b) {}
};
// Barrier among all threads of the cluster.
struct ClusterSync final : StmtOf<StmtKind::tile_ClusterSync> {
  explicit ClusterSync(SourceLoc l) : StmtOf(l) {}
};
// Its two halves, of the group's warps: each warp of the cluster arrives, and then waits for all.
struct ClusterArrive final : StmtOf<StmtKind::tile_ClusterArrive> {
  explicit ClusterArrive(SourceLoc l) : StmtOf(l) {}
};
struct ClusterWait final : StmtOf<StmtKind::tile_ClusterWait> {
  explicit ClusterWait(SourceLoc l) : StmtOf(l) {}
};
// Programmatic dependent launch (PTX griddepcontrol): wait until the grids that this one depends on are complete, or
// let the grids that depend on this one start.
struct GridDependency final : StmtOf<StmtKind::tile_GridDependency> {
  bool launch;  // launch_dependents, else wait
  GridDependency(SourceLoc l, bool launch_) : StmtOf(l), launch(launch_) {}
};
// Flags in global memory, elements of a view of u32, between blocks of the grid. flags[offsets ...] = value, or +=
// value, by one thread: what it has done, and what it knows others to have done, is visible to whoever waits for it.
struct SignalFlag final : StmtOf<StmtKind::tile_SignalFlag> {
  GlobalView* flags;
  std::vector<const Expr*> offsets;  // i32 or i64
  const Expr* value;                 // u32
  bool add;                          // atomically
  SignalFlag(SourceLoc l, GlobalView* f, std::vector<const Expr*> off, const Expr* v, bool add_)
      : StmtOf(l), flags(f), offsets(std::move(off)), value(v), add(add_) {}
};
// Until flags[offsets ...] is `value`, or at least that.
struct WaitFlag final : StmtOf<StmtKind::tile_WaitFlag> {
  GlobalView* flags;
  std::vector<const Expr*> offsets;  // i32 or i64
  const Expr* value;                 // u32
  bool at_least;
  WaitFlag(SourceLoc l, GlobalView* f, std::vector<const Expr*> off, const Expr* v, bool at_least_)
      : StmtOf(l), flags(f), offsets(std::move(off)), value(v), at_least(at_least_) {}
};
struct FenceProxyAsync final : StmtOf<StmtKind::tile_FenceProxyAsync> {
  std::string reason;  // empty: written by the user
  FenceProxyAsync(SourceLoc l, std::string r) : StmtOf(l), reason(std::move(r)) {}
};

}  // namespace tessera::ir::tile
