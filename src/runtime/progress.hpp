// The library's only way to say something: warnings, and the progress of preparing one kernel.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>

#include "tessera/runtime/progress.hpp"

namespace tessera::runtime {

// One line, "tessera: warning: ...", unless quiet.
void warn(const std::string& text);
// As `warn`, but the same text only once in the life of the process.
void warn_once(const std::string& text);

// Progress of one kernel's preparation; every method may be called from any thread.
class ProgressTask {
 public:
  explicit ProgressTask(std::string title);
  ~ProgressTask();
  ProgressTask(const ProgressTask&) = delete;
  ProgressTask& operator=(const ProgressTask&) = delete;

  void phase(const std::string& name, std::size_t total);
  void advance();
  // The last word; shown if anything was shown before.
  void finish(const std::string& summary);

 private:
  void show(bool force);
  std::mutex mutex_;
  std::string title_;
  std::string phase_;
  std::size_t done_ = 0;
  std::size_t total_ = 0;
  Progress mode_;
  bool begun_ = false;        // something was printed
  bool bar_drawn_ = false;    // the cursor stands behind a bar
  bool phase_shown_ = false;  // plain lines: this phase was announced
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_draw_;
};

}  // namespace tessera::runtime
