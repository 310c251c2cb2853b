#include "runtime/background.hpp"

namespace tessera::runtime {

Background::~Background() {
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Background::submit(Work work) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
    if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
  }
  changed_.notify_all();
}

void Background::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiting_.empty() && !busy_; });
}

void Background::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return cancelled_ || !waiting_.empty(); });
    if (cancelled_) return;
    Work work = std::move(waiting_.front());
    waiting_.pop_front();
    busy_ = true;
    lock.unlock();
    work(cancelled_);
    work = nullptr;  // what it holds is given back before anybody is told that it is done
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace tessera::runtime
