// The interpreter's loop: expressions, variables, control flow.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "sim/cluster.hpp"

namespace tessera::sim {

namespace {

// The integer in a lane (or the scalar) of a slot, sign- or zero-extended; unsigned 64-bit numbers keep their bits.
std::int64_t integer_at(const Warp& warp, std::uint32_t slot, DType type, std::size_t lane) {
  if (size_of(type) == 8) return warp.at<std::int64_t>(slot)[lane];
  if (is_signed(type)) return warp.at<std::int32_t>(slot)[lane];
  return warp.at<std::uint32_t>(slot)[lane];
}

void set_integer(const Warp& warp, std::uint32_t slot, DType type, std::size_t lane, std::int64_t value) {
  if (size_of(type) == 8) {
    warp.at<std::int64_t>(slot)[lane] = value;
  } else {
    warp.at<std::uint32_t>(slot)[lane] = static_cast<std::uint32_t>(value);
  }
}

bool less(DType type, std::int64_t a, std::int64_t b) {
  return type == DType::u64 ? static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b) : a < b;
}

// value + step < end, without wrapping.
bool count_up(DType type, std::int64_t* value, std::int64_t step, std::int64_t end) {
  if (type == DType::u64) {
    std::uint64_t next = 0;
    if (__builtin_add_overflow(static_cast<std::uint64_t>(*value), static_cast<std::uint64_t>(step), &next))
      return false;
    if (next >= static_cast<std::uint64_t>(end)) return false;
    *value = static_cast<std::int64_t>(next);
    return true;
  }
  std::int64_t next = 0;
  if (__builtin_add_overflow(*value, step, &next) || next >= end) return false;
  *value = next;
  return true;
}

std::uint32_t true_lanes(const std::uint32_t* lanes) {
  std::uint32_t mask = 0;
  for (int i = 0; i < warp_lanes; ++i) mask |= (lanes[i] != 0 ? 1U : 0U) << i;
  return mask;
}

}  // namespace

void Cta::if_lanes(Warp& warp, const Instr& in) {
  const std::uint32_t condition = true_lanes(warp.at<std::uint32_t>(in.a));
  ControlFrame& frame = warp.stack[static_cast<std::size_t>(warp.depth++)];
  frame.outer = warp.active;
  frame.other = warp.active & ~condition;
  warp.active &= condition;
  warp.pc = warp.active == 0 ? in.target : warp.pc + 1;
}

void Cta::end_if(Warp& warp, const Instr& in) {
  warp.active = warp.stack[static_cast<std::size_t>(--warp.depth)].outer;
  if (warp.loop >= 0) {
    const ControlFrame& loop = warp.stack[static_cast<std::size_t>(warp.loop)];
    warp.active &= ~(loop.other | loop.next);
  }
  warp.pc = warp.active == 0 ? in.target : warp.pc + 1;
}

void Cta::begin_loop(Warp& warp, const Instr& in) {
  const std::uint32_t outer = warp.active;
  const bool counted = in.a != no_slot;
  const auto enters = [&](std::size_t lane) {
    const std::int64_t step = integer_at(warp, in.c, in.type, lane);
    if (step == 0 || (is_signed(in.type) && step < 0)) {
      fail(Hazard::misuse, site(warp, in, in.lane_loop ? static_cast<int>(lane) : -1),
           fmt::format("a range's step is {}; it must be positive", step));
    }
    const std::int64_t begin = integer_at(warp, in.a, in.type, lane);
    set_integer(warp, in.dst, in.type, lane, begin);
    return less(in.type, begin, integer_at(warp, in.b, in.type, lane));
  };
  if (counted && in.lane_loop) {
    for (std::size_t lane = 0; lane < warp_lanes; ++lane) {
      if ((outer >> lane & 1U) != 0 && !enters(lane)) warp.active &= ~(1U << lane);
    }
  } else if (counted && !enters(0)) {
    warp.active = 0;
  }
  if (warp.active == 0) {
    warp.active = outer;
    warp.pc = in.target;
    return;
  }
  ControlFrame& frame = warp.stack[static_cast<std::size_t>(warp.depth)];
  frame.outer = outer;
  frame.other = outer & ~warp.active;
  frame.next = 0;
  frame.outer_loop = warp.loop;
  frame.stmt = in.stmt;
  frame.iteration = 0;
  warp.loop = warp.depth++;
  ++warp.pc;
}

