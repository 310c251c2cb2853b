#include "kernels/select.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "runtime/device_state.hpp"

namespace tessera::kernels {

namespace {

constexpr double plausible = 1.6;          // times the best estimate: compared by measuring
constexpr std::size_t tuned_configs = 14;  // of PersistentMatmul and PitchMatmul
constexpr std::size_t tuned_split_configs = 4, tuned_splits = 2;

// A kernel that could do it, not built yet.
struct Option {
  MatmulReport::Choice choice;
  std::function<std::unique_ptr<Executor>(std::size_t configs)> make;
};

// The best ones, without those that are not plausible.
template <class Config>
std::vector<Config> best(const std::vector<Estimated<Config>>& candidates, std::size_t count) {
  std::vector<Config> result;
  for (const Estimated<Config>& candidate : candidates) {
    if (result.size() < count && candidate.us <= plausible * candidates.front().us) result.push_back(candidate.config);
  }
  return result;
}

void add_option(std::vector<Option>& options, std::string name, double us,
                std::function<std::unique_ptr<Executor>(std::size_t)> make) {
  options.push_back({{std::move(name), {}, us, 0}, std::move(make)});
}

// Whether there are so few tiles, or so few rows, that SplitMatmul is worth a look.
bool few_tiles(const Extents& e, const PersistentConfig& c) {
  const std::int64_t tiles = (e.m + c.block_m - 1) / c.block_m * ((e.n + c.block_n - 1) / c.block_n);
  return e.m <= 256 || tiles <= std::int64_t{2} * e.sms;
}

// For operands that the TMA engine can fetch. Of equals SplitMatmul comes first: where memory is the limit its ring is
// the deeper one.
void add_ring_kernels(std::vector<Option>& options, const Problem& p, const Extents& e, Among among) {
  auto candidates = persistent_candidates(e);
  if (few_tiles(e, candidates.front().config)) {
    std::vector<SplitChoice> splits = split_candidates(e);
    if (among == Among::single_kernels) std::erase_if(splits, [](const SplitChoice& one) { return one.splits > 1; });
    splits.resize(std::min(splits.size(), tuned_splits));
    for (SplitChoice& one : splits) {
      const std::string name = one.splits == 1 ? "SplitMatmul" : fmt::format("SplitMatmul, {} splits", one.splits);
      const double us = one.us();
      add_option(options, name, us, [p, one = std::move(one)](std::size_t configs) {
        return make_split(p, one.splits, best(one.candidates, std::min(configs, tuned_split_configs)), one.extra_us);
      });
    }
  }
  const double us = candidates.front().us;
  add_option(options, "PersistentMatmul", us, [p, list = std::move(candidates)](std::size_t configs) {
    return make_persistent(p, best(list, configs));
  });
}

std::vector<Option> options_for(const Problem& p, int sms, Among among) {
  const Problem packed = packed_problem(p);
  const Extents e = extents_of(packed, sms);
  std::vector<Option> options;
  add_ring_kernels(options, packed, e, among);
  if (!p.a.loadable || !p.b.loadable) {
    if (among == Among::single_kernels) options.clear();  // PackRows would come before them
    const double us = (p.a.loadable ? 0 : packing_us(e, e.m)) + (p.b.loadable ? 0 : packing_us(e, e.n));
    for (Option& option : options) {
      option.choice.kernel = "PackRows, " + option.choice.kernel;
      option.choice.estimate_us += us;
      option.make = [p, us, inner = std::move(option.make)](std::size_t configs) {
        return make_packed(p, us, inner(configs));
      };
    }
    auto candidates = pitch_candidates(e);
    const double pitch_us = candidates.front().us;
    add_option(options, "PitchMatmul", pitch_us,
               [p, list = std::move(candidates)](std::size_t configs) { return make_pitch(p, best(list, configs)); });
  }
  std::stable_sort(options.begin(), options.end(),
                   [](const Option& x, const Option& y) { return x.choice.estimate_us < y.choice.estimate_us; });
  return options;
}

double measured_us(const Executor& executor) {
  const Report report = executor.report();
  for (const CandidateReport& row : report.candidates) {
    if (row.status == CandidateReport::Status::chosen && row.time_us > 0) return row.time_us + executor.extra_us();
  }
  return 0;
}

Selection by_model(const std::vector<Option>& options) {
  Selection result;
  result.executor = options.front().make(1);
  for (const Option& option : options) result.choices.push_back(option.choice);
  result.kernel = result.choices.front().kernel;
  return result;
}

Selection by_model_prepared(const Call& call, const std::vector<Option>& options) {
  Selection result = by_model(options);
  result.executor->prepare(call);
  result.reason = "the model's choice: the simulated device has no clock";
  result.choices.front().config = result.executor->report().config;
  return result;
}

Selection by_measuring(const Call& call, std::vector<Option>& options) {
  const double limit = options.front().choice.estimate_us * plausible;
  Selection result;
  std::size_t measured = 0;
  for (Option& option : options) {
    if (option.choice.estimate_us > limit) {
      result.choices.push_back(option.choice);
      continue;
    }
    auto executor = option.make(tuned_configs);
    executor->prepare(call);
    option.choice.config = executor->report().config;
    option.choice.measured_us = measured_us(*executor);
    ++measured;
    const bool better = !result.executor || (option.choice.measured_us > 0 &&
                                             option.choice.measured_us < result.choices.front().measured_us);
    result.choices.insert(better ? result.choices.begin() : result.choices.end(), option.choice);
    if (better) result.executor = std::move(executor);
  }
  result.reason = measured == 1 ? fmt::format("no other kernel is within {} times of its estimate", plausible)
                                : fmt::format("the fastest of {} that were measured", measured);
  return result;
}

}  // namespace

Selection select(const Call& call) {
  const Problem& p = call.problem;
  std::vector<Option> options = options_for(p, call.device.state()->multiprocessors(), Among::all);
  Selection result = call.device.is_simulated() ? by_model_prepared(call, options) : by_measuring(call, options);
  result.kernel = result.choices.front().kernel;
  return result;
}

Selection select_by_model(const Call& call, Among among) {
  return by_model(options_for(call.problem, call.device.state()->multiprocessors(), among));
}

}  // namespace tessera::kernels
