#include "layout/wgmma_layouts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "layout/detail.hpp"

namespace tessera::layout {

RegisterLayout wgmma_accumulator(std::int64_t m, std::int64_t n) {
  if (m < 1 || n < 1 || m % wgmma_m != 0 || n % 8 != 0) {
    detail::fail("wgmma_accumulator", fmt::format("[{}, {}], multiples of 64 and 8 allowed", m, n));
  }
  return local({m / wgmma_m, 1}).spatial({4, 1}).local({1, n / 8}).local({2, 1}).spatial({8, 4}).local({1, 2});
}

RegisterLayout wgmma_a_fragments(std::int64_t m, std::int64_t k, std::int64_t element_bytes) {
  const std::int64_t k_step = wgmma_k_bytes / element_bytes;
  if (m < 1 || k < 1 || m % wgmma_m != 0 || k % k_step != 0) {
    detail::fail("wgmma_a_fragments", fmt::format("[{}, {}], multiples of 64 and {} allowed", m, k, k_step));
  }
  return local({m / wgmma_m, k / k_step})
      .spatial({4, 1})
      .local({1, 2})
      .local({2, 1})
      .spatial({8, 4})
      .local({1, 4 / element_bytes});
}

std::vector<std::int64_t> wgmma_columns(std::int64_t n, bool integers, std::int64_t unit) {
  if (n < 8 || n % 8 != 0) return {};
  if (n <= (integers ? 32 : 256)) return {n};
  if (integers) unit = std::max<std::int64_t>(unit, 16);
  if (n % unit != 0) return {};
  const std::int64_t most = 256 / unit * unit;
  const std::int64_t pieces = (n + most - 1) / most;
  std::vector<std::int64_t> result;
  std::int64_t units = n / unit;
  for (std::int64_t left = pieces; left > 0; --left) {
    const std::int64_t here = (units + left - 1) / left;
    result.push_back(here * unit);
    units -= here;
  }
  return result;
}

std::uint32_t WgmmaOperand::high_bits() const {
  // The descriptor numbers the swizzles the other way round than a tensor map does.
  const std::uint32_t mode = swizzle == SwizzleMode::none ? 0U : 4U - static_cast<std::uint32_t>(swizzle);
  return static_cast<std::uint32_t>(stride >> 4 & 0x3fff) | mode << 30;
}

namespace {

// One dimension's modes from the innermost outwards, with strides in bytes; neighbours merged.
struct Mode {
  std::int64_t extent, stride;
};
std::vector<Mode> modes_of(const SharedLayout& l, std::size_t dim) {
  std::vector<Mode> result;
  const auto groups = l.grouped_modes();
  for (auto it = groups[dim].rbegin(); it != groups[dim].rend(); ++it) {
    const auto m = static_cast<std::size_t>(*it);
    if (l.mode_shape()[m] == 1) continue;
    result.push_back({l.mode_shape()[m], l.mode_strides()[m] * l.element_bytes()});
  }
  return result;
}

// Rows lie `pitch` bytes apart in groups of eight, and the groups of one instruction at one distance: returned, 0 if
// there is none.
std::int64_t group_distance(const std::vector<Mode>& rows, std::int64_t pitch, std::int64_t count) {
  if (rows.empty() || rows[0].stride != pitch || rows[0].extent % 8 != 0) return 0;
  if (rows.size() == 1 || rows[0].extent % count == 0) return 8 * pitch;
  if (rows[0].extent == 8 && rows.size() > 1 && (rows[1].extent * 8) % count == 0) return rows[1].stride;
  return 0;
}

std::optional<WgmmaOperand> k_major(const SharedLayout& tile, std::int64_t rows, std::string* why) {
  const auto mn = modes_of(tile, 0), k = modes_of(tile, 1);
  WgmmaOperand result;
  result.swizzle = tile.swizzle();
  const std::int64_t run = k[0].extent * tile.element_bytes();  // contiguous bytes of k
  if (result.swizzle == SwizzleMode::none) {
    // Core matrices of 8 rows of 16 bytes.
    if (run != 16 || k.size() < 2) {
      *why = "without a swizzle, eight rows of 16 bytes must lie together";
      return std::nullopt;
    }
    result.leading = k[1].stride;
    result.stride = group_distance(mn, 16, rows);
  } else {
    const std::int64_t span = swizzle_span(result.swizzle);
    if (run > span || run % wgmma_k_bytes != 0) {
      *why = fmt::format("{} contiguous bytes of k in a {}-byte swizzle", run, span);
      return std::nullopt;
    }
    result.stride = group_distance(mn, span, rows);
  }
  if (result.stride == 0) {
    *why = fmt::format("its rows do not lie in groups of eight at one distance over {} rows", rows);
    return std::nullopt;
  }
  return result;
}

std::optional<WgmmaOperand> mn_major(const SharedLayout& tile, std::int64_t rows, std::string* why) {
  if (tile.element_bytes() != 2) {
    *why = "its rows are contiguous instead of k, which wgmma has for 16-bit elements only";
    return std::nullopt;
  }
  const auto mn = modes_of(tile, 0), k = modes_of(tile, 1);
  WgmmaOperand result;
  result.mn_major = true;
  result.block = mn[0].extent;
  result.swizzle = tile.swizzle();
  const bool plain = result.swizzle == SwizzleMode::none;
  const std::int64_t span = plain ? 16 : swizzle_span(result.swizzle);
  if (mn[0].extent * 2 != span || k.empty() || k[0].stride != span) {
    *why = fmt::format("blocks of {} bytes of contiguous rows must lie one k after the other", span);
    return std::nullopt;
  }
  const std::int64_t next_block = mn.size() > 1 ? mn[1].stride : 16;
  if (rows > mn[0].extent && (mn.size() < 2 || mn[0].extent * mn[1].extent < rows)) {
    *why = fmt::format("its blocks do not lie at one distance over {} rows", rows);
    return std::nullopt;
  }
  const std::int64_t next_group = k[0].extent % 16 == 0 ? 8 * span : k.size() > 1 && k[0].extent == 8 ? k[1].stride : 0;
  if (next_group == 0) {
    *why = "groups of eight k do not lie at one distance";
    return std::nullopt;
  }
  // The roles of the two offsets change places without a swizzle.
  result.leading = plain ? next_group : next_block;
  result.stride = plain ? next_block : next_group;
  return result;
}

}  // namespace

std::optional<WgmmaOperand> wgmma_operand(const SharedLayout& tile, std::int64_t rows, std::string* why) {
  const SharedLayout l = tile.canonical();
  if (l.shape().size() != 2) {
    *why = "it does not have two dimensions";
    return std::nullopt;
  }
  const auto mn = modes_of(l, 0), k = modes_of(l, 1);
  if (!k.empty() && k[0].stride == l.element_bytes()) return k_major(l, rows, why);
  if (!mn.empty() && mn[0].stride == l.element_bytes()) return mn_major(l, rows, why);
  *why = "neither its rows nor its columns are contiguous";
  return std::nullopt;
}

}  // namespace tessera::layout
