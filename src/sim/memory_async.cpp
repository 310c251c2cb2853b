// Shared memory as the asynchronous engines see it: what they read and write between issue and completion, and the
// accesses that must not meet them.
#include <fmt/format.h>

#include <bit>

#include "sim/memory.hpp"
#include "sim/order.hpp"

namespace tessera::sim {

namespace {

const char* name_of(Engine engine) {
  switch (engine) {
    case Engine::tma_load: return "TMA copy";
    case Engine::tma_store: return "TMA store";
    case Engine::wgmma: return "wgmma";
  }
  return "?";
}

}  // namespace

FlightId MemorySystem::begin_flight(const Site& site, Engine engine, race::AccessId access) {
  FlightId id = 0;
  if (free_flights_.empty()) {
    id = static_cast<FlightId>(flights_.size());
    flights_.emplace_back();
  } else {
    id = free_flights_.back();
    free_flights_.pop_back();
  }
  Flight& flight = flights_[id];
  flight.site = site;
  flight.engine = engine;
  flight.granules.clear();
  flight.access = access;
  flight.live = true;
  return id;
}

void MemorySystem::add_source(FlightId id, std::uint32_t offset) {
  Flight& flight = flights_[id];
  if (!in_bounds(offset, 16)) {
    fail(Hazard::out_of_bounds, flight.site,
         fmt::format("the {} reads shared offset {}, outside the block's {} bytes of shared memory",
                     name_of(flight.engine), static_cast<std::int32_t>(offset), size_),
         "check the index into the shared tile");
  }
  Granule& granule = granules_[offset / 16];
  if (granule.barrier != 0)
    barrier_touched(flight.site, offset, flight.engine == Engine::wgmma ? "a wgmma" : "a TMA store");
  if (order_ != nullptr) return order_->touch(flight.access, block_->place, offset);
  if (granule.writers != 0) reads_target(flight, offset);
  if (granule.by(write_access) != 0) unfenced_source(flight, offset);
  ++granule.readers;
  flight.granules.push_back(offset / 16);
}

void MemorySystem::add_target(FlightId id, std::uint32_t offset) {
  Flight& flight = flights_[id];
  Granule& granule = granules_[offset / 16];
  if (granule.barrier != 0) barrier_touched(flight.site, offset, "a TMA copy");
  if (order_ != nullptr) return order_->touch(flight.access, block_->place, offset);
  if (granule.readers != 0) overwrites_source(flight.site, offset, "the TMA copy");
  if (granule.by(any_access) != 0) unfenced_target(flight.site, offset, false);
  ++granule.writers;
  flight.granules.push_back(offset / 16);
}

const std::byte* MemorySystem::read_async(FlightId id, std::uint32_t offset, std::uint32_t needed) {
  const Granule& granule = granules_[offset / 16];
  if ((granule.written & needed) != needed) {
    const Flight& flight = flights_[id];
    unwritten(flight.site, offset, needed, name_of(flight.engine));
  }
  return shared_.data() + offset;
}

std::byte* MemorySystem::write_async(FlightId id, std::uint32_t offset) {
  const Flight& flight = flights_[id];
  Granule& granule = granules_[offset / 16];
  if (granule.barrier != 0) barrier_touched(flight.site, offset, "a TMA copy");
  if (granule.readers != 0) overwrites_source(flight.site, offset, "the TMA copy");
  if (granule.by(any_access) != 0) unfenced_target(flight.site, offset, true);
  granule.written = 0xffffU;
  return shared_.data() + offset;
}

void MemorySystem::performed(FlightId id) const {
  if (order_ != nullptr) order_->performed(flights_[id].access);
}

void MemorySystem::end_flight(FlightId id) {
  Flight& flight = flights_[id];
  const bool writes = flight.engine == Engine::tma_load;
  for (const std::uint32_t index : flight.granules) {
    --(writes ? granules_[index].writers : granules_[index].readers);
  }
  flight.live = false;
  free_flights_.push_back(id);
}

// The flight that may still write (else: read) the 16 bytes at `offset`.
const MemorySystem::Flight& MemorySystem::flight_on(std::uint32_t offset, bool writing) const {
  for (const Flight& flight : flights_) {
    if (!flight.live || (flight.engine == Engine::tma_load) != writing) continue;
    for (const std::uint32_t index : flight.granules) {
      if (index == offset / 16) return flight;
    }
  }
  fail_internal({block_, nullptr, -1, -1}, fmt::format("no operation is in flight at shared offset {}", offset));
}

const ir::Stmt* MemorySystem::last_touch(int warp, std::uint32_t granule, int kind) const {
  const Touches& touches = touches_[static_cast<std::size_t>(2 * warp + kind)];
  const ir::Stmt* access = nullptr;
  if (const auto partial = touches.partial.find(granule); partial != touches.partial.end()) {
    access = partial->second.stmt;
  }
  for (const Touch& t : touches.whole) {
    if (t.granule == granule) access = t.stmt;
  }
  return access;
}

std::string MemorySystem::elsewhere(const Site& site) const {
  if (site.block == block_) return {};
  return " of " + describe({block_, nullptr, -1, -1});
}

void MemorySystem::unfenced_target(const Site& site, std::uint32_t offset, bool landing) const {
  const std::uint32_t index = offset / 16;
  const int toucher = std::countr_zero(granules_[index].by(any_access));
  const ir::Stmt* access = last_touch(toucher, index, any_access);
  const std::string where = describe_shared(*program_.kernel, offset) + elsewhere(site);
  if (landing) {
    fail(Hazard::race, {site.block, site.stmt, site.warp, -1},
         fmt::format("the TMA copy of {} was still in flight when warp {} accessed what it writes, on {}: {}",
                     line_of(site.stmt), toucher, line_of(access), where),
         "wait on the copy's mbarrier, for the phase that it completes, before the access; and synchronise the warps "
         "that still use the tile before the next copy is issued",
         {{loc_of(access), fmt::format("warp {} accesses the tile here", toucher)}});
  }
  fail(Hazard::proxy_fence, {site.block, site.stmt, site.warp, -1},
       fmt::format(
           "unfenced hand-over to the TMA engine: the copy of {} overwrites what warp {} accessed on {} without a "
           "proxy fence since: {}",
           line_of(site.stmt), toucher, line_of(access), where),
       "a block barrier orders ordinary accesses with each other, not with the copy engine: execute fence.proxy_async "
       "in the threads that accessed the tile, after the access and before the barrier that releases the copy",
       {{loc_of(access), fmt::format("warp {} accesses the tile here, through the generic proxy", toucher)}});
}

void MemorySystem::unfenced_source(const Flight& flight, std::uint32_t offset) const {
  const std::uint32_t index = offset / 16;
  const int writer = std::countr_zero(granules_[index].by(write_access));
  const ir::Stmt* access = last_touch(writer, index, write_access);
  const bool wgmma = flight.engine == Engine::wgmma;
  fail(Hazard::proxy_fence, {flight.site.block, flight.site.stmt, flight.site.warp, -1},
       fmt::format(
           "unfenced hand-over to {}: the {} of {} reads what warp {} wrote on {} without a proxy fence since: {}",
           wgmma ? "wgmma" : "the TMA engine", wgmma ? "wgmma" : "store", line_of(flight.site.stmt), writer,
           line_of(access), describe_shared(*program_.kernel, offset)),
       fmt::format("a barrier orders ordinary accesses with each other, not with {}: execute fence.proxy_async in the "
                   "threads that wrote the tile, after the writes and before the barrier that releases the reader",
                   wgmma ? "wgmma, which reads through the async proxy" : "the copy engine"),
       {{loc_of(access), fmt::format("warp {} writes the tile here, through the generic proxy", writer)}});
}

// `site` writes, with `what` ("the store", "the TMA copy"), what a flight may still read.
void MemorySystem::overwrites_source(const Site& site, std::uint32_t offset, const char* what) const {
  const Flight& reader = flight_on(offset, false);
  const bool wgmma = reader.engine == Engine::wgmma;
  const std::string who = wgmma ? fmt::format("wgmma of {} (warp {})", line_of(reader.site.stmt), reader.site.warp)
                                : fmt::format("TMA store of {}", line_of(reader.site.stmt));
  fail(
      Hazard::race, site,
      fmt::format("{} of {} overwrites what the {} may still read: {}", what, line_of(site.stmt), who,
                  describe_shared(*program_.kernel, offset) + elsewhere(site)),
      wgmma
          ? "wait for the wgmma's group (wgmma.wait_group) in every warp of its warpgroup, and synchronise, before the "
            "operand is written again"
          : "wait for the store's bulk group (tma.wait_group, with read) in the thread that issued it, and synchronise "
            "with that thread, before the tile is written again",
      {{loc_of(reader.site.stmt), wgmma ? "the wgmma reads its operand from here on, until a wait covers it"
                                        : "the store reads the tile from here on, until a wait covers it"}});
}

void MemorySystem::reads_target(const Flight& flight, std::uint32_t offset) const {
  const Flight& writer = flight_on(offset, true);
  fail(Hazard::race, flight.site,
       fmt::format("the {} of {} reads what the TMA copy of {} is still writing: {}", name_of(flight.engine),
                   line_of(flight.site.stmt), line_of(writer.site.stmt), describe_shared(*program_.kernel, offset)),
       "wait on the copy's mbarrier, for the phase that it completes, before the tile is used",
       {{loc_of(writer.site.stmt), "the copy is issued here"}});
}

}  // namespace tessera::sim
