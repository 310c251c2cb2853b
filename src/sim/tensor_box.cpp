#include "sim/tensor_box.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "layout/shared_layout.hpp"

namespace tessera::sim {

namespace {

layout::SwizzleMode mode_of(const MapInfo& map) { return static_cast<layout::SwizzleMode>(map.map->swizzle); }

// What the driver demands when it encodes the map (cuTensorMapEncodeTiled).
void check_map(const Site& site, const MapInfo& m) {
  const auto reject = [&](const std::string& why) {
    fail(Hazard::misuse, site, fmt::format("the tensor map of {} is not valid: {}", m.map->name, why), {},
         {{m.map->view_loc, "the view is declared here"}});
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

}  // namespace

std::uint32_t TensorBox::shared_offset(std::uint32_t byte) const {
  return static_cast<std::uint32_t>(layout::apply_swizzle(mode_of(*map), address + byte)) - shared_base;
}

RowSpan row_span(const Program& program, const TensorBox& box, std::uint32_t row) {
  const MapInfo& m = *box.map;
  bool overflow = false;
  std::int64_t from = m.base - program.buffers[m.map->param].data;
  std::uint32_t rest = row;
  for (int i = 1; i < m.rank; ++i) {
    const std::int64_t at = static_cast<std::int64_t>(box.coords[i]) + rest % m.box[i];
    rest /= m.box[i];
    if (at < 0 || at >= m.dims[i]) return {};
    std::int64_t step = 0;
    overflow = __builtin_mul_overflow(at, m.strides[i], &step) || __builtin_add_overflow(from, step, &from) || overflow;
  }
  const std::int64_t first = box.coords[0];
  RowSpan span;
  span.low = std::max<std::int64_t>(0, -first);
  span.high = std::min<std::int64_t>(m.box[0], m.dims[0] - first);
  span.start = overflow ? INT64_MAX - (1 << 20) : from + (first + span.low) * m.element_bytes;
  return span;
}

void check_coordinates(const Site& site, const MapInfo& map, std::size_t coords, const char* what) {
  if (coords == static_cast<std::size_t>(map.rank)) return;
  fail_internal(site, fmt::format("a {} through the tensor map of {}, which has rank {}, has {} coordinates", what,
                                  map.map->name, map.rank, coords));
}

TensorBox make_box(const Site& site, const Program& program, const MemorySystem& memory, std::uint32_t map,
                   std::uint32_t address, std::span<const std::int32_t> coords, bool store) {
  const MapInfo& m = program.maps[map];
  const char* what = store ? "store" : "copy";
  check_coordinates(site, m, coords.size(), what);
  check_map(site, m);
  TensorBox box;
  box.map = &m;
  box.address = address;
  std::copy(coords.begin(), coords.end(), box.coords);
  const std::uint32_t offset = address - shared_base;
  if (!memory.in_bounds(offset, box.bytes())) {
    fail(Hazard::out_of_bounds, site,
         fmt::format("the TMA {} {} {} bytes from shared offset {} on, outside the block's {} bytes of shared memory",
                     what, store ? "reads" : "writes", box.bytes(), static_cast<std::int64_t>(address) - shared_base,
                     memory.size()),
         "check the index into the shared tile");
  }
  if (address % 128 != 0) {
    fail(Hazard::misaligned, site,
         fmt::format("the TMA {}'s {}, {}, is not a multiple of 128 bytes", what, store ? "source" : "destination",
                     describe_shared(*program.kernel, offset)),
         "align the tile, or copy whole tiles");
  }
  // A swizzled box can reach past its last byte only within a pattern that it does not fill.
  for (std::uint32_t at = 0; at < box.bytes(); at += 16) {
    const std::uint32_t to = box.shared_offset(at);
    if (memory.in_bounds(to, 16)) continue;
    fail(Hazard::out_of_bounds, site,
         fmt::format("the swizzled TMA {} {} shared offset {}, outside the block's {} bytes of shared memory", what,
                     store ? "reads" : "writes", to, memory.size()),
         "give the tile whole swizzle patterns");
  }
  return box;
}

}  // namespace tessera::sim
