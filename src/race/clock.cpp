#include "race/clock.hpp"

#include <algorithm>

namespace tessera::race {

Time Knowledge::find(Component c, int lane) const {
  for (const LaneTimes& l : lanes_) {
    if (l.warp == c) return l.at[static_cast<std::size_t>(lane)];
  }
  return 0;
}

void Knowledge::settle(std::size_t index) {
  LaneTimes& l = lanes_[index];
  const auto [least, most] = std::minmax_element(l.at.begin(), l.at.end());
  const Time all = std::max(*least, of(l.warp));
  if (*least > of(l.warp)) raise(l.warp, *least);
  if (*most > all) return;
  l = lanes_.back();
  lanes_.pop_back();
}

void Knowledge::raise_lane(Component c, int lane, Time t) {
  if (of(c) >= t) return;
  std::size_t i = 0;
  while (i < lanes_.size() && lanes_[i].warp != c) ++i;
  if (i == lanes_.size()) lanes_.push_back({c, {}});
  Time& at = lanes_[i].at[static_cast<std::size_t>(lane)];
  at = std::max(at, t);
  settle(i);
}

void Knowledge::join_below(const Knowledge& other, Component end) {
  const std::size_t n = std::min<std::size_t>(end, other.at_.size());
  if (at_.size() < n) at_.resize(n, 0);
  for (std::size_t i = 0; i < n; ++i) at_[i] = std::max(at_[i], other.at_[i]);
  for (const LaneTimes& theirs : other.lanes_) {
    const auto mine =
        std::find_if(lanes_.begin(), lanes_.end(), [&](const LaneTimes& l) { return l.warp == theirs.warp; });
    if (mine == lanes_.end()) {
      lanes_.push_back(theirs);
      continue;
    }
    for (std::size_t i = 0; i < lanes_of_warp; ++i) mine->at[i] = std::max(mine->at[i], theirs.at[i]);
  }
  for (std::size_t i = lanes_.size(); i-- > 0;) settle(i);
}

void Knowledge::join(const Knowledge& other) { join_below(other, static_cast<Component>(other.at_.size())); }

void Knowledge::forget(Component begin, Component end) {
  for (Component c = begin; c < end && c < at_.size(); ++c) at_[c] = 0;
  std::erase_if(lanes_, [&](const LaneTimes& l) { return l.warp >= begin && l.warp < end; });
}

}  // namespace tessera::race