void Cta::next_iteration(Warp& warp, const Instr& in) {
  ControlFrame& frame = warp.stack[static_cast<std::size_t>(warp.loop)];
  frame.next = 0;
  std::uint32_t going = frame.outer & ~frame.other;
  if (in.a != no_slot && going != 0) {
    for (std::size_t lane = 0; lane < (in.lane_loop ? warp_lanes : 1U); ++lane) {
      if (in.lane_loop && (going >> lane & 1U) == 0) continue;
      std::int64_t value = integer_at(warp, in.dst, in.type, lane);
      const bool more =
          count_up(in.type, &value, integer_at(warp, in.c, in.type, lane), integer_at(warp, in.b, in.type, lane));
      if (more) set_integer(warp, in.dst, in.type, lane, value);
      if (!more) going &= in.lane_loop ? ~(1U << lane) : 0U;
    }
  }
  if (going != 0) {
    frame.other = frame.outer & ~going;
    ++frame.iteration;
    warp.active = going;
    warp.pc = in.target;
    return;
  }
  warp.active = frame.outer;
  warp.depth = warp.loop;
  warp.loop = frame.outer_loop;
  ++warp.pc;
}

void Cta::leave(Warp& warp, const Instr& in) {
  ControlFrame& loop = warp.stack[static_cast<std::size_t>(warp.loop)];
  (in.op == Op::leave ? loop.other : loop.next) |= warp.active;
  warp.active = 0;
  warp.pc = in.target;
}

void Cta::check_divisor(const Warp& warp, const Instr& in) const {
  for (int lane = 0; lane < (in.lanes ? warp_lanes : 1); ++lane) {
    if (in.lanes && (warp.active >> lane & 1U) == 0) continue;
    if (integer_at(warp, in.b, in.type, static_cast<std::size_t>(lane)) == 0) {
      fail(Hazard::misuse, site(warp, in, in.lanes ? lane : -1), "integer division by zero",
           "guard the statement with when(divisor != 0); select evaluates both of its values");
    }
  }
}

void Cta::check_shift(const Warp& warp, const Instr& in) const {
  const int width = 8 * size_of(in.type);
  for (int lane = 0; lane < (in.lanes ? warp_lanes : 1); ++lane) {
    if (in.lanes && (warp.active >> lane & 1U) == 0) continue;
    const std::int64_t n = integer_at(warp, in.b, in.type, static_cast<std::size_t>(lane));
    if (n < 0 || n >= width) {
      fail(Hazard::misuse, site(warp, in, in.lanes ? lane : -1),
           fmt::format("shift of a {} by {}; 0 to {} are possible", name_of(in.type), n, width - 1),
           "bound the shift distance");
    }
  }
}

// elect.sync prefers the same lane every time for the same set of lanes; which one is up to the hardware.
void Cta::elect(Warp& warp, const Instr& in) const {
  auto* lanes = warp.at<std::uint32_t>(in.dst);
  std::memset(lanes, 0, 4 * warp_lanes);
  for (int i = 0; i < warp_lanes; ++i) {
    const int lane = (warp.elected + i) % warp_lanes;
    if ((warp.active >> lane & 1U) == 0) continue;
    lanes[lane] = 1;
    return;
  }
}

