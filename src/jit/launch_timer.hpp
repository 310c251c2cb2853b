// How candidates of a kernel are timed on a card.
#pragma once

#include <functional>

#include "jit/l2_flush.hpp"

namespace tessera::jit {

// Times launches in a device's default stream by events, each with a cold L2 cache. Not to be shared between threads.
class LaunchTimer {
 public:
  explicit LaunchTimer(int device);
  ~LaunchTimer();  // never throws: the device may have failed
  LaunchTimer(const LaunchTimer&) = delete;
  LaunchTimer& operator=(const LaunchTimer&) = delete;

  // Milliseconds of `launch`, which enqueues the same work each time: of less than 0.1 ms the mean of two runs, one
  // right after the other. On an H200 every second launch with more than some 200 bytes of parameters, which two tensor
  // maps are, begins 0.4 to 0.9 us later than the others, whatever it does. Work of more than 0.1 ms runs twice before
  // the run that counts, long work once: a card that has been idle between two measurements has a higher clock than one
  // that is kept busy, at its power limit, and another candidate may be the fastest there (of 8192^3 matmuls on an H200
  // one that was 3 % ahead was 2 % behind).
  double milliseconds(const std::function<void()>& launch) const;
  // The same at whatever clock the card has.
  double milliseconds_at_this_clock(const std::function<void()>& launch) const;

 private:
  double once(const std::function<void()>& launch) const;

  int device_;
  L2Flush flush_;
  void *begin_ = nullptr, *end_ = nullptr;
};

}  // namespace tessera::jit
