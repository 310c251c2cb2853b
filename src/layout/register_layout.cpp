#include "layout/register_layout.hpp"

#include <fmt/format.h>

#include <array>

#include "layout/detail.hpp"

namespace tessera::layout {

namespace {

using detail::at;
using Ints = RegisterLayout::Ints;

// Every mode has an extent of 2 or more and a tile fewer than 2^62 elements, so there are at most 62 modes.
using ModeValues = std::array<std::int64_t, 64>;

// Renames the entries of a mode list after size-1 modes are gone (new_id -1: dropped); drops replication by 1.
Ints rename(const Ints& list, const Ints& new_id) {
  Ints result;
  result.reserve(list.size());
  for (const std::int64_t entry : list) {
    if (entry < 0) {
      if (entry != -1) result.push_back(entry);
    } else if (new_id[at(entry)] >= 0) {
      result.push_back(new_id[at(entry)]);
    }
  }
  return result;
}

void check_lists(const Ints& modes, const Ints& spatial, const Ints& local) {
  std::vector<int> uses(modes.size(), 0);
  const auto count = [&](const Ints& list, bool negative_allowed) {
    for (const std::int64_t entry : list) {
      if (entry >= static_cast<std::int64_t>(modes.size()) || (entry < 0 && !negative_allowed)) {
        detail::fail("RegisterLayout", fmt::format("no mode {} among {} modes", entry, modes.size()));
      }
      if (entry >= 0) ++uses[at(entry)];
    }
  };
  count(spatial, true);
  count(local, false);
  for (std::size_t m = 0; m < uses.size(); ++m) {
    if (uses[m] != 1) {
      detail::fail("RegisterLayout",
                   fmt::format("mode {} of {} is used {} times by spatial {} and local {}, it must be once", m,
                               detail::list(modes), uses[m], detail::list(spatial), detail::list(local)));
    }
  }
}

// Writes the digits of `value` over the modes of `list`; the slowest entry comes first.
void split_digits(const char* what, std::int64_t value, const Ints& list, const Ints& modes, ModeValues& digits) {
  std::int64_t rest = value;
  for (auto entry = list.rbegin(); entry != list.rend(); ++entry) {
    const std::int64_t extent = *entry < 0 ? -*entry : modes[at(*entry)];
    const std::int64_t quotient = rest / extent;
    if (*entry >= 0) digits[at(*entry)] = rest - quotient * extent;
    rest = quotient;
  }
  if (value < 0 || rest != 0) detail::fail("global_index", fmt::format("{} {} is out of range", what, value));
}

// Writes the digits of an element's index over the modes of its dimensions.
void split_element(std::span<const std::int64_t> index, const Ints& shape, const Ints& modes, ModeValues& digits) {
  std::size_t end = modes.size();
  for (std::size_t d = shape.size(); d-- > 0;) {
    std::int64_t rest = index[d];
    for (std::int64_t extent = 1; extent < shape[d]; extent *= modes[end]) {
      --end;
      const std::int64_t quotient = rest / modes[end];
      digits[end] = rest - quotient * modes[end];
      rest = quotient;
    }
  }
}

}  // namespace

RegisterLayout::RegisterLayout(Ints shape, Ints mode_shape, Ints spatial_modes, Ints local_modes)
    : shape_(std::move(shape)) {
  check_lists(mode_shape, spatial_modes, local_modes);
  Ints new_id(mode_shape.size(), -1);
  for (std::size_t m = 0; m < mode_shape.size(); ++m) {
    if (mode_shape[m] == 1) continue;
    new_id[m] = static_cast<std::int64_t>(mode_shape_.size());
    mode_shape_.push_back(mode_shape[m]);
  }
  detail::dims_of_modes("RegisterLayout", shape_, mode_shape_);
  spatial_modes_ = rename(spatial_modes, new_id);
  local_modes_ = rename(local_modes, new_id);
}

std::int64_t RegisterLayout::spatial_size() const {
  std::int64_t size = 1;
  for (const std::int64_t m : spatial_modes_) size *= m < 0 ? -m : mode_shape_[at(m)];
  return size;
}

std::int64_t RegisterLayout::local_size() const {
  std::int64_t size = 1;
  for (const std::int64_t m : local_modes_) size *= mode_shape_[at(m)];
  return size;
}

std::int64_t RegisterLayout::replication() const {
  std::int64_t size = 1;
  for (const std::int64_t m : spatial_modes_) size *= m < 0 ? -m : 1;
  return size;
}

std::vector<Ints> RegisterLayout::grouped_modes() const { return detail::group_modes(shape_, mode_shape_); }

Ints RegisterLayout::global_index(std::int64_t local, std::int64_t spatial) const {
  ModeValues digits;
  split_digits("register", local, local_modes_, mode_shape_, digits);
  split_digits("thread", spatial, spatial_modes_, mode_shape_, digits);
  Ints index(shape_.size(), 0);
  std::size_t m = 0;
  for (std::size_t d = 0; d < shape_.size(); ++d) {
    for (std::int64_t extent = 1; extent < shape_[d]; ++m) {
      extent *= mode_shape_[m];
      index[d] = index[d] * mode_shape_[m] + digits[m];
    }
  }
  return index;
}

std::int64_t RegisterLayout::local_index(std::span<const std::int64_t> index) const {
  detail::check_index("local_index", index, shape_);
  ModeValues digits;
  split_element(index, shape_, mode_shape_, digits);
  std::int64_t result = 0;
  for (const std::int64_t m : local_modes_) result = result * mode_shape_[at(m)] + digits[at(m)];
  return result;
}

Ints RegisterLayout::spatial_indices(std::span<const std::int64_t> index) const {
  detail::check_index("spatial_indices", index, shape_);
  ModeValues digits;
  split_element(index, shape_, mode_shape_, digits);
  Ints result{0};
  result.reserve(at(replication()));
  for (const std::int64_t m : spatial_modes_) {
    const std::size_t count = result.size();
    if (m >= 0) {
      for (std::int64_t& t : result) t = t * mode_shape_[at(m)] + digits[at(m)];
      continue;
    }
    // From the back, so that a thread is read before its replicas overwrite it.
    result.resize(count * at(-m));
    for (std::size_t i = count; i-- > 0;) {
      const std::int64_t t = result[i];
      for (std::int64_t j = -m; j-- > 0;) result[i * at(-m) + at(j)] = t * -m + j;
    }
  }
  return result;
}

RegisterLayout RegisterLayout::canonical() const {
  const Ints dims = detail::dims_of_modes("canonical", shape_, mode_shape_);
  std::vector<bool> joined(mode_shape_.size(), false);  // whether the mode continues the one before it
  const auto mark = [&](const Ints& list) {
    for (std::size_t i = 1; i < list.size(); ++i) {
      const std::int64_t outer = list[i - 1], inner = list[i];
      if (outer >= 0 && inner == outer + 1 && dims[at(outer)] == dims[at(inner)]) joined[at(inner)] = true;
    }
  };
  mark(spatial_modes_);
  mark(local_modes_);
  RegisterLayout result;
  result.shape_ = shape_;
  Ints new_id(mode_shape_.size());
  for (std::size_t m = 0; m < mode_shape_.size(); ++m) {
    if (joined[m]) {
      result.mode_shape_.back() *= mode_shape_[m];
    } else {
      result.mode_shape_.push_back(mode_shape_[m]);
    }
    new_id[m] = static_cast<std::int64_t>(result.mode_shape_.size()) - 1;
  }
  for (const std::int64_t m : spatial_modes_) {
    Ints& list = result.spatial_modes_;
    if (m < 0 && !list.empty() && list.back() < 0) {
      list.back() *= -m;
    } else if (m < 0 || !joined[at(m)]) {
      list.push_back(m < 0 ? m : new_id[at(m)]);
    }
  }
  for (const std::int64_t m : local_modes_) {
    if (!joined[at(m)]) result.local_modes_.push_back(new_id[at(m)]);
  }
  return result;
}

bool RegisterLayout::operator==(const RegisterLayout& other) const {
  if (shape_ != other.shape_) return false;
  const auto same = [](const RegisterLayout& a, const RegisterLayout& b) {
    return a.mode_shape_ == b.mode_shape_ && a.spatial_modes_ == b.spatial_modes_ && a.local_modes_ == b.local_modes_;
  };
  return same(*this, other) || same(canonical(), other.canonical());
}

}  // namespace tessera::layout
