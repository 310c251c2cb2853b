// mbarriers.
#include "lower/lowering.hpp"

namespace tessera::lower {

using namespace ir;  // NOLINT(google-build-using-namespace)

void lower_arrive(Lowering& l, const tile::ArriveBarrier& s) {
  const Expr* cta = s.cta == nullptr ? nullptr : l.x.cast(DType::u32, s.cta);
  l.emit<thread::MbarrierArrive>(s.loc, l.barrier_address(s.barrier), static_cast<std::uint32_t>(s.count), cta);
}

void lower_arrive_expect_tx(Lowering& l, const tile::ArriveExpectTx& s) {
  l.emit<thread::MbarrierArriveExpectTx>(s.loc, l.barrier_address(s.barrier), s.bytes);
}

void lower_wait(Lowering& l, const tile::WaitBarrier& s) {
  auto* wait = l.emit<thread::MbarrierWait>(s.loc, l.barrier_address(s.barrier), s.phase);
  wait->cluster = l.remote_arrivals[s.barrier.array->id];
}

}  // namespace tessera::lower
