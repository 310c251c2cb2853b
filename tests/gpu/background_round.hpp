// One kernel that is tuned in the background while its caller goes on launching: the same round on a card
// (trials_on_card.cpp) and over the driver of the tests (tests/field/trial_test.cpp).
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <span>
#include <string>

#include "tessera/tessera.hpp"

namespace tessera::gpu_tests {

struct BackgroundRound {
  std::string guess;           // the configuration that the first calls ran
  Report first, last;          // after the first call, and when the tuning was over
  int during = 0;              // calls until the tuning was over, the first one included
  int wrong = 0;               // results, checked after every call
  double first_call_ms = 0;    // until it returned
  double tuned_after_ms = 0;   // from the end of the first call
  double longest_call_ms = 0;  // of the others while it was tuned
};

// Calls `kernel` until its tuning is over and `after` times more. `right` looks at the results of a call, and may
// change the inputs of the next one.
inline BackgroundRound tune_in_background(detail::KernelImpl& kernel, std::span<const detail::Argument> arguments,
                                          const Device& device, int after, const std::function<bool()>& right) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  };
  BackgroundRound round;
  const auto call = [&] {
    const auto begin = Clock::now();
    kernel.launch(arguments, &device, {});
    const double ms = since(begin);
    device.synchronize();
    round.wrong += right() ? 0 : 1;
    return ms;
  };
  kernel.tuning({.mode = Tuning::background}, SourceLoc::here());
  round.first_call_ms = call();
  const auto begin = Clock::now();
  round.first = kernel.report();
  round.guess = round.first.config;
  round.during = 1;
  while (kernel.report().note == round.first.note && !round.first.note.empty()) {
    round.longest_call_ms = std::max(round.longest_call_ms, call());
    ++round.during;
  }
  round.tuned_after_ms = since(begin);
  kernel.wait_for_tuning();
  for (int i = 0; i < after; ++i) call();
  round.last = kernel.report();
  return round;
}

}  // namespace tessera::gpu_tests
