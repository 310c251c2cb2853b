// Programs that a test starts together, and kills.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/files.hpp"

namespace tessera::test {

// How often each line stands in a file.
inline std::map<std::string, int> counted_lines(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::map<std::string, int> counts;
  for (std::string line; std::getline(file, line);) ++counts[line];
  return counts;
}

// Started programs; kills and collects what is left at its end. They write what they say to files in `folder`; `log` is
// for what they append to together.
class Workers {
 public:
  Workers(std::filesystem::path folder, std::filesystem::path log) : folder_(std::move(folder)), log_(std::move(log)) {
    EXPECT_EQ(::pipe2(gate_, O_CLOEXEC), 0);
  }
  ~Workers() {
    open_gate();
    for (const auto& [pid, status] : status_) {
      if (!status) ::kill(pid, SIGKILL);
    }
    collect();
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // `words`: the program and its arguments. One that starts at the gate gets a further argument, a descriptor that is
  // closed when all are to begin.
  pid_t start(std::vector<std::string> words, bool at_the_gate) {
    const std::string output = (folder_ / ("output" + std::to_string(status_.size()))).string();
    if (at_the_gate) words.push_back(std::to_string(gate_descriptor));
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t pid = ::fork();
    if (pid == 0) {
      const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
      ::dup2(file, STDERR_FILENO);
      if (at_the_gate) ::dup2(gate_[0], gate_descriptor);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    outputs_[pid] = output;
    status_[pid] = std::nullopt;
    return pid;
  }
  void open_gate() {
    for (int& end : gate_) {
      if (end >= 0) ::close(end);
      end = -1;
    }
  }
  void collect() {
    for (auto& [pid, status] : status_) {
      int raw = 0;
      if (!status && ::waitpid(pid, &raw, 0) == pid) status = raw;
    }
  }
  // Collects all. Who was not to be killed has ended well and said nothing; so has a victim that was faster. How many
  // victims were killed.
  int collect_killed(const std::set<pid_t>& victims) {
    collect();
    int killed = 0;
    for (const auto& [pid, status] : status_) {
      if (victims.contains(pid) && status == SIGKILL) {
        ++killed;
        continue;
      }
      EXPECT_EQ(status, 0);
      EXPECT_EQ(output(pid), "");
    }
    return killed;
  }
  int wait(pid_t pid) {
    int raw = -1;
    if (!status_[pid] && ::waitpid(pid, &raw, 0) == pid) status_[pid] = raw;
    return status_[pid].value_or(-1);
  }
  const std::map<pid_t, std::optional<int>>& status() const { return status_; }
  const std::filesystem::path& folder() const { return folder_; }
  const std::filesystem::path& log() const { return log_; }
  std::string output(pid_t pid) { return runtime::read_file(outputs_[pid]).value_or(""); }

 private:
  static constexpr int gate_descriptor = 42;
  std::filesystem::path folder_, log_;
  int gate_[2] = {-1, -1};
  std::map<pid_t, std::string> outputs_;
  std::map<pid_t, std::optional<int>> status_;
};

}  // namespace tessera::test
