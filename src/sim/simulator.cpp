#include "sim/simulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "sim/cluster.hpp"
#include "sim/program.hpp"
#include "sim/report.hpp"

namespace tessera::sim {

namespace {

// Hands out clusters in order to host threads, and puts what they print back in order.
class Grid {
 public:
  Grid(const Program& program, const Options& options)
      : program_(program),
        options_(options),
        clusters_(static_cast<std::uint64_t>(program.grid[0]) * static_cast<std::uint64_t>(program.grid[1]) *
                  static_cast<std::uint64_t>(program.grid[2]) / static_cast<std::uint64_t>(program.cluster_size())),
        together_(program.waits_for_flags ? together(program, clusters_) : 1),
        total_(clusters_ / std::max<std::uint64_t>(1, together_)) {}

  Statistics run() {
    std::uint64_t threads = options_.threads > 0 ? static_cast<std::uint64_t>(options_.threads)
                                                 : std::max(1U, std::thread::hardware_concurrency());
    threads = std::min(threads, total_);
    if (threads <= 1) {
      if (total_ != 0) work();
    } else {
      std::vector<std::jthread> pool;
      for (std::uint64_t i = 0; i < threads; ++i) pool.emplace_back([this] { work(); });
    }
    if (failure_) std::rethrow_exception(failure_);
    return statistics_;
  }

 private:
  // All of them, since they wait for each other.
  static std::uint64_t together(const Program& program, std::uint64_t clusters) {
    constexpr std::uint64_t most_blocks = 4096;  // which the host's memory holds
    const std::uint64_t blocks = clusters * static_cast<std::uint64_t>(program.cluster_size());
    if (blocks <= most_blocks) return clusters;
    throw Error(
        ErrorKind::unsupported, program.kernel->loc,
        fmt::format("{} waits for flags of other blocks and has {} blocks; the simulated Hopper runs up to {} of "
                    "such a kernel together",
                    program.kernel->name, blocks, most_blocks),
        "use a smaller problem, or a persistent grid");
  }

  void work() {
    try {
      Cluster cluster(program_, options_, static_cast<int>(together_));
      std::uint64_t blocks = 0;
      while (true) {
        const std::uint64_t index = next_.fetch_add(1);
        // Clusters below one that failed still run, so that the failure reported is always that of the first one.
        if (index >= total_ || index > first_failure_.load()) break;
        run_cluster(cluster, index);
        blocks += cluster.ctas().size();
      }
      const std::lock_guard lock(mutex_);
      statistics_.ctas += blocks;
      for (const auto& cta : cluster.ctas()) {
        statistics_.warp_statements += cta->statements();
        statistics_.tma_bytes += cta->tma_bytes();
      }
    } catch (...) {
      record_failure(0);
    }
  }

  void run_cluster(Cluster& cluster, std::uint64_t index) {
    try {
      cluster.run(index);
    } catch (...) {
      record_failure(index);
    }
    if (!program_.prints) return;
    std::vector<std::string> output;
    for (const auto& cta : cluster.ctas()) output.insert(output.end(), cta->output().begin(), cta->output().end());
    deliver(index, output);
  }

  void record_failure(std::uint64_t index) {
    const std::lock_guard lock(mutex_);
    if (failure_ && first_failure_.load() <= index) return;
    failure_ = std::current_exception();
    first_failure_.store(index);
  }

  void deliver(std::uint64_t index, const std::vector<std::string>& output) {
    const std::lock_guard lock(mutex_);
    waiting_[index] = output;
    for (auto it = waiting_.find(printed_); it != waiting_.end(); it = waiting_.find(printed_)) {
      if (printed_ <= first_failure_.load()) {
        for (const std::string& text : it->second) print(text);
      }
      waiting_.erase(it);
      ++printed_;
    }
  }

  void print(const std::string& text) const {
    if (options_.print) {
      options_.print(text);
    } else {
      std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);
    }
  }

  const Program& program_;
  const Options& options_;
  const std::uint64_t clusters_, together_;
  const std::uint64_t total_;  // of what runs together
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> first_failure_{~0ULL};
  std::mutex mutex_;
  std::exception_ptr failure_;
  Statistics statistics_;
  std::map<std::uint64_t, std::vector<std::string>> waiting_;  // output of clusters that ended before an earlier one
  std::uint64_t printed_ = 0;
};

// What ended the run. Bytes that are read before they were written are a race's consequence, where one was found there.
void add_thrown(Finding finding, std::string schedule, std::vector<Finding>& findings) {
  const SourceLoc& at = finding.diagnostic.loc;
  for (const Finding& f : findings) {
    const SourceLoc& other = f.diagnostic.loc;
    if (finding.hazard == Hazard::uninitialised && other.line == at.line &&
        std::string_view(other.file) == std::string_view(at.file)) {
      return;
    }
  }
  finding.schedule = std::move(schedule);
  findings.push_back(std::move(finding));
}

}  // namespace

Statistics run(const ir::thread::Kernel& kernel, std::span<const Argument> arguments, const Options& options) {
  const Program program = compile(kernel, arguments, options.sms);
  if (options.findings == nullptr) return Grid(program, options).run();
  Options one_thread = options;
  one_thread.threads = 1;
  try {
    return Grid(program, one_thread).run();
  } catch (const HazardError& e) {
    add_thrown(e.finding(), to_string(options.schedule), *options.findings);
    return {};
  }
}

}  // namespace tessera::sim
