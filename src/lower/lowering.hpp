// The state of lowering one tile kernel to the thread IR, and what the instruction families share. Each family has a
// file of its own (compute, global, shared, dot, tma, control) with one function an instruction; `Lowering::statement`
// dispatches over all kinds, so that an instruction without a lowering does not compile.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/match.hpp"
#include "tessera/core/error.hpp"

namespace tessera::lower {

class Lowering {
 public:
  Lowering(ir::tile::Kernel& kernel, std::vector<Diagnostic>& remarks);

  void block(const ir::Block& statements, ir::Block& into);
  void statement(ir::Stmt* s);

  template <class T, class... Args>
  T* emit(SourceLoc loc, Args&&... args) {
    T* node = context.arena.make<T>(loc, std::forward<Args>(args)...);
    current->push_back(node);
    return node;
  }
  void comment(SourceLoc loc, std::string text) { emit<ir::thread::Comment>(loc, std::move(text)); }

  // Emits a Let and returns its value, with the expression's bounds; leaves are returned as they are.
  const ir::Expr* let(SourceLoc loc, std::string name, const ir::Expr* e);
  // body(r) for r = 0, step, 2 step, ... < count as an unrolled loop; called once with 0 where one round is enough.
  void for_each_register(SourceLoc loc, std::int64_t count, std::int64_t step,
                         const std::function<void(const ir::Expr*)>& body);
  // Statements emitted by `body` stand under `condition` (null: always).
  void when(SourceLoc loc, const ir::Expr* condition, const std::function<void()>& body);

  // The registers of a tensor, declared here if they are not yet.
  const ir::RegArray* registers(const ir::tile::RegisterTensor* t, SourceLoc loc);
  void alias(const ir::tile::RegisterTensor* t, const ir::RegArray* array) { arrays_[t->id] = array; }

  const ir::Expr* lane();
  const ir::Expr* warp();
  const ir::Expr* thread();           // in the CTA
  const ir::Expr* thread_in_group();  // 0 .. group.count - 1
  const ir::Expr* warp_in_group();
  const ir::Expr* shared(std::int64_t offset);  // u32 address of a byte of the plan
  // u32 address of the element `index` of a view, by the layout of its tensor.
  const ir::Expr* element_address(const ir::tile::SharedView& view, const std::vector<const ir::Expr*>& index);
  const ir::Expr* barrier_address(const ir::tile::BarrierRef& barrier);
  // True in the first thread of the current group; null if the group is one thread.
  const ir::Expr* first_thread();

  ir::tile::Kernel& kernel;
  ir::Context& context;
  ir::ExprPool& x;
  std::vector<Diagnostic>& remarks;
  ir::thread::Kernel out;
  ir::tile::Group group;
  ir::Block* current = nullptr;
  // By tensor id: the load that a dot fetches fragment by fragment (through transposes).
  std::vector<const ir::tile::LoadShared*> streamed;
  std::vector<int> registers_now;              // of a thread of each warpgroup, where lowering stands
  std::vector<const ir::tile::Wgmma*> wgmmas;  // of the kernel, in order
  std::vector<ir::tile::Group> wgmma_groups;   // of each of them
  std::vector<bool> remote_arrivals;           // by barrier array: other CTAs arrive at it
  bool shares_barriers = false;                // other CTAs of the cluster arrive at barriers, or copy what these count
  bool stores_in_peers = false;                // in shared memory of other blocks of the cluster

 private:
  void prologue();
  void epilogue_facts();

  std::vector<const ir::RegArray*> arrays_;
  int hardware_barrier(int begin, int count, SourceLoc loc);

  std::vector<std::pair<int, int>>
      hardware_barriers_;  // (first thread, count) of the ids 1, 2, ...; (-1, id) for named
  friend void lower_sync(Lowering& l, const ir::tile::Sync& s);
  friend void lower_named_sync(Lowering& l, const ir::tile::NamedBarrierSync& s);
  friend void lower_named_arrive(Lowering& l, const ir::tile::NamedBarrierArrive& s);
  friend ir::thread::Kernel lower_kernel(ir::tile::Kernel& kernel, std::uint32_t shared_bytes,
                                         std::vector<ir::thread::SharedRegion> regions,
                                         std::vector<Diagnostic>& remarks);
};

// The whole kernel; layouts and the shared-memory plan are in place.
ir::thread::Kernel lower_kernel(ir::tile::Kernel& kernel, std::uint32_t shared_bytes,
                                std::vector<ir::thread::SharedRegion> regions, std::vector<Diagnostic>& remarks);

// Families. control.cpp
void lower_group(Lowering& l, const ir::tile::ThreadGroup& s);
void lower_sync(Lowering& l, const ir::tile::Sync& s);
void lower_print(Lowering& l, const ir::tile::Print& s);
void lower_print_tensor(Lowering& l, const ir::tile::PrintTensor& s);
// compute.cpp
void lower_compute(Lowering& l, const ir::tile::Compute& s);
void lower_transpose(Lowering& l, const ir::tile::Transpose& s);
void lower_slice(Lowering& l, const ir::tile::Slice& s);
void lower_convert(Lowering& l, const ir::tile::ConvertLayout& s);
// global.cpp
void lower_load_global(Lowering& l, const ir::tile::LoadGlobal& s);
void lower_store_global(Lowering& l, const ir::tile::StoreGlobal& s);
void lower_signal_flag(Lowering& l, const ir::tile::SignalFlag& s);
void lower_wait_flag(Lowering& l, const ir::tile::WaitFlag& s);
// shared.cpp
void lower_load_shared(Lowering& l, const ir::tile::LoadShared& s);
void lower_store_shared(Lowering& l, const ir::tile::StoreShared& s);
// dot.cpp
void lower_dot(Lowering& l, const ir::tile::Dot& s);
// wgmma.cpp
void lower_wgmma(Lowering& l, const ir::tile::Wgmma& s);
void lower_wgmma_wait(Lowering& l, const ir::tile::WgmmaWait& s);
// control.cpp
void lower_named_sync(Lowering& l, const ir::tile::NamedBarrierSync& s);
void lower_named_arrive(Lowering& l, const ir::tile::NamedBarrierArrive& s);
void lower_set_registers(Lowering& l, const ir::tile::SetRegisters& s);
// tma.cpp
void lower_arrive(Lowering& l, const ir::tile::ArriveBarrier& s);
void lower_arrive_expect_tx(Lowering& l, const ir::tile::ArriveExpectTx& s);
void lower_wait(Lowering& l, const ir::tile::WaitBarrier& s);
// tma_copies.cpp
void lower_tma_load(Lowering& l, const ir::tile::TmaLoad& s);
void lower_tma_store(Lowering& l, const ir::tile::TmaStore& s);
void lower_tma_prefetch(Lowering& l, const ir::tile::TmaPrefetch& s);

}  // namespace tessera::lower
