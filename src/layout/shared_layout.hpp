// Shared-memory layouts: modes with strides (in elements) plus one of the hardware swizzles, applied to byte addresses.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::layout {

// The XOR patterns that TMA and wgmma share (PTX ISA 5.5.7): 16-byte chunk ^= line of 128 bytes, within the span.
enum class SwizzleMode : std::uint8_t { none = 0, b32 = 1, b64 = 2, b128 = 3 };

constexpr std::int64_t swizzle_span(SwizzleMode m) {
  return m == SwizzleMode::none ? 0 : (16LL << static_cast<int>(m));
}
// Bytes after which the pattern repeats, which is also the alignment that makes it independent of the address.
constexpr std::int64_t swizzle_period(SwizzleMode m) { return m == SwizzleMode::none ? 16 : swizzle_span(m) * 8; }
constexpr std::int64_t apply_swizzle(SwizzleMode m, std::int64_t byte) {
  const std::int64_t mask = m == SwizzleMode::none ? 0 : ((1LL << static_cast<int>(m)) - 1) << 4;
  return byte ^ ((byte >> 3) & mask);
}

class SharedLayout {
 public:
  using Ints = std::vector<std::int64_t>;

  SharedLayout() = default;
  // Throws an internal tessera::Error if the modes do not multiply to the shape. Modes of extent 1 are dropped.
  SharedLayout(Ints shape, Ints mode_shape, Ints mode_strides, SwizzleMode swizzle, std::int64_t element_bytes);

  const Ints& shape() const { return shape_; }
  const Ints& mode_shape() const { return mode_shape_; }
  const Ints& mode_strides() const { return mode_strides_; }  // elements
  SwizzleMode swizzle() const { return swizzle_; }
  std::int64_t element_bytes() const { return element_bytes_; }
  std::vector<Ints> grouped_modes() const;

  std::int64_t linear_offset(std::span<const std::int64_t> index) const;  // elements, before the swizzle
  std::int64_t byte_offset(std::span<const std::int64_t> index) const;    // bytes, swizzled
  // The index of the element that this byte belongs to; null where none does.
  std::optional<Ints> index_at(std::int64_t byte) const;
  std::int64_t bytes() const;      // one past the last byte
  std::int64_t alignment() const;  // 128, or the swizzle's period where that is more

  SharedLayout permute(const Ints& dims) const;
  // The same addresses under another shape of equal size (row-major order of the elements); null where a mode straddles
  // a new dimension boundary.
  std::optional<SharedLayout> reshape(const Ints& shape) const;
  // The sub-tile at index 0 of the dimensions not in `kept` (ascending). The offset of another index is
  // linear_offset of it, which must be a multiple of the swizzle's period for the slice to describe it.
  SharedLayout slice(const Ints& kept) const;
  // The layout of a box of `extents` elements whose first element has index 0. Null where a dimension's extent is not
  // made of whole inner modes and a divisor of the next one, so that the box would need other modes.
  std::optional<SharedLayout> box(const Ints& extents) const;
  // What the first index of such a box must be a multiple of in dimension `dim`, so that the box lies in memory as the
  // one at index 0 does.
  std::int64_t box_step(std::size_t dim, std::int64_t extent) const;
  // Neighbouring modes of one dimension merged where their strides allow; the same addresses.
  SharedLayout canonical() const;
  bool operator==(const SharedLayout& other) const = default;  // of the modes as written; compare canonical() for maps
  std::string to_string() const;

 private:
  Ints shape_, mode_shape_, mode_strides_;
  SwizzleMode swizzle_ = SwizzleMode::none;
  std::int64_t element_bytes_ = 1;
};

SharedLayout shared_row_major(const SharedLayout::Ints& shape, std::int64_t element_bytes);
SharedLayout shared_column_major(const SharedLayout::Ints& shape, std::int64_t element_bytes);

// Row-major with rows cut into panels of one swizzle span: the last dimension n becomes (n / v, v) with v elements in a
// span, and address order is leading dimensions, panel, row, element. Where the last dimension is narrower than 128
// bytes the span is narrower too. Null where the last dimension is not a multiple of 16 bytes (or of the span).
std::optional<SharedLayout> shared_swizzled(const SharedLayout::Ints& shape, std::int64_t element_bytes,
                                            SwizzleMode mode);
// The widest swizzle that the last dimension allows (b128, b64, b32), else row-major.
SharedLayout shared_widest_swizzle(const SharedLayout::Ints& shape, std::int64_t element_bytes);

// Extra shared-memory cycles of one warp-wide access: `addresses` are the byte addresses of 32 lanes, each accessing
// `bytes` bytes (or of 8 row addresses of 16 bytes for one ldmatrix matrix). 0 means conflict-free. Lanes are served in
// phases of 128 bytes (4-byte: 32 lanes, 8-byte: 16, 16-byte: 8); equal words broadcast.
int bank_conflicts(std::span<const std::int64_t> addresses, int bytes);

}  // namespace tessera::layout
