#include "layout/shared_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "layout/detail.hpp"

namespace tessera::layout {

namespace {

using detail::at;
using Ints = SharedLayout::Ints;

const char* name(SwizzleMode mode) {
  switch (mode) {
    case SwizzleMode::none: return "none";
    case SwizzleMode::b32: return "32B";
    case SwizzleMode::b64: return "64B";
    case SwizzleMode::b128: return "128B";
  }
  return "?";
}

// Strides of a dense tile whose dimensions are laid out in `order`, slowest first.
Ints dense_strides(const Ints& shape, bool last_fastest) {
  Ints strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t d = last_fastest ? shape.size() - 1 - i : i;
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

}  // namespace

SharedLayout::SharedLayout(Ints shape, Ints mode_shape, Ints mode_strides, SwizzleMode swizzle,
                           std::int64_t element_bytes)
    : shape_(std::move(shape)), swizzle_(swizzle), element_bytes_(element_bytes) {
  if (mode_shape.size() != mode_strides.size() || element_bytes < 1) {
    detail::fail("SharedLayout", fmt::format("modes {} and strides {} must pair up, elements of {} bytes be positive",
                                             detail::list(mode_shape), detail::list(mode_strides), element_bytes));
  }
  for (std::size_t m = 0; m < mode_shape.size(); ++m) {
    if (mode_shape[m] == 1) continue;
    if (mode_strides[m] < 0) {
      detail::fail("SharedLayout", fmt::format("strides must not be negative, found {}", detail::list(mode_strides)));
    }
    mode_shape_.push_back(mode_shape[m]);
    mode_strides_.push_back(mode_strides[m]);
  }
  detail::dims_of_modes("SharedLayout", shape_, mode_shape_);
}

std::vector<Ints> SharedLayout::grouped_modes() const { return detail::group_modes(shape_, mode_shape_); }

std::int64_t SharedLayout::linear_offset(std::span<const std::int64_t> index) const {
  detail::check_index("linear_offset", index, shape_);
  std::int64_t offset = 0;
  std::size_t m = mode_shape_.size();
  for (std::size_t d = shape_.size(); d-- > 0;) {
    std::int64_t rest = index[d];
    for (std::int64_t extent = 1; extent < shape_[d]; extent *= mode_shape_[m]) {
      --m;
      const std::int64_t quotient = rest / mode_shape_[m];
      offset += (rest - quotient * mode_shape_[m]) * mode_strides_[m];
      rest = quotient;
    }
  }
  return offset;
}

std::optional<SharedLayout::Ints> SharedLayout::index_at(std::int64_t byte) const {
  // The swizzle is its own inverse. Modes by falling stride are the digits of the offset.
  std::int64_t rest = apply_swizzle(swizzle_, byte) / element_bytes_;
  const std::int64_t offset = rest;
  std::vector<std::size_t> order(mode_shape_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return mode_strides_[a] > mode_strides_[b]; });
  Ints digits(mode_shape_.size(), 0);
  for (const std::size_t m : order) {
    if (mode_strides_[m] == 0) continue;
    digits[m] = std::min(rest / mode_strides_[m], mode_shape_[m] - 1);
    rest -= digits[m] * mode_strides_[m];
  }
  Ints index;
  std::size_t mode = 0;
  for (const Ints& group : grouped_modes()) {
    std::int64_t value = 0;
    for (std::size_t i = 0; i < group.size(); ++i) value = value * group[i] + digits[mode++];
    index.push_back(value);
  }
  if (rest != 0 || linear_offset(index) != offset) return std::nullopt;
  return index;
}

std::int64_t SharedLayout::byte_offset(std::span<const std::int64_t> index) const {
  return apply_swizzle(swizzle_, linear_offset(index) * element_bytes_);
}

std::int64_t SharedLayout::bytes() const {
  std::int64_t last = 0;
  for (std::size_t m = 0; m < mode_shape_.size(); ++m) last += (mode_shape_[m] - 1) * mode_strides_[m];
  const std::int64_t size = (last + 1) * element_bytes_;
  // The swizzle permutes 16-byte chunks inside one span.
  const std::int64_t span = std::max<std::int64_t>(swizzle_span(swizzle_), 1);
  return (size + span - 1) / span * span;
}

std::int64_t SharedLayout::alignment() const { return std::max<std::int64_t>(128, swizzle_period(swizzle_)); }

SharedLayout SharedLayout::permute(const Ints& dims) const {
  detail::check_permutation("permute", dims, static_cast<std::int64_t>(shape_.size()));
  const std::vector<Ints> groups = grouped_modes();
  Ints shape, modes, strides;
  for (const std::int64_t d : dims) {
    shape.push_back(shape_[at(d)]);
    for (const std::int64_t m : groups[at(d)]) {
      modes.push_back(mode_shape_[at(m)]);
      strides.push_back(mode_strides_[at(m)]);
    }
  }
  return {std::move(shape), std::move(modes), std::move(strides), swizzle_, element_bytes_};
}

std::optional<SharedLayout> SharedLayout::reshape(const Ints& shape) const {
  const std::int64_t size = detail::product(shape_);
  std::int64_t total = size;
  for (const std::int64_t extent : shape) {
    if (extent < 1 || total % extent != 0) return std::nullopt;
    total /= extent;
  }
  if (total != 1) return std::nullopt;
  const SharedLayout flat = SharedLayout({size}, mode_shape_, mode_strides_, swizzle_, element_bytes_).canonical();
  Ints modes = flat.mode_shape_, strides = flat.mode_strides_;
  std::size_t m = 0;
  for (const std::int64_t extent : shape) {
    for (std::int64_t rest = extent; rest > 1; ++m) {
      if (modes[m] > rest) {
        if (modes[m] % rest != 0) return std::nullopt;
        const std::int64_t inner = modes[m] / rest;
        modes.insert(modes.begin() + static_cast<std::ptrdiff_t>(m) + 1, inner);
        strides.insert(strides.begin() + static_cast<std::ptrdiff_t>(m), strides[m] * inner);
        modes[m] = rest;
      } else if (rest % modes[m] != 0) {
        return std::nullopt;
      }
      rest /= modes[m];
    }
  }
  return SharedLayout(shape, std::move(modes), std::move(strides), swizzle_, element_bytes_);
}

SharedLayout SharedLayout::slice(const Ints& kept) const {
  const std::vector<Ints> groups = grouped_modes();
  Ints shape, modes, strides;
  std::int64_t previous = -1;
  for (const std::int64_t d : kept) {
    if (d <= previous || d >= static_cast<std::int64_t>(shape_.size())) {
      detail::fail("slice", fmt::format("{} must name dimensions of {} in order", detail::list(kept), shape_.size()));
    }
    previous = d;
    shape.push_back(shape_[at(d)]);
    for (const std::int64_t m : groups[at(d)]) {
      modes.push_back(mode_shape_[at(m)]);
      strides.push_back(mode_strides_[at(m)]);
    }
  }
  return {std::move(shape), std::move(modes), std::move(strides), swizzle_, element_bytes_};
}

std::optional<SharedLayout> SharedLayout::box(const Ints& extents) const {
  if (extents.size() != shape_.size()) {
    detail::fail("box", fmt::format("{} extents for {} dimensions", extents.size(), shape_.size()));
  }
  const std::vector<Ints> groups = grouped_modes();
  Ints modes, strides;
  for (std::size_t d = 0; d < shape_.size(); ++d) {
    Ints kept, kept_strides;
    std::int64_t rest = extents[d];
    for (auto it = groups[d].rbegin(); it != groups[d].rend() && rest > 1; ++it) {
      const std::int64_t extent = mode_shape_[at(*it)];
      if (rest < extent ? extent % rest != 0 && it + 1 != groups[d].rend() : rest % extent != 0) return std::nullopt;
      kept.insert(kept.begin(), std::min(rest, extent));
      kept_strides.insert(kept_strides.begin(), mode_strides_[at(*it)]);
      rest /= std::min(rest, extent);
    }
    if (rest > 1) return std::nullopt;
    modes.insert(modes.end(), kept.begin(), kept.end());
    strides.insert(strides.end(), kept_strides.begin(), kept_strides.end());
  }
  return SharedLayout(extents, std::move(modes), std::move(strides), swizzle_, element_bytes_);
}

std::int64_t SharedLayout::box_step(std::size_t dim, std::int64_t extent) const {
  const Ints group = grouped_modes()[dim];
  std::int64_t inner = 1;  // extent of the modes inside the outermost one that the box reaches
  for (auto it = group.rbegin(); it != group.rend(); ++it) {
    const std::int64_t mode = mode_shape_[at(*it)];
    if (extent <= inner * mode) return it + 1 == group.rend() ? inner : extent;
    inner *= mode;
  }
  return inner;
}

SharedLayout SharedLayout::canonical() const {
  SharedLayout result;
  result.shape_ = shape_;
  result.swizzle_ = swizzle_;
  result.element_bytes_ = element_bytes_;
  for (const Ints& group : grouped_modes()) {
    bool first = true;
    for (const std::int64_t m : group) {
      const std::int64_t extent = mode_shape_[at(m)], stride = mode_strides_[at(m)];
      if (!first && result.mode_strides_.back() == extent * stride) {
        result.mode_shape_.back() *= extent;
        result.mode_strides_.back() = stride;
      } else {
        result.mode_shape_.push_back(extent);
        result.mode_strides_.push_back(stride);
      }
      first = false;
    }
  }
  return result;
}

std::string SharedLayout::to_string() const {
  return fmt::format("shared_layout({}, modes {}, strides {}, swizzle {}, {} B)", detail::list(shape_),
                     detail::list(mode_shape_), detail::list(mode_strides_), name(swizzle_), element_bytes_);
}

SharedLayout shared_row_major(const Ints& shape, std::int64_t element_bytes) {
  return {shape, shape, dense_strides(shape, true), SwizzleMode::none, element_bytes};
}

SharedLayout shared_column_major(const Ints& shape, std::int64_t element_bytes) {
  return {shape, shape, dense_strides(shape, false), SwizzleMode::none, element_bytes};
}

std::optional<SharedLayout> shared_swizzled(const Ints& shape, std::int64_t element_bytes, SwizzleMode mode) {
  if (shape.empty() || element_bytes < 1 || 16 % element_bytes != 0) return std::nullopt;
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < 1; })) return std::nullopt;
  const std::int64_t row = shape.back() * element_bytes;
  if (row % 16 != 0) return std::nullopt;
  while (swizzle_span(mode) > row) mode = static_cast<SwizzleMode>(static_cast<int>(mode) - 1);
  if (mode == SwizzleMode::none) return shared_row_major(shape, element_bytes);
  if (row % swizzle_span(mode) != 0) return std::nullopt;
  const std::int64_t width = swizzle_span(mode) / element_bytes, panels = shape.back() / width;
  const std::int64_t rows = shape.size() > 1 ? shape[shape.size() - 2] : 1;
  Ints modes(shape.begin(), shape.end() - 1), strides(modes.size());
  std::int64_t stride = rows * shape.back();
  for (std::size_t d = modes.size(); d-- > 0;) {
    const bool is_row = d + 2 == shape.size();
    strides[d] = is_row ? width : stride;
    if (!is_row) stride *= shape[d];
  }
  modes.insert(modes.end(), {panels, width});
  strides.insert(strides.end(), {rows * width, 1});
  return SharedLayout(shape, std::move(modes), std::move(strides), mode, element_bytes);
}

