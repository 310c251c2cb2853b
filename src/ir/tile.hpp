// The tile IR: the traced program. Instructions work on whole tiles and are executed by the current thread group;
// layouts are filled in by inference.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/context.hpp"
#include "layout/register_layout.hpp"
#include "layout/shared_layout.hpp"

namespace tessera::ir::tile {

using Shape = std::vector<std::int64_t>;

// The threads that execute an instruction: `count` threads from `begin` (absolute in the CTA). `elect`: one thread,
// any of the enclosing group's first warp, chosen by the hardware.
struct Group {
  int begin = 0;
  int count = 0;
  bool elect = false;
  bool operator==(const Group&) const = default;
};

// A tile distributed over the registers of the group that created it. It has identity and can be written again.
struct RegisterTensor {
  std::uint32_t id;
  DType type;
  Shape shape;
  std::string name;
  SourceLoc loc;
  Group group;
  std::optional<layout::RegisterLayout> layout;
  bool layout_pinned = false;  // by annotate_layout
  bool named = false;          // created by register_tensor, so a target of assignments
};

struct SharedTensor {
  std::uint32_t id;
  DType type;
  Shape shape;
  std::string name;
  SourceLoc loc;
  std::optional<layout::SharedLayout> layout;
  bool layout_pinned = false;
  std::int64_t offset = -1;  // bytes; set by the shared-memory plan
  std::int64_t bytes() const;
};

struct GlobalView {
  std::uint32_t id;
  DType type;
  std::uint32_t param;               // pointer parameter
  const Expr* base_offset;           // i64 elements
  std::vector<const Expr*> shape;    // i64
  std::vector<const Expr*> strides;  // i64 elements; row-major unless the user gave them
  std::string name;
  SourceLoc loc;
};

// mbarriers in consecutive 8-byte words.
struct BarrierArray {
  std::uint32_t id;
  std::vector<std::int64_t> counts;
  std::string name;
  SourceLoc loc;
  std::int64_t offset = -1;
};
struct BarrierRef {
  BarrierArray* array = nullptr;
  const Expr* index = nullptr;  // i32
};

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
  SharedTensor* src;
  bool streamed = false;  // fetched fragment by fragment at its only consumer (a Dot); set by a pass
  LoadShared(SourceLoc l, RegisterTensor* o, SharedTensor* s) : StmtOf(l), out(o), src(s) {}
};
struct StoreShared final : StmtOf<StmtKind::tile_StoreShared> {
  SharedTensor* dst;
  RegisterTensor* src;
  StoreShared(SourceLoc l, SharedTensor* d, RegisterTensor* s) : StmtOf(l), dst(d), src(s) {}
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

struct AllocBarriers final : StmtOf<StmtKind::tile_AllocBarriers> {
  BarrierArray* out;
  AllocBarriers(SourceLoc l, BarrierArray* o) : StmtOf(l), out(o) {}
};
struct ArriveBarrier final : StmtOf<StmtKind::tile_ArriveBarrier> {
  BarrierRef barrier;
  std::int64_t count;  // of each thread of the group
  ArriveBarrier(SourceLoc l, BarrierRef b, std::int64_t n) : StmtOf(l), barrier(b), count(n) {}
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
struct TmaLoad final : StmtOf<StmtKind::tile_TmaLoad> {
  GlobalView* src;
  SharedTensor* dst;
  std::vector<const Expr*> offsets;  // i32, one a dimension of the view
  BarrierRef barrier;
  TmaLoad(SourceLoc l, GlobalView* s, SharedTensor* d, std::vector<const Expr*> off, BarrierRef b)
      : StmtOf(l), src(s), dst(d), offsets(std::move(off)), barrier(b) {}
};
struct FenceProxyAsync final : StmtOf<StmtKind::tile_FenceProxyAsync> {
  std::string reason;  // empty: written by the user
  FenceProxyAsync(SourceLoc l, std::string r) : StmtOf(l), reason(std::move(r)) {}
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
  SharedTensor* shared;             // (exactly one is set)
  SharedTensor* scratch = nullptr;  // set by lowering for register tensors
  PrintTensor(SourceLoc l, std::string m, RegisterTensor* t, SharedTensor* s)
      : StmtOf(l), message(std::move(m)), tensor(t), shared(s) {}
};

struct Kernel {
  std::shared_ptr<Context> context = std::make_shared<Context>();
  std::string name;
  SourceLoc loc;
  std::vector<Param> params;
  std::array<const Expr*, 3> grid{};  // over parameters only
  int warps = 0;
  std::vector<RegisterTensor*> registers;  // index = id
  std::vector<SharedTensor*> shared;
  std::vector<GlobalView*> views;
  std::vector<BarrierArray*> barriers;
  Block body;

  RegisterTensor* new_register(DType type, Shape shape, std::string name, SourceLoc loc, Group group);
  SharedTensor* new_shared(DType type, Shape shape, std::string name, SourceLoc loc);
  GlobalView* new_view(GlobalView view);
  BarrierArray* new_barriers(std::vector<std::int64_t> counts, std::string name, SourceLoc loc);
  Group root_group() const { return {0, warps * 32, false}; }
};

// Readable text of the whole kernel, with layouts and shared offsets once they are known.
std::string to_string(const Kernel& kernel, bool with_locations = true);

// Throws an internal Error listing every broken rule; the rules stand at the top of tile_verifier.cpp.
void verify(const Kernel& kernel);

}  // namespace tessera::ir::tile
