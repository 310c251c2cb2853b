#include "sim/memory.hpp"

#include <fmt/format.h>

#include <bit>

#include "sim/order.hpp"

namespace tessera::sim {

namespace {
// A NaN as float16, and a signalling one as bfloat16 and float32.
constexpr std::byte poison[2] = {std::byte{0xa0}, std::byte{0x7f}};
}  // namespace

MemorySystem::MemorySystem(const Program& program, bool check_handover, Order* order)
    : program_(program),
      check_handover_(check_handover && order == nullptr),
      order_(order),
      size_(program.kernel->shared_bytes),
      shared_((size_ + 15U) / 16U * 16U),
      granules_(shared_.size() / 16U),
      touches_(static_cast<std::size_t>(2 * program.kernel->warps)) {}

void MemorySystem::begin(const BlockInfo* block) {
  block_ = block;
  for (std::size_t i = 0; i < shared_.size(); ++i) shared_[i] = poison[i % 2];
  granules_.assign(granules_.size(), Granule{});
  for (Touches& touches : touches_) {
    touches.whole.clear();
    touches.partial.clear();
  }
  flights_.clear();
  free_flights_.clear();
  for (const auto& region : program_.kernel->regions) {
    if (!region.is_barrier) continue;
    for (std::uint32_t at = region.offset; at < region.offset + region.bytes && at < size_; ++at) {
      granules_[at / 16].barrier = static_cast<std::uint16_t>(granules_[at / 16].barrier | (1U << (at % 16)));
    }
  }
}

void MemorySystem::order_shared(const Access& access, int lane, std::uint32_t offset, std::uint32_t bytes, bool write) {
  order_->shared(block_->place, access, lane, offset, bytes, write);
}

void MemorySystem::order_global(const Access& access, int lane, std::uint32_t param, std::uint64_t offset,
                                std::uint32_t bytes, bool write) {
  order_->global({access.block, access.stmt, access.warp, lane}, param, offset, bytes, write);
}

void MemorySystem::make_barrier(std::uint32_t offset) {
  Granule& granule = granules_[offset / 16];
  const std::uint32_t mask = 0xffU << (offset % 16);
  granule.barrier = static_cast<std::uint16_t>(granule.barrier | mask);
  granule.written = static_cast<std::uint16_t>(granule.written & ~mask);
}

// Accesses by whole warps, which are most, need a fence by the whole warp; others are followed lane by lane.
void MemorySystem::fence(int warp, std::uint32_t lanes) {
  const std::uint32_t others = ~(1U << warp);
  for (const int kind : {any_access, write_access}) {
    Touches& touches = touches_[static_cast<std::size_t>(2 * warp + kind)];
    if (lanes == full_mask) {
      for (const Touch& t : touches.whole) granules_[t.granule].touched[kind] &= others;
      touches.whole.clear();
    }
    for (auto it = touches.partial.begin(); it != touches.partial.end();) {
      it->second.lanes &= ~lanes;
      if (it->second.lanes == 0) {
        granules_[it->first].touched_partly[kind] &= others;
        it = touches.partial.erase(it);
      } else {
        ++it;
      }
    }
  }
}

std::byte* MemorySystem::access_global_async(const Site& site, const MapInfo& map, std::int64_t offset,
                                             std::uint32_t bytes, bool write) const {
  const std::uint32_t param = map.map->param;
  const Buffer& buffer = program_.buffers[param];
  const auto first = static_cast<std::uint64_t>(offset);
  if (offset < 0 || first > buffer.bytes || buffer.bytes - first < bytes) {
    fail(Hazard::out_of_bounds, site,
         fmt::format("the TMA {} bytes {} to {} of parameter {}, whose buffer has {} bytes",
                     write ? "store writes" : "copy reads", offset, offset + bytes - 1,
                     program_.kernel->params[param].name, buffer.bytes),
         fmt::format("the view {} reaches past the buffer: pass a larger buffer or smaller sizes", map.map->name),
         {{map.map->view_loc, "the view is declared here"}});
  }
  return buffer.data + first;
}

void MemorySystem::bad_shared(const Access& access, int lane, std::uint32_t address, std::uint32_t bytes,
                              const char* what) const {
  const Site site{access.block, access.stmt, access.warp, lane};
  const std::uint32_t offset = address - shared_base;
  if (!in_bounds(offset, bytes)) {
    fail(Hazard::out_of_bounds, site,
         fmt::format("{} of {} bytes at shared offset {} is outside the block's {} bytes of shared memory", what, bytes,
                     static_cast<std::int64_t>(address) - shared_base, size_),
         "check the index into the shared tile");
  }
  fail(Hazard::misaligned, site,
       fmt::format("{} of {} bytes at {} is not aligned: the address must be a multiple of {}", what, bytes,
                   describe_shared(*program_.kernel, offset), bytes),
       "align the tile's rows or access fewer bytes at once");
}

void MemorySystem::unwritten(const Site& site, std::uint32_t offset, std::uint32_t mask, const char* what) const {
  const Granule& granule = granules_[offset / 16];
  if ((granule.barrier & mask) != 0) barrier_touched(site, offset, what);
  const auto missing = static_cast<std::uint32_t>(std::countr_zero(mask & ~granule.written));
  if (order_ != nullptr) return order_->unwritten(site, block_->place, offset / 16 * 16 + missing);
  fail(Hazard::uninitialised, site,
       fmt::format("read of uninitialised shared memory: {}",
                   describe_shared(*program_.kernel, offset / 16 * 16 + missing)),
       "write the tile first; if a TMA copy fills it, wait on its mbarrier and synchronise before reading");
}

void MemorySystem::barrier_touched(const Site& site, std::uint32_t offset, const char* what) const {
  fail(Hazard::barrier_storage, site,
       fmt::format("{} touches the storage of an mbarrier: {}", what, describe_shared(*program_.kernel, offset)),
       "a barrier's 8 bytes may only be used by mbarrier operations; the tile overlaps them");
}

void MemorySystem::bad_global(const Access& access, int lane, std::uint32_t param, std::int64_t index,
                              std::uint64_t count, bool write) const {
  const auto& p = program_.kernel->params[param];
  const Buffer& buffer = program_.buffers[param];
  const std::string which = count == 1
                                ? fmt::format("element {}", index)
                                : fmt::format("elements {} to {}", index, index + static_cast<std::int64_t>(count) - 1);
  const std::string found =
      buffer.data == nullptr ? "which is a null pointer"
                             : fmt::format("whose buffer has {} elements of {}",
                                           buffer.bytes / static_cast<std::uint64_t>(size_of(p.type)), name_of(p.type));
  fail(Hazard::out_of_bounds, {access.block, access.stmt, access.warp, lane},
       fmt::format("out-of-bounds {} of {} of parameter {}, {}", write ? "store" : "load", which, p.name, found),
       "pass a buffer that covers the view, or check the offsets");
}

void MemorySystem::misaligned_global(const Access& access, int lane, std::uint32_t param, std::int64_t index,
                                     std::uint32_t bytes) const {
  fail(Hazard::misaligned, {access.block, access.stmt, access.warp, lane},
       fmt::format(
           "misaligned access: {} bytes from element {} of parameter {} on; the address must be a multiple of {}",
           bytes, index, program_.kernel->params[param].name, bytes),
       "pass a buffer that begins on a 16-byte boundary");
}

}  // namespace tessera::sim
