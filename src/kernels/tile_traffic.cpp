#include "kernels/tile_traffic.hpp"

#include <algorithm>
#include <vector>

namespace tessera::kernels {

namespace {

// Of the 50 MB of an H100's or H200's L2: with groups whose operands return after 26 MB matmuls of 8192 x 8192 x 512
// are as fast as with the best order, after 38 MB those of 4096 x 7168 x 2048 are not
// (benchmarks/results/studies/tile_groups_h200.json).
constexpr double l2_bytes = 32e6;

// Rows or columns of tiles, and what had gone through L2 when they were needed last.
class Panels {
 public:
  Panels(std::int64_t count, double bytes)
      : last_round_(static_cast<std::size_t>(count), -1), passed_(last_round_.size()), bytes_(bytes) {}

  void need(std::int64_t panel, std::int64_t round, double passed) {
    const auto at = static_cast<std::size_t>(panel);
    if (last_round_[at] == round) return;
    needed_ += bytes_;
    if (last_round_[at] < 0 || passed - passed_[at] > l2_bytes) fetched_ += bytes_;
    last_round_[at] = round;
    passed_[at] = passed;
  }
  double needed() const { return needed_; }    // by all rounds
  double fetched() const { return fetched_; }  // of that, from memory

 private:
  std::vector<std::int64_t> last_round_;
  std::vector<double> passed_;
  double bytes_, needed_ = 0, fetched_ = 0;
};

struct Traffic {
  double needed, fetched;
};

Traffic traffic(const TileRounds& r, std::int64_t group) {
  Panels a(r.rows, r.row_bytes), b(r.columns, r.column_bytes);
  constexpr std::int64_t most_rounds = 256;  // are looked at: by then an order has shown what it does
  const std::int64_t tiles = std::min(r.rows * r.columns, most_rounds * r.at_once);
  double passed = 0;
  for (std::int64_t first = 0, round = 0; first < tiles; first += r.at_once, ++round) {
    const double before = a.needed() + b.needed();
    const std::int64_t end = std::min(first + r.at_once, tiles);
    for (std::int64_t tile = first; tile < end; ++tile) {
      const std::int64_t top = tile / (group * r.columns) * group, in_group = tile % (group * r.columns);
      const std::int64_t height = std::min(group, r.rows - top);
      a.need(top + in_group % height, round, passed);
      b.need(in_group / height, round, passed);
    }
    passed += a.needed() + b.needed() - before + static_cast<double>(end - first) * r.result_bytes;
  }
  return {a.needed() + b.needed(), a.fetched() + b.fetched()};
}

}  // namespace

double operand_traffic(const TileRounds& rounds, std::int64_t group) { return traffic(rounds, group).fetched; }

std::int64_t best_group(const TileRounds& rounds) {
  constexpr double noticeable = 1.02;
  std::int64_t best = 1;
  Traffic least{};
  for (std::int64_t group = 1;; group *= 2) {
    const Traffic t = traffic(rounds, group);
    const bool less = t.fetched * noticeable < least.fetched;
    const bool same = t.fetched < least.fetched * noticeable;
    if (group == 1 || less || (same && t.needed < least.needed)) {
      best = group;
      least = t;
    }
    if (group >= std::min(rounds.rows, 2 * rounds.at_once)) return best;  // higher ones have the rounds of this one
  }
}

}  // namespace tessera::kernels
