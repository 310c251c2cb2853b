#include "layout/dot_layouts.hpp"

#include "layout/atoms.hpp"

namespace tessera::layout {

namespace {

// Threads along one dimension, replicas not counted.
std::int64_t threads_along(const RegisterLayout& l, std::size_t dim) {
  std::int64_t count = 1;
  const auto groups = l.grouped_modes();
  for (const std::int64_t m : l.spatial_modes()) {
    for (const std::int64_t other : groups[dim]) {
      if (other == m) count *= l.mode_shape()[static_cast<std::size_t>(m)];
    }
  }
  return count;
}

// The operands that go with the arrangement `outer` of d's fragments: a's rows follow d's rows, b's columns d's
// columns, every thread holds all of k.
DotLayouts with_operands(const MmaAtom& atom, const RegisterLayout& outer, std::int64_t k) {
  const std::int64_t steps = k / atom.k;
  DotLayouts result;
  result.a = reduce(outer, {1}, true).local({1, steps}) * atom.a;
  result.b = local({steps, 1}) * reduce(outer, {0}, true) * atom.b;
  result.d = outer * atom.d;
  result.warps_m = threads_along(outer, 0);
  result.warps_n = threads_along(outer, 1);
  result.replicas = outer.replication();
  return result;
}

}  // namespace

std::int64_t DotLayouts::registers(int operand_bytes, int accumulator_bytes) const {
  const auto words = [](std::int64_t elements, int bytes) { return (elements * bytes + 3) / 4; };
  return words(a.local_size(), operand_bytes) + words(b.local_size(), operand_bytes) +
         words(d.local_size(), accumulator_bytes);
}

std::vector<DotLayouts> dot_candidates(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t warps) {
  const MmaAtom atom = mma_m16n8k16();
  if (m < 1 || n < 1 || k < 1 || warps < 1 || m % atom.m != 0 || n % atom.n != 0 || k % atom.k != 0) return {};
  const std::int64_t tiles_m = m / atom.m, tiles_n = n / atom.n;
  for (std::int64_t used = warps; used >= 1; --used) {
    if (warps % used != 0) continue;
    std::vector<DotLayouts> result;
    for (std::int64_t rows = 1; rows <= used; ++rows) {
      const std::int64_t columns = used / rows;
      if (used % rows != 0 || tiles_m % rows != 0 || tiles_n % columns != 0) continue;
      const RegisterLayout outer =
          replicated({1, 1}, warps / used).spatial({rows, columns}).local({tiles_m / rows, tiles_n / columns});
      result.push_back(with_operands(atom, outer, k));
    }
    if (!result.empty()) return result;
  }
  return {};
}

std::optional<DotLayouts> dot_layouts_for(const RegisterLayout& d, std::int64_t k) {
  const MmaAtom atom = mma_m16n8k16();
  if (d.rank() != 2 || k < 1 || k % atom.k != 0) return std::nullopt;
  const auto outer = divide(d, atom.d);
  if (!outer) return std::nullopt;
  return with_operands(atom, *outer, k);
}

}  // namespace tessera::layout
