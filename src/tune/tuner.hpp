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
  // First pass: everybody.
  int rounds = 15;              // at most so many launches a candidate
  int least_rounds = 5;         // at least so many, whatever they take
  double budget_ms = 800;       // of measured time, after which no round begins that is not one of the least
  double hopeless_at_once = 4;  // times the best: leaves after its first launch
  double hopeless = 1.5;        // times the best: leaves when its fastest of two or more launches was slower than that
  // Second look: those whose times do not tell who is faster.
  int leader_rounds = 60;
  double leader_budget_ms = 800;
  double tie = 0.005;          // times that differ by less are equal
  bool time_single = false;    // also where only one candidate can be used: its time is wanted
  double flaw_penalty = 0.02;  // a candidate with ptxas advisories must be faster by this share to win

  // The candidates in the order in which they run; that of the rows if it is empty. Of equals the earlier one wins.
  std::vector<std::size_t> order = {};
  // Asked between launches; true ends the tuning with what there is. Rows that had no turn get `unused` and this
  // reason.
  std::function<bool()> enough = {};
  std::string enough_reason = "there was no time for it";
  // The rows have changed so that another process could go on from them.
  std::function<void()> save = {};
};

struct Progress {
  std::function<void(const std::string& phase, std::size_t total)> phase;
  std::function<void()> advance;
};

// Rows with status `ranked` take part; one with a result class (of an earlier process) is known to agree with the other
// rows of that class, of which only one runs again for its result. On return one row is `chosen`, its index is the
// result, and every other one has its status and reason.
//   Results: see agreement.hpp; candidates outside the right class are `rejected`, and its class is number 0 then. If
//   no class is right no result can be trusted and a user Error lists the classes. The winner runs once more after the
//   timing and must give its result again. Times: rounds in rotating order; see times.hpp for how they are compared.
//   Who is hopeless leaves early, with one more launch at the end of the first pass, lest a disturbance that lasted a
//   while decides. Leaders that are not separated get further rounds. Of ties the earlier one in `order` wins. A
//   candidate that throws, whenever that is, is `failed`; only an internal Error goes through.
// Throws a user Error (see no_candidate) if no row is left.
std::size_t measure(std::vector<CandidateReport>& rows, Executor& executor, const std::string& kernel, SourceLoc loc,
                    const Options& options = {}, const Progress& progress = {});

// Whether every row has been tried and, where it matters, timed often enough.
bool complete(const std::vector<CandidateReport>& rows, const Options& options = {});

// The Error for a space of which every candidate failed: a note for each with its reason, at `places[i]` where that is
// known. An internal error among the reasons makes it an internal Error.
Error no_candidate(const std::vector<CandidateReport>& rows, const std::string& kernel, SourceLoc loc,
                   const std::vector<SourceLoc>& places = {}, ErrorKind kind = ErrorKind::user);

}  // namespace tessera::tune
