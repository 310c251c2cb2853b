// One trial process: started, talked to, stopped, and reaped.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "trial/descriptor.hpp"
#include "trial/wire.hpp"

namespace tessera::trial {

class Process {
 public:
  struct Options {
    bool from_memory = true;       // the program is executed from memory where the system allows it,
    std::filesystem::path folder;  // else from a file that is made here and removed at once
  };
  // `shared` is the descriptor of the memory that both sides map. Throws a device Error if the process cannot be made.
  Process(int shared, const Options& options);
  ~Process();  // kills it
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  Transfer send(Kind kind, const std::vector<std::byte>& payload, Clock::time_point deadline) const {
    return send_message(socket_.get(), kind, payload, deadline);
  }
  Transfer receive(Message* message, Clock::time_point deadline) const {
    return receive_message(socket_.get(), message, deadline);
  }

  // Ends it, at once or after it had a moment to end by itself, and says how it ended: "died with signal 11
  // (Segmentation fault)", "ended with exit code 3", "was stopped".
  std::string stop(bool at_once);
  pid_t pid() const { return pid_; }

 private:
  bool reap();  // true if there is nothing left to wait for
  bool wait_until_gone(Clock::duration patience);
  void kill() const;

  Descriptor socket_;
  Descriptor handle_;  // of the process, so that a number that is used again does no harm; may be missing
  pid_t pid_ = -1;
  bool killed_ = false, gone_ = false;
  std::string end_ = "ended";
};

}  // namespace tessera::trial
