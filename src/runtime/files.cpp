#include "runtime/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace tessera::runtime {
namespace fs = std::filesystem;

std::optional<std::string> read_file(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string content;
  char buffer[65536];
  for (;;) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      ::close(fd);
      return std::nullopt;
    }
    if (n == 0) break;
    content.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(fd);
  return content;
}

bool write_file(const fs::path& path, std::string_view content, std::string* error) {
  const auto fail = [&](int fd) {
    if (error != nullptr) *error = fmt::format("{}: {}", path.string(), std::strerror(errno));
    if (fd >= 0) ::close(fd);
    return false;
  };
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return fail(fd);
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(fd);
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fsync(fd) != 0 && errno != EINVAL) return fail(fd);
  if (::close(fd) != 0) return fail(-1);
  return true;
}

bool replace_file(const fs::path& path, std::string_view content, std::string* error) {
  const fs::path draft = path.parent_path() / ("." + private_name());
  if (!write_file(draft, content, error)) return false;
  std::error_code code;
  fs::rename(draft, path, code);
  if (!code) return true;
  if (error != nullptr) *error = fmt::format("{}: {}", path.string(), code.message());
  fs::remove(draft, code);
  return false;
}

std::string private_name() {
  static std::atomic<unsigned> counter{0};
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return fmt::format("{}-{}-{:x}", ::getpid(), counter.fetch_add(1), now);
}

FileLock::FileLock(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return;
  int result = 0;
  do {
    result = ::flock(fd, LOCK_EX);
  } while (result != 0 && errno == EINTR);
  if (result != 0) {
    ::close(fd);
    return;
  }
  descriptor_ = fd;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace tessera::runtime
