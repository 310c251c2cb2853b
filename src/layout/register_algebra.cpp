// Constructors and operations on register layouts.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "layout/detail.hpp"
#include "layout/register_layout.hpp"

namespace tessera::layout {

namespace {

using detail::at;
using Ints = RegisterLayout::Ints;

Ints iota(std::size_t n) {
  Ints result(n);
  std::iota(result.begin(), result.end(), 0);
  return result;
}

Ints reversed(std::size_t n) {
  Ints result = iota(n);
  std::reverse(result.begin(), result.end());
  return result;
}

// The dimensions by place: the inverse of ranks.
Ints order_of(const char* function, const Ints& ranks, std::size_t rank) {
  if (ranks.empty()) return iota(rank);
  detail::check_permutation(function, ranks, static_cast<std::int64_t>(rank));
  Ints order(rank);
  for (std::size_t d = 0; d < rank; ++d) order[at(ranks[d])] = static_cast<std::int64_t>(d);
  return order;
}

RegisterLayout with_rank(const RegisterLayout& l, int rank) {
  if (l.rank() == rank) return l;
  Ints shape(at(rank - l.rank()), 1);
  shape.insert(shape.end(), l.shape().begin(), l.shape().end());
  return {std::move(shape), l.mode_shape(), l.spatial_modes(), l.local_modes()};
}

// Mode lists under construction: modes can be split without renumbering by hand.
struct Draft {
  Ints modes, spatial, local;

  explicit Draft(const RegisterLayout& l) : modes(l.mode_shape()), spatial(l.spatial_modes()), local(l.local_modes()) {}

  // Splits mode m into (extent / inner, inner).
  void split(std::size_t m, std::int64_t inner) {
    modes[m] /= inner;
    modes.insert(modes.begin() + static_cast<std::ptrdiff_t>(m) + 1, inner);
    for (Ints* list : {&spatial, &local}) {
      for (std::size_t i = 0; i < list->size(); ++i) {
        std::int64_t& entry = (*list)[i];
        if (entry > static_cast<std::int64_t>(m)) ++entry;
        if (entry != static_cast<std::int64_t>(m)) continue;
        list->insert(list->begin() + static_cast<std::ptrdiff_t>(++i), entry + 1);
      }
    }
  }

