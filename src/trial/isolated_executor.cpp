#include "trial/isolated_executor.hpp"

#include <fmt/format.h>

#include <cstring>

#include "runtime/launch_notes.hpp"
#include "runtime/progress.hpp"
#include "runtime/tune_executor.hpp"
#include "tessera/core/error.hpp"

namespace tessera::trial {
using runtime::CandidateMemory;
using runtime::Entry;

namespace {

const ir::thread::Kernel& any_kernel(const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) {
    if (entry.kernel) return *entry.kernel;
  }
  throw Error(ErrorKind::internal, {}, "no candidate takes part in tuning");
}

}  // namespace

IsolatedExecutor::IsolatedExecutor(detail::DeviceState& device, std::unique_ptr<Session> session,
                                   runtime::RuntimeArguments arguments, std::vector<Entry> entries, SourceLoc call)
    : device_(device),
      session_(std::move(session)),
      arguments_(arguments),
      entries_(std::move(entries)),
      memory_(find_memory(arguments_, entries_, device_)) {
  session_->set_memory(regions());
  std::vector<Job> jobs(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].kernel) jobs[i] = job(entries_[i], call);
  }
  session_->set_jobs(std::move(jobs));
  for (std::size_t i = 0; i < memory_.regions.size(); ++i) {
    const CandidateMemory::Region& region = memory_.regions[i];
    if (region.read)
      device_.copy_out(session_->input(i).data(), reinterpret_cast<const void*>(region.range.begin),
                       region.range.bytes);
  }
  session_->begin();
}

std::vector<Region> IsolatedExecutor::regions() const {
  std::vector<Region> result;
  const ir::thread::Kernel& kernel = any_kernel(entries_);
  for (std::size_t r = 0; r < memory_.regions.size(); ++r) {
    const CandidateMemory::Region& from = memory_.regions[r];
    Region region;
    region.bytes = from.range.bytes;
    region.misalignment = static_cast<std::uint32_t>(from.range.begin % copy_alignment);
    region.written = from.written;
    // What nobody writes is an input, read or not: it is compared afterwards.
    region.read = from.read || !from.written;
    region.poison = from.poison;
    int count = 0;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      if (memory_.region[i] != r) continue;
      region.name += fmt::format("{}{}", count++ == 0 ? "" : ", ", kernel.params[i].name);
    }
    region.name = fmt::format("parameter{} {}", count == 1 ? "" : "s", region.name);
    result.push_back(std::move(region));
  }
  return result;
}

Job IsolatedExecutor::job(const Entry& entry, SourceLoc call) const {
  Job job = runtime::note_launch(memory_, arguments_, *entry.kernel, device_, call);
  const std::span<const char> image = entry.executable->image();
  job.cubin.assign(image.begin(), image.end());
  return job;
}

std::vector<tune::Output> IsolatedExecutor::run(std::size_t candidate, std::vector<tune::Output> recycled) {
  session_->run(candidate);
  std::vector<tune::Output> outputs;
  for (std::uint32_t i = 0; i < arguments_.size(); ++i) {
    if (!memory_.written[i] || memory_.region[i] == MergedRanges::none) continue;
    tune::Output output;
    if (outputs.size() < recycled.size()) output = std::move(recycled[outputs.size()]);
    output.param = i;
    output.type = entries_[candidate].kernel->params[i].type;
    output.bytes.resize(memory_.reach[i]);
    std::memcpy(output.bytes.data(), session_->output(memory_.region[i]).data() + memory_.offset[i], memory_.reach[i]);
    outputs.push_back(std::move(output));
  }
  return outputs;
}

double IsolatedExecutor::time(std::size_t candidate) {
  ++timed_;
  return session_->time(candidate);
}

std::unique_ptr<runtime::CandidateExecutor> make_executor(detail::DeviceState& device, std::unique_ptr<Session> session,
                                                          runtime::RuntimeArguments arguments,
                                                          const std::vector<Entry>& entries, SourceLoc call,
                                                          std::string* remark) {
  if (session) {
    const std::string off = session->off();
    try {
      if (off.empty()) return std::make_unique<IsolatedExecutor>(device, std::move(session), arguments, entries, call);
      *remark = fmt::format("its candidates ran in this process ({})", off);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::device) throw;
      const std::string why = error.diagnostics().front().message;
      *remark = fmt::format("its candidates ran in this process, not in one of their own: {}", why);
      runtime::warn_once(
          fmt::format("candidates are tuned in this process, where one that traps or hangs takes it along: "
                      "{}; TESSERA_TRIAL=0 says that this is meant",
                      why));
    }
  }
  std::unique_ptr<runtime::Timer> timer = device.make_timer();
  if (!timer) return nullptr;
  return std::make_unique<runtime::TuneExecutor>(device, std::move(timer), arguments, entries, call);
}

}  // namespace tessera::trial
