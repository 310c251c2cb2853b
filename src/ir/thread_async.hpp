// The asynchronous machine in the thread IR: wgmma, mbarriers, TMA, clusters.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ir/cache_hint.hpp"
#include "ir/context.hpp"

namespace tessera::ir::thread {

// Consecutive elements of a register array, beginning at `index` (an element index).
struct RegRef {
  const RegArray* array = nullptr;
  const Expr* index = nullptr;
};

// wgmma.fence.sync.aligned
struct WgmmaFence final : StmtOf<StmtKind::thread_WgmmaFence> {
  explicit WgmmaFence(SourceLoc l) : StmtOf(l) {}
};

// The shared-memory matrix descriptor of wgmma (PTX ISA 9.7.15.5.1), in two words. low: start address >> 4 in bits
// 0..13, leading-dimension byte offset >> 4 in bits 16..29. high: stride-dimension byte offset >> 4 in bits 0..13,
// swizzle in bits 30..31 (0 none, 1 128 bytes, 2 64 bytes, 3 32 bytes); the base offset is always 0.
struct MatrixDescriptor {
  const Expr* low = nullptr;  // u32, the same in all threads of the warpgroup
  std::uint32_t high = 0;
};

// wgmma.mma_async.sync.aligned.m64nNkK (PTX ISA 9.7.15.5.2), K = 32 bytes: d = a * b (+ d). Executed by the four warps
// of a warpgroup; warp w of it holds rows 16 w .. 16 w + 15. Asynchronous: operands are read, and d written, at any
// time until a WgmmaWait covers its group. d: n / 2 accumulators a thread (9.7.15.5.1.1, "D fragment"); a in registers:
// 16 bytes a thread ("A fragment").
struct Wgmma final : StmtOf<StmtKind::thread_Wgmma> {
  DType a_type, b_type;  // f16, bf16, f32 (read as tf32), f8e4m3, f8e5m2, i8, u8; they differ for fp8 and integers only
  DType accumulator_type;  // f32; f16 for f16 and fp8; i32 for integers
  int n;                   // 8 .. 256
  RegRef d;
  RegRef a_registers;  // array null: a comes from `a`
  MatrixDescriptor a, b;
  bool a_mn_major = false, b_mn_major = false;  // 16-bit types only
  const Expr* accumulate;                       // bool; null: always
  bool negate_a = false, negate_b = false;      // not for integers
  Wgmma(SourceLoc l, DType at, DType bt, DType acc, int n_, RegRef d_)
      : StmtOf(l), a_type(at), b_type(bt), accumulator_type(acc), n(n_), d(d_), accumulate(nullptr) {}
};
// wgmma.commit_group.sync.aligned
struct WgmmaCommit final : StmtOf<StmtKind::thread_WgmmaCommit> {
  explicit WgmmaCommit(SourceLoc l) : StmtOf(l) {}
};
// wgmma.wait_group.sync.aligned: until at most `pending` (0..7) of the newest groups are under way. `results`: the
// accumulators that wgmmas may have written meanwhile, which the printer ties to the instruction so that no use of them
// moves above it.
struct WgmmaWait final : StmtOf<StmtKind::thread_WgmmaWait> {
  int pending;
  std::vector<const RegArray*> results;
  WgmmaWait(SourceLoc l, int n, std::vector<const RegArray*> r) : StmtOf(l), pending(n), results(std::move(r)) {}
};
// setmaxnreg.{inc,dec}.sync.aligned.u32 (PTX ISA 9.7.19.5), by all warps of a warpgroup.
struct SetMaxRegisters final : StmtOf<StmtKind::thread_SetMaxRegisters> {
  int count;  // multiple of 8, 24..256
  bool increase;
  SetMaxRegisters(SourceLoc l, int n, bool inc) : StmtOf(l), count(n), increase(inc) {}
};

struct MbarrierInit final : StmtOf<StmtKind::thread_MbarrierInit> {
  const Expr* address;
  std::uint32_t count;
  MbarrierInit(SourceLoc l, const Expr* a, std::uint32_t n) : StmtOf(l), address(a), count(n) {}
};
// Every active thread arrives once with `count`.
// `cta` (u32 rank in the cluster, null: this CTA): the barrier at the same offset of that CTA (mapa, then
// mbarrier.arrive.shared::cluster). CTA-scope release: what crosses CTAs is TMA's and wgmma's, whose completion orders
// it; a release at cluster scope compiles to a memory barrier of the whole GPU (MEMBAR.ALL.GPU) in every k-block.
struct MbarrierArrive final : StmtOf<StmtKind::thread_MbarrierArrive> {
  const Expr* address;
  std::uint32_t count;
  const Expr* cta;
  MbarrierArrive(SourceLoc l, const Expr* a, std::uint32_t n, const Expr* c = nullptr)
      : StmtOf(l), address(a), count(n), cta(c) {}
};
// Every active thread adds `bytes` to the pending transaction count, then arrives once.
struct MbarrierArriveExpectTx final : StmtOf<StmtKind::thread_MbarrierArriveExpectTx> {
  const Expr* address;
  const Expr* bytes;  // u32
  MbarrierArriveExpectTx(SourceLoc l, const Expr* a, const Expr* b) : StmtOf(l), address(a), bytes(b) {}
};
// Blocks until the phase with parity `parity` (u32, 0 or 1) has completed: mbarrier.try_wait.parity in a loop.
// `cluster`: other CTAs arrive at the barrier. Printed like any other wait, see MbarrierArrive.
struct MbarrierWait final : StmtOf<StmtKind::thread_MbarrierWait> {
  const Expr* address;
  const Expr* parity;
  bool cluster = false;
  MbarrierWait(SourceLoc l, const Expr* a, const Expr* p) : StmtOf(l), address(a), parity(p) {}
};

// cp.async.bulk.tensor.Nd.shared::cta.global.tile.mbarrier::complete_tx::bytes: one box of tensor map number `map`.
// Every active thread issues one copy, so it stands under an If that leaves one thread.
struct TmaLoadBox final : StmtOf<StmtKind::thread_TmaLoadBox> {
  std::uint32_t map;
  const Expr* destination;          // u32 shared address, aligned to 128
  std::vector<const Expr*> coords;  // i32, innermost dimension first
  const Expr* barrier;              // u32 shared address
  // u32 mask of the cluster's CTAs (.multicast::cluster): each gets the box at the same offset of its shared memory and
  // counts the bytes on its own barrier at the same offset. Null: this CTA alone.
  const Expr* multicast = nullptr;
  CacheHint hint = CacheHint::none;
  TmaLoadBox(SourceLoc l, std::uint32_t m, const Expr* d, std::vector<const Expr*> c, const Expr* b)
      : StmtOf(l), map(m), destination(d), coords(std::move(c)), barrier(b) {}
};

// cp.async.bulk.tensor.Nd.global.shared::cta.tile.bulk_group, or cp.reduce.async.bulk.tensor...add: every active thread
// issues one copy, part of the bulk group that it commits next. The engine reads the source at any time until a TmaWait
// covers the group.
struct TmaStoreBox final : StmtOf<StmtKind::thread_TmaStoreBox> {
  std::uint32_t map;
  const Expr* source;               // u32 shared address, aligned to 128
  std::vector<const Expr*> coords;  // i32, innermost dimension first
  bool add;                         // reduction
  CacheHint hint = CacheHint::none;
  TmaStoreBox(SourceLoc l, std::uint32_t m, const Expr* s, std::vector<const Expr*> c, bool a)
      : StmtOf(l), map(m), source(s), coords(std::move(c)), add(a) {}
};
// cp.async.bulk.commit_group
struct TmaCommit final : StmtOf<StmtKind::thread_TmaCommit> {
  explicit TmaCommit(SourceLoc l) : StmtOf(l) {}
};
// cp.async.bulk.wait_group[.read] pending
struct TmaWait final : StmtOf<StmtKind::thread_TmaWait> {
  int pending;
  bool read;
  TmaWait(SourceLoc l, int n, bool r) : StmtOf(l), pending(n), read(r) {}
};
// cp.async.bulk.prefetch.tensor.Nd.L2.global.tile
struct TmaPrefetchBox final : StmtOf<StmtKind::thread_TmaPrefetchBox> {
  std::uint32_t map;
  std::vector<const Expr*> coords;
  TmaPrefetchBox(SourceLoc l, std::uint32_t m, std::vector<const Expr*> c) : StmtOf(l), map(m), coords(std::move(c)) {}
};
// prefetch.tensormap
struct PrefetchTensorMap final : StmtOf<StmtKind::thread_PrefetchTensorMap> {
  std::uint32_t map;
  PrefetchTensorMap(SourceLoc l, std::uint32_t m) : StmtOf(l), map(m) {}
};
// barrier.cluster.arrive.release.aligned / barrier.cluster.wait.acquire.aligned, by all threads of all CTAs. A relaxed
// arrival releases nothing but the initialisations of mbarriers that fence.mbarrier_init.release.cluster of its thread
// has published (PTX ISA, membar/fence): it does not wait until the thread's other operations are visible.
struct ClusterArrive final : StmtOf<StmtKind::thread_ClusterArrive> {
  bool relaxed;
  explicit ClusterArrive(SourceLoc l, bool relaxed_ = false) : StmtOf(l), relaxed(relaxed_) {}
};
struct ClusterWait final : StmtOf<StmtKind::thread_ClusterWait> {
  explicit ClusterWait(SourceLoc l) : StmtOf(l) {}
};
// griddepcontrol.launch_dependents or griddepcontrol.wait
struct GridDependency final : StmtOf<StmtKind::thread_GridDependency> {
  bool launch;
  GridDependency(SourceLoc l, bool launch_) : StmtOf(l), launch(launch_) {}
};
// st.release.gpu.global.u32 of `value` to element `offset` (i64) of pointer parameter `param`, or red.release.gpu.add:
// what the thread has done, and what it knows to have happened, comes before what a thread does that has waited for it.
struct SignalFlag final : StmtOf<StmtKind::thread_SignalFlag> {
  std::uint32_t param;
  const Expr* offset;
  const Expr* value;  // u32
  bool add;
  SignalFlag(SourceLoc l, std::uint32_t p, const Expr* o, const Expr* v, bool add_)
      : StmtOf(l), param(p), offset(o), value(v), add(add_) {}
};
// ld.acquire.gpu.global.u32 in a loop until the element is `value`, or (`at_least`) no less, as unsigned numbers.
struct WaitFlag final : StmtOf<StmtKind::thread_WaitFlag> {
  std::uint32_t param;
  const Expr* offset;
  const Expr* value;  // u32
  bool at_least;
  WaitFlag(SourceLoc l, std::uint32_t p, const Expr* o, const Expr* v, bool at_least_)
      : StmtOf(l), param(p), offset(o), value(v), at_least(at_least_) {}
};

}  // namespace tessera::ir::thread
