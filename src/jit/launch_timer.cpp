#include "jit/launch_timer.hpp"

#include <algorithm>

#include "jit/driver.hpp"
#include "tessera/core/error.hpp"

namespace tessera::jit {
namespace {

constexpr double short_ms = 0.1, busy_ms = 5;
constexpr int most_runs_before = 2;

}  // namespace

LaunchTimer::LaunchTimer(int device)
    : device_(device), flush_(device), begin_(create_event(device)), end_(create_event(device)) {}

LaunchTimer::~LaunchTimer() {
  try {
    destroy_event(device_, begin_);
    destroy_event(device_, end_);
  } catch (const Error&) {  // its error is already on its way to the user
  }
}

double LaunchTimer::milliseconds(const std::function<void()>& launch) const {
  const double first = milliseconds_at_this_clock(launch);
  if (first < short_ms) return first;
  const int more = std::clamp(static_cast<int>(busy_ms / first), 1, most_runs_before) - 1;
  for (int i = 0; i < more; ++i) launch();
  return milliseconds_at_this_clock(launch);
}

double LaunchTimer::milliseconds_at_this_clock(const std::function<void()>& launch) const {
  const double first = once(launch);
  return first < short_ms ? (first + once(launch)) / 2 : first;
}

double LaunchTimer::once(const std::function<void()>& launch) const {
  flush_.run(nullptr);
  record_event(device_, begin_, nullptr);
  launch();
  record_event(device_, end_, nullptr);
  return static_cast<double>(elapsed_ms(device_, begin_, end_));
}

}  // namespace tessera::jit
