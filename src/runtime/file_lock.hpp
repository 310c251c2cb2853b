// An exclusive lock among the processes and threads that share a folder.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

namespace tessera::runtime {

// Held until the object ends or its process does, however that ends. It never makes anybody wait for ever: who has
// waited `patience` for one and the same holder takes the lock file away from it and makes a new one, and who has
// waited twice as long in all goes on without. Where the folder knows no locks the object holds nothing, too. Without
// it two processes may do the same work, but never see each other's halves.
//
// The lock is flock's, which belongs to an open file: it works between threads as it does between processes. Its file
// is removed with it, so that a folder of locks does not grow.
class FileLock {
 public:
  enum class State {
    held,
    none,     // no locks in this folder, or none wanted (an empty path)
    busy,     // attempt(): somebody has it
    gave_up,  // waited as long as one may
  };

  // An empty path: nothing is locked.
  explicit FileLock(const std::filesystem::path& path, std::chrono::milliseconds patience = std::chrono::seconds(60));
  // Takes the lock if it is free.
  static FileLock attempt(const std::filesystem::path& path);
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  State state() const { return state_; }
  bool held() const { return state_ == State::held; }
  // Why there is none: an error number.
  int error() const { return error_; }
  // The holder that was given up waiting for, "process 17 on host"; empty if there was none.
  const std::string& slow_holder() const { return slow_holder_; }

 private:
  FileLock() = default;
  // One look: held, none or busy; then `holder` is what stands in the file.
  State look(std::string* holder);
  void wait(std::chrono::milliseconds patience);
  void take_away(const std::string& holder);

  std::filesystem::path path_;
  int descriptor_ = -1;
  State state_ = State::none;
  int error_ = 0;
  std::string slow_holder_;
};

}  // namespace tessera::runtime
