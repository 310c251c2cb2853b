// Chooses among the candidates that could be built: runs them, compares their results, times them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/runtime/report.hpp"
#include "tune/compare.hpp"

namespace tessera::tune {

// Runs candidates for the tuner. Candidates are numbered as the rows of `measure`.
class Executor {
 public:
  virtual ~Executor() = default;
  // Runs the candidate once on its own copies of the written buffers, which hold NaN patterns (or the user's data where
  // the kernel also reads them), and returns what it wrote, in the memory of `recycled` where that has the right size.
  // Throws Error if it cannot run.
  virtual std::vector<Output> run(std::size_t candidate, std::vector<Output> recycled) = 0;
  // Milliseconds of one launch. Throws Error if it cannot run.
  virtual double time(std::size_t candidate) = 0;
  // Whether a candidate that fails leaves the others unharmed. Where it need not (a kernel that faults takes its whole
  // process's GPU with it), a failure is kept for other processes only once a later candidate has run.
  virtual bool isolated() const { return false; }
};

struct Options {
  int rounds = 15;                // at most so many launches a candidate
  int least_rounds = 5;           // at least so many, whatever they take
  double hopeless_at_once = 2.5;  // times the best: leaves after its first launch
  double hopeless = 1.5;          // times the best median: leaves after any later round
  double budget_ms = 800;         // of measured time, after which no round begins that is not one of the least
  double flaw_penalty = 0.02;     // a candidate with ptxas advisories must be faster by this share to win
};

struct Progress {
  std::function<void(const std::string& phase, std::size_t total)> phase;
  std::function<void()> advance;
};

// Rows with status `ranked` take part. On return one row is `chosen`, its index is the result, and every other one has
// its status and reason.
//   Results: candidates whose outputs agree (compare.hpp) form a class; the largest class is right, the others are
//   `rejected`. Between classes of equal size the one with fewer NaNs wins; if that does not decide, no result can be
//   trusted and a user Error lists the classes. The winner runs once more after the timing and must give its result
//   again. Times: rounds in rotating order, the median counts.
// Throws a user Error (see no_candidate) if no row is left.
std::size_t measure(std::vector<CandidateReport>& rows, Executor& executor, const std::string& kernel, SourceLoc loc,
                    const Options& options = {}, const Progress& progress = {});

// The Error for a space of which every candidate failed: a note for each with its reason, at `places[i]` where that is
// known. An internal error among the reasons makes it an internal Error.
Error no_candidate(const std::vector<CandidateReport>& rows, const std::string& kernel, SourceLoc loc,
                   const std::vector<SourceLoc>& places = {}, ErrorKind kind = ErrorKind::user);

}  // namespace tessera::tune
