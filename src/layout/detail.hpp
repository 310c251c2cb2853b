// Helpers shared by the layout sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::layout::detail {

using Ints = std::vector<std::int64_t>;

// A mode, dimension or extent as an index of the standard containers.
inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

[[noreturn]] void fail(std::string_view function, const std::string& what);  // an internal tessera::Error
// "2, 3". Not fmt::join: g++ 12 at -O3 warns inside it.
std::string joined(std::span<const std::int64_t> values);
std::string list(std::span<const std::int64_t> values);  // "[2, 3]"
std::int64_t product(std::span<const std::int64_t> values);
// The dimension of every mode. Throws (naming `function`) if the extents are not positive, the modes do not multiply to
// the shape, or the size does not fit in 62 bits. No mode may have extent 1.
Ints dims_of_modes(std::string_view function, std::span<const std::int64_t> shape, std::span<const std::int64_t> modes);
// Modes of `shape` as index lists, one a dimension.
std::vector<Ints> group_modes(std::span<const std::int64_t> shape, std::span<const std::int64_t> modes);
// Throws unless dims is a permutation of 0 .. rank-1.
void check_permutation(std::string_view function, std::span<const std::int64_t> dims, std::int64_t rank);
void check_index(std::string_view function, std::span<const std::int64_t> index, std::span<const std::int64_t> shape);

}  // namespace tessera::layout::detail
