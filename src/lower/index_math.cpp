#include "lower/index_math.hpp"

#include <algorithm>
#include <numeric>

namespace tessera::lower {

using ir::Expr;
using ir::ExprKind;
using ir::ExprPool;
using layout::RegisterLayout;
using layout::SharedLayout;

namespace {

std::vector<const Expr*> mode_indices(ExprPool& x, const RegisterLayout& l, const Expr* local, const Expr* spatial) {
  std::vector<const Expr*> modes(l.mode_shape().size(), x.i32(0));
  const auto split = [&](const RegisterLayout::Ints& list, const Expr* number) {
    std::int64_t stride = 1;
    for (auto it = list.rbegin(); it != list.rend(); ++it) {
      const std::int64_t extent = *it < 0 ? -*it : l.mode_shape()[static_cast<std::size_t>(*it)];
      if (*it >= 0) modes[static_cast<std::size_t>(*it)] = x.mod(x.div(number, stride), extent);
      stride *= extent;
    }
  };
  split(l.local_modes(), local);
  split(l.spatial_modes(), spatial);
  return modes;
}

}  // namespace

std::vector<const Expr*> element_index(ExprPool& x, const RegisterLayout& l, const Expr* local, const Expr* spatial) {
  const auto modes = mode_indices(x, l, local, spatial);
  std::vector<const Expr*> index;
  for (const auto& group : l.grouped_modes()) {
    const Expr* sum = x.i32(0);
    std::int64_t stride = 1;
    for (auto it = group.rbegin(); it != group.rend(); ++it) {
      const auto mode = static_cast<std::size_t>(*it);
      sum = x.add(x.mul(modes[mode], stride), sum);
      stride *= l.mode_shape()[mode];
    }
    index.push_back(sum);
  }
  return index;
}

const Expr* is_first_replica(ExprPool& x, const RegisterLayout& l, const Expr* spatial) {
  const Expr* condition = nullptr;
  std::int64_t stride = 1;
  for (auto it = l.spatial_modes().rbegin(); it != l.spatial_modes().rend(); ++it) {
    const std::int64_t extent = *it < 0 ? -*it : l.mode_shape()[static_cast<std::size_t>(*it)];
    if (*it < -1) {
      const Expr* zero = x.binary(ExprKind::eq, x.mod(x.div(spatial, stride), extent), x.i32(0));
      condition = condition == nullptr ? zero : x.both(condition, zero);
    }
    stride *= extent;
  }
  return condition;
}

std::int64_t consecutive_registers(const RegisterLayout& layout, std::size_t dim) {
  const RegisterLayout l = layout.canonical();
  const auto groups = l.grouped_modes();
  if (l.local_modes().empty() || dim >= groups.size() || groups[dim].empty()) return 1;
  const std::int64_t inner = groups[dim].back();
  return l.local_modes().back() == inner ? l.mode_shape()[static_cast<std::size_t>(inner)] : 1;
}

namespace {

struct Term {
  const Expr* e;
  std::int64_t scale;
  std::int64_t divisor() const { return e->divisor == 0 ? 0 : e->divisor * scale; }
  std::int64_t high() const { return e->high * scale; }
};

void collect(const Expr* e, std::int64_t scale, std::vector<Term>& terms) {
  if (e->is_constant(0)) return;
  if (e->kind == ExprKind::add) {
    collect(e->args[0], scale, terms);
    collect(e->args[1], scale, terms);
  } else if (e->kind == ExprKind::mul && e->args[1]->is_constant() && e->args[1]->integer > 0) {
    collect(e->args[0], scale * e->args[1]->integer, terms);
  } else {
    terms.push_back({e, scale});
  }
}

bool depends_on_thread(const Expr* e) {
  if (e->kind == ExprKind::lane_idx || e->kind == ExprKind::warp_idx || e->kind == ExprKind::thread_idx) return true;
  return std::any_of(e->args.begin(), e->args.end(), depends_on_thread);
}

const Expr* sum_of(ExprPool& x, const std::vector<Term>& terms) {
  const Expr* sum = x.i32(0);
  for (const Term& t : terms) sum = x.add(sum, x.mul(t.e, t.scale));
  return sum;
}

std::int64_t lowest_bit(std::int64_t v) { return v == 0 ? (std::int64_t{1} << 40) : (v & -v); }

// Whether no two terms can have a common bit, so that their sum is their XOR.
bool disjoint_bits(const std::vector<Term>& terms) {
  for (std::size_t i = 0; i < terms.size(); ++i) {
    for (std::size_t j = i + 1; j < terms.size(); ++j) {
      const Term& a = terms[i];
      const Term& b = terms[j];
      if (a.high() >= lowest_bit(b.divisor()) && b.high() >= lowest_bit(a.divisor())) return false;
    }
  }
  return true;
}

const Expr* swizzled(ExprPool& x, layout::SwizzleMode mode, std::vector<Term> terms) {
  const std::int64_t period = layout::swizzle_period(mode);
  const std::int64_t mask = ((std::int64_t{1} << static_cast<int>(mode)) - 1) << 4;
  std::vector<Term> outside;  // multiples of the period: no effect on the pattern
  std::vector<Term> lines;    // multiples of 128 bytes: the key
  std::vector<Term> chunks;   // within 128 bytes: what the key is XORed to
  std::int64_t chunk_high = 0;
  bool negative = false;
  for (const Term& t : terms) {
    negative = negative || t.e->low < 0;
    if (t.divisor() % period == 0) {
      outside.push_back(t);
    } else if (t.divisor() % 128 == 0) {
      lines.push_back(t);
    } else {
      chunks.push_back(t);
      chunk_high += t.high();
    }
  }
  if (negative || chunk_high >= 128) {
    const Expr* linear = sum_of(x, terms);
    const Expr* key = x.binary(ExprKind::bit_and, x.div(linear, 8), x.i32(mask));
    return x.binary(ExprKind::bit_xor, linear, key);
  }
  std::stable_partition(chunks.begin(), chunks.end(), [](const Term& t) { return depends_on_thread(t.e); });
  const Expr* line = sum_of(x, lines);
  const Expr* key = x.div(line, 8);
  if (key->high > mask) key = x.binary(ExprKind::bit_and, key, x.i32(mask));
  const Expr* chunk = key;
  if (disjoint_bits(chunks)) {
    for (const Term& t : chunks) chunk = x.binary(ExprKind::bit_xor, chunk, x.mul(t.e, t.scale));
  } else {
    chunk = x.binary(ExprKind::bit_xor, sum_of(x, chunks), key);
  }
  return x.add(x.add(line, chunk), sum_of(x, outside));
}

}  // namespace

const Expr* shared_offset(ExprPool& x, const SharedLayout& l, const std::vector<const Expr*>& index) {
  std::vector<Term> terms;
  const auto groups = l.grouped_modes();
  for (std::size_t d = 0; d < groups.size(); ++d) {
    std::int64_t below = 1;
    for (auto it = groups[d].rbegin(); it != groups[d].rend(); ++it) {
      const auto mode = static_cast<std::size_t>(*it);
      const Expr* part = x.mod(x.div(index[d], below), l.mode_shape()[mode]);
      collect(part, l.mode_strides()[mode] * l.element_bytes(), terms);
      below *= l.mode_shape()[mode];
    }
  }
  const Expr* offset =
      l.swizzle() == layout::SwizzleMode::none ? sum_of(x, terms) : swizzled(x, l.swizzle(), std::move(terms));
  return x.cast(DType::u32, offset);
}

std::int64_t contiguous_bytes(const SharedLayout& l, std::size_t dim) {
  const auto groups = l.grouped_modes();
  if (dim >= groups.size() || groups[dim].empty()) return l.element_bytes();
  const auto inner = static_cast<std::size_t>(groups[dim].back());
  if (l.mode_strides()[inner] != 1) return l.element_bytes();
  std::int64_t elements = std::gcd<std::int64_t, std::int64_t>(l.mode_shape()[inner], 16 / l.element_bytes());
  for (std::size_t m = 0; m < l.mode_shape().size(); ++m) {
    if (m != inner && l.mode_shape()[m] > 1) elements = std::gcd(elements, l.mode_strides()[m]);
  }
  return std::max<std::int64_t>(elements, 1) * l.element_bytes();
}

}  // namespace tessera::lower
