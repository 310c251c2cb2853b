// How synchronisation passes knowledge on.
#include "sim/order.hpp"

#include <algorithm>
#include <bit>

#include "sim/lanes.hpp"
#include "support/byte_ranges.hpp"

namespace tessera::sim {

namespace {

// Components: warps, then the wgmma groups of each warp, then what comes along (mbarriers, bulk groups of threads).
constexpr int kinds_of_warp_components = 2;

}  // namespace

Order::Order(const Program& program, std::vector<Finding>& findings, std::string schedule, int blocks)
    : program_(program),
      findings_(findings),
      schedule_(std::move(schedule)),
      ctas_(blocks),
      warps_(program.kernel->warps),
      blocks_(static_cast<std::size_t>(ctas_)),
      warp_states_(static_cast<std::size_t>(ctas_)),
      shared_(static_cast<std::size_t>(ctas_)),
      global_(program.kernel->params.size()),
      memory_(program.kernel->params.size()) {
  find_memories();
  find_tile_loops(program.kernel->body);
}

void Order::find_memories() {
  const auto& buffers = program_.buffers;
  std::vector<ByteRange> pieces(memory_.size());
  for (std::uint32_t p = 0; p < memory_.size(); ++p) {
    memory_[p].memory = p;
    if (buffers[p].data != nullptr) pieces[p] = {reinterpret_cast<std::uintptr_t>(buffers[p].data), buffers[p].bytes};
  }
  const MergedRanges merged = merge_overlapping(pieces);
  std::vector<std::uint32_t> first(merged.ranges.size(), no_param);
  for (std::uint32_t p = 0; p < memory_.size(); ++p) {
    if (merged.of[p] == MergedRanges::none || merged.offset[p] != 0) continue;
    if (std::uint32_t& one = first[merged.of[p]]; one == no_param) one = p;
  }
  for (std::uint32_t p = 0; p < memory_.size(); ++p) {
    if (merged.of[p] == MergedRanges::none) continue;
    memory_[p].memory = first[merged.of[p]];
    memory_[p].begin = merged.offset[p];
  }
  std::vector<char> written(memory_.size(), 0);
  for (const std::uint32_t p : program_.kernel->written_params) written[memory_[p].memory] = 1;
  for (GlobalMemory& m : memory_) m.written = written[m.memory] != 0;
}

void Order::attach(int cta, const BlockInfo* block, const std::vector<Warp>* warps) {
  blocks_[static_cast<std::size_t>(cta)] = block;
  warp_states_[static_cast<std::size_t>(cta)] = warps;
}

void Order::begin(std::uint64_t cluster) {
  cluster_ = cluster;
  order_.assign(warp_components(), WarpOrder{});
  barriers_.clear();
  named_.assign(static_cast<std::size_t>(ctas_), {});
  const std::size_t clusters = static_cast<std::size_t>(ctas_) / static_cast<std::size_t>(program_.cluster_size());
  cluster_pending_.assign(clusters, {});
  cluster_completed_.assign(clusters, {});
  flags_.clear();
  next_component_ = kinds_of_warp_components * warp_components();
  bulk_components_.clear();
  remote_.clear();
  accesses_.clear();
  for (auto& cells : shared_) cells.assign((program_.kernel->shared_bytes + 15U) / 16U, {});
}

// What these lanes know and have done so far goes into `to`; what they do from here on does not.
void Order::release(Clock& to, int cta, int warp, std::uint32_t lanes) {
  WarpOrder& w = of(cta, warp);
  const Component c = warp_component(cta, warp);
  to.join(w.shared);
  for_each_lane(lanes & w.with_own, [&](int lane) { to.join(w.own[static_cast<std::size_t>(lane)]); });
  if (lanes == full_mask) {
    to.known.raise(c, w.now);
    to.fenced.raise(c, *std::min_element(w.fenced.begin(), w.fenced.end()));
  } else {
    for_each_lane(lanes, [&](int lane) { to.known.raise_lane(c, lane, w.now); });
  }
  for_each_lane(lanes, [&](int lane) {
    const Time fenced = w.fenced[static_cast<std::size_t>(lane)];
    if (fenced != 0) to.fenced.raise_lane(c, lane, fenced);
  });
  ++w.now;
}

void Order::acquire(int cta, int warp, std::uint32_t lanes, const Clock& from) {
  WarpOrder& w = of(cta, warp);
  if (lanes == full_mask) return w.shared.join(from);
  for_each_lane(lanes, [&](int lane) { w.own[static_cast<std::size_t>(lane)].join(from); });
  w.with_own |= lanes;
}

void Order::meet(int cta, int warp, const Clock& all) {
  WarpOrder& w = of(cta, warp);
  w.shared.join(all);
  for_each_lane(w.with_own, [&](int lane) { w.own[static_cast<std::size_t>(lane)].clear(); });
  w.with_own = 0;
}

void Order::warp_sync(int cta, int warp, std::uint32_t lanes) {
  Clock all;
  release(all, cta, warp, lanes);
  if (lanes == full_mask) return meet(cta, warp, all);
  acquire(cta, warp, lanes, all);
}

void Order::named_arrive(int cta, int id, int warp) {
  release(named_[static_cast<std::size_t>(cta)][static_cast<std::size_t>(id)], cta, warp, full_mask);
}

void Order::named_leave(int cta, int id, const std::vector<int>& warps) {
  Clock& all = named_[static_cast<std::size_t>(cta)][static_cast<std::size_t>(id)];
  for (const int warp : warps) meet(cta, warp, all);
  all.clear();
}

// A relaxed arrival hands on nothing but the barriers that this warp has initialised and published.
void Order::cluster_arrive(int cta, int warp, bool relaxed) {
  Clock& pending = cluster_pending_[cluster_of(cta)];
  if (!relaxed) return release(pending, cta, warp, full_mask);
  for (const BarrierOrder& b : barriers_) {
    if (b.visible && b.init.block->place == cta && b.init.warp == warp) pending.known.raise(b.published, 1);
  }
}

void Order::cluster_complete(int cluster) {
  const auto at = static_cast<std::size_t>(cluster);
  cluster_completed_[at] = std::move(cluster_pending_[at]);
  cluster_pending_[at] = Clock{};
}

void Order::cluster_wait(int cta, int warp) {
  const Clock& completed = cluster_completed_[cluster_of(cta)];
  acquire(cta, warp, full_mask, completed);
  of(cta, warp).crossed = completed.known;
}

// The last one of a thread stands for those before it.
void Order::remote(const Site& site, int target, const char* what) {
  const int cta = site.block->place;
  remote_[{warp_component(cta, site.warp), site.lane, target}] = {of(cta, site.warp).now, site, what};
}

void Order::fence_proxy(int cta, int warp, std::uint32_t lanes) {
  WarpOrder& w = of(cta, warp);
  if (lanes == full_mask) w.shared.fenced.join_below(w.shared.known, warp_components());
  for_each_lane(lanes, [&](int lane) {
    w.fenced[static_cast<std::size_t>(lane)] = w.now;
    Clock& own = w.own[static_cast<std::size_t>(lane)];
    if (lanes != full_mask) own.fenced.join_below(w.shared.known, warp_components());
    if ((w.with_own >> lane & 1U) != 0) own.fenced.join_below(own.known, warp_components());
  });
  if (lanes != full_mask) w.with_own |= lanes;
  ++w.now;
  fence_init(cta, warp, lanes);
}

void Order::fence_init(int cta, int warp, std::uint32_t lanes) {
  for (BarrierOrder& b : barriers_) {
    if (b.init.block->place == cta && b.init.warp == warp && (lanes >> b.init.lane & 1U) != 0) b.visible = true;
  }
}

std::uint32_t Order::init(const Site& site, std::uint32_t offset) {
  const auto index = static_cast<std::uint32_t>(barriers_.size());
  BarrierOrder b;
  b.component = next_component_++;
  b.published = next_component_++;
  b.offset = offset;
  b.init = site;
  b.init_time = of(site.block->place, site.warp).now;
  barriers_.push_back(std::move(b));
  return index;
}

// The arrival of another block's thread releases at the scope of its own block (ir::thread::MbarrierArrive): it says
// that operations are complete, but makes no ordinary access of that block visible.
void Order::arrive(std::uint32_t barrier, const Site& site) {
  BarrierOrder& b = barriers_[barrier];
  use_barrier(b, site, "arrives on");
  if (recorder_ != nullptr) recorder_->arrived(*b.init.block, barrier_name(b), site);
  const int cta = site.block->place;
  const std::uint32_t lanes = 1U << site.lane;
  b.current.arrivals.push_back({warp_component(cta, site.warp), site.lane, of(cta, site.warp).now});
  if (cta == b.init.block->place) return release(b.pending, cta, site.warp, lanes);
  remote(site, b.init.block->place, "arrives at a barrier of");
  Clock released;
  release(released, cta, site.warp, lanes);
  released.fenced.forget(warp_component(cta, 0), warp_component(cta + 1, 0));
  b.pending.join(released);
}

void Order::complete(std::uint32_t barrier, const ir::Stmt* by, std::uint64_t phase, std::uint64_t declared) {
  BarrierOrder& b = barriers_[barrier];
  if (b.issued != declared) report_bytes(b, by, phase, declared);
  b.issued = 0;
  if (recorder_ != nullptr) recorder_->completed(*b.init.block, barrier_name(b), phase, by);
  // The phase cannot complete before those have arrived that it counts, and those have issued copies whose bytes it
  // counts.
  Clock before = b.pending;
  before.join(b.issuers);
  for (const Wait& wait : b.waits) {
    // Lanes that wait together go on together: where one of them is known to have passed (the elected one, which then
    // issues a copy), they all have.
    bool known = before.known.knows(wait.warp, wait.time);
    for_each_lane(wait.lanes, [&](int lane) { known = known || before.known.knows_lane(wait.warp, lane, wait.time); });
    if (!known) report_late_wait(b, wait, by, phase);
  }
  b.waits.clear();
  b.issuers.clear();
  b.current.counted_bytes = declared != 0;
  b.completed_before = std::move(b.completed_last);
  b.completed_last = std::move(b.current);
  b.current = Phase{};
  b.completed = std::move(b.pending);
  b.completed.known.raise(b.component, static_cast<Time>(phase + 1));
  b.pending = Clock{};
}

void Order::wait(std::uint32_t barrier, const Site& site, std::uint32_t lanes, std::uint64_t phases) {
  BarrierOrder& b = barriers_[barrier];
  use_barrier(b, site, "waits on");
  // Two phases earlier the barrier had the same parity: the wait would have passed then, if it could come so early.
  if (phases >= 2 && !knows_completion(view(site), b, phases - 1)) report_early_wait(b, site, phases - 1);
  const int cta = site.block->place;
  acquire(cta, site.warp, lanes, b.completed);
  b.waits.push_back({warp_component(cta, site.warp), lanes, of(cta, site.warp).now, site});
}

Epoch Order::wgmma_epoch(int cta, int warp, std::uint64_t group) const {
  return {warp_components() + warp_component(cta, warp), static_cast<Time>(group + 1)};
}

void Order::wgmma_waited(int cta, int warp, std::uint64_t groups) {
  const Component component = warp_components() + warp_component(cta, warp);
  of(cta, warp).shared.known.raise(component, static_cast<Time>(groups));
  if (recorder_ != nullptr) recorder_->covered(component, static_cast<Time>(groups));
}

Epoch Order::store_epoch(int cta, int thread, std::uint64_t group, bool read) {
  const std::uint64_t key = static_cast<std::uint64_t>(cta) << 32U | static_cast<std::uint32_t>(thread);
  const auto [at, fresh] = bulk_components_.try_emplace(key, next_component_);
  if (fresh) next_component_ += 2;
  return {at->second + (read ? 0U : 1U), static_cast<Time>(group + 1)};
}

void Order::store_waited(int cta, int thread, std::uint64_t groups, bool read) {
  const std::uint64_t key = static_cast<std::uint64_t>(cta) << 32U | static_cast<std::uint32_t>(thread);
  const auto found = bulk_components_.find(key);
  if (found == bulk_components_.end()) return;
  WarpOrder& w = of(cta, thread / race::lanes_of_warp);
  const int lane = thread % race::lanes_of_warp;
  Clock& own = w.own[static_cast<std::size_t>(lane)];
  own.known.raise(found->second, static_cast<Time>(groups));
  if (!read) own.known.raise(found->second + 1, static_cast<Time>(groups));
  w.with_own |= 1U << lane;
  if (recorder_ != nullptr) recorder_->covered(found->second, static_cast<Time>(groups));
}

void Order::performed(AccessId operation) const {
  if (recorder_ != nullptr) recorder_->performed(operation);
}

void Order::landed(AccessId copy, std::uint64_t phase) {
  AccessInfo& info = accesses_[copy];
  info.time = static_cast<Time>(phase + 1);
  if (recorder_ != nullptr) recorder_->done(copy);
  if (info.global_side != 0) grid_accesses_[info.global_side - 1].time = info.time;
}

}  // namespace tessera::sim
