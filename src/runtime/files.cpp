#include "runtime/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <system_error>

namespace tessera::runtime {
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t longest_file = std::uint64_t{256} << 20;
constexpr int deepest_tree = 16;  // an entry is one level deep; a folder of other depth is not ours to walk for ever
constexpr char separator = '_';

int read_all(FileSystem& system, int descriptor, std::uint64_t limit, std::string* content) {
  FileFacts facts;
  if (const int error = -system.facts_of(descriptor, &facts); error != 0) return error;
  if (facts.kind == FileFacts::Kind::directory) return EISDIR;
  if (facts.kind != FileFacts::Kind::file) return ENXIO;
  if (facts.bytes > limit) return EFBIG;
  content->reserve(facts.bytes);
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t n = system.read(descriptor, buffer.data(), buffer.size());
    if (n < 0) return static_cast<int>(-n);
    if (n == 0) return 0;
    content->append(buffer.data(), static_cast<std::size_t>(n));
    if (content->size() > limit) return EFBIG;  // it is growing
  }
}

int write_all(FileSystem& system, int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = system.write(descriptor, content.data(), content.size());
    if (n < 0) return static_cast<int>(-n);
    if (n == 0) return EIO;
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  const int error = -system.sync(descriptor);
  return error == EINVAL ? 0 : error;  // a file system that has nothing to wait for
}

int remove_level(FileSystem& system, const fs::path& path, int depth) {
  FileFacts facts;
  if (const int error = -system.facts(path, false, &facts); error != 0) return error == ENOENT ? 0 : error;
  int first = 0;
  const auto keep = [&](int error) {
    if (first == 0 && error != ENOENT) first = error;
  };
  if (facts.kind != FileFacts::Kind::directory) {
    keep(-system.remove_file(path));
    return first;
  }
  if (depth == 0) return ELOOP;
  std::vector<std::string> names;
  keep(-system.list(path, &names));
  for (const std::string& name : names) keep(remove_level(system, path / name, depth - 1));
  keep(-system.remove_directory(path));
  return first;
}

const std::string& host_name() {
  static const std::string name = [] {
    std::array<char, 256> buffer{};
    if (::gethostname(buffer.data(), buffer.size() - 1) != 0) return std::string("unknown");
    std::string text = std::string(buffer.data()).substr(0, 64);
    for (char& c : text) {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.') c = '-';
    }
    return text.empty() ? std::string("unknown") : text;
  }();
  return name;
}

}  // namespace

std::string error_text(int error) { return std::generic_category().message(error); }

int read_regular(const fs::path& path, std::uint64_t limit, std::string* content) {
  content->clear();
  FileSystem& system = file_system();
  const int descriptor = system.open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
  if (descriptor < 0) return -descriptor;
  const int error = read_all(system, descriptor, limit, content);
  system.close(descriptor);  // nothing was written: whatever it says, the content is what it is
  return error;
}

std::optional<std::string> read_file(const fs::path& path) {
  std::string content;
  if (read_regular(path, longest_file, &content) != 0) return std::nullopt;
  return content;
}

int write_new(const fs::path& path, std::string_view content) {
  FileSystem& system = file_system();
  const int descriptor = system.open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
  if (descriptor < 0) return -descriptor;
  const int error = write_all(system, descriptor, content);
  const int closing = -system.close(descriptor);
  return error != 0 ? error : closing;
}

bool write_file(const fs::path& path, std::string_view content, std::string* error) {
  const int code = write_new(path, content);
  if (code != 0 && error != nullptr) *error = fmt::format("{}: {}", path.string(), error_text(code));
  return code == 0;
}

bool replace_file(const fs::path& path, std::string_view content, std::string* error) {
  FileSystem& system = file_system();
  const fs::path draft = path.parent_path() / ("." + private_name());
  int code = write_new(draft, content);
  if (code == 0) code = -system.rename(draft, path);
  if (code == EISDIR || code == ENOTEMPTY || code == EEXIST) {  // a folder where the file belongs
    remove_tree(path);
    code = -system.rename(draft, path);
  }
  if (code == 0) return true;
  if (error != nullptr) *error = fmt::format("{}: {}", path.string(), error_text(code));
  system.remove_file(draft);
  return false;
}

int make_directories(const fs::path& path) {
  FileSystem& system = file_system();
  FileFacts facts;
  const auto there = [&] { return system.facts(path, true, &facts) == 0 && facts.kind == FileFacts::Kind::directory; };
  if (there()) return 0;
  int error = -system.make_directory(path);
  if (error == ENOENT && path.has_parent_path() && path.parent_path() != path) {
    if (const int above = make_directories(path.parent_path()); above != 0) return above;
    error = -system.make_directory(path);
  }
  if (error == EEXIST) return there() ? 0 : ENOTDIR;  // another process was faster, or it is something else
  return error;
}

int remove_tree(const fs::path& path) { return remove_level(file_system(), path, deepest_tree); }

std::string private_name() {
  static std::atomic<unsigned> counter{0};
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return fmt::format("{0}{1}{2}{1}{3}{1}{4:x}", host_name(), separator, ::getpid(), counter.fetch_add(1), now);
}

std::optional<Maker> maker_of(std::string_view name) {
  if (name.starts_with('.')) name.remove_prefix(1);
  const std::size_t host_end = name.find(separator);
  if (host_end == std::string_view::npos || host_end == 0) return std::nullopt;
  const std::string_view rest = name.substr(host_end + 1);
  const std::size_t process_end = rest.find(separator);
  if (process_end == std::string_view::npos) return std::nullopt;
  Maker maker;
  maker.host = name.substr(0, host_end);
  const auto [end, code] = std::from_chars(rest.data(), rest.data() + process_end, maker.process);
  if (code != std::errc() || end != rest.data() + process_end || maker.process <= 0) return std::nullopt;
  return maker;
}

bool is_gone(const Maker& maker) {
  if (maker.host != host_name()) return false;
  return ::kill(static_cast<pid_t>(maker.process), 0) != 0 && errno == ESRCH;
}

}  // namespace tessera::runtime
