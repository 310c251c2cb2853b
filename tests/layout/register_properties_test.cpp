// The laws of register layouts, for random layouts with any mixture of modes and replication.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

#include "layout/register_layout.hpp"

namespace tessera::layout {
namespace {

using Ints = RegisterLayout::Ints;

// Uniform from the first case on: left to itself the range grows with the case's size.
std::int64_t any(std::int64_t from, std::int64_t to) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::int64_t>(from, to + 1));
}

void insert_anywhere(Ints& list, std::int64_t entry) {
  list.insert(list.begin() + any(0, static_cast<std::int64_t>(list.size())), entry);
}

// Modes in any order, some of extent 1, and up to two replications, some by 1.
RegisterLayout any_layout(std::int64_t rank, std::int64_t modes_a_dim, std::int64_t largest) {
  Ints shape, modes, spatial_modes, local_modes;
  for (std::int64_t d = 0; d < rank; ++d) {
    shape.push_back(1);
    for (std::int64_t count = any(0, modes_a_dim); count > 0; --count) {
      const std::int64_t extent = any(1, largest), id = static_cast<std::int64_t>(modes.size());
      modes.push_back(extent);
      shape.back() *= extent;
      insert_anywhere(any(0, 1) == 0 ? spatial_modes : local_modes, id);
    }
  }
  for (std::int64_t count = any(0, 2); count > 0; --count) insert_anywhere(spatial_modes, -any(1, 3));
  return {shape, modes, spatial_modes, local_modes};
}
RegisterLayout any_layout() { return any_layout(any(0, 3), 3, 4); }
RegisterLayout small_layout(std::int64_t rank) { return any_layout(rank, 2, 3); }

std::int64_t size_of(const Ints& shape) {
  std::int64_t size = 1;
  for (const std::int64_t extent : shape) size *= extent;
  return size;
}

std::int64_t flat(const Ints& index, const Ints& shape) {
  std::int64_t result = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) result = result * shape[d] + index[d];
  return result;
}

// The definition: mode values from the two list indices, then dimension values from the modes.
Ints by_definition(const RegisterLayout& l, std::int64_t local, std::int64_t spatial) {
  const auto& modes = l.mode_shape();
  Ints value(modes.size(), 0);
  const auto deserialise = [&](const Ints& list, std::int64_t position) {
    std::int64_t stride = 1;
    for (const std::int64_t m : list) stride *= m < 0 ? -m : modes[static_cast<std::size_t>(m)];
    for (const std::int64_t m : list) {
      const std::int64_t extent = m < 0 ? -m : modes[static_cast<std::size_t>(m)];
      stride /= extent;
      if (m >= 0) value[static_cast<std::size_t>(m)] = position / stride % extent;
    }
  };
  deserialise(l.local_modes(), local);
  deserialise(l.spatial_modes(), spatial);
  Ints index;
  for (const Ints& group : l.grouped_modes()) {
    index.push_back(0);
    for (const std::int64_t m : group) {
      index.back() = index.back() * modes[static_cast<std::size_t>(m)] + value[static_cast<std::size_t>(m)];
    }
  }
  return index;
}

using Map = std::vector<std::int64_t>;  // [thread * registers + register] -> element
Map map_of(const RegisterLayout& l) {
  Map map;
  for (std::int64_t t = 0; t < l.spatial_size(); ++t) {
    for (std::int64_t r = 0; r < l.local_size(); ++r) map.push_back(flat(l.global_index(r, t), l.shape()));
  }
  return map;
}

bool same_map(const RegisterLayout& a, const RegisterLayout& b) {
  return a.shape() == b.shape() && a.local_size() == b.local_size() && map_of(a) == map_of(b);
}

// A (thread, register) of a layout, and its element.
struct Place {
  std::int64_t local, spatial;
};
Place any_place(const RegisterLayout& l) { return {any(0, l.local_size() - 1), any(0, l.spatial_size() - 1)}; }

