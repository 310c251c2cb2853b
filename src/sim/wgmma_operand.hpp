// The shared-memory operands of wgmma, as its matrix descriptors place them (PTX ISA 9.7.15.5.1): in pieces of 16
// bytes.
#pragma once

#include <cstdint>

#include "layout/shared_layout.hpp"

namespace tessera::sim {

// With W = 1, 2, 4, 8 pieces for no, the 32-, 64- and 128-byte swizzle:
//   K-major: a row holds consecutive k; rows of a group of 8 are W pieces apart, groups `stride` bytes. A row's two
//     pieces are neighbours, or `leading` bytes apart where there is no swizzle.
//   MN-major: one k holds W pieces of consecutive rows; the k of a group of 8 are W pieces apart. Swizzled: blocks of W
//     pieces of rows are `leading` bytes apart, groups of 8 k `stride` bytes; not swizzled: the other way round.
// The swizzle XORs bits of the address.
struct WgmmaOperand {
  std::uint32_t start = 0, leading = 0, stride = 0;  // bytes
  layout::SwizzleMode swizzle = layout::SwizzleMode::none;
  bool mn_major = false;

  static WgmmaOperand decode(std::uint32_t low, std::uint32_t high, bool mn_major);

  // Shared address of the piece with k = 16 bytes * half .. of row `row`.
  std::uint32_t k_piece(std::uint32_t row, std::uint32_t half) const {
    const std::uint32_t pieces = 1U << static_cast<int>(swizzle);
    const std::uint32_t next = swizzle == layout::SwizzleMode::none ? leading : 16U;
    return swizzled(start + row / 8 * stride + row % 8 * pieces * 16 + half * next);
  }
  // Shared address of the piece with rows `row` .. row + 7 (of 16 bits each) of one k; `row` is a multiple of 8.
  std::uint32_t mn_piece(std::uint32_t row, std::uint32_t k) const {
    const std::uint32_t pieces = 1U << static_cast<int>(swizzle);
    const std::uint32_t block = row / 8 / pieces, within = row / 8 % pieces * 16;
    if (swizzle == layout::SwizzleMode::none) return start + block * stride + k / 8 * leading + k % 8 * 16;
    return swizzled(start + block * leading + k / 8 * stride + k % 8 * pieces * 16 + within);
  }

  // Calls f(address, row, k) for each piece of rows first .. first + count - 1; k: 16-byte half, or element if
  // MN-major.
  template <class F>
  void for_each_piece(std::uint32_t first, std::uint32_t count, F&& f) const {
    if (mn_major) {
      for (std::uint32_t row = first; row < first + count; row += 8) {
        for (std::uint32_t k = 0; k < 16; ++k) f(mn_piece(row, k), row - first, k);
      }
      return;
    }
    for (std::uint32_t row = first; row < first + count; ++row) {
      for (std::uint32_t half = 0; half < 2; ++half) f(k_piece(row, half), row - first, half);
    }
  }

 private:
  std::uint32_t swizzled(std::uint32_t address) const {
    return static_cast<std::uint32_t>(layout::apply_swizzle(swizzle, address));
  }
};

inline WgmmaOperand WgmmaOperand::decode(std::uint32_t low, std::uint32_t high, bool mn_major) {
  using layout::SwizzleMode;
  constexpr SwizzleMode modes[4] = {SwizzleMode::none, SwizzleMode::b128, SwizzleMode::b64, SwizzleMode::b32};
  WgmmaOperand operand;
  operand.start = (low & 0x3fffU) << 4;
  operand.leading = ((low >> 16) & 0x3fffU) << 4;
  operand.stride = (high & 0x3fffU) << 4;
  operand.swizzle = modes[high >> 30];
  operand.mn_major = mn_major;
  return operand;
}

}  // namespace tessera::sim
