// The kernels that could do a matmul, with what the model expects of them.
#pragma once

#include <functional>

#include "kernels/executor.hpp"

namespace tessera::kernels {

constexpr double plausible = 1.6;  // times the best estimate: worth measuring

// A kernel that could do it, not built yet.
struct Option {
  MatmulReport::Choice choice;
  std::string script;                                 // that multiplies
  int splits = 1;                                     // parts of k
  bool packs = false;                                 // copies operands before it
  std::vector<double> us;                             // the model's estimates of its configurations, the fastest first
  std::size_t most = 0;                               // how many of them are tuned
  std::function<std::vector<std::string>()> configs;  // what they are called
  std::function<std::unique_ptr<Executor>(const std::vector<std::size_t>& configs)> make;

  // The best configurations, without those that are not plausible; at most `count`.
  std::vector<std::size_t> best(std::size_t count) const;
};

enum class Consider : std::uint8_t {
  what_may_win,  // of splits, and of kernels for few rows, only what may be the fastest
  everything
};
// The fastest first.
std::vector<Option> options_for(const Problem& problem, int sms, Consider consider);

}  // namespace tessera::kernels
