// A block's start, its waits, and the steps of its asynchronous engines.
#include "sim/cta.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "ir/register_file.hpp"
#include "sim/cluster.hpp"

namespace tessera::sim {

namespace {

constexpr std::size_t named_barriers = 16;

}  // namespace

Cta::Cta(const Program& program, const Options& options, Cluster& cluster, Order* order, int place)
    : program_(program),
      options_(options),
      cluster_(cluster),
      order_(order),
      place_(place),
      rank_(place % static_cast<int>(program.cluster_size())),
      memory_(program, options.check_proxy_handover, order),
      barriers_(*program.kernel, memory_, order),
      tma_(program, memory_, barriers_, order),
      stores_(program, memory_, order),
      valid_(static_cast<std::size_t>(program.kernel->warps) * program.valid_count),
      uses_(static_cast<std::size_t>(program.kernel->warps) * program.tracked_count),
      warps_(static_cast<std::size_t>(program.kernel->warps)),
      warpgroups_((static_cast<std::size_t>(program.kernel->warps) + 3) / 4),
      named_(named_barriers) {
  block_.kernel = program.kernel;
  block_.rank = rank_;
  block_.place = place;
  if (order != nullptr) order->attach(place, &block_, &warps_);
  const std::size_t frame = program.frame_bytes;
  frames_.reset(static_cast<std::byte*>(::operator new[](frame* warps_.size(), std::align_val_t{64})));
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    Warp& warp = warps_[i];
    warp.index = static_cast<int>(i);
    warp.frame = frames_.get() + i * frame;
    warp.valid = valid_.data() + i * program.valid_count;
    warp.uses = uses_.data() + i * program.tracked_count;
    warp.stack.resize(program.depth);
    std::memcpy(warp.frame, program.image.data(), frame);
    *warp.at<std::uint32_t>(program.warp_idx_slot) = static_cast<std::uint32_t>(i);
    *warp.at<std::uint32_t>(program.cluster_rank_slot) = static_cast<std::uint32_t>(rank_);
    for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
      warp.at<std::uint32_t>(program.thread_idx_slot)[lane] = static_cast<std::uint32_t>(i) * warp_lanes + lane;
    }
  }
}

void Cta::begin(const std::array<std::int64_t, 3>& index) {
  block_.index = index;
  memory_.begin(&block_);
  barriers_.begin(&block_);
  tma_.begin();
  stores_.begin();
  named_.assign(named_barriers, NamedBarrier{});
  warpgroups_.assign(warpgroups_.size(), Warpgroup{});
  output_.clear();
  register_pool_ = 0;
  std::fill(valid_.begin(), valid_.end(), 0U);
  std::fill(uses_.begin(), uses_.end(), RegisterUse{});
  const ir::thread::Kernel& kernel = *program_.kernel;
  const int registers = ir::launch_registers(warp_lanes * kernel.warps, std::max(1, kernel.ctas_per_sm));
  for (Warp& warp : warps_) {
    warp.restart();
    warp.registers = registers;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      *warp.at<std::int32_t>(program_.block_idx_slots[axis]) = static_cast<std::int32_t>(block_.index[axis]);
    }
  }
}

void Cta::hold_back() {
  for (Warp& warp : warps_) warp.state = WarpState::unplaced;
}

void Cta::place_block() {
  for (Warp& warp : warps_) warp.state = WarpState::ready;
}

std::uint64_t Cta::statements() const {
  std::uint64_t n = 0;
  for (const Warp& warp : warps_) n += warp.statements;
  return n;
}

bool Cta::all_done() const {
  return std::all_of(warps_.begin(), warps_.end(), [](const Warp& w) { return w.state == WarpState::done; });
}