  // Splits modes so that every prefix product that `shape` needs is a mode boundary; false where a mode straddles one.
  bool cut_at(const Ints& shape) {
    std::size_t m = 0;
    for (const std::int64_t extent : shape) {
      for (std::int64_t rest = extent; rest > 1; ++m) {
        if (modes[m] > rest) {
          if (modes[m] % rest != 0) return false;
          split(m, modes[m] / rest);
        } else if (rest % modes[m] != 0) {
          return false;
        }
        rest /= modes[m];
      }
    }
    return true;
  }
};

struct Halves {
  RegisterLayout outer, inner;
};

// The part of a list that belongs to one half, as new mode numbers.
struct Side {
  Ints spatial, local;
};

// Moves entries of `list` (slowest first) into outer until `outer_size` is used up, the rest into inner.
bool cut_list(const Ints& list, const Ints& modes, const std::vector<bool>& is_inner, const Ints& new_id,
              std::int64_t outer_size, Ints& outer, Ints& inner) {
  std::int64_t rest = outer_size;
  for (const std::int64_t m : list) {
    const std::int64_t extent = m < 0 ? -m : modes[at(m)];
    if (rest == 1) {
      if (m >= 0 && !is_inner[at(m)]) return false;
      inner.push_back(m < 0 ? m : new_id[at(m)]);
    } else if (rest % extent == 0) {
      if (m >= 0 && is_inner[at(m)]) return false;
      outer.push_back(m < 0 ? m : new_id[at(m)]);
      rest /= extent;
    } else if (m < 0 && extent % rest == 0) {
      outer.push_back(-rest);
      inner.push_back(-(extent / rest));
      rest = 1;
    } else {
      return false;
    }
  }
  return rest == 1;
}

// l as outer * inner with the given outer shape and thread and register counts, if it can be cut there.
std::optional<Halves> cut(const RegisterLayout& l, const Ints& outer_shape, const Ints& inner_shape,
                          std::int64_t outer_threads, std::int64_t outer_locals) {
  Draft draft(l.canonical());
  Ints pairs;
  for (std::size_t d = 0; d < outer_shape.size(); ++d) pairs.insert(pairs.end(), {outer_shape[d], inner_shape[d]});
  if (!draft.cut_at(pairs)) return std::nullopt;
  std::vector<bool> is_inner(draft.modes.size(), false);
  Ints new_id(draft.modes.size()), outer_modes, inner_modes;
  std::size_t m = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    Ints& modes = i % 2 == 0 ? outer_modes : inner_modes;
    for (std::int64_t extent = 1; extent < pairs[i]; ++m) {
      extent *= draft.modes[m];
      is_inner[m] = i % 2 == 1;
      new_id[m] = static_cast<std::int64_t>(modes.size());
      modes.push_back(draft.modes[m]);
    }
  }
  Side outer, inner;
  if (!cut_list(draft.spatial, draft.modes, is_inner, new_id, outer_threads, outer.spatial, inner.spatial) ||
      !cut_list(draft.local, draft.modes, is_inner, new_id, outer_locals, outer.local, inner.local)) {
    return std::nullopt;
  }
  return Halves{RegisterLayout(outer_shape, std::move(outer_modes), std::move(outer.spatial), std::move(outer.local)),
                RegisterLayout(inner_shape, std::move(inner_modes), std::move(inner.spatial), std::move(inner.local))};
}

// The extents, thread and register counts of l over those of its factor; null where they do not divide.
struct Quotient {
  Ints shape;
  std::int64_t threads, locals;
};
std::optional<Quotient> quotient(const RegisterLayout& l, const RegisterLayout& factor) {
  Quotient q{l.shape(), l.spatial_size(), l.local_size()};
  for (std::size_t d = 0; d < q.shape.size(); ++d) {
    if (q.shape[d] % factor.shape()[d] != 0) return std::nullopt;
    q.shape[d] /= factor.shape()[d];
  }
  if (q.threads % factor.spatial_size() != 0 || q.locals % factor.local_size() != 0) return std::nullopt;
  q.threads /= factor.spatial_size();
  q.locals /= factor.local_size();
  return q;
}

void check_dim(const char* function, std::int64_t dim, std::int64_t count) {
  if (dim < 0 || dim >= count) detail::fail(function, fmt::format("no dimension {} among {}", dim, count));
}

}  // namespace

RegisterLayout spatial(Ints extents, Ints ranks) {
  Ints order = order_of("spatial", ranks, extents.size());
  return {extents, extents, std::move(order), {}};
}

RegisterLayout column_spatial(Ints extents) {
  Ints order = reversed(extents.size());
  return {extents, extents, std::move(order), {}};
}

RegisterLayout local(Ints extents, Ints ranks) {
  Ints order = order_of("local", ranks, extents.size());
  return {extents, extents, {}, std::move(order)};
}

RegisterLayout column_local(Ints extents) {
  Ints order = reversed(extents.size());
  return {extents, extents, {}, std::move(order)};
}

RegisterLayout replicated(Ints shape, std::int64_t workers) {
  if (workers < 1) detail::fail("replicated", fmt::format("workers must be positive, found {}", workers));
  Ints order = iota(shape.size());
  return {shape, shape, {-workers}, std::move(order)};
}

RegisterLayout RegisterLayout::spatial(Ints extents) const { return *this * layout::spatial(std::move(extents)); }
RegisterLayout RegisterLayout::local(Ints extents) const { return *this * layout::local(std::move(extents)); }
RegisterLayout RegisterLayout::column_spatial(Ints extents) const {
  return *this * layout::column_spatial(std::move(extents));
}
RegisterLayout RegisterLayout::column_local(Ints extents) const {
  return *this * layout::column_local(std::move(extents));
}
RegisterLayout RegisterLayout::replicate(std::int64_t workers) const { return *this * replicated({}, workers); }