#define LAW(name, ...) \
  TEST(RegisterLaws, name) { EXPECT_TRUE(rc::check(#name, [] __VA_ARGS__)); }

LAW(IndexFollowsTheDefinition, {
  const RegisterLayout l = any_layout();
  for (int i = 0; i < 20; ++i) {
    const Place p = any_place(l);
    RC_ASSERT(l.global_index(p.local, p.spatial) == by_definition(l, p.local, p.spatial));
  }
})

LAW(EveryElementHasReplicationOwnersInOneRegister, {
  const RegisterLayout l = any_layout();
  std::vector<std::set<std::int64_t>> owners(static_cast<std::size_t>(size_of(l.shape())));
  for (std::int64_t t = 0; t < l.spatial_size(); ++t) {
    for (std::int64_t r = 0; r < l.local_size(); ++r) {
      const Ints index = l.global_index(r, t);
      RC_ASSERT(l.local_index(index) == r);
      RC_ASSERT(owners[static_cast<std::size_t>(flat(index, l.shape()))].insert(t).second);
    }
  }
  for (std::size_t e = 0; e < owners.size(); ++e) {
    RC_ASSERT(static_cast<std::int64_t>(owners[e].size()) == l.replication());
    Ints index(l.shape().size());
    std::int64_t rest = static_cast<std::int64_t>(e);
    for (std::size_t d = index.size(); d-- > 0; rest /= l.shape()[d]) index[d] = rest % l.shape()[d];
    RC_ASSERT(l.spatial_indices(index) == Ints(owners[e].begin(), owners[e].end()));
  }
})

LAW(CanonicalIsIdempotentAndKeepsTheMap, {
  const RegisterLayout l = any_layout(), c = l.canonical(), again = c.canonical();
  RC_ASSERT(same_map(l, c));
  RC_ASSERT(l == c);
  RC_ASSERT(again.mode_shape() == c.mode_shape());
  RC_ASSERT(again.spatial_modes() == c.spatial_modes());
  RC_ASSERT(again.local_modes() == c.local_modes());
})

LAW(EqualityIsEqualityOfMaps, {
  const RegisterLayout l = small_layout(2);
  // The same modes in another order: sometimes the same map, mostly not.
  Ints spatial_modes, local_modes;
  for (const std::int64_t m : l.spatial_modes()) insert_anywhere(spatial_modes, m);
  for (const std::int64_t m : l.local_modes()) insert_anywhere(local_modes, m);
  const RegisterLayout other(l.shape(), l.mode_shape(), spatial_modes, local_modes);
  RC_ASSERT((l == other) == same_map(l, other));
})

LAW(CompositionIndex, {
  const RegisterLayout a = small_layout(any(0, 3)), b = small_layout(any(0, 3)), c = a * b;
  RC_ASSERT(c.spatial_size() == a.spatial_size() * b.spatial_size());
  RC_ASSERT(c.local_size() == a.local_size() * b.local_size());
  const int rank = std::max(a.rank(), b.rank());
  RC_ASSERT(c.rank() == rank);
  for (int i = 0; i < 20; ++i) {
    const Place pa = any_place(a), pb = any_place(b);
    Ints outer = a.global_index(pa.local, pa.spatial), inner = b.global_index(pb.local, pb.spatial);
    outer.insert(outer.begin(), static_cast<std::size_t>(rank - a.rank()), 0);
    inner.insert(inner.begin(), static_cast<std::size_t>(rank - b.rank()), 0);
    Ints extents = b.shape();
    extents.insert(extents.begin(), static_cast<std::size_t>(rank - b.rank()), 1);
    Ints expected(outer);
    for (std::size_t d = 0; d < expected.size(); ++d) expected[d] = outer[d] * extents[d] + inner[d];
    RC_ASSERT(c.global_index(pa.local * b.local_size() + pb.local, pa.spatial * b.spatial_size() + pb.spatial) ==
              expected);
  }
})

LAW(CompositionIsAssociative, {
  const RegisterLayout a = small_layout(any(0, 3)), b = small_layout(any(0, 3)), c = small_layout(any(0, 3));
  RC_ASSERT((a * b) * c == a * (b * c));
})

LAW(DivisionUndoesComposition, {
  const std::int64_t rank = any(0, 3);
  const RegisterLayout a = small_layout(rank), b = small_layout(any(0, rank));
  const auto outer = divide(a * b, b);
  RC_ASSERT(outer.has_value());
  RC_ASSERT(*outer == a);
  const auto inner = left_divide(b * a, b);
  RC_ASSERT(inner.has_value());
  RC_ASSERT(*inner == a);
})

LAW(QuotientsMultiplyBack, {
  // Layouts that mostly do not divide: whatever is returned must be right.
  const RegisterLayout l = any_layout(2, 3, 2), b = any_layout(2, 1, 2);
  if (const auto outer = divide(l, b)) RC_ASSERT(*outer * b == l);
  if (const auto inner = left_divide(l, b)) RC_ASSERT(b * *inner == l);
})

LAW(PermuteIndex, {
  const RegisterLayout l = any_layout();
  Ints dims;
  for (std::int64_t d = 0; d < l.rank(); ++d) insert_anywhere(dims, d);
  const RegisterLayout p = permute(l, dims);
  for (int i = 0; i < 20; ++i) {
    const Place place = any_place(l);
    const Ints from = l.global_index(place.local, place.spatial), to = p.global_index(place.local, place.spatial);
    for (std::size_t d = 0; d < dims.size(); ++d) RC_ASSERT(to[d] == from[static_cast<std::size_t>(dims[d])]);
  }
})

LAW(ReshapeIndex, {
  const RegisterLayout l = any_layout();
  Ints flat_shape;
  flat_shape.push_back(size_of(l.shape()));
  const auto line = reshape(l, flat_shape);
  RC_ASSERT(line.has_value());
  // Cut at the modes of the canonical line, grouped at random: always possible.
  Ints shape(1, 1);
  const RegisterLayout canonical = line->canonical();
  for (const std::int64_t extent : canonical.mode_shape()) {
    if (any(0, 1) == 1) shape.push_back(1);
    shape.back() *= extent;
  }
  const auto r = reshape(l, shape);
  RC_ASSERT(r.has_value());
  for (int i = 0; i < 20; ++i) {
    const Place p = any_place(l);
    RC_ASSERT(flat(r->global_index(p.local, p.spatial), shape) == flat(l.global_index(p.local, p.spatial), l.shape()));
  }
  RC_ASSERT(reshape(*r, l.shape()) == l);
})

LAW(ReduceProjects, {
  const RegisterLayout l = any_layout();
  Ints dims;
  for (std::int64_t d = 0; d < l.rank(); ++d) {
    if (any(0, 1) == 1) dims.push_back(d);
  }
  const bool keep = any(0, 1) == 1;
  const RegisterLayout r = reduce(l, dims, keep);
  RC_ASSERT(r.spatial_size() == l.spatial_size());
  for (std::int64_t t = 0; t < l.spatial_size(); ++t) {
    std::set<Ints> projected, held;
    for (std::int64_t i = 0; i < l.local_size(); ++i) {
      Ints index = l.global_index(i, t);
      for (std::size_t d = dims.size(); d-- > 0;) {
        if (keep) {
          index[static_cast<std::size_t>(dims[d])] = 0;
        } else {
          index.erase(index.begin() + dims[d]);
        }
      }
      projected.insert(index);
    }
    for (std::int64_t i = 0; i < r.local_size(); ++i) held.insert(r.global_index(i, t));
    RC_ASSERT(projected == held);
  }
})

LAW(ConcatIndex, {
  const RegisterLayout a = small_layout(any(0, 2)), b = small_layout(any(0, 2)), c = concat(a, b);
  const Place pa = any_place(a), pb = any_place(b);
  Ints expected = a.global_index(pa.local, pa.spatial);
  const Ints second = b.global_index(pb.local, pb.spatial);
  expected.insert(expected.end(), second.begin(), second.end());
  RC_ASSERT(c.global_index(pa.local * b.local_size() + pb.local, pa.spatial * b.spatial_size() + pb.spatial) ==
            expected);
})

LAW(SameThreadsIsTheDefinition, {
  const std::int64_t largest = any(2, 3);
  const RegisterLayout source = any_layout(2, 2, largest);
  // The same modes shuffled, some moved from threads to registers with replicas in their place.
  Ints spatial_modes, local_modes;
  for (const std::int64_t m : source.local_modes()) insert_anywhere(local_modes, m);
  const bool shuffle = any(0, 1) == 1;
  for (const std::int64_t m : source.spatial_modes()) {
    const bool move = m >= 0 && any(0, 3) == 0;
    const std::int64_t entry = move ? -source.mode_shape()[static_cast<std::size_t>(m)] : m;
    if (move) insert_anywhere(local_modes, m);
    if (shuffle) {
      insert_anywhere(spatial_modes, entry);
    } else {
      spatial_modes.push_back(entry);
    }
  }
  const RegisterLayout target(source.shape(), source.mode_shape(), spatial_modes, local_modes);
  const auto subset = [](const RegisterLayout& outer, const RegisterLayout& inner) {
    const Map o = map_of(outer), i = map_of(inner);
    for (std::int64_t t = 0; t < outer.spatial_size(); ++t) {
      const auto first = o.begin() + t * outer.local_size();
      for (std::int64_t r = 0; r < inner.local_size(); ++r) {
        const std::int64_t e = i[static_cast<std::size_t>(t * inner.local_size() + r)];
        if (std::find(first, first + outer.local_size(), e) == first + outer.local_size()) return false;
      }
    }
    return true;
  };
  RC_ASSERT(same_threads(source, target) == subset(source, target));
  RC_ASSERT(same_threads(target, source) == subset(target, source));
})

LAW(DefaultLayoutFits, {
  Ints shape;
  for (std::int64_t d = any(0, 3); d > 0; --d) shape.push_back(any(1, 40));
  const std::int64_t threads = any(1, 256), vector = any(1, 16);
  const RegisterLayout l = default_layout(shape, threads, vector);
  RC_ASSERT(l.shape() == shape);
  RC_ASSERT(l.spatial_size() == threads);
  RC_ASSERT(l.local_size() * threads == size_of(shape) * l.replication());
  RC_ASSERT(l.replication() <= default_layout(shape, threads, 1).replication());
})

// Evaluates the text of a chain.
RegisterLayout parse(const std::string& text, std::size_t rank) {
  RegisterLayout result = local(Ints(rank, 1));
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t open = text.find('(', begin), close = text.find(')', open);
    const std::string name = text.substr(begin, open - begin);
    Ints values;
    for (std::size_t i = open + 1; i < close; i = std::min(text.find_first_of(",)", i), close) + 1) {
      values.push_back(std::stoll(text.substr(i)));
    }
    if (name == "spatial") result = result.spatial(values);
    if (name == "local") result = result.local(values);
    if (name == "column_spatial") result = result.column_spatial(values);
    if (name == "column_local") result = result.column_local(values);
    if (name == "replicate") result = result.replicate(values.at(0));
    begin = close + 2;
  }
  return result;
}

LAW(TextOfAChainIsTheChain, {
  const std::int64_t rank = any(1, 3);
  RegisterLayout l = local(Ints(static_cast<std::size_t>(rank), 1));
  for (std::int64_t factors = any(0, 5); factors > 0; --factors) {
    Ints extents;
    for (std::int64_t d = 0; d < rank; ++d) extents.push_back(any(1, 4));
    const std::int64_t kind = any(0, 4);
    l = kind == 0   ? l.spatial(extents)
        : kind == 1 ? l.local(extents)
        : kind == 2 ? l.column_spatial(extents)
        : kind == 3 ? l.column_local(extents)
                    : l.replicate(extents[0]);
  }
  const std::string text = l.to_string();
  RC_ASSERT(text.find("register_layout") == std::string::npos);
  RC_ASSERT(parse(text, static_cast<std::size_t>(rank)) == l);
})

}  // namespace
}  // namespace tessera::layout
