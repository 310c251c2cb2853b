#include "common/bench.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "jit/l2_flush.hpp"
#include "jit/launch_timer.hpp"

namespace examples {
namespace {

constexpr int warm_up = 2;  // rounds

// The value below which `share` of the sorted samples lie.
double quantile(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (position - static_cast<double>(below));
}

}  // namespace

std::vector<Timing> measure(int device, const std::vector<Contender>& contenders, int rounds) {
  const tessera::jit::LaunchTimer timer(device);
  std::vector<std::vector<double>> samples(contenders.size());
  for (int round = 0; round < rounds + warm_up; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      const std::size_t turn = (i + static_cast<std::size_t>(round)) % contenders.size();
      const double ms = timer.milliseconds_at_this_clock([&] { contenders[turn].launch(nullptr); });
      if (round >= warm_up) samples[turn].push_back(ms);
    }
  }
  std::vector<Timing> result;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    std::sort(samples[i].begin(), samples[i].end());
    result.push_back({contenders[i].name, quantile(samples[i], 0.5), quantile(samples[i], 0.25),
                      quantile(samples[i], 0.75), static_cast<int>(samples[i].size())});
  }
  return result;
}

int fastest(int device, int count, const std::function<void(int, void* stream)>& launch, int rounds) {
  std::vector<Contender> variants;
  for (int i = 0; i < count; ++i) {
    variants.push_back({std::to_string(i), [&launch, i](void* stream) { launch(i, stream); }});
  }
  const std::vector<Timing> timings = measure(device, variants, rounds);
  const auto best = std::min_element(timings.begin(), timings.end(),
                                     [](const Timing& x, const Timing& y) { return x.median_ms < y.median_ms; });
  return static_cast<int>(best - timings.begin());
}

std::string protocol(int device, int rounds) {
  return fmt::format(
      "contenders in rotating order, {} rounds that do not count and {} that do, {} before every run, CUDA events "
      "around each, medians; of runs of less than 0.1 ms two in a row count as one, with their mean",
      warm_up, rounds, tessera::jit::L2Flush(device).protocol());
}

std::vector<Row> rows_of(const std::vector<Timing>& timings, double operations, const std::string& baseline) {
  double baseline_ms = 0;
  for (const Timing& timing : timings) {
    if (timing.name == baseline) baseline_ms = timing.median_ms;
  }
  std::vector<Row> rows;
  for (const Timing& timing : timings) {
    rows.push_back({timing.name, timing.median_ms, operations / (timing.median_ms * 1e9),
                    baseline_ms / timing.median_ms, timing.low_ms, timing.high_ms});
  }
  return rows;
}

std::string table(const std::vector<Row>& rows, const std::vector<std::int64_t>& size, const std::string& baseline) {
  std::string text = fmt::format("{:>7} {:>7} {:>7}  {:<10} {:>12} {:>9}  {}\n", "m", "n", "k", "name", "latency (ms)",
                                 "tflops", "share of " + baseline);
  for (const Row& row : rows) {
    text += fmt::format("{:>7} {:>7} {:>7}  {:<10} {:>12.4f} {:>9.1f}  {:.3f}\n", size[0], size[1], size[2], row.name,
                        row.latency_ms, row.tflops, row.share);
  }
  return text;
}

}  // namespace examples
