// The few things that the cache does with files. Failures are reported by value: a cache never stops a kernel.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/file_system.hpp"

namespace tessera::runtime {

// Reads a regular file of at most `limit` bytes: 0 or the error number, EFBIG for a longer file and EISDIR, ENXIO and
// the like for what is no file. Never waits for a pipe's other end and never reads what it will not return.
int read_regular(const std::filesystem::path& path, std::uint64_t limit, std::string* content);
// As above, up to a size that no file of the cache has; null on any failure.
std::optional<std::string> read_file(const std::filesystem::path& path);

// Writes a new file and waits until it is on the disk: 0 or the error number.
int write_new(const std::filesystem::path& path, std::string_view content);
// The same; on failure `error` says why.
bool write_file(const std::filesystem::path& path, std::string_view content, std::string* error);

// Writes beside `path` and renames, so that readers see the old or the new content and nothing between. What stands in
// the way without being a file is removed.
bool replace_file(const std::filesystem::path& path, std::string_view content, std::string* error);

// Creates the directory and what is missing above it: 0 or the error number.
int make_directories(const std::filesystem::path& path);
// Removes what is there, files and folders, links without following them; as far as it can: 0 or the first error.
int remove_tree(const std::filesystem::path& path);

// A name that no other machine, process or thread uses: host, process, thread-safe counter and clock.
std::string private_name();
// Who made up a private name (a leading dot is passed over); null for other names.
struct Maker {
  std::string host;
  std::int64_t process = 0;
};
std::optional<Maker> maker_of(std::string_view private_name);
// Whether it was made on this machine by a process that is gone. False where that cannot be told.
bool is_gone(const Maker& maker);

// "No space left on device" and the like.
std::string error_text(int error);

}  // namespace tessera::runtime
