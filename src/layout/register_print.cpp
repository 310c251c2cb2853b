// Text of a register layout: a chain of one-mode-a-dimension layouts where there is one, else the raw modes.
#include <fmt/format.h>

#include <algorithm>

#include "layout/detail.hpp"
#include "layout/register_layout.hpp"

namespace tessera::layout {

namespace {

using detail::at;
using Ints = RegisterLayout::Ints;

// Peels layouts off the outside: a mode can go when it is the outermost one left of its dimension and comes next in its
// list. Peeling never blocks a later peel, so taking as much as possible finds a chain whenever one exists; whether the
// threads or the registers go first is tried both ways, for the shortest text.
class Peeler {
 public:
  explicit Peeler(const RegisterLayout& l) : layout_(l), groups_(l.grouped_modes()), dims_(l.mode_shape().size()) {
    for (std::size_t d = 0; d < groups_.size(); ++d) {
      for (const std::int64_t m : groups_[d]) dims_[at(m)] = d;
    }
    memo_.assign((l.spatial_modes().size() + 1) * (l.local_modes().size() + 1), Step{});
  }

  // The chain, or an empty string.
  std::string run() {
    std::size_t s = 0, l = 0;
    if (best(s, l).terms == no_chain) return {};
    std::string text;
    while (s < layout_.spatial_modes().size() || l < layout_.local_modes().size()) {
      const Step step = best(s, l);
      if (!text.empty()) text += '.';
      text += term(step, step.spatial ? layout_.spatial_modes() : layout_.local_modes(), step.spatial ? s : l);
      (step.spatial ? s : l) += step.count;
    }
    return text.empty() ? fmt::format("local({})", detail::joined(Ints(at(layout_.rank()), 1))) : text;
  }

 private:
  static constexpr int unknown = -1, no_chain = 1 << 20;
  // The next term, and how many terms there are from here on.
  struct Step {
    int terms = unknown;
    bool spatial = false, column = false;
    std::size_t count = 0;
  };

  const Step& best(std::size_t s, std::size_t l) {
    Step& memo = memo_[s * (layout_.local_modes().size() + 1) + l];
    if (memo.terms != unknown) return memo;
    Step result{no_chain};
    if (s == layout_.spatial_modes().size() && l == layout_.local_modes().size()) result.terms = 0;
    for (const bool across : {true, false}) {
      const Step first = longest(s, l, across);
      if (first.count == 0) continue;
      const int terms = 1 + best(across ? s + first.count : s, across ? l : l + first.count).terms;
      if (terms < result.terms) {
        result = first;
        result.terms = terms;
      }
    }
    return memo = result;
  }

  // The longest term that can go once s entries of the spatial list and l of the local one are gone.
  Step longest(std::size_t s, std::size_t l, bool across) const {
    const Ints& list = across ? layout_.spatial_modes() : layout_.local_modes();
    const std::size_t begin = across ? s : l;
    if (begin < list.size() && list[begin] < 0) return {0, across, false, 1};
    std::vector<std::size_t> gone(groups_.size(), 0);
    for (std::size_t i = 0; i < s; ++i) {
      if (layout_.spatial_modes()[i] >= 0) ++gone[dims_[at(layout_.spatial_modes()[i])]];
    }
    for (std::size_t i = 0; i < l; ++i) ++gone[dims_[at(layout_.local_modes()[i])]];
    const std::size_t row = run_length(list, begin, gone, false), column = run_length(list, begin, gone, true);
    return {0, across, column > row, std::max(row, column)};
  }

  // How many entries from `begin` form one row-major or column-major layout: dimensions strictly in order.
  std::size_t run_length(const Ints& list, std::size_t begin, const std::vector<std::size_t>& gone, bool column) const {
    std::size_t end = begin;
    for (; end < list.size() && list[end] >= 0; ++end) {
      const std::size_t d = dims_[at(list[end])];
      if (groups_[d][gone[d]] != list[end]) break;
      if (end == begin) continue;
      const std::size_t previous = dims_[at(list[end - 1])];
      if (column ? d >= previous : d <= previous) break;
    }
    return end - begin;
  }

  std::string term(const Step& step, const Ints& list, std::size_t position) const {
    if (list[position] < 0) return fmt::format("replicate({})", -list[position]);
    Ints extents(at(layout_.rank()), 1);
    for (std::size_t i = position; i < position + step.count; ++i) {
      extents[dims_[at(list[i])]] = layout_.mode_shape()[at(list[i])];
    }
    return fmt::format("{}{}({})", step.column ? "column_" : "", step.spatial ? "spatial" : "local",
                       detail::joined(extents));
  }

  const RegisterLayout& layout_;
  std::vector<Ints> groups_;
  std::vector<std::size_t> dims_;
  std::vector<Step> memo_;
};

}  // namespace

std::string RegisterLayout::to_string() const {
  const RegisterLayout simple = canonical();
  std::string chain = Peeler(simple).run();
  if (!chain.empty()) return chain;
  return fmt::format("register_layout({}, modes {}, spatial {}, local {})", detail::list(simple.shape_),
                     detail::list(simple.mode_shape_), detail::list(simple.spatial_modes_),
                     detail::list(simple.local_modes_));
}

}  // namespace tessera::layout
