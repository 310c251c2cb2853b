// Memory as the block sees it. Every effect on shared and global memory passes through MemorySystem, with who does it,
// through which proxy, and on which line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "race/shadow.hpp"
#include "sim/program.hpp"
#include "sim/report.hpp"

namespace tessera::sim {

class Order;

// What an ordinary load or store brings along: the executing warp's block, statement and active lanes.
struct Access {
  const BlockInfo* block = nullptr;
  const ir::Stmt* stmt = nullptr;
  int warp = 0;
  std::uint32_t lanes = full_mask;
};

// What accesses shared memory through the async proxy.
enum class Engine : std::uint8_t { tma_load, tma_store, wgmma };
// An asynchronous operation between its issue and the wait that covers it.
using FlightId = std::uint32_t;

class MemorySystem {
 public:
  // With an `order`, that is told of every access, and judges what this class else judges by what is in flight.
  MemorySystem(const Program& program, bool check_handover, Order* order);

  // Forgets everything, for the next block. `block` must outlive its use.
  void begin(const BlockInfo* block);

  // Generic proxy: `bytes` bytes (a power of two up to 16) at the shared address `address`. The result points to them.
  // The access may be that of another block of the cluster, whose hand-over to an engine only an order can tell.
  const std::byte* read_shared(const Access& access, int lane, std::uint32_t address, std::uint32_t bytes) {
    const std::uint32_t offset = address - shared_base;
    if (!in_bounds(offset, bytes) || (address & (bytes - 1)) != 0) bad_shared(access, lane, address, bytes, "read");
    if (order_ != nullptr) order_shared(access, lane, offset, bytes, false);
    Granule& granule = granules_[offset / 16];
    const std::uint32_t mask = ((1U << bytes) - 1U) << (offset % 16);
    if ((granule.written & mask) != mask) {
      unwritten({access.block, access.stmt, access.warp, lane}, offset, mask, "a load");
    }
    touch(granule, offset / 16, access, any_access);
    return shared_.data() + offset;
  }
  std::byte* write_shared(const Access& access, int lane, std::uint32_t address, std::uint32_t bytes) {
    const std::uint32_t offset = address - shared_base;
    if (!in_bounds(offset, bytes) || (address & (bytes - 1)) != 0) bad_shared(access, lane, address, bytes, "write");
    Granule& granule = granules_[offset / 16];
    const std::uint32_t mask = ((1U << bytes) - 1U) << (offset % 16);
    if ((granule.barrier & mask) != 0)
      barrier_touched({access.block, access.stmt, access.warp, lane}, offset, "a store");
    if (order_ != nullptr) order_shared(access, lane, offset, bytes, true);
    if (granule.readers != 0) overwrites_source({access.block, access.stmt, access.warp, lane}, offset, "the store");
    granule.written = static_cast<std::uint16_t>(granule.written | mask);
    touch(granule, offset / 16, access, any_access);
    touch(granule, offset / 16, access, write_access);
    return shared_.data() + offset;
  }

  // Element `index` (and what follows, `bytes` bytes in all) of pointer parameter `param`.
  std::byte* access_global(const Access& access, int lane, std::uint32_t param, std::int64_t index,
                           std::uint32_t element_bytes, std::uint32_t bytes, bool write) {
    std::byte* p = locate_global(access, lane, param, index, element_bytes, bytes, write);
    if (order_ != nullptr) {
      order_global(access, lane, param, static_cast<std::uint64_t>(index) * element_bytes, bytes, write);
    }
    return p;
  }
  // The same for whoever tells the order himself.
  std::byte* locate_global(const Access& access, int lane, std::uint32_t param, std::int64_t index,
                           std::uint32_t element_bytes, std::uint32_t bytes, bool write) const {
    const Buffer& buffer = program_.buffers[param];
    const auto first = static_cast<std::uint64_t>(index);
    const std::uint64_t elements = buffer.bytes / element_bytes;
    const std::uint64_t count = bytes / element_bytes;
    if (index < 0 || first > elements || elements - first < count) bad_global(access, lane, param, index, count, write);
    std::byte* p = buffer.data + first * element_bytes;
    if ((reinterpret_cast<std::uintptr_t>(p) & (bytes - 1)) != 0) misaligned_global(access, lane, param, index, bytes);
    return p;
  }

  // fence.proxy.async by these lanes of a warp: what they touched may now be handed to an asynchronous engine.
  void fence(int warp, std::uint32_t lanes);

  // Async proxy. begin_flight: an operation is issued; its site's block may be another one of the cluster. Then, for
  // each 16 bytes at `offset`: add_source says that it will read them (which generic writes before must have been
  // fenced for, and no other write may touch meanwhile), add_target that it will write them. read_async and write_async
  // are the access itself, whenever the schedule has it; `needed`: a bit for each byte that must have been written
  // before. performed: the engine has read all there is to read, end_flight: a wait has covered the operation, or its
  // writes have landed.
  FlightId begin_flight(const Site& site, Engine engine, race::AccessId access = 0);
  void continue_as(FlightId flight, race::AccessId access) { flights_[flight].access = access; }
  void add_source(FlightId flight, std::uint32_t offset);
  void add_target(FlightId flight, std::uint32_t offset);
  const std::byte* read_async(FlightId flight, std::uint32_t offset, std::uint32_t needed = 0xffffU);
  std::byte* write_async(FlightId flight, std::uint32_t offset);
  void performed(FlightId flight) const;
  void end_flight(FlightId flight);
  // Global bytes that a copy reads or writes, at this distance from the buffer's start.
  std::byte* access_global_async(const Site& site, const MapInfo& map, std::int64_t offset, std::uint32_t bytes,
                                 bool write) const;

