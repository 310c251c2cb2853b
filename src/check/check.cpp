// Runs one launch under many schedules with the order of everything checked, and puts the findings together.
#include "tessera/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <numeric>

#include "check/timeline_html.hpp"
#include "check/waivers.hpp"
#include "runtime/launchable.hpp"
#include "runtime/parallel.hpp"
#include "sim/random.hpp"
#include "sim/simulator.hpp"
#include "support/byte_ranges.hpp"

namespace tessera::detail {
namespace {

using Launchable = KernelImpl::Launchable;

// The memory of one run: what the kernel writes is copied, buffers that overlap stay together.
class RunMemory {
 public:
  explicit RunMemory(const Launchable& launch) {
    const ir::thread::Kernel& kernel = *launch.kernel;
    std::vector<ByteRange> pieces(kernel.params.size());
    for (std::size_t i = 0; i < kernel.params.size(); ++i) {
      arguments_.emplace_back();
      arguments_[i].integer = kernel.params[i].is_pointer ? 0 : launch.values[i];
      if (kernel.params[i].is_pointer) pieces[i] = {static_cast<std::uintptr_t>(launch.values[i]), launch.bytes[i]};
    }
    const MergedRanges merged = merge_overlapping(pieces);
    std::vector<char> written(merged.ranges.size(), 0);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (merged.of[i] != MergedRanges::none && writes(kernel, i)) written[merged.of[i]] = 1;
    }
    std::vector<std::byte*> memory;
    for (std::size_t r = 0; r < merged.ranges.size(); ++r) {
      const ByteRange& range = merged.ranges[r];
      memory.push_back(written[r] != 0 ? copy(range.begin, range.bytes) : reinterpret_cast<std::byte*>(range.begin));
    }
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (merged.of[i] == MergedRanges::none) continue;
      arguments_[i].data = memory[merged.of[i]] + merged.offset[i];
      arguments_[i].bytes = pieces[i].bytes;
    }
  }
  std::span<const sim::Argument> arguments() const { return arguments_; }

 private:
  static constexpr std::size_t alignment = 256;

  static bool writes(const ir::thread::Kernel& kernel, std::size_t param) {
    const auto& written = kernel.written_params;
    return std::find(written.begin(), written.end(), param) != written.end();
  }
  // With the same alignment as the original.
  std::byte* copy(std::uintptr_t from, std::size_t bytes) {
    copies_.emplace_back(bytes + 2 * alignment);
    const auto base = reinterpret_cast<std::uintptr_t>(copies_.back().data());
    auto* to = reinterpret_cast<std::byte*>((base + alignment - 1) / alignment * alignment + from % alignment);
    std::memcpy(to, reinterpret_cast<const std::byte*>(from), bytes);
    return to;
  }

  std::vector<sim::Argument> arguments_;
  std::vector<std::vector<std::byte>> copies_;
};

// The findings of all runs: each mistake once, with the first schedule that showed it.
class Collection {
 public:
  void add(std::size_t run, std::vector<Finding> findings) {
    const std::lock_guard lock(mutex_);
    for (Finding& f : findings) by_run_.emplace(run, std::move(f));
  }
  std::vector<Finding> merged() {
    std::vector<Finding> result;
    std::map<std::string, std::size_t> seen;
    for (auto& [run, f] : by_run_) {
      const auto [at, fresh] = seen.try_emplace(key(f), result.size());
      if (fresh) {
        result.push_back(std::move(f));
      } else {
        result[at->second].count += f.count;
      }
    }
    // A deadlock, or bytes that nobody wrote, is often what another mistake leads to.
    const auto rank = [](const Finding& f) {
      return f.hazard == Hazard::deadlock || f.hazard == Hazard::uninitialised ? 1 : 0;
    };
    std::stable_sort(result.begin(), result.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    return result;
  }

 private:
  static std::string place(const SourceLoc& loc) { return fmt::format("{}:{}", loc.file, loc.line); }
  // Which of two operations comes second is up to the schedule.
  static std::string key(const Finding& f) {
    std::string a = place(f.diagnostic.loc);
    std::string b = f.diagnostic.notes.empty() ? std::string() : place(f.diagnostic.notes.front().loc);
    if (f.hazard == Hazard::race && b < a) std::swap(a, b);
    if (f.hazard == Hazard::deadlock) b.clear();
    return fmt::format("{} {} {}", name_of(f.hazard), a, b);
  }

  std::mutex mutex_;
  std::multimap<std::size_t, Finding> by_run_;
};

class Check {
 public:
  Check(const Launchable& launch, const CheckOptions& options, CheckReport& report)
      : launch_(launch), options_(options), report_(report) {}

  void run() {
    std::vector<Schedule> schedules = {Schedule::eager(), Schedule::lazy()};
    for (int i = 0; i < options_.schedules; ++i) {
      schedules.push_back(Schedule::random(options_.seed + static_cast<std::uint64_t>(i)));
    }
    if (options_.orderings > 0) schedules.push_back({Schedule::Kind::order, 0, {}});
    run_all(schedules);
    if (options_.orderings > 1) run_all(deviations());
    report_.findings = findings_.merged();
    add_those_of_the_text();
    report_.waived = checker::take_waived(report_.findings);
    if (options_.timeline) draw();
  }

