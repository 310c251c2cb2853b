// Runs the tuner's candidates in a trial process.
#pragma once

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
  // Copies what the candidates read. Throws a device Error if the process or the memory cannot be had.
  IsolatedExecutor(detail::DeviceState& device, std::unique_ptr<Session> session, runtime::RuntimeArguments arguments,
                   std::vector<runtime::Entry> entries, SourceLoc call);

  std::vector<tune::Output> run(std::size_t candidate, std::vector<tune::Output> recycled) override;
  double time(std::size_t candidate) override;
  bool isolated() const override { return true; }
  Session& session() { return *session_; }

 private:
  std::vector<Region> regions() const;
  Job job(const runtime::Entry& entry, SourceLoc call) const;

  detail::DeviceState& device_;
  std::unique_ptr<Session> session_;
  runtime::RuntimeArguments arguments_;
  std::vector<runtime::Entry> entries_;
  runtime::CandidateMemory memory_;
};

// The best executor that can be had: in `session` if that is not null and works, else in this process; `remark` then
// says so where the device could have had a session. Null if the device has no clock. Throws a device Error if there is
// no memory for copies.
std::unique_ptr<runtime::CandidateExecutor> make_executor(detail::DeviceState& device, std::unique_ptr<Session> session,
                                                          runtime::RuntimeArguments arguments,
                                                          const std::vector<runtime::Entry>& entries, SourceLoc call,
                                                          std::string* remark);

}  // namespace tessera::trial