// A wait is looked at here and not when the phase completes: a warp may be held up for as long as the hardware likes,
// and one that then finds the barrier two phases on waits for the wrong one.
bool Cta::ready(Warp& warp) {
  const auto passed = [&] {
    const Instr& in = program_.code[warp.pc];
    switch (warp.state) {
      case WarpState::at_mbarrier: return mbarrier_wait(warp, in);
      case WarpState::at_wgmma: return wgmma_wait(warp, in);
      case WarpState::at_bulk: return bulk_wait(warp, in);
      case WarpState::at_cluster: return cluster_wait(warp, in);
      case WarpState::at_registers: return set_registers(warp, in);
      case WarpState::at_flag: return wait_flag(warp, in);
      default: return false;
    }
  };
  if (warp.state != WarpState::ready && passed()) {
    warp.state = WarpState::ready;
    ++warp.pc;
  }
  return warp.state == WarpState::ready;
}

bool Cta::wait_in(Warp& warp, WarpState state, bool passed) {
  if (!passed) warp.state = state;
  return passed;
}

// Another block's copies may land only while this one runs.
void Cta::land(std::size_t index, std::uint32_t rows) {
  const TmaCopy& copy = tma_.queue()[index];
  if (copy.site.block != &block_ && all_done()) {
    fail(Hazard::cluster, copy.site,
         fmt::format("the multicast copy of {} lands in {}, which has ended", line_of(copy.site.stmt),
                     describe({&block_, nullptr, -1, -1})),
         "let no block of the cluster end before its peers have stopped sending: wait for every copy, or synchronise "
         "the cluster at the end of the kernel");
  }
  tma_.land(index, rows);
}

std::size_t Cta::operations() {
  std::size_t n = tma_.queue().size() + stores_.unfinished();
  for (const Warp& warp : warps_) n += !warp.wgmmas.empty() && !warp.wgmmas.back().executed ? 1 : 0;
  return n;
}

void Cta::advance(std::size_t index, Random& random) {
  const auto& queue = tma_.queue();
  const auto piece = [&](std::uint32_t rest) { return random.below(2) == 0 ? rest : 1 + random.below(rest); };
  if (index < queue.size()) return land(index, piece(queue[index].rows() - queue[index].landed));
  index -= queue.size();
  if (index < stores_.unfinished()) return stores_.advance(index, piece(256));
  index -= stores_.unfinished();
  for (Warp& warp : warps_) {
    if (warp.wgmmas.empty() || warp.wgmmas.back().executed || index-- != 0) continue;
    execute_next_wgmma(warp);
    return;
  }
}

// Address of the barrier that the warp's first waiting lane waits on.
std::uint32_t Cta::waiting_barrier(const Warp& warp) const {
  const Operands& ops = operands(program_.code[warp.pc]);
  return warp.at<std::uint32_t>(ops.address)[std::countr_zero(warp.waiting_lanes)];
}

bool Cta::advance_for(Warp& warp) {
  const Instr& in = program_.code[warp.pc];
  if (warp.state == WarpState::at_wgmma) return execute_next_wgmma(warp);
  if (warp.state == WarpState::at_bulk) {
    const auto& wait = *static_cast<const ir::thread::TmaWait*>(in.stmt);
    for (std::uint32_t lanes = warp.active; lanes != 0; lanes &= lanes - 1) {
      const int thread = warp.index * warp_lanes + std::countr_zero(lanes);
      BulkStore* store = stores_.blocking(thread, wait.pending, wait.read);
      if (store == nullptr) continue;
      wait.read ? stores_.read_all(*store) : stores_.finish(*store);
      return true;
    }
    return false;
  }
  if (warp.state != WarpState::at_mbarrier) return false;
  const std::uint32_t barrier = waiting_barrier(warp);
  const auto& queue = tma_.queue();
  for (std::size_t i = 0; i < queue.size(); ++i) {
    if (queue[i].barrier != barrier) continue;
    land(i, queue[i].rows());
    return true;
  }
  return false;
}

bool Cta::land_oldest() {
  if (tma_.queue().empty()) return false;
  land(0, tma_.queue().front().rows());
  return true;
}

void Cta::finish_all() {
  check_warpgroups();
  while (land_oldest()) {
  }
  stores_.finish_all();
}

}  // namespace tessera::sim