void Cta::set_lanes(Warp& warp, const Instr& in) const {
  const std::size_t size = size_of(in.type) == 8 ? 8 : 4;
  std::byte* dst = warp.frame + in.dst;
  const std::byte* src = warp.frame + in.a;
  if (warp.active == full_mask) {
    if (dst != src) std::memcpy(dst, src, size * warp_lanes);
    return;
  }
  for (std::size_t lane = 0; lane < warp_lanes; ++lane) {
    if ((warp.active >> lane & 1U) != 0) std::memmove(dst + lane * size, src + lane * size, size);
  }
}

void Cta::fence(Warp& warp, const Instr& in) {
  const bool proxy = static_cast<const ir::thread::Fence*>(in.stmt)->fence != ir::thread::FenceKind::mbarrier_init;
  if (proxy) memory_.fence(warp.index, warp.active);
  if (order_ == nullptr) return;
  proxy ? order_->fence_proxy(place_, warp.index, warp.active) : order_->fence_init(place_, warp.index, warp.active);
}

bool Cta::statement(Warp& warp, const Instr& in) {
  switch (in.op) {
    case Op::declare_regs: declare_regs(warp, in); break;
    case Op::write_regs: write_regs(warp, in); break;
    case Op::load_global:
    case Op::store_global: access_global(warp, in); break;
    case Op::load_shared:
    case Op::store_shared: access_shared(warp, in); break;
    case Op::ldmatrix: ldmatrix(warp, in); break;
    case Op::stmatrix: stmatrix(warp, in); break;
    case Op::mma: mma(warp, in); break;
    case Op::barrier: {
      const auto& barrier = *static_cast<const ir::thread::BarrierSync*>(in.stmt);
      return named_barrier(warp, in, barrier.id, barrier.threads, true);
    }
    case Op::barrier_arrive: {
      const auto& barrier = *static_cast<const ir::thread::BarrierArrive*>(in.stmt);
      return named_barrier(warp, in, barrier.id, barrier.threads, false);
    }
    case Op::warp_sync: warp_sync(warp, in); break;
    case Op::mbarrier_init:
    case Op::mbarrier_arrive:
    case Op::mbarrier_expect: mbarrier_update(warp, in); break;
    case Op::mbarrier_wait:
      warp.waiting_lanes = warp.active;
      warp.waiting_since = ~0ULL;
      return wait_in(warp, WarpState::at_mbarrier, mbarrier_wait(warp, in));
    case Op::fence: fence(warp, in); break;
    case Op::check_index: check_index(warp, in); break;
    case Op::print: print(warp, in); break;
    default: return async_statement(warp, in);
  }
  return true;
}

bool Cta::async_statement(Warp& warp, const Instr& in) {
  switch (in.op) {
    case Op::wgmma_fence: wgmma_fence(warp, in); break;
    case Op::wgmma: wgmma(warp, in); break;
    case Op::wgmma_commit:
      require_whole_warp(warp, in, "wgmma.commit_group");
      ++warp.wgmma_groups;
      break;
    case Op::wgmma_wait: return wait_in(warp, WarpState::at_wgmma, wgmma_wait(warp, in));
    case Op::signal_flag: signal_flag(warp, in); break;
    case Op::wait_flag: warp.waiting_lanes = warp.active; return wait_in(warp, WarpState::at_flag, wait_flag(warp, in));
    case Op::set_registers: return wait_in(warp, WarpState::at_registers, set_registers(warp, in));
    case Op::tma_load: tma_load(warp, in); break;
    case Op::tma_store: tma_store(warp, in); break;
    case Op::tma_commit:
      for (std::uint32_t lanes = warp.active; lanes != 0; lanes &= lanes - 1) {
        stores_.commit(warp.index * warp_lanes + std::countr_zero(lanes));
      }
      break;
    case Op::tma_wait: return wait_in(warp, WarpState::at_bulk, bulk_wait(warp, in));
    case Op::tma_prefetch:
      check_coordinates(site(warp, in), program_.maps[in.a], operands(in).list.size(), "prefetch");
      break;
    case Op::cluster_arrive: cluster_arrive(warp, in); break;
    case Op::cluster_wait: return wait_in(warp, WarpState::at_cluster, cluster_wait(warp, in));
    case Op::nothing: break;
    default: fail_internal(site(warp, in), "an instruction that the interpreter does not know");
  }
  return true;
}

