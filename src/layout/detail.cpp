#include "layout/detail.hpp"

#include <fmt/format.h>

#include "tessera/core/error.hpp"

namespace tessera::layout::detail {

void fail(std::string_view function, const std::string& what) {
  throw Error(ErrorKind::internal, SourceLoc{}, fmt::format("layout: {}: {}", function, what));
}

std::string joined(std::span<const std::int64_t> values) {
  std::string text;
  for (const std::int64_t v : values) {
    if (!text.empty()) text += ", ";
    text += std::to_string(v);
  }
  return text;
}

std::string list(std::span<const std::int64_t> values) { return fmt::format("[{}]", joined(values)); }

std::int64_t product(std::span<const std::int64_t> values) {
  std::int64_t result = 1;
  for (const std::int64_t v : values) result *= v;
  return result;
}

Ints dims_of_modes(std::string_view function, std::span<const std::int64_t> shape,
                   std::span<const std::int64_t> modes) {
  constexpr std::int64_t limit = std::int64_t{1} << 62;
  std::int64_t size = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 1) fail(function, fmt::format("extents must be positive, found shape {}", list(shape)));
    if (size > limit / extent) fail(function, fmt::format("shape {} is too large", list(shape)));
    size *= extent;
  }
  Ints dims;
  dims.reserve(modes.size());
  std::size_t m = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::int64_t extent = 1;
    while (extent < shape[d] && m < modes.size() && modes[m] > 1 && modes[m] <= shape[d] / extent) {
      extent *= modes[m++];
      dims.push_back(static_cast<std::int64_t>(d));
    }
    if (extent != shape[d]) m = modes.size() + 1;
    if (m > modes.size()) break;
  }
  if (m != modes.size()) {
    fail(function, fmt::format("modes {} do not multiply to shape {}", list(modes), list(shape)));
  }
  return dims;
}

std::vector<Ints> group_modes(std::span<const std::int64_t> shape, std::span<const std::int64_t> modes) {
  std::vector<Ints> groups(shape.size());
  std::size_t m = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    for (std::int64_t extent = 1; extent < shape[d]; ++m) {
      extent *= modes[m];
      groups[d].push_back(static_cast<std::int64_t>(m));
    }
  }
  return groups;
}

void check_permutation(std::string_view function, std::span<const std::int64_t> dims, std::int64_t rank) {
  std::vector<bool> seen(static_cast<std::size_t>(rank), false);
  bool good = static_cast<std::int64_t>(dims.size()) == rank;
  for (const std::int64_t d : dims) {
    good = good && d >= 0 && d < rank && !seen[static_cast<std::size_t>(d)];
    if (!good) break;
    seen[static_cast<std::size_t>(d)] = true;
  }
  if (!good) fail(function, fmt::format("{} is not a permutation of the {} dimensions", list(dims), rank));
}

void check_index(std::string_view function, std::span<const std::int64_t> index, std::span<const std::int64_t> shape) {
  bool good = index.size() == shape.size();
  for (std::size_t d = 0; good && d < shape.size(); ++d) good = index[d] >= 0 && index[d] < shape[d];
  if (!good) fail(function, fmt::format("index {} is outside of shape {}", list(index), list(shape)));
}

}  // namespace tessera::layout::detail