 private:
  void run_all(const std::vector<Schedule>& schedules) {
    const std::size_t before = report_.schedules.size();
    for (const Schedule& s : schedules) report_.schedules.push_back(s.to_string());
    std::mutex mutex;
    runtime::parallel_for(schedules.size(), static_cast<unsigned>(options_.threads), [&](std::size_t i) {
      std::vector<Finding> findings;
      sim::Options run = options_of(schedules[i], findings);
      if (schedules[i].kind == Schedule::Kind::order && schedules[i].choices.empty()) run.alternatives = &alternatives_;
      const sim::Statistics statistics = sim::run(*launch_.kernel, RunMemory(launch_).arguments(), run);
      findings_.add(before + i, std::move(findings));
      const std::lock_guard lock(mutex);
      report_.blocks += statistics.ctas;
      report_.statements += statistics.warp_statements;
    });
  }

  sim::Options options_of(const Schedule& schedule, std::vector<Finding>& findings) const {
    sim::Options run;
    run.schedule = schedule;
    run.sms = options_.sms;
    run.print = [](std::string_view) {};  // each schedule would print the same
    run.findings = &findings;
    return run;
  }

  // Orders that differ from the plain one in one step, and when these are used up, in two: all of them where the bound
  // allows, else some, drawn from the seed.
  std::vector<Schedule> deviations() const {
    std::vector<Schedule::Choice> single;
    for (std::uint32_t step = 0; step < alternatives_.size(); ++step) {
      for (std::uint32_t c = 1; c < alternatives_[step]; ++c) single.push_back({step, c});
    }
    const auto bound = static_cast<std::size_t>(options_.orderings - 1);
    sim::Random random(options_.seed, 0);
    for (std::size_t i = single.size(); i > 1; --i) {
      std::swap(single[i - 1], single[random.below(static_cast<std::uint32_t>(i))]);
    }
    std::vector<Schedule> result;
    for (const auto& choice : single) {
      if (result.size() == bound) return result;
      result.push_back({Schedule::Kind::order, 0, {choice}});
    }
    for (std::size_t i = 0; i < single.size(); ++i) {
      for (std::size_t j = i + 1; j < single.size() && result.size() < bound; ++j) {
        if (single[i].step == single[j].step) continue;
        const auto [first, second] = std::minmax(single[i], single[j], [](auto a, auto b) { return a.step < b.step; });
        result.push_back({Schedule::Kind::order, 0, {first, second}});
      }
    }
    return result;
  }

  // What the text shows comes first, unless a run found the same, which says more.
  void add_those_of_the_text() {
    const auto found = [&](const Finding& f) {
      return std::any_of(report_.findings.begin(), report_.findings.end(),
                         [&](const Finding& other) { return other.hazard == f.hazard && place(other) == place(f); });
    };
    std::vector<Finding> all;
    std::copy_if(launch_.findings.begin(), launch_.findings.end(), std::back_inserter(all),
                 [&](const Finding& f) { return !found(f); });
    all.insert(all.end(), report_.findings.begin(), report_.findings.end());
    report_.findings = std::move(all);
  }
  static std::string place(const Finding& f) {
    return fmt::format("{}:{}", f.diagnostic.loc.file, f.diagnostic.loc.line);
  }

  // Of the schedule that shows the first finding, or of a random one.
  void draw() {
    const auto shown = std::find_if(report_.findings.begin(), report_.findings.end(),
                                    [](const Finding& f) { return !f.schedule.empty(); });
    const Schedule schedule =
        shown != report_.findings.end() ? Schedule::parse(shown->schedule) : Schedule::random(options_.seed);
    std::vector<Finding> findings;
    sim::Timeline timeline;
    sim::Options run = options_of(schedule, findings);
    run.timeline = &timeline;
    sim::run(*launch_.kernel, RunMemory(launch_).arguments(), run);
    report_.timeline_html = checker::timeline_html(timeline, report_.findings);
  }

  const Launchable& launch_;
  const CheckOptions& options_;
  CheckReport& report_;
  Collection findings_;
  std::vector<std::uint32_t> alternatives_;
};

void check_options(const CheckOptions& options, SourceLoc call) {
  const auto bad = [&](const char* name, int value, const char* allowed) {
    throw Error(ErrorKind::user, call, fmt::format("CheckOptions: {} = {}", name, value), allowed);
  };
  if (options.schedules < 0) bad("schedules", options.schedules, "give the number of random schedules, 0 or more");
  if (options.orderings < 0) bad("orderings", options.orderings, "give the number of orders to search, 0 or more");
  if (options.sms < 1) bad("sms", options.sms, "give a number of multiprocessors, 1 or more");
  if (options.threads < 0) bad("threads", options.threads, "give a number of host threads, or 0 for all cores");
}

}  // namespace

CheckReport check(KernelImpl& kernel, std::span<const Argument> arguments, const Device* device,
                  const CheckOptions& options) {
  const Launchable launch = kernel.launchable(arguments, device);
  check_options(options, launch.call);
  if (!launch.simulated) {
    throw Error(ErrorKind::user, launch.call, fmt::format("check(): the arguments are on {}", launch.device),
                "the checker runs kernels on the simulated Hopper: pass buffers of Device::sim(), or host memory");
  }
  CheckReport report;
  report.config = launch.config;
  if (!launch.kernel) return report;
  report.kernel = launch.kernel->name;
  Check(launch, options, report).run();
  return report;
}

}  // namespace tessera::detail
