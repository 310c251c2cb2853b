#include "tune/times.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::tune {
namespace {

constexpr int least_pairs = 5;  // fewer may agree by chance

// Half the width of the interval of a median of `count` values in units of their deviation. Three standard errors of
// a median (1.2533 / sqrt(count) each), and more for few values, whose deviation is itself a guess.
double interval(int count) {
  const double n = count;
  return 3 * (1 + 5 / n) * 1.2533 / std::sqrt(n);
}

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double spread(const std::vector<double>& values) {
  const double middle = median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double v : values) distances.push_back(std::fabs(v - middle));
  return 1.4826 * median(std::move(distances));
}

std::vector<double> Times::values(std::size_t candidate) const {
  std::vector<double> result;
  result.reserve(samples_[candidate].size());
  for (const auto& [round, ms] : samples_[candidate]) result.push_back(ms);
  return result;
}

double Times::least(std::size_t candidate) const {
  double result = std::numeric_limits<double>::infinity();
  for (const auto& [round, ms] : samples_[candidate]) result = std::min(result, ms);
  return result;
}

Gap Times::gap(std::size_t candidate, std::size_t leader) const {
  std::vector<double> quotients;
  auto other = samples_[leader].begin();
  for (const auto& [round, ms] : samples_[candidate]) {
    while (other != samples_[leader].end() && other->first < round) ++other;
    if (other == samples_[leader].end()) break;
    if (other->first == round) quotients.push_back(std::log(ms / other->second));
  }
  Gap result;
  result.pairs = static_cast<int>(quotients.size());
  if (quotients.empty()) {  // never in one round: only the medians are left
    if (count(candidate) > 0 && count(leader) > 0) result.share = median_of(candidate) / median_of(leader) - 1;
    result.half = std::numeric_limits<double>::infinity();
    return result;
  }
  const bool enough = result.pairs >= least_pairs;
  result.half = enough ? interval(result.pairs) * spread(quotients) : std::numeric_limits<double>::infinity();
  result.share = std::expm1(median(std::move(quotients)));
  return result;
}

std::size_t Times::leader(const std::vector<std::size_t>& among) const {
  std::size_t best = *std::min_element(among.begin(), among.end(),
                                       [&](std::size_t a, std::size_t b) { return median_of(a) < median_of(b); });
  for (std::size_t step = 0; step < among.size(); ++step) {  // quotients need not be transitive: end in any case
    std::size_t faster = best;
    double least_share = 0;
    for (const std::size_t i : among) {
      const double share = i == best ? 0 : gap(i, best).share;
      if (share >= least_share) continue;
      least_share = share;
      faster = i;
    }
    if (faster == best) break;
    best = faster;
  }
  return best;
}

}  // namespace tessera::tune
