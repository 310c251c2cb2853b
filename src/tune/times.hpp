// Times of candidates that ran in the same rounds, and who of them is faster.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace tessera::tune {

double median(std::vector<double> values);  // of at least one
// A standard deviation that outliers do not change: 1.4826 times the median distance from the median.
double spread(const std::vector<double>& values);

// How much longer one candidate takes than another.
struct Gap {
  double share = 0;  // 0.03: 3 % longer
  double half = 0;   // half the width of the interval in which the true share lies
  int pairs = 0;     // rounds in which both ran

  bool separated() const { return share - half > 0; }
  // Whatever the true share is, it is less than `share_of_a_tie` either way.
  bool tied(double share_of_a_tie) const { return pairs > 0 && share + half < share_of_a_tie; }
};

// Launches are compared within their round: what slows down a whole round, as a clock that sinks does, changes no
// quotient. Of the quotients the median counts, so that single launches that were disturbed do not matter.
class Times {
 public:
  explicit Times(std::size_t candidates) : samples_(candidates) {}

  void add(std::size_t candidate, int round, double ms) { samples_[candidate].emplace_back(round, ms); }
  void forget(std::size_t candidate) { samples_[candidate].clear(); }
  int count(std::size_t candidate) const { return static_cast<int>(samples_[candidate].size()); }
  double median_of(std::size_t candidate) const { return median(values(candidate)); }
  double spread_of(std::size_t candidate) const { return spread(values(candidate)); }
  double least(std::size_t candidate) const;

  Gap gap(std::size_t candidate, std::size_t leader) const;
  // Of candidates that have times: the one over which no other has a negative gap.
  std::size_t leader(const std::vector<std::size_t>& among) const;

 private:
  std::vector<double> values(std::size_t candidate) const;
  std::vector<std::vector<std::pair<int, double>>> samples_;  // a candidate's, in the order of rounds
};

}  // namespace tessera::tune
