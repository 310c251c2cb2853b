// Memory as the block sees it. Every effect on shared and global memory passes through MemorySystem, with who does it,
// through which proxy, and on which line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/program.hpp"
#include "sim/report.hpp"

namespace tessera::sim {

// What an ordinary load or store brings along: the executing warp's statement and active lanes.
struct Access {
  const ir::Stmt* stmt = nullptr;
  int warp = 0;
  std::uint32_t lanes = full_mask;
};

class MemorySystem {
 public:
  MemorySystem(const Program& program, bool check_handover);

  // Forgets everything, for the next block. `block` must outlive its use.
  void begin(const BlockInfo* block);

  // Generic proxy: `bytes` bytes (a power of two up to 16) at the shared address `address`. The result points to them.
  const std::byte* read_shared(const Access& access, int lane, std::uint32_t address, std::uint32_t bytes) {
    const std::uint32_t offset = address - shared_base;
    if (!in_bounds(offset, bytes) || (address & (bytes - 1)) != 0) bad_shared(access, lane, address, bytes, "read");
    Granule& granule = granules_[offset / 16];
    const std::uint32_t mask = ((1U << bytes) - 1U) << (offset % 16);
    if ((granule.written & mask) != mask) unwritten(access, lane, offset, bytes);
    touch(granule, offset / 16, access);
    return shared_.data() + offset;
  }
  std::byte* write_shared(const Access& access, int lane, std::uint32_t address, std::uint32_t bytes) {
    const std::uint32_t offset = address - shared_base;
    if (!in_bounds(offset, bytes) || (address & (bytes - 1)) != 0) bad_shared(access, lane, address, bytes, "write");
    Granule& granule = granules_[offset / 16];
    const std::uint32_t mask = ((1U << bytes) - 1U) << (offset % 16);
    if ((granule.barrier & mask) != 0) barrier_touched(access.stmt, access.warp, lane, offset, "a store");
    granule.written = static_cast<std::uint16_t>(granule.written | mask);
    touch(granule, offset / 16, access);
    return shared_.data() + offset;
  }

  // Element `index` (and what follows, `bytes` bytes in all) of pointer parameter `param`.
  std::byte* access_global(const Access& access, int lane, std::uint32_t param, std::int64_t index,
                           std::uint32_t element_bytes, std::uint32_t bytes, bool write) {
    const Buffer& buffer = program_.buffers[param];
    const auto first = static_cast<std::uint64_t>(index);
    const std::uint64_t elements = buffer.bytes / element_bytes;
    const std::uint64_t count = bytes / element_bytes;
    if (index < 0 || first > elements || elements - first < count) bad_global(access, lane, param, index, count, write);
    std::byte* p = buffer.data + first * element_bytes;
    if ((reinterpret_cast<std::uintptr_t>(p) & (bytes - 1)) != 0) misaligned_global(access, lane, param, index, bytes);
    return p;
  }

  // fence.proxy.async by these lanes of a warp: what they touched may now be handed to the copy engine.
  void fence(int warp, std::uint32_t lanes);

  // Async proxy. `check_target`: a copy of line `stmt` is issued whose box takes 16 bytes at `offset`. `write_async`:
  // the 16 bytes land.
  void check_target(const ir::Stmt* stmt, int warp, std::uint32_t offset);
  std::byte* write_async(const ir::Stmt* stmt, int warp, std::uint32_t offset);
  // Global bytes that a copy reads, at this distance from the buffer's start.
  const std::byte* read_global_async(const Site& site, const MapInfo& map, std::int64_t offset,
                                     std::uint32_t bytes) const;

  // The 8 bytes at `offset` now are a barrier: not data any more.
  void make_barrier(std::uint32_t offset);
  bool in_bounds(std::uint32_t offset, std::uint32_t bytes) const { return offset < size_ && size_ - offset >= bytes; }
  std::uint32_t size() const { return size_; }

 private:
  // State of 16 bytes of shared memory. A warp is in one of the masks if some of its lanes accessed the bytes through
  // the generic proxy and have not executed a proxy fence since.
  struct Granule {
    std::uint16_t written = 0;         // a bit for each byte
    std::uint16_t barrier = 0;         // a bit for each byte that belongs to a barrier
    std::uint32_t touched = 0;         // warps, in statements that all 32 lanes executed
    std::uint32_t touched_partly = 0;  // warps, in statements that some lanes executed
    std::uint32_t any() const { return touched | touched_partly; }
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

  void touch(Granule& granule, std::uint32_t index, const Access& access) {
    const std::uint32_t bit = 1U << access.warp;
    if (!check_handover_ || (granule.touched & bit) != 0) return;
    Touches& touches = touches_[static_cast<std::size_t>(access.warp)];
    if (access.lanes == full_mask) {
      granule.touched |= bit;
      touches.whole.push_back({index, access.stmt, full_mask});
    } else {
      granule.touched_partly |= bit;
      Touch& touch = touches.partial.try_emplace(index, Touch{index, access.stmt, 0}).first->second;
      touch.lanes |= access.lanes;
    }
  }
  [[noreturn]] void bad_shared(const Access&, int lane, std::uint32_t address, std::uint32_t bytes,
                               const char* what) const;
  [[noreturn]] void unwritten(const Access&, int lane, std::uint32_t offset, std::uint32_t bytes) const;
  [[noreturn]] void barrier_touched(const ir::Stmt*, int warp, int lane, std::uint32_t offset, const char* what) const;
  [[noreturn]] void bad_global(const Access&, int lane, std::uint32_t param, std::int64_t index, std::uint64_t count,
                               bool write) const;
  [[noreturn]] void misaligned_global(const Access&, int lane, std::uint32_t param, std::int64_t index,
                                      std::uint32_t bytes) const;
  [[noreturn]] void unfenced(const ir::Stmt* stmt, int warp, std::uint32_t offset, bool landing) const;

  const Program& program_;
  const bool check_handover_;
  std::uint32_t size_;
  std::vector<std::byte> shared_;
  std::vector<Granule> granules_;
  std::vector<Touches> touches_;  // by warp
  const BlockInfo* block_ = nullptr;
};

}  // namespace tessera::sim
