// The checker: runs a kernel on the simulated Hopper and reports every hazard, whatever the schedule.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/finding.hpp"
#include "tessera/runtime/kernel.hpp"

namespace tessera {

struct CheckOptions {
  int schedules = 6;       // random ones, beside eager and lazy
  std::uint64_t seed = 1;  // of the first random schedule; the others count on from it
  int orderings = 64;      // of warps around barriers that are searched systematically, for small kernels
  int sms = 4;             // multiprocessors, for grids that ask for their number
  int threads = 0;         // host threads over schedules; 0: all cores
  bool timeline = false;   // keep a timeline of the first cluster, for timeline_html()
};

struct CheckReport {
  std::string kernel;
  std::string config;                  // of the candidate that was checked
  std::vector<Finding> findings;       // most telling first, each kind once for each pair of lines
  std::uint64_t waived = 0;            // findings that a comment on their line allows (docs/checker.md)
  std::vector<std::string> schedules;  // that were run, in order
  std::uint64_t blocks = 0;            // executed, over all schedules
  std::uint64_t statements = 0;        // of warps
  std::string timeline_html;           // CheckOptions::timeline: a page of its own

  bool clean() const { return findings.empty(); }
  std::string text() const;   // source lines shown
  std::string json() const;   // an object; tessera-check documents its fields
  std::string sarif() const;  // SARIF 2.1.0, for editors and code review
};

// Checks that a program offers to the command: a name ("hopper_matmul/v6"), and what to run.
using RegisteredCheck = std::function<CheckReport(const CheckOptions&)>;
// Returns true, so that a namespace-scope constant can do it. Throws a user Error for a name that is taken or empty.
bool register_check(std::string name, RegisteredCheck check, SourceLoc loc = SourceLoc::here());
// The command over what is registered, as a whole main function; --help describes it. Returns the exit code: 0 no
// finding, 1 findings, 2 wrong use, 3 a check could not run.
int check_main(int argc, char** argv);

namespace detail {
CheckReport check(KernelImpl& kernel, std::span<const Argument> arguments, const Device* device,
                  const CheckOptions& options);
}

// Checks `kernel` for these arguments, which are those of a call, in memory of the simulated Hopper or of the host. The
// kernel runs on copies of what it writes. With several candidates the one that a call would launch is checked.
// A hazard is a finding, not an exception; a wrong call throws tessera::Error as the call itself would.
template <class S, class... H, class... A>
CheckReport check(Kernel<S, std::tuple<H...>>& kernel, A&&... arguments) {
  return check_with(CheckOptions{}, kernel, std::forward<A>(arguments)...);
}
template <class S, class... H>
CheckReport check_with(const CheckOptions& options, Kernel<S, std::tuple<H...>>& kernel,
                       std::type_identity_t<typename detail::LaunchArgument<H>::type>... arguments) {
  const std::array<detail::Argument, sizeof...(H)> flat = {detail::to_argument(arguments)...};
  return detail::check(kernel.impl(), flat, kernel.device(), options);
}

}  // namespace tessera