RegisterLayout operator*(const RegisterLayout& a, const RegisterLayout& b) {
  const int rank = std::max(a.rank(), b.rank());
  const RegisterLayout outer = with_rank(a, rank), inner = with_rank(b, rank);
  Ints shape(outer.shape()), modes, outer_id(outer.mode_shape().size()), inner_id(inner.mode_shape().size());
  modes.reserve(outer_id.size() + inner_id.size());
  std::size_t mo = 0, mi = 0;
  const auto append = [&](const RegisterLayout& l, std::size_t d, std::size_t& m, Ints& id) {
    for (std::int64_t extent = 1; extent < l.shape()[d]; ++m) {
      extent *= l.mode_shape()[m];
      id[m] = static_cast<std::int64_t>(modes.size());
      modes.push_back(l.mode_shape()[m]);
    }
  };
  for (std::size_t d = 0; d < shape.size(); ++d) {
    append(outer, d, mo, outer_id);
    append(inner, d, mi, inner_id);
    shape[d] *= inner.shape()[d];
  }
  Ints spatial_list, local_list;
  const auto rename = [](const Ints& from, const Ints& id, Ints& to) {
    for (const std::int64_t m : from) to.push_back(m < 0 ? m : id[at(m)]);
  };
  rename(outer.spatial_modes(), outer_id, spatial_list);
  rename(inner.spatial_modes(), inner_id, spatial_list);
  rename(outer.local_modes(), outer_id, local_list);
  rename(inner.local_modes(), inner_id, local_list);
  return {std::move(shape), std::move(modes), std::move(spatial_list), std::move(local_list)};
}

std::optional<RegisterLayout> divide(const RegisterLayout& l, const RegisterLayout& b) {
  if (b.rank() > l.rank()) return std::nullopt;
  const RegisterLayout inner = with_rank(b, l.rank());
  const auto q = quotient(l, inner);
  if (!q) return std::nullopt;
  auto halves = cut(l, q->shape, inner.shape(), q->threads, q->locals);
  if (!halves || !(halves->inner == inner)) return std::nullopt;
  return std::move(halves->outer);
}

std::optional<RegisterLayout> left_divide(const RegisterLayout& l, const RegisterLayout& a) {
  if (a.rank() > l.rank()) return std::nullopt;
  const RegisterLayout outer = with_rank(a, l.rank());
  const auto q = quotient(l, outer);
  if (!q) return std::nullopt;
  auto halves = cut(l, outer.shape(), q->shape, outer.spatial_size(), outer.local_size());
  if (!halves || !(halves->outer == outer)) return std::nullopt;
  return std::move(halves->inner);
}

RegisterLayout reduce(const RegisterLayout& l, const Ints& dims, bool keep) {
  std::vector<bool> gone(at(l.rank()), false);
  for (const std::int64_t d : dims) {
    check_dim("reduce", d, l.rank());
    gone[at(d)] = true;
  }
  const std::vector<Ints> groups = l.grouped_modes();
  Ints shape, modes, new_id(l.mode_shape().size(), -1), spatial_list, local_list;
  for (std::size_t d = 0; d < groups.size(); ++d) {
    if (gone[d]) {
      if (keep) shape.push_back(1);
      continue;
    }
    shape.push_back(l.shape()[d]);
    for (const std::int64_t m : groups[d]) {
      new_id[at(m)] = static_cast<std::int64_t>(modes.size());
      modes.push_back(l.mode_shape()[at(m)]);
    }
  }
  for (const std::int64_t m : l.spatial_modes()) {
    const bool removed = m >= 0 && new_id[at(m)] < 0;
    spatial_list.push_back(removed ? -l.mode_shape()[at(m)] : m < 0 ? m : new_id[at(m)]);
  }
  for (const std::int64_t m : l.local_modes()) {
    if (new_id[at(m)] >= 0) local_list.push_back(new_id[at(m)]);
  }
  return {std::move(shape), std::move(modes), std::move(spatial_list), std::move(local_list)};
}

RegisterLayout reduce_to(const RegisterLayout& l, const Ints& shape) {
  const std::int64_t missing = l.rank() - static_cast<std::int64_t>(shape.size());
  bool good = missing >= 0;
  Ints ones, leading;
  for (std::int64_t d = 0; good && d < l.rank(); ++d) {
    if (d < missing) {
      leading.push_back(d);
    } else if (shape[at(d - missing)] == 1) {
      ones.push_back(d);
    } else {
      good = shape[at(d - missing)] == l.shape()[at(d)];
    }
  }
  if (!good) {
    detail::fail("reduce_to",
                 fmt::format("shape {} does not reduce to {}", detail::list(l.shape()), detail::list(shape)));
  }
  return reduce(reduce(l, ones, true), leading, false);
}