SharedLayout shared_widest_swizzle(const Ints& shape, std::int64_t element_bytes) {
  for (const SwizzleMode mode : {SwizzleMode::b128, SwizzleMode::b64, SwizzleMode::b32}) {
    if (auto layout = shared_swizzled(shape, element_bytes, mode)) return *std::move(layout);
  }
  return shared_row_major(shape, element_bytes);
}

int bank_conflicts(std::span<const std::int64_t> addresses, int bytes) {
  if (bytes < 1 || bytes > 16)
    detail::fail("bank_conflicts", fmt::format("{} bytes an access, 1 to 16 allowed", bytes));
  const std::size_t lanes = bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8;
  int extra = 0;
  for (std::size_t begin = 0; begin < addresses.size(); begin += lanes) {
    std::array<std::int64_t, 64> words;
    std::size_t count = 0;
    for (std::size_t i = begin; i < std::min(begin + lanes, addresses.size()); ++i) {
      if (addresses[i] < 0) detail::fail("bank_conflicts", fmt::format("negative address {}", addresses[i]));
      for (std::int64_t w = addresses[i] / 4; w <= (addresses[i] + bytes - 1) / 4; ++w) words[count++] = w;
    }
    std::sort(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count));
    std::array<int, 32> banks{};
    for (std::size_t i = 0; i < count; ++i) {
      if (i == 0 || words[i] != words[i - 1]) ++banks[at(words[i] % 32)];
    }
    extra += *std::max_element(banks.begin(), banks.end()) - 1;
  }
  return extra;
}

}  // namespace tessera::layout
