// wgmma (PTX ISA 9.7.15): register fragments of a warpgroup, instruction extents, and shared tiles as matrix operands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layout/register_layout.hpp"
#include "layout/shared_layout.hpp"

namespace tessera::layout {

inline constexpr std::int64_t wgmma_m = 64;        // rows of one instruction
inline constexpr std::int64_t wgmma_k_bytes = 32;  // bytes of K of one instruction, whatever the type

// The accumulator [m, n] over 128 threads ("Matrix fragments D", 9.7.15.5.1.1): m a multiple of 64, n of 8. A row of
// instructions has n / 2 consecutive registers, an instruction of columns c.. begins at register c / 2 of it.
RegisterLayout wgmma_accumulator(std::int64_t m, std::int64_t n);

// Operand A [m, k] in registers ("Register Fragments A"): 16 bytes a thread for 64 rows and 32 bytes of k; the
// instructions of a row of 64 follow each other along k.
RegisterLayout wgmma_a_fragments(std::int64_t m, std::int64_t k, std::int64_t element_bytes);

// n cut into instruction extents that PTX has, as equal and as few as possible (9.7.15.2): multiples of 8 up to 256;
// with integers 8, 16, 24, 32 and multiples of 16. All are multiples of `unit` (8 or a multiple of it, at most 256).
// Empty if n cannot be made of them.
std::vector<std::int64_t> wgmma_columns(std::int64_t n, bool integers, std::int64_t unit = 8);

// A shared tile [rows, k] (A, or B transposed) as the matrix descriptor describes it (9.7.15.5.1): offsets in bytes.
struct WgmmaOperand {
  bool mn_major = false;      // the rows are contiguous instead of k
  std::int64_t leading = 16;  // bytes; ignored by the hardware where it has no use, then 16
  std::int64_t stride = 0;    // bytes
  std::int64_t block = 8;     // an instruction's first row is a multiple of this
  SwizzleMode swizzle = SwizzleMode::none;

  // What the descriptor's words hold beside the start address.
  std::uint32_t low_bits() const { return static_cast<std::uint32_t>(leading >> 4 & 0x3fff) << 16; }
  std::uint32_t high_bits() const;
};
// For instructions of up to `rows` rows, each of which begins with a group of eight rows, or with a block of contiguous
// rows where the tile is MN-major. Null with the reason in `why` where no descriptor
// describes the layout. MN-major operands exist for 16-bit elements only.
std::optional<WgmmaOperand> wgmma_operand(const SharedLayout& tile, std::int64_t rows, std::string* why);

}  // namespace tessera::layout