std::optional<RegisterLayout> narrow(const RegisterLayout& layout, std::size_t dim, std::int64_t extent) {
  const RegisterLayout l = layout.canonical();
  if (extent < 1 || l.shape()[dim] % extent != 0) return std::nullopt;
  std::int64_t parts = l.shape()[dim] / extent;
  Ints shape = l.shape(), modes = l.mode_shape();
  shape[dim] = extent;
  const Ints group = l.grouped_modes()[dim];
  for (const std::int64_t m : group) {
    if (parts == 1) break;
    std::int64_t& mode = modes[static_cast<std::size_t>(m)];
    const bool is_local = std::find(l.local_modes().begin(), l.local_modes().end(), m) != l.local_modes().end();
    if (!is_local || (parts % mode != 0 && mode % parts != 0)) return std::nullopt;
    const std::int64_t taken = std::min(parts, mode);
    mode /= taken;
    parts /= taken;
  }
  return RegisterLayout(std::move(shape), std::move(modes), l.spatial_modes(), l.local_modes());
}

RegisterLayout permute(const RegisterLayout& l, const Ints& dims) {
  detail::check_permutation("permute", dims, l.rank());
  const std::vector<Ints> groups = l.grouped_modes();
  Ints shape, modes, new_id(l.mode_shape().size()), spatial_list = l.spatial_modes(), local_list = l.local_modes();
  for (const std::int64_t d : dims) {
    shape.push_back(l.shape()[at(d)]);
    for (const std::int64_t m : groups[at(d)]) {
      new_id[at(m)] = static_cast<std::int64_t>(modes.size());
      modes.push_back(l.mode_shape()[at(m)]);
    }
  }
  for (Ints* list : {&spatial_list, &local_list}) {
    for (std::int64_t& m : *list) m = m < 0 ? m : new_id[at(m)];
  }
  return {std::move(shape), std::move(modes), std::move(spatial_list), std::move(local_list)};
}

std::optional<RegisterLayout> reshape(const RegisterLayout& l, const Ints& shape) {
  const std::int64_t size = detail::product(l.shape());
  std::int64_t rest = size;
  for (const std::int64_t extent : shape) {
    if (extent < 1 || rest % extent != 0) return std::nullopt;
    rest /= extent;
  }
  if (rest != 1) return std::nullopt;
  // Through one dimension, so that modes may merge across the old boundaries.
  const RegisterLayout flat(Ints{size}, l.mode_shape(), l.spatial_modes(), l.local_modes());
  Draft draft(flat.canonical());
  if (!draft.cut_at(shape)) return std::nullopt;
  return RegisterLayout(shape, std::move(draft.modes), std::move(draft.spatial), std::move(draft.local));
}

RegisterLayout squeeze(const RegisterLayout& l, std::int64_t dim) {
  check_dim("squeeze", dim, l.rank());
  Ints shape = l.shape();
  if (shape[at(dim)] != 1) detail::fail("squeeze", fmt::format("extent {} is not 1", shape[at(dim)]));
  shape.erase(shape.begin() + dim);
  return {std::move(shape), l.mode_shape(), l.spatial_modes(), l.local_modes()};
}

RegisterLayout unsqueeze(const RegisterLayout& l, std::int64_t dim) {
  check_dim("unsqueeze", dim, l.rank() + 1);
  Ints shape = l.shape();
  shape.insert(shape.begin() + dim, 1);
  return {std::move(shape), l.mode_shape(), l.spatial_modes(), l.local_modes()};
}

RegisterLayout concat(const RegisterLayout& a, const RegisterLayout& b) {
  const auto join = [](const Ints& x, const Ints& y, std::int64_t offset) {
    Ints result(x);
    for (const std::int64_t v : y) result.push_back(v < 0 ? v : v + offset);
    return result;
  };
  const auto offset = static_cast<std::int64_t>(a.mode_shape().size());
  return {join(a.shape(), b.shape(), 0), join(a.mode_shape(), b.mode_shape(), 0),
          join(a.spatial_modes(), b.spatial_modes(), offset), join(a.local_modes(), b.local_modes(), offset)};
}

}  // namespace tessera::layout
