#include "sim/tma.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "layout/shared_layout.hpp"

namespace tessera::sim {

namespace {
layout::SwizzleMode mode_of(const MapInfo& map) { return static_cast<layout::SwizzleMode>(map.map->swizzle); }
}  // namespace

// What the driver demands when it encodes the map (cuTensorMapEncodeTiled).
void TmaEngine::check_map(const Site& site, const MapInfo& m) const {
  const auto reject = [&](const std::string& why) {
    fail(site, fmt::format("the tensor map of {} is not valid: {}", m.map->name, why), {},
         {{m.map->loc, "the view is declared here"}});
  };
  if (m.base == nullptr) reject("its pointer is null");
  if (reinterpret_cast<std::uintptr_t>(m.base) % 16 != 0) reject("its base address is not a multiple of 16 bytes");
  for (int i = 0; i < m.rank; ++i) {
    if (m.dims[i] < 1 || m.dims[i] > (1LL << 32))
      reject(fmt::format("dimension {} has {} elements; 1 to 2^32 are possible", i, m.dims[i]));
    if (m.box[i] < 1 || m.box[i] > 256)
      reject(fmt::format("the box has {} elements along dimension {}; 1 to 256 are possible", m.box[i], i));
    if (i > 0 && (m.strides[i] < 0 || m.strides[i] % 16 != 0 || m.strides[i] >= (1LL << 40))) {
      reject(fmt::format("the stride of dimension {} is {} bytes; multiples of 16 below 2^40 are possible", i,
                         m.strides[i]));
    }
  }
  if (m.row_bytes % 16 != 0)
    reject(fmt::format("a row of the box has {} bytes; it must be a multiple of 16", m.row_bytes));
  const auto span = layout::swizzle_span(mode_of(m));
  if (span != 0 && m.row_bytes > span) {
    reject(fmt::format("a row of the box has {} bytes, more than the swizzle's {}", m.row_bytes, span));
  }
}

// The pattern XORs address bits, so the key comes from the real address, not from the place within the box.
std::uint32_t TmaEngine::target(const TmaCopy& copy, std::uint32_t byte) const {
  return static_cast<std::uint32_t>(layout::apply_swizzle(mode_of(*copy.map), copy.destination + byte)) - shared_base;
}

void TmaEngine::issue(const Site& site, std::uint32_t map, std::uint32_t destination,
                      std::span<const std::int32_t> coords, std::uint32_t barrier) {
  const MapInfo& m = program_.maps[map];
  if (coords.size() != static_cast<std::size_t>(m.rank)) {
    fail_internal(site,
                  fmt::format("a copy through the tensor map of {} has {} coordinates", m.map->name, coords.size()));
  }
  check_map(site, m);
  const std::uint32_t bytes = m.row_bytes * m.rows;
  const std::uint32_t offset = destination - shared_base;
  if (!memory_.in_bounds(offset, bytes)) {
    fail(site,
         fmt::format(
             "the TMA copy writes {} bytes from shared offset {} on, outside the block's {} bytes of shared memory",
             bytes, static_cast<std::int64_t>(destination) - shared_base, memory_.size()),
         "check the index into the shared tile");
  }
  if (destination % 128 != 0) {
    fail(site,
         fmt::format("the TMA copy's destination, {}, is not a multiple of 128 bytes",
                     describe_shared(*program_.kernel, offset)),
         "align the tile, or copy whole tiles");
  }
  barriers_.at(site, barrier, "a TMA copy completing");
  TmaCopy copy;
  copy.map = &m;
  copy.stmt = site.stmt;
  copy.warp = site.warp;
  copy.destination = destination;
  copy.barrier = barrier;
  std::copy(coords.begin(), coords.end(), copy.coords);
  // A swizzled box can reach past its last byte only within a pattern that it does not fill.
  for (std::uint32_t at = 0; at < bytes; at += 16) {
    const std::uint32_t to = target(copy, at);
    if (!memory_.in_bounds(to, 16)) {
      fail(site,
           fmt::format("the swizzled TMA copy writes shared offset {}, outside the block's {} bytes of shared memory",
                       to, memory_.size()),
           "give the tile whole swizzle patterns");
    }
    memory_.check_target(site.stmt, site.warp, to);
  }
  queue_.push_back(copy);
}

void TmaEngine::copy_row(const TmaCopy& copy, std::uint32_t row) {
  const MapInfo& m = *copy.map;
  std::byte line[256 * 8] = {};  // elements out of range are 0
  bool inside = true;
  bool overflow = false;
  std::int64_t from = m.base - program_.buffers[m.map->param].data;
  std::uint32_t rest = row;
  for (int i = 1; i < m.rank; ++i) {
    const std::int64_t at = static_cast<std::int64_t>(copy.coords[i]) + rest % m.box[i];
    rest /= m.box[i];
    inside = inside && at >= 0 && at < m.dims[i];
    std::int64_t step = 0;
    overflow = __builtin_mul_overflow(at, m.strides[i], &step) || __builtin_add_overflow(from, step, &from) || overflow;
  }
  const std::int64_t first = copy.coords[0];
  const std::int64_t low = std::max<std::int64_t>(0, -first);
  const std::int64_t high = std::min<std::int64_t>(m.box[0], m.dims[0] - first);
  if (inside && low < high) {
    const Site site{block_, copy.stmt, copy.warp, -1};
    const auto bytes = static_cast<std::uint32_t>(high - low) * m.element_bytes;
    const std::int64_t start = overflow ? INT64_MAX - (1 << 20) : from + (first + low) * m.element_bytes;
    std::memcpy(line + low * m.element_bytes, memory_.read_global_async(site, m, start, bytes), bytes);
  }
  for (std::uint32_t at = 0; at < m.row_bytes; at += 16) {
    std::memcpy(memory_.write_async(copy.stmt, copy.warp, target(copy, row * m.row_bytes + at)), line + at, 16);
  }
}

void TmaEngine::land(std::size_t index, std::uint32_t rows) {
  TmaCopy& copy = queue_[index];
  const std::uint32_t end = copy.landed + std::min(rows, copy.rows() - copy.landed);
  for (; copy.landed < end; ++copy.landed) copy_row(copy, copy.landed);
  if (copy.landed < copy.rows()) return;
  const TmaCopy done = copy;
  queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(index));
  const std::uint32_t bytes = done.map->row_bytes * done.map->rows;
  bytes_landed_ += bytes;
  barriers_.complete({block_, done.stmt, done.warp, -1}, done.barrier, bytes);
}

}  // namespace tessera::sim
