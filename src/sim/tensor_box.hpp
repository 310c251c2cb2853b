// What a tensor map says about one box: where its rows lie in global memory, where its bytes lie in shared memory.
#pragma once

#include <cstdint>
#include <span>

#include "sim/memory.hpp"

namespace tessera::sim {

struct TensorBox {
  const MapInfo* map = nullptr;
  std::uint32_t address = 0;  // shared address of the first byte
  std::int32_t coords[5] = {};

  std::uint32_t rows() const { return map->rows; }
  std::uint32_t row_bytes() const { return map->row_bytes; }
  std::uint32_t bytes() const { return map->row_bytes * map->rows; }
  // Shared offset of the box's byte; the swizzle XORs address bits, so the key comes from the real address.
  std::uint32_t shared_offset(std::uint32_t byte) const;
};

// The part of a row of the box that lies within the tensor: elements low to high of the row, from byte `start` of the
// parameter's buffer on. Empty where low >= high.
struct RowSpan {
  std::int64_t low = 0, high = 0;
  std::int64_t start = 0;
  bool empty() const { return low >= high; }
};
RowSpan row_span(const Program& program, const TensorBox& box, std::uint32_t row);

// The box of map number `map` at these coordinates. Checks the number of coordinates, what the driver demands of the
// map (cuTensorMapEncodeTiled), and bounds and alignment of the shared address.
TensorBox make_box(const Site& site, const Program& program, const MemorySystem& memory, std::uint32_t map,
                   std::uint32_t address, std::span<const std::int32_t> coords, bool store);
void check_coordinates(const Site& site, const MapInfo& map, std::size_t coords, const char* what);

}  // namespace tessera::sim
