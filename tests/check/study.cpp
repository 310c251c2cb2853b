#include "study.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>

#include "tessera/core/error.hpp"

namespace tessera::testing {

const char* name_of(Verdict verdict) {
  static constexpr const char* names[] = {"found", "wrong numbers", "failed", "survived"};
  return names[static_cast<int>(verdict)];
}

std::string source_of(const SourceLoc& loc) {
  const std::string line = source_line(loc);
  const auto first = line.find_first_not_of(' ');
  return first == std::string::npos ? "" : line.substr(first);
}

namespace {

std::vector<std::byte> bytes_of(const Parameter& p, unsigned seed) {
  const auto size = static_cast<std::size_t>(p.value) * static_cast<std::size_t>(size_of(p.type));
  std::vector<std::byte> memory(size, std::byte{0xff});  // NaN
  if (p.kind != Parameter::Kind::input) return memory;
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (std::int64_t i = 0; i < p.value; ++i) {
    const float value = normal(random);
    if (p.type == DType::f32)
      std::memcpy(memory.data() + 4 * i, &value, 4);
    else if (const float16 rounded(value); true)
      std::memcpy(memory.data() + 2 * i, &rounded, 2);
  }
  return memory;
}

// The arguments of a launch with memory of their own.
class Memory {
 public:
  explicit Memory(const Launch& launch) : sms_(launch.sms) {
    for (const Parameter& p : launch.parameters) {
      if (p.kind == Parameter::Kind::scalar) {
        arguments_.push_back({p.value, nullptr, 0});
        continue;
      }
      auto& memory = memory_.emplace_back(bytes_of(p, static_cast<unsigned>(memory_.size())));
      if (p.kind == Parameter::Kind::output) outputs_.push_back(memory_.size() - 1);
      arguments_.push_back({0, memory.data(), memory.size()});  // a vector's elements stay where they are when moved
    }
  }
  // What a run leaves in the outputs. Fills `findings`.
  std::vector<std::vector<std::byte>> run(const ir::thread::Kernel& kernel, const sim::Schedule& schedule,
                                          std::vector<Finding>& findings) {
    for (const std::size_t i : outputs_) std::memset(memory_[i].data(), 0xff, memory_[i].size());
    sim::Options options;
    options.schedule = schedule;
    options.threads = 1;
    options.sms = sms_;
    options.findings = &findings;
    sim::run(kernel, arguments_, options);
    std::vector<std::vector<std::byte>> results;
    for (const std::size_t i : outputs_) results.push_back(memory_[i]);
    return results;
  }

 private:
  int sms_;
  std::vector<std::vector<std::byte>> memory_;
  std::vector<std::size_t> outputs_;
  std::vector<sim::Argument> arguments_;
};

// One host thread's kernel and memory: expressions of mutations are made in the kernel's own context.
class Bench {
 public:
  Bench(const Subject& subject, const StudyOptions& options) : options_(options), kernel_(subject.build()) {
    for (const Launch& launch : subject.launches) memories_.emplace_back(launch);
  }

  const ir::thread::Kernel& kernel() const { return kernel_; }
  std::uint64_t runs() const { return runs_; }

  // What is wrong with the original. Its results under the first schedule become the expected ones.
  std::string flaw() {
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      for (const sim::Schedule& schedule : options_.schedules) {
        std::vector<Finding> findings;
        auto results = run(i, kernel_, schedule, findings);
        if (!findings.empty()) return format_diagnostic(findings.front().diagnostic, "error");
        if (expected_.size() == i) expected_.push_back(results);
        if (results != expected_[i]) return "the results depend on the schedule: " + sim::to_string(schedule);
      }
    }
    return {};
  }

  Outcome judge(const checker::Mutation& mutation) {
    Outcome outcome;
    outcome.mutation = mutation;
    const auto mutant = checker::mutate(kernel_, mutation);
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      for (const sim::Schedule& schedule : options_.schedules) {
        if (see(i, *mutant, schedule, outcome)) return outcome;
      }
    }
    return outcome;
  }

 private:
  std::vector<std::vector<std::byte>> run(std::size_t launch, const ir::thread::Kernel& kernel,
                                          const sim::Schedule& schedule, std::vector<Finding>& findings) {
    ++runs_;
    return memories_[launch].run(kernel, schedule, findings);
  }
  // True if no other run can say more.
  bool see(std::size_t launch, const ir::thread::Kernel& mutant, const sim::Schedule& schedule, Outcome& outcome) {
    std::vector<Finding> findings;
    try {
      const auto results = run(launch, mutant, schedule, findings);
      if (!findings.empty()) {
        outcome.verdict = Verdict::found;
        outcome.hazard = tessera::name_of(findings.front().hazard);
        outcome.message = findings.front().diagnostic.message;
        outcome.schedule = sim::to_string(schedule);
        return true;
      }
      if (results == expected_[launch] || outcome.verdict == Verdict::wrong_numbers) return false;
      outcome.verdict = Verdict::wrong_numbers;
      outcome.schedule = sim::to_string(schedule);
      return false;
    } catch (const Error& e) {
      outcome.verdict = Verdict::failed;
      outcome.message = e.what();
      outcome.schedule = sim::to_string(schedule);
      return true;
    }
  }

  const StudyOptions& options_;
  ir::thread::Kernel kernel_;
  std::vector<Memory> memories_;
  std::vector<std::vector<std::vector<std::byte>>> expected_;
  std::uint64_t runs_ = 0;
};

}  // namespace

Study study(const Subject& subject, const StudyOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Study result;
  result.kernel = subject.kernel;
  result.form = subject.form;
  Bench first(subject, options);
  result.flaw = first.flaw();
  result.runs = first.runs();
  if (!result.flaw.empty()) return result;
  const auto count = checker::mutations(first.kernel()).size();
  result.outcomes.resize(count);
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> runs{0};
  const auto work = [&] {
    Bench bench(subject, options);
    bench.flaw();  // for the expected results
    const auto all = checker::mutations(bench.kernel());
    for (std::size_t i = next++; i < count; i = next++) result.outcomes[i] = bench.judge(all[i]);
    runs += bench.runs();
  };
  {
    const int threads =
        options.threads > 0 ? options.threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    std::vector<std::jthread> pool;
    for (int i = 0; i < threads; ++i) pool.emplace_back(work);
  }
  result.runs += runs;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace tessera::testing
