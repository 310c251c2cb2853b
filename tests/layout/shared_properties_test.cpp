// The laws of shared-memory layouts and of the swizzles.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "layout/shared_layout.hpp"

namespace tessera::layout {
namespace {

using Ints = SharedLayout::Ints;

// Uniform from the first case on: left to itself the range grows with the case's size.
std::int64_t any(std::int64_t from, std::int64_t to) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(from, to + 1));
}
SwizzleMode any_mode() { return static_cast<SwizzleMode>(any(0, 3)); }

void each_index(const Ints& shape, const std::function<void(const Ints&)>& visit) {
  std::int64_t size = 1;
  for (const std::int64_t extent : shape) size *= extent;
  for (std::int64_t i = 0; i < size; ++i) {
    Ints index(shape.size());
    std::int64_t rest = i;
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) index[d] = rest % shape[d];
    visit(index);
  }
}

// A tile with its modes in any order in memory, without holes.
SharedLayout any_dense(SwizzleMode mode, std::int64_t element_bytes) {
  Ints shape, modes, order;
  for (std::int64_t d = any(1, 3); d > 0; --d) {
    shape.push_back(1);
    for (std::int64_t count = any(1, 2); count > 0; --count) {
      order.insert(order.begin() + any(0, static_cast<std::int64_t>(order.size())),
                   static_cast<std::int64_t>(modes.size()));
      modes.push_back(any(1, 4));
      shape.back() *= modes.back();
    }
  }
  Ints strides(modes.size());
  std::int64_t stride = 1;
  for (const std::int64_t m : order) {
    strides[static_cast<std::size_t>(m)] = stride;
    stride *= modes[static_cast<std::size_t>(m)];
  }
  return {shape, modes, strides, mode, element_bytes};
}

#define LAW(name, ...) \
  TEST(SharedLaws, name) { EXPECT_TRUE(rc::check(#name, [] __VA_ARGS__)); }

LAW(SwizzleIsAnInvolutionWithinOneSpan, {
  const SwizzleMode mode = any_mode();
  const std::int64_t byte = any(0, 1 << 20), swizzled = apply_swizzle(mode, byte);
  RC_ASSERT(apply_swizzle(mode, swizzled) == byte);
  const std::int64_t span = std::max<std::int64_t>(swizzle_span(mode), 16);
  RC_ASSERT(swizzled / span == byte / span);
  RC_ASSERT(swizzled % 16 == byte % 16);
  const std::int64_t base = swizzle_period(mode) * any(0, 1000);
  RC_ASSERT(apply_swizzle(mode, base + byte) == base + swizzled);
})

LAW(SwizzleMovesChunksAsTheFiguresShow, {
  const std::int64_t row = any(0, 63), chunk = any(0, 7);
  const std::int64_t byte = row * 128 + chunk * 16;
  RC_ASSERT(apply_swizzle(SwizzleMode::b128, byte) == row * 128 + (chunk ^ (row % 8)) * 16);
  RC_ASSERT(apply_swizzle(SwizzleMode::b64, byte) == row * 128 + (chunk ^ (row % 4)) * 16);
  RC_ASSERT(apply_swizzle(SwizzleMode::b32, byte) == row * 128 + (chunk ^ (row % 2)) * 16);
  RC_ASSERT(apply_swizzle(SwizzleMode::none, byte) == byte);
})

LAW(DenseLayoutsAreBijective, {
  const std::int64_t element_bytes = std::int64_t{1} << any(0, 3);
  const SharedLayout l = any_dense(any_mode(), element_bytes);
  std::set<std::int64_t> offsets;
  each_index(l.shape(), [&](const Ints& index) {
    const std::int64_t byte = l.byte_offset(index);
    RC_ASSERT(byte >= 0 && byte + element_bytes <= l.bytes());
    RC_ASSERT(byte % element_bytes == 0);
    RC_ASSERT(byte == apply_swizzle(l.swizzle(), l.linear_offset(index) * element_bytes));
    RC_ASSERT(offsets.insert(byte).second);
  });
})

LAW(SwizzledPanelsFillTheTile, {
  const std::int64_t element_bytes = std::int64_t{1} << any(0, 3);
  Ints shape;
  if (any(0, 1) == 1) shape.push_back(any(1, 3));
  shape.push_back(any(1, 20));
  shape.push_back(any(1, 12) * 16 / element_bytes);
  const SharedLayout l = shared_widest_swizzle(shape, element_bytes);
  const std::int64_t row_bytes = shape.back() * element_bytes;
  RC_ASSERT(l.shape() == shape);
  std::int64_t widest = 0;
  for (const std::int64_t span : std::array<std::int64_t, 3>{32, 64, 128})
    widest = row_bytes % span == 0 ? span : widest;
  RC_ASSERT(swizzle_span(l.swizzle()) == widest);
  std::set<std::int64_t> offsets;
  std::int64_t size = element_bytes;
  for (const std::int64_t extent : shape) size *= extent;
  RC_ASSERT(l.bytes() == size);
  each_index(shape, [&](const Ints& index) {
    RC_ASSERT(offsets.insert(l.byte_offset(index)).second);
    // Address order before the swizzle: leading dimension, panel, row, byte of the panel.
    const std::int64_t panel_bytes = widest == 0 ? row_bytes : widest;
    const std::int64_t column = index.back() * element_bytes, row = index[index.size() - 2];
    const std::int64_t rows = shape[shape.size() - 2], lead = index.size() == 3 ? index[0] : 0;
    const std::int64_t expected =
        lead * rows * row_bytes + column / panel_bytes * rows * panel_bytes + row * panel_bytes + column % panel_bytes;
    RC_ASSERT(l.linear_offset(index) * element_bytes == expected);
  });
  RC_ASSERT(*offsets.begin() == 0);
  RC_ASSERT(*offsets.rbegin() == size - element_bytes);
})

LAW(PermuteReshapeAndCanonicalKeepAddresses, {
  const SharedLayout l = any_dense(any_mode(), 2), c = l.canonical();
  RC_ASSERT(c.canonical() == c);
  Ints dims;
  for (std::size_t d = 0; d < l.shape().size(); ++d) {
    dims.insert(dims.begin() + any(0, static_cast<std::int64_t>(dims.size())), static_cast<std::int64_t>(d));
  }
  const SharedLayout p = l.permute(dims);
  const auto split = l.reshape(l.mode_shape());
  RC_ASSERT(split.has_value());
  each_index(l.shape(), [&](const Ints& index) {
    RC_ASSERT(c.byte_offset(index) == l.byte_offset(index));
    Ints permuted;
    for (const std::int64_t d : dims) permuted.push_back(index[static_cast<std::size_t>(d)]);
    RC_ASSERT(p.byte_offset(permuted) == l.byte_offset(index));
    Ints digits(l.mode_shape().size());
    std::size_t m = digits.size();
    for (std::size_t d = index.size(); d-- > 0;) {
      std::int64_t rest = index[d];
      for (std::int64_t extent = 1; extent < l.shape()[d]; extent *= l.mode_shape()[m]) {
        --m;
        digits[m] = rest % l.mode_shape()[m];
        rest /= l.mode_shape()[m];
      }
    }
    RC_ASSERT(split->byte_offset(digits) == l.byte_offset(index));
  });
  RC_ASSERT(split->reshape(l.shape())->canonical() == c);
})

}  // namespace
}  // namespace tessera::layout
