#include "kernels/select.hpp"

#include <fmt/format.h>

#include "kernels/options.hpp"
#include "runtime/device_state.hpp"

namespace tessera::kernels {

namespace {

double measured_us(const Executor& executor) {
  const Report report = executor.report();
  for (const CandidateReport& row : report.candidates) {
    if (row.status == CandidateReport::Status::chosen && row.time_us > 0) return row.time_us + executor.extra_us();
  }
  return 0;
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
  std::size_t measured = 0;
  for (Option& option : options) {
    if (option.choice.estimate_us > limit) {
      result.choices.push_back(option.choice);
      continue;
    }
    auto executor = option.make(option.best(option.most));
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
  std::vector<Option> options = options_for(p, call.device.state()->multiprocessors(), Consider::what_may_win);
  Selection result = call.device.is_simulated() ? by_model(call, options) : by_measuring(call, options);
  result.kernel = result.choices.front().kernel;
  return result;
}

}  // namespace tessera::kernels
