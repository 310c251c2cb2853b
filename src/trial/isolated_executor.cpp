#include "trial/isolated_executor.hpp"

#include <fmt/format.h>

#include <cstring>

#include "runtime/launch_notes.hpp"
#include "runtime/progress.hpp"
#include "support/error_text.hpp"

namespace tessera::trial {
using runtime::CandidateMemory;
using runtime::Entry;

IsolatedExecutor::IsolatedExecutor(std::unique_ptr<Session> session, Candidates candidates)
    : session_(std::move(session)), outputs_(std::move(candidates.outputs)) {
  std::vector<char> read;
  for (const Region& region : candidates.regions) read.push_back(region.read ? 1 : 0);
  session_->set_memory(std::move(candidates.regions));
  session_->set_jobs(std::move(candidates.jobs));
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (read[i] != 0) candidates.fill(i, session_->input(i));
  }
  session_->begin();
}

std::vector<tune::Output> IsolatedExecutor::run(std::size_t candidate, std::vector<tune::Output> recycled) {
  session_->run(candidate);
  return take_outputs(outputs_, std::move(recycled), [this](const OutputPlace& place, std::byte* to) {
    std::memcpy(to, session_->output(place.region).data() + place.offset, place.bytes);
  });
}

double IsolatedExecutor::time(std::size_t candidate) {
  ++timed_;
  return session_->time(candidate);
}

Candidates describe_candidates(detail::DeviceState& device, runtime::RuntimeArguments arguments,
                               const std::vector<Entry>& entries, SourceLoc call) {
  const CandidateMemory memory = find_memory(arguments, entries, device);
  const ir::thread::Kernel& kernel = any_kernel(entries);
  Candidates result;
  result.outputs = outputs_of(memory, kernel);
  for (const tune::RecordBuffer& buffer : note_buffers(memory, arguments, kernel))
    result.regions.push_back(runtime::watched_region(buffer));
  result.jobs.resize(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].kernel) continue;
    result.jobs[i] = note_launch(memory, arguments, *entries[i].kernel, device, call);
    const std::span<const char> image = entries[i].executable->image();
    result.jobs[i].cubin.assign(image.begin(), image.end());
  }
  result.fill = [&device, regions = memory.regions](std::size_t region, std::span<std::byte> content) {
    device.copy_out(content.data(), reinterpret_cast<const void*>(regions[region].range.begin), content.size());
  };
  return result;
}

std::unique_ptr<runtime::CandidateExecutor> make_executor(detail::DeviceState& device, std::unique_ptr<Session> session,
                                                          const MakeCandidates& candidates, const MakeLocal& local,
                                                          std::string* remark) {
  if (session) {
    const std::string off = session->off();
    try {
      if (off.empty()) return std::make_unique<IsolatedExecutor>(std::move(session), candidates());
      *remark = fmt::format("its candidates ran in this process ({})", off);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::device) throw;
      const std::string why = first_message(error);
      *remark = fmt::format("its candidates ran in this process, not in one of their own: {}", why);
      runtime::warn_once(
          fmt::format("candidates are tuned in this process, where one that traps or hangs takes it along: "
                      "{}; TESSERA_TRIAL=0 says that this is meant",
                      why));
    }
  }
  std::unique_ptr<runtime::Timer> timer = device.make_timer();
  return timer ? local(std::move(timer)) : nullptr;
}

}  // namespace tessera::trial
