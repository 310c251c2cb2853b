// Candidates in a process of their own: what traps, hangs or kills it is an Error of one candidate, and the next one
// finds a new process.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trial/job.hpp"
#include "trial/process.hpp"

namespace tessera::trial {

struct Settings {
  std::chrono::duration<double> limit{10};  // of one launch
  bool from_memory = true;
  std::filesystem::path folder;  // for a program file, where execution from memory is forbidden
  int ordinal = 0;
  std::array<int, 3> bus{};  // PCI domain, bus and device
};
// TESSERA_TRIAL: unset, empty or 1 is on, 0 is off. Throws a user Error for anything else.
bool wanted_by_environment();
// TESSERA_TRIAL_SECONDS, `otherwise` where it is not set. Throws a user Error for what is no time.
std::chrono::duration<double> limit_by_environment(std::chrono::duration<double> otherwise);

// Used by one thread at a time.
class Session {
 public:
  // Starts the process and returns before it is ready. If that fails, `set_memory` says why.
  explicit Session(Settings settings);
  // A session that is not wanted, of which only `off` is of use.
  static std::unique_ptr<Session> switched_off(std::string by);
  ~Session();

  const std::string& off() const { return off_; }  // what switched it off; empty if nothing did

  // What the candidates work on. Throws a device Error if the process was not started, or if there is not enough host
  // memory to share.
  void set_memory(std::vector<Region> regions);
  void set_jobs(std::vector<Job> jobs) { jobs_ = std::move(jobs); }
  std::span<std::byte> input(std::size_t region) const;   // of a region that is read
  std::span<std::byte> output(std::size_t region) const;  // of one that is written: what the last run wrote
  // Waits until the process is ready and has taken the memory. Throws a device Error if it cannot.
  void begin();

  // Runs the job once and fills the outputs. Throws a device Error that says what the job did: it did not finish in
  // time, was stopped by the device, killed the process, wrote outside its memory or to memory that nobody may write.
  void run(std::size_t job);
  // Milliseconds of device time of one launch with a cold L2 cache; throws as `run` does, but for inputs.
  double time(std::size_t job);

  int started() const { return started_; }  // processes so far
  pid_t pid() const { return process_ ? process_->pid() : -1; }

 private:
  Session() = default;
  void start();
  void hand_over();
  void load(std::size_t job);
  double converse(Kind kind, const std::vector<std::byte>& payload, std::chrono::duration<double> allowance);
  [[noreturn]] void failed(const Message& reply);
  [[noreturn]] void lost(Transfer how, bool launched, std::chrono::duration<double> limit);
  std::chrono::duration<double> allowance(double least) const;

  Settings settings_;
  std::string off_;
  std::string failure_;  // why the first process could not be started
  Descriptor shared_;
  std::byte* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::vector<Region> regions_;
  std::vector<Job> jobs_;
  std::unique_ptr<Process> process_;
  bool ready_ = false;             // it has taken the memory
  std::vector<char> loaded_;       // jobs that this process has
  std::vector<char> inputs_seen_;  // jobs after which the inputs have been compared
  int started_ = 0;
};

}  // namespace tessera::trial
