// Which kernel a matmul gets.
#pragma once

#include "kernels/executor.hpp"

namespace tessera::kernels {

struct Selection {
  std::unique_ptr<Executor> executor;
  std::string kernel, reason;
  std::vector<MatmulReport::Choice> choices;  // the chosen one first
};

// The kernels that can do it are ranked by the model of candidates.hpp. On a device with a clock each is tuned over its
// best configurations, and all kernels whose estimate is at most 1.6 times the best one's are compared by what was
// measured: those that come close by whole calls, in turns, unless C is also read. The result is prepared for the call.
Selection select(const Call& call);

}  // namespace tessera::kernels
