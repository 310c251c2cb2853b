// Synchronisation within a block, mbarriers, and printf.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "sim/cta.hpp"

namespace tessera::sim {

// barrier.cta.sync, or arrive where the warp does not wait.
bool Cta::named_barrier(Warp& warp, const Instr& in, int id, int threads, bool waits) {
  require_whole_warp(warp, in, "a block barrier");
  const int block_threads = program_.kernel->warps * warp_lanes;
  if (id < 0 || id > 15 || threads < warp_lanes || threads % warp_lanes != 0 || threads > block_threads) {
    fail(
        Hazard::misuse, site(warp, in),
        fmt::format("barrier {} for {} threads in a block of {}: ids are 0 to 15, the threads whole warps of the block",
                    id, threads, block_threads));
  }
  NamedBarrier& barrier = named_[static_cast<std::size_t>(id)];
  if (barrier.threads != 0 && barrier.threads != threads) {
    const bool waiting = !barrier.warps.empty() && barrier.warps.front() == barrier.first_warp;
    fail(Hazard::misuse, site(warp, in),
         fmt::format("barrier {} is used for {} threads here, while warp {} {} at it for {} threads", id, threads,
                     barrier.first_warp, waiting ? "waits" : "arrived", barrier.threads),
         "give thread groups of different size barriers of their own, or synchronise them first",
         {{loc_of(barrier.first), waiting ? "the other warp waits here" : "the other warp arrived here"}});
  }
  if (barrier.threads == 0) {
    barrier.threads = threads;
    barrier.first = in.stmt;
    barrier.first_warp = warp.index;
  }
  if (order_ != nullptr) order_->named_arrive(place_, id, warp.index);
  barrier.arrived += warp_lanes;
  if (barrier.arrived < threads) {
    if (!waits) return true;
    barrier.warps.push_back(warp.index);
    warp.state = WarpState::at_barrier;
    return false;
  }
  for (const int index : barrier.warps) {
    Warp& other = warps_[static_cast<std::size_t>(index)];
    other.state = WarpState::ready;
    ++other.pc;
  }
  if (order_ != nullptr) {
    if (waits) barrier.warps.push_back(warp.index);
    order_->named_leave(place_, id, barrier.warps);
  }
  barrier = NamedBarrier{};
  return true;
}

void Cta::warp_sync(const Warp& warp, const Instr& in) {
  const std::uint32_t mask = static_cast<const ir::thread::WarpSync*>(in.stmt)->mask;
  if (mask == warp.active) {
    if (order_ != nullptr) order_->warp_sync(place_, warp.index, mask);
    return;
  }
  fail(Hazard::misuse, site(warp, in),
       fmt::format("a warp barrier for lanes {:#010x} is executed by lanes {:#010x}, so they can never meet", mask,
                   warp.active),
       "move it out of the conditional code");
}

void Cta::check_index(const Warp& warp, const Instr& in) const {
  const auto& stmt = *static_cast<const ir::thread::CheckIndex*>(in.stmt);
  const auto* index = warp.at<std::int32_t>(operands(in).value);
  for (std::uint32_t lanes = warp.active; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    if (index[lane] >= 0 && index[lane] < stmt.count) continue;
    fail(Hazard::out_of_bounds, site(warp, in, lane),
         fmt::format("{} {} {}: 0 to {} are possible", stmt.what, index[lane], stmt.where, stmt.count - 1), stmt.help,
         {{stmt.made, "made here"}});
  }
}

void Cta::mbarrier_update(Warp& warp, const Instr& in) {
  const Operands& ops = operands(in);
  const auto* address = warp.at<std::uint32_t>(ops.address);
  for (std::uint32_t lanes = warp.active; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const Site where = site(warp, in, lane);
    if (in.op == Op::mbarrier_init) {
      barriers_.init(where, address[lane], static_cast<const ir::thread::MbarrierInit*>(in.stmt)->count);
    } else if (in.op == Op::mbarrier_arrive) {
      Cta& target = ops.cta == no_slot ? *this : peer(where, warp.at<std::uint32_t>(ops.cta)[lane], "an arrival at");
      target.barriers_.arrive(where, address[lane], static_cast<const ir::thread::MbarrierArrive*>(in.stmt)->count);
    } else {
      barriers_.expect(where, address[lane], warp.at<std::uint32_t>(ops.value)[lane]);
      barriers_.arrive(where, address[lane], 1);
    }
  }
}

bool Cta::mbarrier_wait(Warp& warp, const Instr& in) {
  const Operands& ops = operands(in);
  const auto* address = warp.at<std::uint32_t>(ops.address);
  const auto* parity = warp.at<std::uint32_t>(ops.value);
  std::uint32_t passed = 0;
  for (std::uint32_t lanes = warp.waiting_lanes; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const Site where = site(warp, in, lane);
    const Mbarrier& b = barriers_.at(where, address[lane], "wait");
    if (parity[lane] > 1) {
      fail(Hazard::misuse, where, fmt::format("wait for phase parity {}; a parity is 0 or 1", parity[lane]),
           "flip the phase with phase ^= 1, or take the number of the phase modulo 2");
    }
    if (barriers_.passed(b, parity[lane])) {
      passed |= 1U << lane;
    } else if (warp.waiting_since == ~0ULL) {
      warp.waiting_since = b.phase;
    }
  }
  warp.waiting_lanes &= ~passed;
  if (order_ != nullptr) order_wait(warp, in, passed);
  return warp.waiting_lanes == 0;
}

// Lanes that pass together, on the same barrier, learn the same.
void Cta::order_wait(const Warp& warp, const Instr& in, std::uint32_t lanes) {
  const auto* address = warp.at<std::uint32_t>(operands(in).address);
  while (lanes != 0) {
    const int first = std::countr_zero(lanes);
    std::uint32_t same = 0;
    for (int lane = first; lane < warp_lanes; ++lane) same |= (address[lane] == address[first] ? 1U : 0U) << lane;
    same &= lanes;
    const Site where = site(warp, in, first);
    const Mbarrier& b = barriers_.at(where, address[first], "wait");
    if (!options_.relaxed_waits) order_->wait(b.order, where, same, b.phase);
    lanes &= ~same;
  }
}

namespace {

std::string format_float(float v) { return v != v ? "nan" : fmt::format("{:g}", v); }

float widen(DType type, std::uint32_t raw) {
  float value = 0;
  scalar_ops().cast[static_cast<int>(type)][static_cast<int>(DType::f32)](&value, &raw, nullptr, nullptr);
  return value;
}

std::string format_value(DType type, const std::byte* slot, int lane) {
  std::uint64_t raw = 0;
  const std::size_t size = size_of(type) == 8 ? 8 : 4;
  std::memcpy(&raw, slot + static_cast<std::size_t>(lane) * size, size);
  switch (type) {
    case DType::f16:
    case DType::bf16:
    case DType::f32:
    case DType::f8e4m3:
    case DType::f8e5m2: return format_float(widen(type, static_cast<std::uint32_t>(raw)));
    case DType::i64: return fmt::format("{}", static_cast<std::int64_t>(raw));
    case DType::i8:
    case DType::i16:
    case DType::i32: return fmt::format("{}", static_cast<std::int32_t>(raw));
    default: return fmt::format("{}", raw);
  }
}

}  // namespace

void Cta::print(Warp& warp, const Instr& in) {
  const Operands& ops = operands(in);
  const auto& stmt = *static_cast<const ir::thread::PrintThread*>(in.stmt);
  for (std::uint32_t lanes = warp.active; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    std::string text = stmt.pieces.empty() ? std::string() : stmt.pieces.front();
    for (std::size_t i = 0; i < ops.list.size(); ++i) {
      text += format_value(ops.types[i], warp.frame + ops.list[i], lane);
      if (i + 1 < stmt.pieces.size()) text += stmt.pieces[i + 1];
    }
    output_.push_back(std::move(text));
  }
}

}  // namespace tessera::sim
