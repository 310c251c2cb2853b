#include "runtime/file_system.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace tessera::runtime {
namespace {

// Calls until no signal interrupts.
template <class Call>
auto retried(const Call& call) -> decltype(call()) {
  for (;;) {
    const auto result = call();
    if (result >= 0) return result;
    if (errno != EINTR) return -errno;
  }
}

FileFacts facts_from(const struct ::stat& s) {
  FileFacts facts;
  facts.kind = S_ISREG(s.st_mode)   ? FileFacts::Kind::file
               : S_ISDIR(s.st_mode) ? FileFacts::Kind::directory
               : S_ISLNK(s.st_mode) ? FileFacts::Kind::link
                                    : FileFacts::Kind::other;
  facts.device = s.st_dev;
  facts.inode = s.st_ino;
  facts.bytes = s.st_size < 0 ? 0 : static_cast<std::uint64_t>(s.st_size);
  facts.modified_ns = std::int64_t{s.st_mtim.tv_sec} * 1'000'000'000 + s.st_mtim.tv_nsec;
  facts.changed_ns = std::int64_t{s.st_ctim.tv_sec} * 1'000'000'000 + s.st_ctim.tv_nsec;
  return facts;
}

std::atomic<FileSystem*>& current() {
  static FileSystem system;
  static std::atomic<FileSystem*> instance{&system};
  return instance;
}

}  // namespace

int FileSystem::open(const std::string& path, int flags, int mode) {
  return retried([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); });
}
ssize_t FileSystem::read(int descriptor, void* buffer, std::size_t bytes) {
  return retried([&] { return ::read(descriptor, buffer, bytes); });
}
ssize_t FileSystem::write(int descriptor, const void* buffer, std::size_t bytes) {
  return retried([&] { return ::write(descriptor, buffer, bytes); });
}
int FileSystem::sync(int descriptor) {
  return retried([&] { return ::fsync(descriptor); });
}
// Linux frees the descriptor in any case: never tried again.
int FileSystem::close(int descriptor) { return ::close(descriptor) == 0 || errno == EINTR ? 0 : -errno; }
int FileSystem::lock(int descriptor, int operation) {
  return retried([&] { return ::flock(descriptor, operation); });
}
int FileSystem::facts_of(int descriptor, FileFacts* out) {
  struct ::stat s {};
  if (::fstat(descriptor, &s) != 0) return -errno;
  *out = facts_from(s);
  return 0;
}
int FileSystem::facts(const std::string& path, bool follow_links, FileFacts* out) {
  struct ::stat s {};
  if ((follow_links ? ::stat(path.c_str(), &s) : ::lstat(path.c_str(), &s)) != 0) return -errno;
  *out = facts_from(s);
  return 0;
}
int FileSystem::rename(const std::string& from, const std::string& to) {
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : -errno;
}
int FileSystem::make_directory(const std::string& path) { return ::mkdir(path.c_str(), 0777) == 0 ? 0 : -errno; }
int FileSystem::remove_file(const std::string& path) { return ::unlink(path.c_str()) == 0 ? 0 : -errno; }
int FileSystem::remove_directory(const std::string& path) { return ::rmdir(path.c_str()) == 0 ? 0 : -errno; }

int FileSystem::list(const std::string& path, std::vector<std::string>* names) {
  names->clear();
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) return -errno;
  int error = 0;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(directory);
    if (entry == nullptr) {
      error = errno;
      break;
    }
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names->push_back(name);
  }
  ::closedir(directory);
  return -error;
}

int FileSystem::touch(const std::string& path) {
  return ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0 ? 0 : -errno;
}

FileSystem& file_system() { return *current().load(); }

ScopedFileSystem::ScopedFileSystem(FileSystem& replacement) : previous_(current().exchange(&replacement)) {}
ScopedFileSystem::~ScopedFileSystem() { current().store(previous_); }

}  // namespace tessera::runtime
