// The thread IR: what one thread executes. Collective instructions (ldmatrix, mma, barriers) are executed by a whole
// warp together. The CUDA printer turns each statement into one line; the simulated Hopper executes the same
// statements. Nothing after this form makes decisions: addresses, swizzles, fragments, masks and counts are all here.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ir/context.hpp"
#include "ir/thread_async.hpp"

namespace tessera::ir::thread {

struct DeclareRegs final : StmtOf<StmtKind::thread_DeclareRegs> {
  const RegArray* array;  // uninitialised
  DeclareRegs(SourceLoc l, const RegArray* a) : StmtOf(l), array(a) {}
};

// Elements dst[0..values.size()) = values. All values are computed before the first is written. For 16-bit types the
// lowering writes pairs that share a 32-bit register (even index, two values) wherever it can.
struct WriteRegs final : StmtOf<StmtKind::thread_WriteRegs> {
  RegRef dst;
  std::vector<const Expr*> values;
  WriteRegs(SourceLoc l, RegRef d, std::vector<const Expr*> v) : StmtOf(l), dst(d), values(std::move(v)) {}
};

// `count` elements (1, 2, 4, 8 or 16 bytes together, naturally aligned) of pointer parameter `param`, beginning at
// element `offset` (i64). Where `mask` (bool, may be null: always) is false nothing is read and the elements become 0.
struct LoadGlobalVector final : StmtOf<StmtKind::thread_LoadGlobalVector> {
  RegRef dst;
  int count;
  std::uint32_t param;
  const Expr* offset;
  const Expr* mask;
  LoadGlobalVector(SourceLoc l, RegRef d, int n, std::uint32_t p, const Expr* o, const Expr* m)
      : StmtOf(l), dst(d), count(n), param(p), offset(o), mask(m) {}
};

struct StoreGlobalVector final : StmtOf<StmtKind::thread_StoreGlobalVector> {
  RegRef src;
  int count;
  std::uint32_t param;
  const Expr* offset;
  const Expr* mask;
  StoreGlobalVector(SourceLoc l, RegRef s, int n, std::uint32_t p, const Expr* o, const Expr* m)
      : StmtOf(l), src(s), count(n), param(p), offset(o), mask(m) {}
};

// `address` is a u32 shared-window byte address, aligned to count * size_of(type) (a power of two up to 16). `cta` (u32
// rank in the cluster, null: this CTA): the same address of that CTA's shared memory (mapa, then ld.shared::cluster;
// PTX ISA 9.7.9.24 and 9.7.9.8).
struct LoadSharedVector final : StmtOf<StmtKind::thread_LoadSharedVector> {
  RegRef dst;
  int count;
  const Expr* address;
  const Expr* cta;
  LoadSharedVector(SourceLoc l, RegRef d, int n, const Expr* a, const Expr* c = nullptr)
      : StmtOf(l), dst(d), count(n), address(a), cta(c) {}
};
struct StoreSharedVector final : StmtOf<StmtKind::thread_StoreSharedVector> {
  RegRef src;
  int count;
  const Expr* address;
  const Expr* mask;  // null: always
  const Expr* cta;
  StoreSharedVector(SourceLoc l, RegRef s, int n, const Expr* a, const Expr* m = nullptr, const Expr* c = nullptr)
      : StmtOf(l), src(s), count(n), address(a), mask(m), cta(c) {}
};

// ldmatrix.sync.aligned.m8n8.x{1,2,4}[.trans].shared.b16 (PTX ISA 9.7.14.5.15). Lanes 8i..8i+7 give the 16-byte
// row addresses of matrix i; matrix i lands in the i-th 32-bit register from dst.index on.
struct LdMatrix final : StmtOf<StmtKind::thread_LdMatrix> {
  RegRef dst;  // 2 * matrices 16-bit elements
  int matrices;
  bool transposed;
  const Expr* address;
  LdMatrix(SourceLoc l, RegRef d, int n, bool t, const Expr* a)
      : StmtOf(l), dst(d), matrices(n), transposed(t), address(a) {}
};

// stmatrix.sync.aligned.m8n8.x{1,2,4}[.trans].shared.b16 (PTX ISA 9.7.14.5.16), the mirror of LdMatrix.
struct StMatrix final : StmtOf<StmtKind::thread_StMatrix> {
  RegRef src;  // 2 * matrices 16-bit elements
  int matrices;
  bool transposed;
  const Expr* address;
  StMatrix(SourceLoc l, RegRef s, int n, bool t, const Expr* a)
      : StmtOf(l), src(s), matrices(n), transposed(t), address(a) {}
};

// mma.sync.aligned.m16n8k16.row.col (PTX ISA 9.7.14.5.8): d = a * b + d. A: 8 elements, B: 4, D: 4 elements a thread.
struct MmaSync final : StmtOf<StmtKind::thread_MmaSync> {
  DType operand_type;      // f16 or bf16
  DType accumulator_type;  // f32, or f16 with f16 operands
  RegRef d, a, b;
  MmaSync(SourceLoc l, DType t, DType acc, RegRef d_, RegRef a_, RegRef b_)
      : StmtOf(l), operand_type(t), accumulator_type(acc), d(d_), a(a_), b(b_) {}
};

// barrier.cta.arrive id, threads: counts the warp's threads without waiting.
struct BarrierArrive final : StmtOf<StmtKind::thread_BarrierArrive> {
  int id;
  int threads;
  BarrierArrive(SourceLoc l, int i, int n) : StmtOf(l), id(i), threads(n) {}
};

// barrier.cta.sync id, threads (id 0 with all threads of the CTA is __syncthreads). Executed by whole warps.
struct BarrierSync final : StmtOf<StmtKind::thread_BarrierSync> {
  int id;
  int threads;
  BarrierSync(SourceLoc l, int i, int n) : StmtOf(l), id(i), threads(n) {}
};

// bar.warp.sync over the lanes of `mask`.
struct WarpSync final : StmtOf<StmtKind::thread_WarpSync> {
  std::uint32_t mask;
  WarpSync(SourceLoc l, std::uint32_t m) : StmtOf(l), mask(m) {}
};

enum class FenceKind : std::uint8_t {
  proxy_async_shared,   // fence.proxy.async.shared::cta
  proxy_async_cluster,  // fence.proxy.async.shared::cluster: of what was stored in other CTAs, too
  mbarrier_init         // fence.mbarrier_init.release.cluster
};
struct Fence final : StmtOf<StmtKind::thread_Fence> {
  FenceKind fence;
  std::string reason;  // why the compiler put it there; empty if the user wrote it
  Fence(SourceLoc l, FenceKind f, std::string r) : StmtOf(l), fence(f), reason(std::move(r)) {}
};

// printf by every active thread. `pieces` alternates with `args`: pieces[0] args[0] pieces[1] ... ; pieces.size() ==
// args.size() + 1. Integers print in decimal, floats (any float type) as %g of the value in float32, bool as 0 or 1.
struct PrintThread final : StmtOf<StmtKind::thread_PrintThread> {
  std::vector<std::string> pieces;
  std::vector<const Expr*> args;
  PrintThread(SourceLoc l, std::vector<std::string> p, std::vector<const Expr*> a)
      : StmtOf(l), pieces(std::move(p)), args(std::move(a)) {}
};

// For the simulator alone; nothing on a card: `index` (i32) is 0 .. count - 1 in every active thread. Stands before an
// instruction that picks from an array by an index that is not known to be inside.
struct CheckIndex final : StmtOf<StmtKind::thread_CheckIndex> {
  const Expr* index;
  std::int64_t count;
  std::string what, where, help;  // "element", "in dimension 0 of 'ring'"
  SourceLoc made;                 // the array
  CheckIndex(SourceLoc l, const Expr* i, std::int64_t n, std::string what_, std::string where_, std::string help_,
             SourceLoc made_)
      : StmtOf(l),
        index(i),
        count(n),
        what(std::move(what_)),
        where(std::move(where_)),
        help(std::move(help_)),
        made(made_) {}
};

struct Comment final : StmtOf<StmtKind::thread_Comment> {
  std::string text;
  Comment(SourceLoc l, std::string t) : StmtOf(l), text(std::move(t)) {}
};

enum class Swizzle : std::uint8_t { none = 0, b32 = 1, b64 = 2, b128 = 3 };  // values of CUtensorMapSwizzle

// A TMA descriptor; encoded by the host once for each (pointer, shape). Dimension 0 is innermost.
struct TensorMap {
  std::string name;
  std::uint32_t param = 0;  // pointer parameter
  DType type = DType::f16;
  const Expr* base_offset = nullptr;       // host-computable, i64 elements from the parameter's pointer
  std::vector<const Expr*> dims;           // host-computable, i64, elements
  std::vector<const Expr*> strides_bytes;  // host-computable, i64; one for each dimension but the innermost
  std::vector<std::uint32_t> box;          // elements
  Swizzle swizzle = Swizzle::none;
  SourceLoc loc;       // of the first copy that uses it
  SourceLoc view_loc;  // where its view was made
};

// How far a view of a pointer parameter reaches; the launch checks the caller's buffer against it.
struct ViewExtent {
  std::string name;
  std::uint32_t param = 0;
  DType type = DType::f16;
  std::vector<const Expr*> shape;  // host-computable, i64
  const Expr* elements = nullptr;  // host-computable, i64: one past the last element reached
  SourceLoc loc;
};

// A tile in shared memory, for the simulator's reports and the memory map in the dumps.
struct SharedRegion {
  std::string name;
  std::uint32_t offset = 0;  // bytes from shared_base
  std::uint32_t bytes = 0;
  bool is_barrier = false;
  SourceLoc loc;
  // The index of the element that the byte at this distance from `offset` belongs to; empty where none does. Null: the
  // region has no elements.
  std::function<std::vector<std::int64_t>(std::uint32_t)> index_of = nullptr;
};

struct Kernel {
  std::shared_ptr<Context> context;
  std::string name;
  SourceLoc loc;
  std::vector<Param> params;
  std::array<const Expr*, 3> grid{};  // host-computable, i64
  int warps = 0;
  std::array<int, 3> cluster{1, 1, 1};  // CTAs
  bool dependent_launch = false;        // launched with programmatic stream serialisation
  int ctas_per_sm = 1;  // __launch_bounds__'s second argument: the compiler keeps registers low enough for as many
  std::uint32_t shared_bytes = 0;
  std::vector<TensorMap> tensor_maps;
  std::vector<ViewExtent> views;
  std::vector<SharedRegion> regions;
  std::vector<std::uint32_t> written_params;  // pointer parameters that the kernel stores to
  // Pointers with a view that begins at a place which only the kernel knows, so that it is not among `views`.
  std::vector<std::uint32_t> open_params;
  std::string tile_program;  // text of the tile IR, for the head of the CUDA source
  Block body;
};

}  // namespace tessera::ir::thread
