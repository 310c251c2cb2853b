// The few file operations that the cache needs. Failures are reported by value: a cache never stops a kernel.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::runtime {

std::optional<std::string> read_file(const std::filesystem::path& path);

// Writes a new file and waits until it is on the disk. On failure `error` says why.
bool write_file(const std::filesystem::path& path, std::string_view content, std::string* error);

// Writes beside `path` and renames, so that readers see the old or the new content and nothing between.
bool replace_file(const std::filesystem::path& path, std::string_view content, std::string* error);

// A name that no other process or thread uses: process, thread-safe counter and clock.
std::string private_name();

// An exclusive lock on a file, released when the object (or the process) ends. Where locking is not possible the object
// holds nothing and the caller goes on: two processes may then do the same work, but never see each other's halves.
class FileLock {
 public:
  explicit FileLock(const std::filesystem::path& path);
  ~FileLock();
  FileLock(FileLock&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  FileLock& operator=(FileLock&&) = delete;
  FileLock(const FileLock&) = delete;
  bool held() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

}  // namespace tessera::runtime
