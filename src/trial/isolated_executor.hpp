// Runs the tuner's candidates in a trial process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/candidate_memory.hpp"
#include "trial/session.hpp"

namespace tessera::trial {

// The candidates see copies of all memory that their views reach, read or written; neither the caller's memory nor the
// caller's CUDA context can be harmed by them.
class IsolatedExecutor final : public runtime::CandidateExecutor {
 public:
  // Throws a device Error if the process or the memory cannot be had.
  IsolatedExecutor(std::unique_ptr<Session> session, Candidates candidates);

  std::vector<tune::Output> run(std::size_t candidate, std::vector<tune::Output> recycled) override;
  double time(std::size_t candidate) override;
  bool isolated() const override { return true; }

 private:
  std::unique_ptr<Session> session_;
  std::vector<OutputPlace> outputs_;
};

// The entries' launches with these arguments, on copies of what these point to.
Candidates describe_candidates(detail::DeviceState& device, runtime::RuntimeArguments arguments,
                               const std::vector<runtime::Entry>& entries, SourceLoc call);

using MakeCandidates = std::function<Candidates()>;
using MakeLocal = std::function<std::unique_ptr<runtime::CandidateExecutor>(std::unique_ptr<runtime::Timer>)>;

// The best executor that can be had: in `session` if that is not null and works, else what `local` makes in this
// process; `remark` then says so where the device could have had a session. Null if the device has no clock. Throws a
// device Error if there is no memory for copies.
std::unique_ptr<runtime::CandidateExecutor> make_executor(detail::DeviceState& device, std::unique_ptr<Session> session,
                                                          const MakeCandidates& candidates, const MakeLocal& local,
                                                          std::string* remark);

}  // namespace tessera::trial
