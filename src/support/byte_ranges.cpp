#include "support/byte_ranges.hpp"

#include <algorithm>

namespace tessera {

MergedRanges merge_overlapping(std::span<const ByteRange> pieces) {
  MergedRanges result;
  result.of.assign(pieces.size(), MergedRanges::none);
  result.offset.assign(pieces.size(), 0);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].bytes != 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return pieces[a].begin < pieces[b].begin; });
  for (const std::size_t i : order) {
    if (result.ranges.empty() || pieces[i].begin >= result.ranges.back().end()) result.ranges.push_back(pieces[i]);
    ByteRange& range = result.ranges.back();
    range.bytes = std::max(range.end(), pieces[i].end()) - range.begin;
    result.of[i] = result.ranges.size() - 1;
    result.offset[i] = pieces[i].begin - range.begin;
  }
  return result;
}

}  // namespace tessera