  // The 8 bytes at `offset` now are a barrier: not data any more.
  void make_barrier(std::uint32_t offset);
  bool in_bounds(std::uint32_t offset, std::uint32_t bytes) const { return offset < size_ && size_ - offset >= bytes; }
  std::uint32_t size() const { return size_; }
  const BlockInfo& block() const { return *block_; }

 private:
  static constexpr int any_access = 0, write_access = 1;
  // State of 16 bytes of shared memory. A warp is in one of the masks if some of its lanes accessed (or wrote) the
  // bytes through the generic proxy and have not executed a proxy fence since.
  struct Granule {
    std::uint16_t written = 0;                 // a bit for each byte
    std::uint16_t barrier = 0;                 // a bit for each byte that belongs to a barrier
    std::uint16_t readers = 0;                 // flights that may still read the bytes
    std::uint16_t writers = 0;                 // flights that may still write them
    std::uint32_t touched[2] = {0, 0};         // warps, in statements that all 32 lanes executed
    std::uint32_t touched_partly[2] = {0, 0};  // warps, in statements that some lanes executed
    std::uint32_t by(int kind) const { return touched[kind] | touched_partly[kind]; }
  };
  struct Touch {
    std::uint32_t granule = 0;
    const ir::Stmt* stmt = nullptr;
    std::uint32_t lanes = 0;
  };
  struct Touches {
    std::vector<Touch> whole;                          // by all lanes
    std::unordered_map<std::uint32_t, Touch> partial;  // by granule; never iterated for output
  };
  struct Flight {
    Site site;
    Engine engine = Engine::tma_load;
    std::vector<std::uint32_t> granules;
    race::AccessId access = 0;  // its number in the order
    bool live = false;
  };

  void touch(Granule& granule, std::uint32_t index, const Access& access, int kind) {
    const std::uint32_t bit = 1U << access.warp;
    if (!check_handover_ || access.block != block_ || (granule.touched[kind] & bit) != 0) return;
    Touches& touches = touches_[static_cast<std::size_t>(2 * access.warp + kind)];
    if (access.lanes == full_mask) {
      granule.touched[kind] |= bit;
      touches.whole.push_back({index, access.stmt, full_mask});
    } else {
      granule.touched_partly[kind] |= bit;
      Touch& touch = touches.partial.try_emplace(index, Touch{index, access.stmt, 0}).first->second;
      touch.lanes |= access.lanes;
    }
  }
  void order_shared(const Access& access, int lane, std::uint32_t offset, std::uint32_t bytes, bool write);
  void order_global(const Access& access, int lane, std::uint32_t param, std::uint64_t offset, std::uint32_t bytes,
                    bool write);
  const Flight& flight_on(std::uint32_t offset, bool writing) const;
  const ir::Stmt* last_touch(int warp, std::uint32_t granule, int kind) const;
  std::string elsewhere(const Site& site) const;  // " of block (..)", if the site is in another block
  [[noreturn]] void bad_shared(const Access&, int lane, std::uint32_t address, std::uint32_t bytes,
                               const char* what) const;
  // Ends the run, except where there is an order: the read may be one side of a race whose other side is yet to come.
  void unwritten(const Site& site, std::uint32_t offset, std::uint32_t mask, const char* what) const;
  [[noreturn]] void barrier_touched(const Site& site, std::uint32_t offset, const char* what) const;
  [[noreturn]] void bad_global(const Access&, int lane, std::uint32_t param, std::int64_t index, std::uint64_t count,
                               bool write) const;
  [[noreturn]] void misaligned_global(const Access&, int lane, std::uint32_t param, std::int64_t index,
                                      std::uint32_t bytes) const;
  [[noreturn]] void unfenced_target(const Site& site, std::uint32_t offset, bool landing) const;
  [[noreturn]] void unfenced_source(const Flight& flight, std::uint32_t offset) const;
  [[noreturn]] void overwrites_source(const Site& site, std::uint32_t offset, const char* what) const;
  [[noreturn]] void reads_target(const Flight& flight, std::uint32_t offset) const;

  const Program& program_;
  const bool check_handover_;
  Order* const order_;
  std::uint32_t size_;
  std::vector<std::byte> shared_;
  std::vector<Granule> granules_;
  std::vector<Touches> touches_;  // two a warp: any access, writes
  std::vector<Flight> flights_;
  std::vector<FlightId> free_flights_;
  const BlockInfo* block_ = nullptr;
};

}  // namespace tessera::sim
