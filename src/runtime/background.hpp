// Work of a kernel that goes on beside its launches.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace tessera::runtime {

// One thread, made when it is first needed, that does one piece of work after the other.
class Background {
 public:
  // Must not throw, and return soon once the flag is set.
  using Work = std::function<void(const std::atomic<bool>& cancelled)>;

  Background() = default;
  ~Background();  // cancels what is going on, drops what has not begun, and waits
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  void submit(Work work);
  void wait();  // until everything that was submitted is done

 private:
  void loop();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> waiting_;
  bool busy_ = false;
  std::atomic<bool> cancelled_{false};
  std::thread thread_;
};

}  // namespace tessera::runtime
