// Accesses, compared with the earlier ones to the same bytes.
#include <algorithm>
#include <bit>
#include <string_view>

#include "sim/order.hpp"

namespace tessera::sim {

namespace {

// The bytes of 16-byte granule `granule` that lie in [offset, offset + bytes).
std::uint16_t bytes_in(std::uint64_t granule, std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t begin = std::max(offset, granule * 16) - granule * 16;
  const std::uint64_t end = std::min(offset + bytes, granule * 16 + 16) - granule * 16;
  return static_cast<std::uint16_t>(((1U << (end - begin)) - 1U) << begin);
}

race::Entry entry_of(AccessId id, const AccessInfo& info, std::uint16_t bytes) {
  race::Entry entry;
  entry.access = id;
  entry.component = info.component;
  entry.time = info.time;
  entry.bytes = bytes;
  return entry;
}

// Whether the loop is a part of a tile operation: it has the line of an instruction in it.
bool holds_instruction_of(const ir::Block& block, const SourceLoc& loc) {
  return std::any_of(block.begin(), block.end(), [&](const ir::Stmt* s) {
    if (const auto* loop = ir::as<ir::control::For>(s)) return holds_instruction_of(loop->body, loc);
    if (const auto* loop = ir::as<ir::control::Loop>(s)) return holds_instruction_of(loop->body, loc);
    if (const auto* branch = ir::as<ir::control::If>(s)) {
      return holds_instruction_of(branch->then_body, loc) || holds_instruction_of(branch->else_body, loc);
    }
    return s->loc.line == loc.line && std::string_view(s->loc.file) == loc.file;
  });
}

}  // namespace

void Order::find_tile_loops(const ir::Block& block) {
  for (const ir::Stmt* s : block) {
    const ir::Block* body = nullptr;
    if (const auto* loop = ir::as<ir::control::For>(s)) body = &loop->body;
    if (const auto* loop = ir::as<ir::control::Loop>(s)) body = &loop->body;
    if (body != nullptr) {
      if (holds_instruction_of(*body, s->loc)) tile_loops_.insert(s);
      find_tile_loops(*body);
    } else if (const auto* branch = ir::as<ir::control::If>(s)) {
      find_tile_loops(branch->then_body);
      find_tile_loops(branch->else_body);
    }
  }
}

// The innermost loop around the warp's statement that the user wrote.
const ControlFrame* Order::users_loop(const Warp& warp) const {
  for (int at = warp.loop; at >= 0; at = warp.stack[static_cast<std::size_t>(at)].outer_loop) {
    const ControlFrame& frame = warp.stack[static_cast<std::size_t>(at)];
    if (tile_loops_.count(frame.stmt) == 0) return &frame;
  }
  return nullptr;
}

Order::View Order::view(const Site& site) const {
  const int cta = site.block->place;
  return {&of(cta, site.warp), warp_component(cta, site.warp), site.lane};
}

AccessInfo Order::info_of(const Site& site, Role role, bool write) const {
  AccessInfo info;
  info.role = role;
  info.write = write;
  info.stmt = site.stmt;
  info.block = site.block;
  info.block_index = site.block->index;
  info.warp = site.warp;
  info.lane = site.lane;
  info.cluster = cluster_;
  info.component = warp_component(site.block->place, site.warp);
  info.time = of(site.block->place, site.warp).now;
  const Warp& warp = (*warp_states_[static_cast<std::size_t>(site.block->place)])[static_cast<std::size_t>(site.warp)];
  if (const ControlFrame* loop = users_loop(warp)) {
    info.loop = loop->stmt;
    info.iteration = loop->iteration;
  }
  return info;
}

// One entry in the table for all lanes and bytes of a statement.
AccessId Order::ordinary(const Access& access, bool write) {
  const int cta = access.block->place;
  WarpOrder& w = of(cta, access.warp);
  const std::size_t kind = write ? 1 : 0;
  const Warp& warp = (*warp_states_[static_cast<std::size_t>(cta)])[static_cast<std::size_t>(access.warp)];
  const ControlFrame* loop = users_loop(warp);
  const std::uint32_t iteration = loop == nullptr ? 0 : loop->iteration;
  if (w.last_stmt[kind] == access.stmt && w.last_time[kind] == w.now && w.last_iteration[kind] == iteration) {
    return w.last[kind];
  }
  const Site site{access.block, access.stmt, access.warp, -1};
  w.last[kind] = static_cast<AccessId>(accesses_.size());
  accesses_.push_back(info_of(site, write ? Role::store : Role::load, write));
  w.last_stmt[kind] = access.stmt;
  w.last_time[kind] = w.now;
  w.last_iteration[kind] = iteration;
  return w.last[kind];
}

bool Order::knows(const View& view, bool fenced, Component c, int lane, Time t) const {
  const WarpOrder& w = *view.warp;
  const auto& shared = fenced ? w.shared.fenced : w.shared.known;
  const bool one_lane = lane != race::several_lanes;
  if (one_lane ? shared.knows_lane(c, lane, t) : shared.knows(c, t)) return true;
  if (view.lane < 0) return false;
  if (one_lane && c == view.component && lane == view.lane) {
    return !fenced || w.fenced[static_cast<std::size_t>(lane)] >= t;
  }
  if ((w.with_own >> view.lane & 1U) == 0) return false;
  const Clock& clock = w.own[static_cast<std::size_t>(view.lane)];
  const auto& own = fenced ? clock.fenced : clock.known;
  return one_lane ? own.knows_lane(c, lane, t) : own.knows(c, t);
}

// Whether the first `phases` phases of the barrier, one less than are complete, are known to be: by a wait for the last
// of them, or by all that completed it.
bool Order::knows_completion(const View& view, const BarrierOrder& b, std::uint64_t phases) const {
  if (knows(view, false, b.component, race::several_lanes, static_cast<Time>(phases))) return true;
  const auto& arrivals = b.completed_before.arrivals;
  return !b.completed_before.counted_bytes && std::all_of(arrivals.begin(), arrivals.end(), [&](const auto& a) {
    return knows(view, false, a.warp, a.lane, a.time);
  });
}

Order::Verdict Order::judge(const View& view, bool async, const race::Entry& entry, const AccessInfo& earlier,
                            std::uint16_t bytes) const {
  if (is_async(earlier.role)) {
    const bool complete =
        earlier.time != race::never && knows(view, false, earlier.component, race::several_lanes, earlier.time);
    return complete ? Verdict::ordered : Verdict::unordered;
  }
  const Time t = earlier.time;
  if (view.warp->shared.known.knows(entry.component, t) &&
      (!async || view.warp->shared.fenced.knows(entry.component, t))) {
    return Verdict::ordered;
  }
  Verdict verdict = Verdict::ordered;
  int previous = -1;
  for (std::size_t i = 0; i < 16; ++i) {
    if ((bytes >> i & 1U) == 0 || entry.lane[i] == previous) continue;
    previous = entry.lane[i];
    if (!knows(view, false, entry.component, previous, t)) return Verdict::unordered;
    if (async && !knows(view, true, entry.component, previous, t)) verdict = Verdict::unfenced;
  }
  return verdict;
}

// Ordinary accesses of two blocks are ordered by a barrier of the cluster alone: what an mbarrier of another block
// hands over is released and acquired at the scope of one block (ir::thread::MbarrierArrive).
bool Order::crossed(const View& view, const race::Entry& entry, const AccessInfo& earlier, const AccessInfo& later,
                    const Place& place) const {
  if (place.param != no_param || program_.cluster_size() == 1) return true;
  // A copy is complete where its bytes are counted.
  const int first = earlier.role == Role::copy ? place.cta : earlier.block->place, second = later.block->place;
  const bool remote = (!is_async(earlier.role) && first != place.cta) || (!is_async(later.role) && second != place.cta);
  if (!remote || first == second) return true;
  const race::Knowledge& known = view.warp->crossed;
  if (is_async(earlier.role)) return known.knows(earlier.component, earlier.time);
  if (known.knows(entry.component, earlier.time)) return true;
  const auto common = static_cast<std::uint16_t>(entry.bytes & place.bytes);
  for (std::size_t i = 0; i < 16; ++i) {
    if ((common >> i & 1U) == 0) continue;
    if (entry.lane[i] == race::several_lanes || !known.knows_lane(entry.component, entry.lane[i], earlier.time))
      return false;
  }
  return true;
}

bool Order::together(const AccessInfo& a, const AccessInfo& b) const {
  return a.cluster == b.cluster && cluster_of(a.block->place) == cluster_of(b.block->place);
}

namespace {

// A signal may come while others wait for it: that is what flags are for. It may not come while somebody could still
// miss the value that was there before.
bool harmless(const AccessInfo& earlier, const AccessInfo& later) {
  if (earlier.addition && later.addition) return true;
  if (!is_flag(earlier.role) || !is_flag(later.role)) return false;
  if (later.role == Role::flag_wait) return true;
  return earlier.role == Role::flag_wait && earlier.monotone && later.monotone;
}

}  // namespace

void Order::compare(const std::vector<race::Entry>& entries, const std::vector<AccessInfo>& table,
                    const AccessInfo& later, const View& view, const Place& place) {
  for (const race::Entry& entry : entries) {
    const auto common = static_cast<std::uint16_t>(entry.bytes & place.bytes);
    if (common == 0) continue;
    const AccessInfo& earlier = table[entry.access];
    if (harmless(earlier, later)) continue;
    Verdict verdict =
        earlier.cluster != cluster_ ? Verdict::unordered : judge(view, is_async(later.role), entry, earlier, common);
    if (earlier.cluster == cluster_ && !crossed(view, entry, earlier, later, place)) verdict = Verdict::unordered;
    // fence.proxy_async orders accesses to shared memory only.
    const bool by_engine = place.param != no_param && is_async(later.role) && !is_async(earlier.role);
    if (by_engine && verdict == Verdict::ordered && !together(earlier, later)) verdict = Verdict::unfenced;
    if (verdict == Verdict::ordered) continue;
    const std::uint64_t first = place.offset + static_cast<std::uint64_t>(std::countr_zero(common));
    report_race(earlier, later, verdict, place.param, first, place.cta);
  }
}

void Order::enter(AccessId id, const AccessInfo& info, const std::vector<AccessInfo>& table, const View& view,
                  const Place& place, int lane, Time synced) {
  compare(place.cell.writes, table, info, view, place);
  const race::Entry entry = entry_of(id, info, place.bytes);
  if (!info.write) return race::add(place.cell.reads, entry, lane, synced);
  compare(place.cell.reads, table, info, view, place);
  race::overwrite(place.cell, entry, lane, synced);
}

void Order::enter_global(AccessId id, const AccessInfo& info, std::uint32_t param, std::uint64_t offset,
                         std::uint64_t bytes, const View& view, int lane, Time synced) {
  const GlobalMemory& memory = memory_[param];
  const std::uint64_t begin = offset + memory.begin;
  const int cta = info.block->place;
  for (std::uint64_t granule = begin / 16; granule * 16 < begin + bytes; ++granule) {
    const Place place{global_cell(memory.memory, granule), bytes_in(granule, begin, bytes), param,
                      granule * 16 - memory.begin, cta};
    enter(id, info, grid_accesses_, view, place, lane, synced);
  }
}

race::Cell& Order::shared_cell(int cta, std::uint32_t offset) {
  return shared_[static_cast<std::size_t>(cta)][offset / 16];
}

race::Cell& Order::global_cell(std::uint32_t memory, std::uint64_t granule) {
  std::unique_ptr<Page>& page = global_[memory][granule / std::tuple_size_v<Page>];
  if (!page) page = std::make_unique<Page>();
  return (*page)[granule % std::tuple_size_v<Page>];
}

void Order::shared(int cta, const Access& access, int lane, std::uint32_t offset, std::uint32_t bytes, bool write) {
  const AccessId id = ordinary(access, write);
  const int from = access.block->place;
  const View by{&of(from, access.warp), warp_component(from, access.warp), lane};
  if (from != cta) {
    const Site site{access.block, access.stmt, access.warp, lane};
    remote(site, cta, write ? "stores in shared memory of" : "loads from shared memory of");
    if (by.warp->crossed.empty()) report_not_started(site, cta);
  }
  const Place place{shared_cell(cta, offset), bytes_in(offset / 16, offset, bytes), no_param, offset / 16 * 16, cta};
  enter(id, accesses_[id], accesses_, by, place, lane, by.warp->shared.known.of(by.component));
}

void Order::global(const Site& site, std::uint32_t param, std::uint64_t offset, std::uint32_t bytes, bool write) {
  if (!follows(param)) return;
  const AccessInfo info = info_of(site, write ? Role::store : Role::load, write);
  const auto same = [&](const AccessInfo& last) {
    return last.stmt == info.stmt && last.warp == info.warp && last.time == info.time && last.write == write &&
           last.cluster == info.cluster && last.block == info.block && last.iteration == info.iteration;
  };
  if (grid_accesses_.empty() || !same(grid_accesses_.back())) grid_accesses_.push_back(info);
  const View by = view(site);
  enter_global(static_cast<AccessId>(grid_accesses_.size() - 1), info, param, offset, bytes, by, site.lane,
               by.warp->shared.known.of(by.component));
}

namespace {

std::uint64_t flag_key(std::uint32_t memory, std::uint64_t begin) {
  constexpr int bits_of_offset = 48;
  return static_cast<std::uint64_t>(memory) << bits_of_offset | begin;
}

}  // namespace

// A store begins anew, an addition goes on with what was released there before (PTX ISA 8.9, release patterns).
void Order::signal(const Site& site, std::uint32_t param, std::uint64_t offset, bool add, bool no_smaller) {
  AccessInfo info = info_of(site, Role::signal, true);
  info.addition = add;
  info.monotone = no_smaller;
  grid_accesses_.push_back(info);
  const View by = view(site);
  enter_global(static_cast<AccessId>(grid_accesses_.size() - 1), info, param, offset, sizeof(std::uint32_t), by,
               site.lane, by.warp->shared.known.of(by.component));
  Clock& released = flags_[flag_key(memory_[param].memory, memory_[param].begin + offset)];
  if (!add) released.clear();
  release(released, site.block->place, site.warp, 1U << site.lane);
}

void Order::see_flag(const Site& site, std::uint32_t lanes, std::uint32_t param, std::uint64_t offset, bool at_least,
                     bool relaxed) {
  if (const auto at = flags_.find(flag_key(memory_[param].memory, memory_[param].begin + offset));
      at != flags_.end() && !relaxed) {
    acquire(site.block->place, site.warp, lanes, at->second);
  }
  if (!follows(param)) return;
  AccessInfo info = info_of(site, Role::flag_wait, false);
  info.monotone = at_least;
  grid_accesses_.push_back(info);
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const View by = view({site.block, site.stmt, site.warp, lane});
    enter_global(static_cast<AccessId>(grid_accesses_.size() - 1), info, param, offset, sizeof(std::uint32_t), by, lane,
                 by.warp->shared.known.of(by.component));
  }
}

