// The layout of a tile that nothing constrains, and the test whether a change of layout moves data between threads.
#include <fmt/format.h>

#include <bit>
#include <numeric>

#include "layout/detail.hpp"
#include "layout/register_layout.hpp"

namespace tessera::layout {

namespace {

using detail::at;
using Ints = RegisterLayout::Ints;

// Gives every thread `vector` consecutive elements, then spreads the threads from the last dimension to the first.
RegisterLayout spread(const Ints& shape, std::int64_t threads, std::int64_t vector) {
  const std::size_t rank = shape.size();
  Ints repeats(shape), across(rank, 1), inner(rank, 1);
  if (rank > 0) {
    inner.back() = vector;
    repeats.back() /= vector;
  }
  for (std::size_t d = rank; d-- > 0;) {
    across[d] = std::gcd(threads, repeats[d]);
    repeats[d] /= across[d];
    threads /= across[d];
  }
  return replicated(std::move(repeats), threads).spatial(std::move(across)).local(std::move(inner));
}

// Where a power-of-two layout puts every bit of the thread index: a bit of one dimension's index, or nowhere.
struct BitPlace {
  std::size_t dim = 0;
  int bit = -1;  // -1: replication
  bool operator==(const BitPlace&) const = default;
};
std::vector<BitPlace> thread_bits(const RegisterLayout& l) {
  const auto& modes = l.mode_shape();
  std::vector<BitPlace> lowest(modes.size());
  const std::vector<Ints> groups = l.grouped_modes();
  for (std::size_t d = 0; d < groups.size(); ++d) {
    int bit = 0;
    for (auto m = groups[d].rbegin(); m != groups[d].rend(); ++m) {
      lowest[at(*m)] = {d, bit};
      bit += std::countr_zero(static_cast<std::uint64_t>(modes[at(*m)]));
    }
  }
  std::vector<BitPlace> bits;
  for (auto m = l.spatial_modes().rbegin(); m != l.spatial_modes().rend(); ++m) {
    const auto extent = static_cast<std::uint64_t>(*m < 0 ? -*m : modes[at(*m)]);
    for (int i = 0; i < std::countr_zero(extent); ++i) {
      bits.push_back(*m < 0 ? BitPlace{} : BitPlace{lowest[at(*m)].dim, lowest[at(*m)].bit + i});
    }
  }
  return bits;
}

bool powers_of_two(const RegisterLayout& l) {
  for (const std::int64_t m : l.mode_shape()) {
    if (!std::has_single_bit(static_cast<std::uint64_t>(m))) return false;
  }
  return std::has_single_bit(static_cast<std::uint64_t>(l.spatial_size()));
}

// Whether thread t owns element `index`: every spatial digit of the thread is the element's.
bool owns(const RegisterLayout& l, const std::vector<Ints>& groups, std::int64_t thread, const Ints& index,
          Ints& digits) {
  for (std::size_t d = 0; d < groups.size(); ++d) {
    std::int64_t rest = index[d];
    for (auto m = groups[d].rbegin(); m != groups[d].rend(); ++m) {
      digits[at(*m)] = rest % l.mode_shape()[at(*m)];
      rest /= l.mode_shape()[at(*m)];
    }
  }
  for (auto m = l.spatial_modes().rbegin(); m != l.spatial_modes().rend(); ++m) {
    const std::int64_t extent = *m < 0 ? -*m : l.mode_shape()[at(*m)];
    if (*m >= 0 && thread % extent != digits[at(*m)]) return false;
    thread /= extent;
  }
  return true;
}

}  // namespace

RegisterLayout default_layout(const Ints& shape, std::int64_t threads, std::int64_t vector) {
  if (threads < 1 || vector < 1) {
    detail::fail("default_layout", fmt::format("threads {} and vector {} must be positive", threads, vector));
  }
  for (const std::int64_t extent : shape) {
    if (extent < 1) detail::fail("default_layout", fmt::format("extents must be positive: {}", detail::list(shape)));
  }
  // The widest vector that leaves no more threads idle than single elements do: a small tile is spread first.
  const std::int64_t widest = shape.empty() ? 1 : std::gcd(vector, shape.back());
  RegisterLayout best = spread(shape, threads, widest);
  for (std::int64_t v = widest - 1; v >= 1 && best.replication() > 1; --v) {
    if (widest % v != 0) continue;
    RegisterLayout candidate = spread(shape, threads, v);
    if (candidate.replication() < best.replication()) best = std::move(candidate);
  }
  return best;
}

bool same_threads(const RegisterLayout& source, const RegisterLayout& target) {
  if (source.shape() != target.shape() || source.spatial_size() != target.spatial_size()) return false;
  if (powers_of_two(source) && powers_of_two(target)) {
    const std::vector<BitPlace> needed = thread_bits(source), given = thread_bits(target);
    for (std::size_t i = 0; i < needed.size(); ++i) {
      if (needed[i].bit >= 0 && !(needed[i] == given[i])) return false;
    }
    return true;
  }
  const std::vector<Ints> groups = source.grouped_modes();
  Ints digits(source.mode_shape().size());
  for (std::int64_t t = 0; t < target.spatial_size(); ++t) {
    for (std::int64_t r = 0; r < target.local_size(); ++r) {
      if (!owns(source, groups, t, target.global_index(r, t), digits)) return false;
    }
  }
  return true;
}

}  // namespace tessera::layout
