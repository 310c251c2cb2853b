#include "kernels/select.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/options.hpp"
#include "runtime/device_state.hpp"

namespace tessera::kernels {

namespace {

// Of the kernel that multiplies, as tuning found it, and what the model adds for the others; 0: it was not measured.
double tuned_us(const Executor& executor) {
  const Report report = executor.report();
  if (report.ranking == Report::Ranking::estimated) return 0;
  for (const CandidateReport& row : report.candidates) {
    if (row.status == CandidateReport::Status::chosen && row.time_us > 0) return row.time_us + executor.extra_us();
  }
  return 0;
}

// One of those that are compared.
struct Contender {
  std::unique_ptr<Executor> executor;
  MatmulReport::Choice choice;
};

constexpr double close = 1.25;  // times the best time: measured again as a whole
constexpr int rounds = 9;

// Measures whole calls of those that are close, in turns: a kernel's own time says nothing of what launches beside it,
// and how far these overlap. Not where C is read, which every call would change.
void measure_calls(const Call& call, std::vector<Contender>& contenders) {
  if (call.problem.steps.add_c || contenders.size() < 2) return;
  double best = contenders.front().choice.measured_us;
  for (const Contender& one : contenders) best = std::min(best, one.choice.measured_us);
  std::vector<Contender*> near;
  for (Contender& one : contenders) {
    if (one.choice.measured_us <= close * best) near.push_back(&one);
  }
  if (near.size() < 2) return;
  detail::DeviceState& device = *call.device.state();
  device.streams().synchronize(call.stream);  // what comes before the call may still read c
  const auto timer = device.make_timer();
  const Call timed{call.problem, call.device, nullptr, call.loc};
  std::vector<std::vector<double>> samples(near.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < near.size(); ++i) {
      samples[i].push_back(timer->milliseconds_of([&] { near[i]->executor->launch(timed); }));
    }
  }
  for (std::size_t i = 0; i < near.size(); ++i) {
    std::nth_element(samples[i].begin(), samples[i].begin() + rounds / 2, samples[i].end());
    near[i]->choice.measured_us = samples[i][rounds / 2] * 1e3;
  }
}

Selection by_model(const Call& call, const std::vector<Option>& options) {
  Selection result;
  result.executor = options.front().make({0});
  result.executor->prepare(call);
  result.reason = "the model's choice: the simulated device has no clock";
  for (const Option& option : options) result.choices.push_back(option.choice);
  result.choices.front().config = result.executor->report().config;
  return result;
}

Selection by_measuring(const Call& call, std::vector<Option>& options) {
  const double limit = options.front().choice.estimate_us * plausible;
  Selection result;
  std::vector<Contender> contenders;
  for (Option& option : options) {
    if (option.choice.estimate_us > limit) {
      result.choices.push_back(option.choice);
      continue;
    }
    auto executor = option.make(option.best(option.most));
    executor->prepare(call);
    option.choice.config = executor->report().config;
    option.choice.measured_us = tuned_us(*executor);
    contenders.push_back({std::move(executor), option.choice});
  }
  const bool measured = std::all_of(contenders.begin(), contenders.end(),
                                    [](const Contender& one) { return one.choice.measured_us > 0; });
  if (measured) {  // else the model's order stands: tuning was told not to measure, or not yet
    measure_calls(call, contenders);
    std::stable_sort(contenders.begin(), contenders.end(), [](const Contender& x, const Contender& y) {
      return x.choice.measured_us < y.choice.measured_us;
    });
  }
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    result.choices.insert(result.choices.begin() + static_cast<std::ptrdiff_t>(i), contenders[i].choice);
  }
  result.executor = std::move(contenders.front().executor);
  result.reason = "the model's choice: nothing was measured";
  if (measured && contenders.size() == 1) {
    result.reason = fmt::format("no other kernel is within {} times of its estimate", plausible);
  } else if (measured) {
    result.reason = fmt::format("the fastest of {} that were measured", contenders.size());
  }
  return result;
}

}  // namespace

Selection select(const Call& call) {
  const Problem& p = call.problem;
  std::vector<Option> options = options_for(p, call.device.state()->multiprocessors(), Consider::what_may_win);
  Selection result = call.device.is_simulated() ? by_model(call, options) : by_measuring(call, options);
  result.kernel = result.choices.front().kernel;
  return result;
}

}  // namespace tessera::kernels
