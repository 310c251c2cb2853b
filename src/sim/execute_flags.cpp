// Flags in global memory, by which blocks hand work to each other.
#include <atomic>
#include <bit>

#include "sim/cta.hpp"

namespace tessera::sim {

namespace {

constexpr std::uint32_t flag_bytes = sizeof(std::uint32_t);

// Blocks that only signal run side by side on host threads.
std::atomic_ref<std::uint32_t> flag_at(std::byte* p) { return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(p)); }

}  // namespace

void Cta::signal_flag(Warp& warp, const Instr& in) {
  const Operands& ops = operands(in);
  const auto& stmt = *static_cast<const ir::thread::SignalFlag*>(in.stmt);
  const Access by = access(warp, in, warp.active);
  for (std::uint32_t lanes = warp.active; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const std::int64_t element = warp.at<std::int64_t>(ops.address)[lane];
    const std::uint32_t value = warp.at<std::uint32_t>(ops.value)[lane];
    auto flag = flag_at(memory_.locate_global(by, lane, in.a, element, flag_bytes, flag_bytes, true));
    const std::uint32_t before = stmt.add ? flag.fetch_add(value) : flag.exchange(value);
    if (order_ == nullptr) continue;
    const bool no_smaller = (stmt.add ? before + value : value) >= before;
    order_->signal(site(warp, in, lane), in.a, static_cast<std::uint64_t>(element) * flag_bytes, stmt.add, no_smaller);
  }
}

std::uint32_t Cta::flag_now(const Warp& warp, const Instr& in, int lane) const {
  const std::int64_t element = warp.at<std::int64_t>(operands(in).address)[lane];
  return flag_at(
             memory_.locate_global(access(warp, in, 1U << lane), lane, in.a, element, flag_bytes, flag_bytes, false))
      .load();
}

bool Cta::wait_flag(Warp& warp, const Instr& in) {
  const Operands& ops = operands(in);
  const bool at_least = static_cast<const ir::thread::WaitFlag*>(in.stmt)->at_least;
  const auto* element = warp.at<std::int64_t>(ops.address);
  const auto* value = warp.at<std::uint32_t>(ops.value);
  std::uint32_t passed = 0;
  for (std::uint32_t lanes = warp.waiting_lanes; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const std::uint32_t now = flag_now(warp, in, lane);
    if (at_least ? now >= value[lane] : now == value[lane]) passed |= 1U << lane;
  }
  warp.waiting_lanes &= ~passed;
  // Lanes that have seen the same flag learn the same.
  while (order_ != nullptr && passed != 0) {
    const int first = std::countr_zero(passed);
    std::uint32_t same = 0;
    for (int lane = first; lane < warp_lanes; ++lane) same |= (element[lane] == element[first] ? 1U : 0U) << lane;
    same &= passed;
    order_->see_flag(site(warp, in, first), same, in.a, static_cast<std::uint64_t>(element[first]) * flag_bytes,
                     at_least, options_.relaxed_waits);
    passed &= ~same;
  }
  return warp.waiting_lanes == 0;
}

}  // namespace tessera::sim
