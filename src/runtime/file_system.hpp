// The operations on files that the cache is made of, one virtual function each, so that a test can let any one of them
// fail at any time. They are those of POSIX and report as the kernel does: 0 or a count, or an error number negated.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::runtime {

struct FileFacts {
  enum class Kind { file, directory, link, other };
  Kind kind = Kind::other;
  std::uint64_t device = 0, inode = 0, bytes = 0;
  std::int64_t modified_ns = 0, changed_ns = 0;  // since 1970

  bool same_file(const FileFacts& other) const { return device == other.device && inode == other.inode; }
};

// As it stands: what the system does.
class FileSystem {
 public:
  FileSystem() = default;
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;
  virtual ~FileSystem() = default;

  virtual int open(const std::string& path, int flags, int mode);  // the descriptor
  virtual ssize_t read(int descriptor, void* buffer, std::size_t bytes);
  virtual ssize_t write(int descriptor, const void* buffer, std::size_t bytes);
  virtual int sync(int descriptor);
  virtual int close(int descriptor);
  virtual int lock(int descriptor, int operation);  // flock
  virtual int facts_of(int descriptor, FileFacts* out);
  virtual int facts(const std::string& path, bool follow_links, FileFacts* out);
  virtual int rename(const std::string& from, const std::string& to);
  virtual int make_directory(const std::string& path);
  virtual int remove_file(const std::string& path);
  virtual int remove_directory(const std::string& path);
  virtual int list(const std::string& path, std::vector<std::string>* names);  // without . and ..
  virtual int touch(const std::string& path);                                  // sets the time of modification to now
};

// The one that the process uses.
FileSystem& file_system();
// Replaces it for the life of the object; for tests.
class ScopedFileSystem {
 public:
  explicit ScopedFileSystem(FileSystem& replacement);
  ~ScopedFileSystem();
  ScopedFileSystem(const ScopedFileSystem&) = delete;
  ScopedFileSystem& operator=(const ScopedFileSystem&) = delete;

 private:
  FileSystem* previous_;
};

}  // namespace tessera::runtime
