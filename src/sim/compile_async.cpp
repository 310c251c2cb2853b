// Synchronisation, the asynchronous engines, and the expressions of every statement.
#include <string>

#include "ir/match.hpp"
#include "sim/compiler.hpp"

namespace tessera::sim {
using namespace ir;

void for_each_expr(const Stmt* s, const std::function<void(const Expr*)>& visit) {
  const auto f = [&visit](const Expr* e) {
    if (e != nullptr) visit(e);
  };
  match(s, overloaded{[&](const control::Let& x) { f(x.init); },
                      [&](const control::DeclareVar& x) { f(x.init); },
                      [&](const control::AssignVar& x) { f(x.value); },
                      [&](const control::For& x) { f(x.begin), f(x.end), f(x.step); },
                      [&](const control::If& x) { f(x.condition); },
                      [&](const thread::WriteRegs& x) {
                        f(x.dst.index);
                        for (const Expr* e : x.values) f(e);
                      },
                      [&](const thread::LoadGlobalVector& x) { f(x.dst.index), f(x.offset), f(x.mask); },
                      [&](const thread::StoreGlobalVector& x) { f(x.src.index), f(x.offset), f(x.mask); },
                      [&](const thread::LoadSharedVector& x) { f(x.dst.index), f(x.address), f(x.cta); },
                      [&](const thread::StoreSharedVector& x) { f(x.src.index), f(x.address), f(x.mask), f(x.cta); },
                      [&](const thread::LdMatrix& x) { f(x.dst.index), f(x.address); },
                      [&](const thread::StMatrix& x) { f(x.src.index), f(x.address); },
                      [&](const thread::MmaSync& x) { f(x.d.index), f(x.a.index), f(x.b.index); },
                      [&](const thread::MbarrierInit& x) { f(x.address); },
                      [&](const thread::Wgmma& x) {
                        f(x.d.index), f(x.a_registers.index), f(x.a.low), f(x.b.low), f(x.accumulate);
                      },
                      [&](const thread::MbarrierArrive& x) { f(x.address), f(x.cta); },
                      [&](const thread::MbarrierArriveExpectTx& x) { f(x.address), f(x.bytes); },
                      [&](const thread::MbarrierWait& x) { f(x.address), f(x.parity); },
                      [&](const thread::TmaLoadBox& x) {
                        f(x.destination), f(x.barrier), f(x.multicast);
                        for (const Expr* e : x.coords) f(e);
                      },
                      [&](const thread::TmaStoreBox& x) {
                        f(x.source);
                        for (const Expr* e : x.coords) f(e);
                      },
                      [&](const thread::TmaPrefetchBox& x) {
                        for (const Expr* e : x.coords) f(e);
                      },
                      [&](const thread::SignalFlag& x) { f(x.offset), f(x.value); },
                      [&](const thread::WaitFlag& x) { f(x.offset), f(x.value); },
                      [&](const thread::CheckIndex& x) { f(x.index); },
                      [&](const thread::PrintThread& x) {
                        for (const Expr* e : x.args) f(e);
                      },
                      [](const Stmt&) {}});
}

void Compiler::barrier_instruction(const Stmt* s) {
  Operands operands;
  const auto address = [&](const Expr* e) { operands.address = evaluate_lanes(e); };
  match(s, overloaded{[&](const thread::BarrierSync&) { emit(Op::barrier, s); },
                      [&](const thread::BarrierArrive&) { emit(Op::barrier_arrive, s); },
                      [&](const thread::ClusterArrive&) { emit(Op::cluster_arrive, s); },
                      [&](const thread::ClusterWait&) { emit(Op::cluster_wait, s); },
                      [&](const thread::GridDependency&) { emit(Op::nothing, s); },
                      [&](const thread::SetMaxRegisters&) { emit(Op::set_registers, s); },
                      [&](const thread::WarpSync&) { emit(Op::warp_sync, s); },
                      [&](const thread::Fence&) { emit(Op::fence, s); },
                      [&](const thread::CheckIndex& x) {
                        operands.value = evaluate_lanes(x.index);
                        emit(Op::check_index, s, std::move(operands));
                      },
                      [&](const thread::MbarrierInit& x) {
                        address(x.address);
                        emit(Op::mbarrier_init, s, std::move(operands));
                      },
                      [&](const thread::MbarrierArrive& x) {
                        address(x.address);
                        if (x.cta != nullptr) operands.cta = evaluate_lanes(x.cta);
                        emit(Op::mbarrier_arrive, s, std::move(operands));
                      },
                      [&](const thread::MbarrierArriveExpectTx& x) {
                        address(x.address);
                        operands.value = evaluate_lanes(x.bytes);
                        emit(Op::mbarrier_expect, s, std::move(operands));
                      },
                      [&](const thread::MbarrierWait& x) {
                        address(x.address);
                        operands.value = evaluate_lanes(x.parity);
                        emit(Op::mbarrier_wait, s, std::move(operands));
                      },
                      [&](const thread::SignalFlag& x) {
                        address(x.offset);
                        operands.value = evaluate_lanes(x.value);
                        emit(Op::signal_flag, s, std::move(operands)).a = x.param;
                      },
                      [&](const thread::WaitFlag& x) {
                        address(x.offset);
                        operands.value = evaluate_lanes(x.value);
                        emit(Op::wait_flag, s, std::move(operands)).a = x.param;
                        program_.waits_for_flags = true;
                      },
                      [&](const thread::PrintThread& x) {
                        for (const Expr* e : x.args) {
                          operands.list.push_back(evaluate_lanes(e));
                          operands.types.push_back(e->type);
                        }
                        program_.prints = true;
                        emit(Op::print, s, std::move(operands));
                      },
                      [&](const Stmt&) { copy_instruction(s); }});
}

void Compiler::copy_instruction(const Stmt* s) {
  Operands operands;
  const auto coordinates = [&](const std::vector<const Expr*>& coords) {
    for (const Expr* e : coords) operands.list.push_back(evaluate_lanes(e));
  };
  match(s, overloaded{[&](const thread::TmaLoadBox& x) {
                        operands.address = evaluate_lanes(x.destination);
                        operands.value = evaluate_lanes(x.barrier);
                        if (x.multicast != nullptr) operands.mask = evaluate_lanes(x.multicast);
                        coordinates(x.coords);
                        emit(Op::tma_load, s, std::move(operands)).a = x.map;
                      },
                      [&](const thread::TmaStoreBox& x) {
                        operands.address = evaluate_lanes(x.source);
                        coordinates(x.coords);
                        emit(Op::tma_store, s, std::move(operands)).a = x.map;
                      },
                      [&](const thread::TmaPrefetchBox& x) {
                        coordinates(x.coords);
                        emit(Op::tma_prefetch, s, std::move(operands)).a = x.map;
                      },
                      [&](const thread::TmaCommit&) { emit(Op::tma_commit, s); },
                      [&](const thread::TmaWait&) { emit(Op::tma_wait, s); },
                      [&](const thread::PrefetchTensorMap&) { emit(Op::nothing, s); },
                      [&](const Stmt&) { wgmma_instruction(s); }});
}

// An array that wgmma reads or writes is followed element by element: no other instruction may touch it meanwhile.
void Compiler::follow(const RegArray* array) {
  registers(array);
  RegInfo& info = program_.regs[array->id];
  if (info.tracked != no_slot) return;
  info.tracked = program_.tracked_count;
  program_.tracked_count += array->size;
}

void Compiler::wgmma_instruction(const Stmt* s) {
  match(s, overloaded{[&](const thread::WgmmaFence&) { emit(Op::wgmma_fence, s); },
                      [&](const thread::WgmmaCommit&) { emit(Op::wgmma_commit, s); },
                      [&](const thread::WgmmaWait&) { emit(Op::wgmma_wait, s); },
                      [&](const thread::Wgmma& x) {
                        Operands operands;
                        operands.d = place(x.d);
                        follow(x.d.array);
                        if (x.a_registers.array != nullptr) {
                          operands.a = place(x.a_registers);
                          follow(x.a_registers.array);
                        } else {
                          operands.address = evaluate_lanes(x.a.low);
                        }
                        operands.value = evaluate_lanes(x.b.low);
                        if (x.accumulate != nullptr) operands.mask = evaluate_lanes(x.accumulate);
                        emit(Op::wgmma, s, std::move(operands));
                      },
                      [&](const Stmt& x) {
                        throw Error(ErrorKind::internal, x.loc,
                                    std::string("the thread IR holds a ") + ir::name_of(x.kind) +
                                        " statement, which only the tile IR has");
                      }});
}

}  // namespace tessera::sim