AccessId Order::issue(const Site& site, Role role, bool write, Epoch epoch, int swizzle) {
  AccessInfo info = info_of(site, role, write);
  info.component = epoch.component;
  info.time = epoch.time;
  info.swizzle = swizzle;
  accesses_.push_back(info);
  return static_cast<AccessId>(accesses_.size() - 1);
}

AccessId Order::issue_copy(const Site& site, std::uint32_t barrier, std::uint32_t bytes, int swizzle) {
  BarrierOrder& b = barriers_[barrier];
  use_barrier(b, site, "issues a copy that completes on");
  const AccessId id = issue(site, Role::copy, true, {b.component, race::never}, swizzle);
  accesses_[id].barrier = barrier;
  b.issued += bytes;
  release(b.issuers, site.block->place, site.warp, 1U << site.lane);
  b.last_copy = id;
  b.has_copy = true;
  return id;
}

void Order::record_issue(AccessId access, int cta, std::uint32_t offset) {
  AccessInfo& info = accesses_[access];
  if (info.recorded) return;
  info.recorded = true;
  std::string tile;
  tile_at(cta, offset, &tile);
  const TimelineEvent::Kind kind = info.role == Role::copy         ? TimelineEvent::Kind::copy
                                   : info.role == Role::bulk_store ? TimelineEvent::Kind::store
                                                                   : TimelineEvent::Kind::wgmma;
  recorder_->issued(access, kind, {info.block, info.stmt, info.warp, info.lane},
                    blocks_[static_cast<std::size_t>(cta)]->index, tile, info.component, info.time);
}

