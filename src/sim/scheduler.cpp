// Which warp runs next, and when a copy lands.
#include <algorithm>
#include <cstring>

#include "sim/cta.hpp"

namespace tessera::sim {

namespace {
constexpr std::uint64_t unlimited = ~0ULL;
constexpr std::size_t named_barriers = 16;
}  // namespace

Cta::Cta(const Program& program, const Options& options)
    : program_(program),
      options_(options),
      memory_(program, options.check_proxy_handover),
      barriers_(*program.kernel, memory_),
      tma_(program, memory_, barriers_),
      valid_(static_cast<std::size_t>(program.kernel->warps) * program.valid_count),
      warps_(static_cast<std::size_t>(program.kernel->warps)),
      named_(named_barriers) {
  block_.kernel = program.kernel;
  const std::size_t frame = program.frame_bytes;
  frames_.reset(static_cast<std::byte*>(::operator new[](frame* warps_.size(), std::align_val_t{64})));
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    Warp& warp = warps_[i];
    warp.index = static_cast<int>(i);
    warp.frame = frames_.get() + i * frame;
    warp.valid = valid_.data() + i * program.valid_count;
    warp.stack.resize(program.depth);
    std::memcpy(warp.frame, program.image.data(), frame);
    *warp.at<std::uint32_t>(program.warp_idx_slot) = static_cast<std::uint32_t>(i);
    for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
      warp.at<std::uint32_t>(program.thread_idx_slot)[lane] = static_cast<std::uint32_t>(i) * warp_lanes + lane;
    }
  }
}

void Cta::run(std::uint64_t index) {
  const auto nx = static_cast<std::uint64_t>(program_.grid[0]);
  const auto ny = static_cast<std::uint64_t>(program_.grid[1]);
  block_.index = {static_cast<std::int64_t>(index % nx), static_cast<std::int64_t>(index / nx % ny),
                  static_cast<std::int64_t>(index / nx / ny)};
  const bool random = options_.schedule.kind == Schedule::Kind::random;
  const bool lazy = options_.schedule.kind == Schedule::Kind::lazy;
  random_ = Random(options_.schedule.seed, index);
  memory_.begin(&block_);
  barriers_.begin();
  tma_.begin(&block_);
  named_.assign(named_barriers, NamedBarrier{});
  output_.clear();
  std::fill(valid_.begin(), valid_.end(), 0U);
  for (Warp& warp : warps_) {
    warp.depth = 0;
    warp.loop = -1;
    warp.pc = 0;
    warp.active = full_mask;
    warp.state = WarpState::ready;
    warp.elected = lazy ? warp_lanes - 1 : random ? static_cast<int>(random_.below(warp_lanes)) : 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      *warp.at<std::int32_t>(program_.block_idx_slots[axis]) = static_cast<std::int32_t>(block_.index[axis]);
    }
  }
  if (random) {
    run_randomly();
  } else {
    run_in_order(lazy);
  }
  tma_.land_all();
}

std::uint64_t Cta::statements() const {
  std::uint64_t n = 0;
  for (const Warp& warp : warps_) n += warp.statements;
  return n;
}

bool Cta::all_done() const {
  return std::all_of(warps_.begin(), warps_.end(), [](const Warp& w) { return w.state == WarpState::done; });
}

// Whether the warp can run. A wait is looked at here and not when the phase completes: a warp may be held up for as
// long as the hardware likes, and one that then finds the barrier two phases on waits for the wrong one.
bool Cta::ready(Warp& warp) {
  if (warp.state == WarpState::at_mbarrier && mbarrier_wait(warp, program_.code[warp.pc])) {
    warp.state = WarpState::ready;
    ++warp.pc;
  }
  return warp.state == WarpState::ready;
}

// Address of the barrier that the warp's first waiting lane waits on.
std::uint32_t Cta::waiting_barrier(const Warp& warp) const {
  const Operands& ops = operands(program_.code[warp.pc]);
  return warp.at<std::uint32_t>(ops.address)[__builtin_ctz(warp.waiting_lanes)];
}

// Lands the oldest copy that completes on the barrier that `warp` waits on.
bool Cta::land_for(const Warp& warp) {
  const std::uint32_t barrier = waiting_barrier(warp);
  const auto& queue = tma_.queue();
  for (std::size_t i = 0; i < queue.size(); ++i) {
    if (queue[i].barrier == barrier) {
      tma_.land(i, queue[i].rows());
      return true;
    }
  }
  return false;
}

// Each warp in turn runs until it blocks. Eager copies have landed when they were issued; lazy ones land only when a
// warp waits for them, one by one until it can go on, before any other warp gets a turn: it runs as far ahead of them
// as it can.
void Cta::run_in_order(bool lazy) {
  while (!all_done()) {
    bool progress = false;
    for (Warp& warp : warps_) {
      while (ready(warp)) {
        progress = true;
        execute(warp, unlimited);
        while (lazy && warp.state == WarpState::at_mbarrier && !ready(warp) && land_for(warp)) {
        }
      }
    }
    if (progress || all_done()) continue;
    if (tma_.queue().empty()) deadlock();
    tma_.land(0, tma_.queue().front().rows());
  }
}

// The warps that are held back for a while: none, one, or all but one. A race needs a warp that lags or one that runs
// ahead by a whole phase, which independent draws would hardly ever give.
std::uint32_t Cta::draw_held_back() {
  const auto count = static_cast<std::uint32_t>(warps_.size());
  const std::uint32_t kind = random_.below(4);
  const std::uint32_t one = 1U << random_.below(count);
  return kind == 0 ? 0 : kind == 1 ? ~one : one;
}

void Cta::run_randomly() {
  constexpr std::uint32_t slices[3] = {4, 32, 256};
  std::vector<Warp*> preferred, runnable;
  std::uint32_t held_back = 0;
  for (std::uint64_t decision = 0;; ++decision) {
    if (decision % 16 == 0) held_back = draw_held_back();
    preferred.clear();
    runnable.clear();
    for (Warp& warp : warps_) {
      if (!ready(warp)) continue;
      runnable.push_back(&warp);
      if ((held_back >> warp.index & 1U) == 0) preferred.push_back(&warp);
    }
    const auto copies = static_cast<std::uint32_t>(tma_.queue().size());
    if (runnable.empty() && copies == 0) {
      if (all_done()) return;
      deadlock();
    }
    if (copies != 0 && (preferred.empty() || random_.below(4) == 0)) {
      const std::size_t which = random_.below(copies);
      const TmaCopy& copy = tma_.queue()[which];
      const std::uint32_t rest = copy.rows() - copy.landed;
      tma_.land(which, random_.below(2) == 0 ? rest : 1 + random_.below(rest));
      continue;
    }
    const auto& choice = preferred.empty() ? runnable : preferred;
    Warp& warp = *choice[random_.below(static_cast<std::uint32_t>(choice.size()))];
    const std::uint32_t kind = random_.below(4);
    execute(warp, kind == 3 ? unlimited : 1 + random_.below(slices[kind]));
  }
}

}  // namespace tessera::sim
