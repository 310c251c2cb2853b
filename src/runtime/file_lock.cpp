#include "runtime/file_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <set>
#include <thread>

#include "runtime/files.hpp"

namespace tessera::runtime {
namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr std::size_t holder_width = 160;  // fixed, so that a new holder's text covers that of the last one
constexpr milliseconds first_pause{1}, longest_pause{40};

// Holders that this process has given up waiting for; it does not wait for them again.
struct SlowHolders {
  std::mutex mutex;
  std::set<std::string> names;
};
SlowHolders& slow_holders() {
  static SlowHolders instance;
  return instance;
}

std::string described(const std::string& holder) {
  const std::optional<Maker> maker = maker_of(holder);
  return maker ? fmt::format("process {} on {}", maker->process, maker->host) : std::string("another process");
}

bool known_slow(const std::string& holder) {
  SlowHolders& slow = slow_holders();
  const std::lock_guard lock(slow.mutex);
  return slow.names.contains(described(holder));
}

void remember_slow(const std::string& holder) {
  if (!maker_of(holder)) return;
  SlowHolders& slow = slow_holders();
  const std::lock_guard lock(slow.mutex);
  slow.names.insert(described(holder));
}

std::string read_holder(FileSystem& system, int descriptor) {
  std::array<char, holder_width> buffer{};
  const ssize_t n = system.read(descriptor, buffer.data(), buffer.size());
  std::string text(buffer.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  return text.substr(0, text.find_first_of(" \n"));
}

void write_holder(FileSystem& system, int descriptor) {
  const std::string text = fmt::format("{:<{}}\n", private_name(), holder_width - 1);
  system.write(descriptor, text.data(), text.size());  // for the others' messages only
}

}  // namespace

FileLock::FileLock(const fs::path& path, milliseconds patience) : path_(path) {
  if (!path_.empty()) wait(patience);
}

FileLock FileLock::attempt(const fs::path& path) {
  FileLock lock;
  lock.path_ = path;
  std::string holder;
  lock.state_ = lock.look(&holder);
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(other.descriptor_),
      state_(other.state_),
      error_(other.error_),
      slow_holder_(std::move(other.slow_holder_)) {
  other.descriptor_ = -1;
  other.state_ = State::none;
}

FileLock::~FileLock() {
  if (descriptor_ < 0) return;
  FileSystem& system = file_system();
  FileFacts mine, there;
  if (system.facts_of(descriptor_, &mine) == 0 && system.facts(path_, false, &there) == 0 && mine.same_file(there)) {
    system.remove_file(path_);  // unless it was taken away: then the name is another holder's
  }
  system.lock(descriptor_, LOCK_UN);  // closing is not enough where a child of this process still has it open
  system.close(descriptor_);
}

FileLock::State FileLock::look(std::string* holder) {
  FileSystem& system = file_system();
  for (int attempt = 0; attempt < 8; ++attempt) {
    int descriptor = system.open(path_, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (descriptor == -EISDIR || descriptor == -ELOOP || descriptor == -ENXIO) {  // no file: it cannot be a lock
      remove_tree(path_);
      descriptor = system.open(path_, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0666);
    }
    if (descriptor < 0) {
      error_ = -descriptor;
      return State::none;
    }
    const int error = -system.lock(descriptor, LOCK_EX | LOCK_NB);
    if (error == EWOULDBLOCK) *holder = read_holder(system, descriptor);
    FileFacts mine, there;
    int seen = error;
    if (seen == 0) seen = -system.facts_of(descriptor, &mine);
    if (seen == 0) seen = -system.facts(path_, false, &there);
    if (seen == 0 && mine.same_file(there)) {
      write_holder(system, descriptor);
      descriptor_ = descriptor;
      return State::held;
    }
    if (error != 0 && error != EWOULDBLOCK) system.remove_file(path_);  // it locks nothing
    system.close(descriptor);
    if (error == EWOULDBLOCK) return State::busy;
    if (seen != 0 && seen != ENOENT) {
      error_ = seen;
      return State::none;
    }
  }  // locked, but its last holder has just removed it: again
  error_ = ESTALE;
  return State::none;
}

void FileLock::wait(milliseconds patience) {
  const auto begin = steady_clock::now();
  auto since = begin;  // how long the same holder has been seen
  std::string holder, last;
  bool taken_away = false;
  milliseconds pause = first_pause;
  while ((state_ = look(&holder)) == State::busy) {
    const auto now = steady_clock::now();
    if (holder != last) since = now;
    last = holder;
    if (now - begin >= 2 * patience) {
      slow_holder_ = described(holder);
      remember_slow(holder);
      state_ = State::gave_up;
      return;
    }
    if (!taken_away && (now - since >= patience || known_slow(holder))) {
      taken_away = true;
      take_away(holder);
      continue;
    }
    std::this_thread::sleep_for(std::min(pause, patience));
    pause = std::min(pause * 2, longest_pause);
  }
}

void FileLock::take_away(const std::string& holder) {
  slow_holder_ = described(holder);
  remember_slow(holder);
  FileSystem& system = file_system();
  const int descriptor = system.open(path_, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
  if (descriptor < 0) return;
  const bool still = read_holder(system, descriptor) == holder;  // else another waiter has taken it away already
  system.close(descriptor);
  if (still) system.remove_file(path_);
}

}  // namespace tessera::runtime