// Nothing that the engines still read may be given up.
void Cta::end(Warp& warp, const Instr& in) {
  stores_.check_end(site(warp, in));
  if (!warp.wgmmas.empty()) {
    const PendingWgmma& pending = warp.wgmmas.front();
    const bool committed = pending.group < warp.wgmma_groups;
    fail(Hazard::wgmma, site(warp, *pending.instr),
         fmt::format("warp {} ends {} this wgmma, so it may still read shared memory that the block has given up",
                     warp.index, committed ? "without waiting for" : "without committing"),
         committed ? "wait for its group with wgmma.wait_group(0)"
                   : "commit it to a group (wgmma.commit_group) and wait for the group");
  }
  warp.state = WarpState::done;
  cluster_.warp_ended(place_);
}

namespace {

// What another warp may be waiting for, or what another order of warps may turn out differently for.
bool is_noticed(Op op) {
  switch (op) {
    case Op::barrier:
    case Op::barrier_arrive:
    case Op::mbarrier_init:
    case Op::mbarrier_arrive:
    case Op::mbarrier_expect:
    case Op::mbarrier_wait:
    case Op::tma_load:
    case Op::tma_store:
    case Op::cluster_arrive:
    case Op::cluster_wait:
    case Op::set_registers:
    case Op::signal_flag:
    case Op::wait_flag: return true;
    default: return false;
  }
}

}  // namespace

void Cta::execute(Warp& warp, std::uint64_t budget, bool to_sync) {
  const Instr* code = program_.code.data();
  const std::uint64_t last = budget > ~0ULL - warp.statements ? ~0ULL : warp.statements + budget;
  while (warp.statements < last) {
    const Instr& in = code[warp.pc];
    std::byte* f = warp.frame;
    switch (in.op) {
      case Op::eval_div: check_divisor(warp, in); [[fallthrough]];
      case Op::eval_shift:
        if (in.op == Op::eval_shift) check_shift(warp, in);
        [[fallthrough]];
      case Op::eval: in.fn(f + in.dst, f + in.a, f + in.b, f + in.c); break;
      case Op::elect: elect(warp, in); break;
      case Op::read_reg:
      case Op::check_reg: read_reg(warp, in); break;
      case Op::set_scalar: std::memmove(f + in.dst, f + in.a, 8); break;
      case Op::set_lanes: set_lanes(warp, in); break;
      case Op::if_scalar:
        ++warp.statements;
        warp.pc = *warp.at<std::uint32_t>(in.a) != 0 ? warp.pc + 1 : in.target;
        continue;
      case Op::if_lanes:
        ++warp.statements;
        if_lanes(warp, in);
        continue;
      case Op::else_scalar: warp.pc = in.target; continue;
      case Op::else_lanes:
        warp.active = warp.stack[static_cast<std::size_t>(warp.depth - 1)].other;
        warp.pc = warp.active == 0 ? in.target : warp.pc + 1;
        continue;
      case Op::end_if: end_if(warp, in); continue;
      case Op::rejoin: warp.pc = warp.active == 0 ? in.target : warp.pc + 1; continue;
      case Op::loop_begin: begin_loop(warp, in); continue;
      case Op::loop_next:
        ++warp.statements;
        next_iteration(warp, in);
        continue;
      case Op::leave:
      case Op::next: leave(warp, in); continue;
      case Op::end: return end(warp, in);
      default:
        ++warp.statements;
        if (!statement(warp, in)) return;
        if (!to_sync || !is_noticed(in.op)) break;
        ++warp.pc;
        return;
    }
    ++warp.pc;
  }
}

}  // namespace tessera::sim
