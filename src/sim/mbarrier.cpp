#include "sim/mbarrier.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/order.hpp"

namespace tessera::sim {

std::string BarrierSet::name(const Site& site, std::uint32_t offset) const {
  std::string text = describe_barrier(kernel_, offset);
  if (site.block != block_) text += " of " + describe({block_, nullptr, -1, -1});
  return text;
}

Mbarrier* BarrierSet::find(std::uint32_t offset) {
  for (Mbarrier& b : barriers_) {
    if (b.offset == offset) return &b;
  }
  return nullptr;
}

Mbarrier& BarrierSet::at(const Site& site, std::uint32_t address, const char* what) {
  const std::uint32_t offset = address - shared_base;
  if (Mbarrier* b = find(offset)) return *b;
  if (!memory_.in_bounds(offset, 8) || address % 8 != 0) {
    fail(Hazard::out_of_bounds, site,
         fmt::format("{} at shared offset {}, which is not 8 aligned bytes of the block's {} bytes of shared memory",
                     what, static_cast<std::int64_t>(address) - shared_base, memory_.size()),
         "check the barrier's index");
  }
  fail(Hazard::barrier_init, site, fmt::format("{} on {} before it is initialised", what, name(site, offset)),
       "let one thread initialise it, then synchronise the block before its first use");
}

void BarrierSet::init(const Site& site, std::uint32_t address, std::uint32_t count) {
  const std::uint32_t offset = address - shared_base;
  if (!memory_.in_bounds(offset, 8) || address % 8 != 0) at(site, address, "mbarrier.init");
  if (const Mbarrier* b = find(offset)) {
    fail(Hazard::barrier_init, site, fmt::format("{} is initialised twice", name(site, offset)),
         "initialise it once, in one thread; a barrier re-arms itself after every phase",
         {{loc_of(b->init), "first initialised here"}});
  }
  if (count < 1 || count > max_barrier_count) {
    fail(Hazard::misuse, site,
         fmt::format("{} is initialised with a count of {}; 1 to {} are possible", name(site, offset), count,
                     max_barrier_count));
  }
  memory_.make_barrier(offset);
  Mbarrier b;
  b.offset = offset;
  b.count = b.pending = count;
  b.init = site.stmt;
  if (order_ != nullptr) b.order = order_->init(site, offset);
  barriers_.push_back(b);
}

void BarrierSet::finish(Mbarrier& b, const ir::Stmt* stmt) {
  if (b.pending != 0 || b.tx != 0) return;
  if (order_ != nullptr) order_->complete(b.order, stmt, b.phase, b.declared);
  ++b.phase;
  b.pending = b.count;
  b.declared = b.delivered = 0;
  b.declared_at = b.delivered_by = b.arrived_at = nullptr;
  b.completed_at = stmt;
}

void BarrierSet::arrive(const Site& site, std::uint32_t address, std::uint32_t count) {
  Mbarrier& b = at(site, address, "arrive");
  if (count < 1 || count > b.pending) {
    std::string why;
    if (b.pending == 0 && b.tx > 0) {
      why = fmt::format("; the phase waits for {} more of the {} declared, so this thread did not wait for it", b.tx,
                        count_of(b.declared, "byte"));
    } else if (b.pending == 0 && b.tx < 0) {
      why = fmt::format("; the phase cannot complete because the copies delivered {} more than were declared",
                        count_of(static_cast<std::uint64_t>(-b.tx), "byte"));
    }
    std::vector<Note> notes;
    if (b.arrived_at != nullptr) notes.push_back({b.arrived_at->loc, "the previous arrival in this phase"});
    fail(Hazard::barrier_arrivals, site,
         fmt::format("{} arriving on {}, whose phase {} needs {} more (its count is {}){}", count_of(count, "thread"),
                     name(site, b.offset), b.phase, b.pending, b.count, why),
         "arrive as often in a phase as the count says, and wait for the phase (with its parity) before arriving again",
         std::move(notes));
  }
  if (order_ != nullptr) order_->arrive(b.order, site);
  b.pending -= count;
  b.arrived_at = site.stmt;
  const auto known = std::find_if(b.arrivers.begin(), b.arrivers.end(),
                                  [&](const Arriver& a) { return a.block == site.block && a.warp == site.warp; });
  (known == b.arrivers.end() ? b.arrivers.emplace_back() : *known) = {site.block, site.warp, site.stmt};
  finish(b, site.stmt);
}

void BarrierSet::expect(const Site& site, std::uint32_t address, std::uint32_t bytes) {
  Mbarrier& b = at(site, address, "arrive_and_expect_tx");
  if (b.tx + bytes > max_barrier_count) {
    fail(Hazard::barrier_bytes, site,
         fmt::format("{} would expect {} bytes; a phase holds at most {}", name(site, b.offset), b.tx + bytes,
                     max_barrier_count),
         "declare fewer bytes in one phase: smaller tiles, or a barrier for each");
  }
  b.tx += bytes;
  b.declared += bytes;
  b.declared_at = site.stmt;
}

void BarrierSet::complete(const Site& site, std::uint32_t address, std::uint32_t bytes) {
  Mbarrier& b = at(site, address, "complete_tx");
  if (b.tx - bytes < -max_barrier_count) {
    fail(Hazard::barrier_bytes, site,
         fmt::format("the copies delivered {} more than were declared on {}; the transaction count ends at {}",
                     count_of(static_cast<std::uint64_t>(bytes - b.tx), "byte"), name(site, b.offset),
                     -max_barrier_count),
         "declare the bytes of every copy with arrive_and_expect_tx");
  }
  b.tx -= bytes;
  b.delivered += bytes;
  b.delivered_by = site.stmt;
  finish(b, site.stmt);
}

}  // namespace tessera::sim
