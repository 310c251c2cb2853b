// Which of several pieces of memory overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

struct ByteRange {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  std::uintptr_t end() const { return begin + bytes; }
};

// Pieces that overlap, directly or through others, are one. Pieces that only touch are not.
struct MergedRanges {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::vector<ByteRange> ranges;    // ascending
  std::vector<std::size_t> of;      // for each piece the range that holds it; `none` for an empty piece
  std::vector<std::size_t> offset;  // for each piece its distance from the beginning of that range
};
MergedRanges merge_overlapping(std::span<const ByteRange> pieces);

}  // namespace tessera