void Order::touch(AccessId access, int cta, std::uint32_t offset) {
  if (recorder_ != nullptr) record_issue(access, cta, offset);
  const AccessInfo& info = accesses_[access];
  const View by = view({info.block, info.stmt, info.warp, info.lane});
  race::Cell& cell = shared_cell(cta, offset);
  enter(access, info, accesses_, by, {cell, 0xffffU, no_param, offset, cta}, -1, race::never);
  if (info.write) return;
  for (const race::Entry& write : cell.writes) {
    const AccessInfo& writer = accesses_[write.access];
    if (write.bytes != 0 && writer.swizzle >= 0 && writer.swizzle != info.swizzle) {
      report_swizzle(writer, info, offset, cta);
    }
  }
}

AccessId Order::issue_global(AccessId access, bool write, bool addition, Epoch epoch) {
  AccessInfo info = accesses_[access];
  info.write = write;
  info.addition = addition;
  info.component = epoch.component;
  info.time = epoch.time;
  grid_accesses_.push_back(info);
  accesses_[access].global_side = static_cast<std::uint32_t>(grid_accesses_.size());
  return static_cast<AccessId>(grid_accesses_.size() - 1);
}

void Order::touch_global(AccessId global, std::uint32_t param, std::uint64_t offset, std::uint64_t bytes) {
  if (!follows(param)) return;
  const AccessInfo& info = grid_accesses_[global];
  const View by = view({info.block, info.stmt, info.warp, info.lane});
  enter_global(global, info, param, offset, bytes, by, -1, race::never);
}

}  // namespace tessera::sim
