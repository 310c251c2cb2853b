#include "runtime/cache.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/cache_entry.hpp"
#include "runtime/cache_settings.hpp"
#include "runtime/cache_upkeep.hpp"
#include "runtime/progress.hpp"

namespace tessera::runtime {
namespace fs = std::filesystem;
using State = EntryCheck::State;

namespace {

constexpr std::int64_t use_is_noted_every_ns = std::int64_t{3600} * 1'000'000'000;
constexpr int attempts = 3;  // at what another process changes under our hands

// True the first time that this process asks about `what`.
bool first_time(const std::string& what) {
  static std::mutex mutex;
  static std::set<std::string> known;
  const std::lock_guard lock(mutex);
  return known.insert(what).second;
}

// Names what stands at a path until something else does.
std::string incarnation(const fs::path& path, const FileFacts& facts) {
  return fmt::format("{} {} {} {}", path.string(), facts.device, facts.inode, facts.changed_ns);
}

bool same_incarnation(const FileFacts& a, const FileFacts& b) { return a.same_file(b) && a.changed_ns == b.changed_ns; }

void note_use(const fs::path& path) {
  FileFacts facts;
  FileSystem& system = file_system();
  if (system.facts(path, true, &facts) == 0 && now_ns() - facts.modified_ns > use_is_noted_every_ns) system.touch(path);
}

}  // namespace

Cache::Cache(fs::path root) : root_(std::move(root)) {}

fs::path Cache::default_root() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return fs::path(value == nullptr ? "" : value);
  };
  if (fs::path direct = variable("TESSERA_CACHE_DIR"); !direct.empty()) return direct;
  if (fs::path xdg = variable("XDG_CACHE_HOME"); xdg.is_absolute()) return xdg / "tessera";
  if (fs::path home = variable("HOME"); !home.empty()) return home / ".cache" / "tessera";
  return {};
}

fs::path Cache::directory(const std::string& key) const { return root_ / "kernels" / key; }
fs::path Cache::record_path(const std::string& key) const { return root_ / "tuning" / (key + ".json"); }

void Cache::trouble(const char* what, const fs::path& path, int error) const {
  if (!first_time("trouble " + root_.string())) return;
  warn(
      fmt::format("the kernel cache {} cannot be {} ({}: {}); kernels are compiled anew in every process "
                  "(set TESSERA_CACHE_DIR to a folder of yours)",
                  root_.string(), what, path.string(), error_text(error)));
}

bool Cache::prepare(const char* folder) const {
  if (root_.empty()) return false;
  const int error = make_directories(root_ / folder);
  if (error != 0) trouble("written", root_ / folder, error);
  return error == 0;
}

std::optional<CacheEntry> Cache::load(const std::string& key, bool want_cubin, bool quiet) const {
  if (root_.empty()) return std::nullopt;
  const fs::path path = directory(key);
  FileSystem& system = file_system();
  for (int attempt = 0; attempt < attempts; ++attempt) {
    FileFacts before, after;
    const int error = -system.facts(path, false, &before);
    if (error == ENOENT || error == ENOTDIR) return std::nullopt;
    CacheEntry entry;
    EntryCheck check{State::unreadable, {}, error};
    if (error == 0) check = read_entry(path, key, want_cubin ? Cubin::required : Cubin::unwanted, &entry);
    if (check.state == State::whole) {
      note_use(path / manifest_name);
      return entry;
    }
    // Evicted or replaced while it was read?
    const int later = -system.facts(path, false, &after);
    if (later == ENOENT) return std::nullopt;
    if (error == 0 && later == 0 && !same_incarnation(before, after)) continue;
    if (check.error == ESTALE) continue;
    if (check.state == State::unreadable) {
      trouble("read", path, check.error);
    } else if (!quiet && first_time(incarnation(path, before))) {
      warn(fmt::format("the cache entry {} is damaged; it is written anew ({})", path.string(), check.why));
    }
    return std::nullopt;
  }
  return std::nullopt;
}

// One rename makes the entry visible. Where something stands in the way, it is another process's whole entry, which
// stays, or damaged, and goes.
int Cache::publish(const fs::path& draft, const std::string& key, bool cubin) const {
  const fs::path path = directory(key);
  int error = 0;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    error = -file_system().rename(draft, path);
    if (error != EEXIST && error != ENOTEMPTY && error != ENOTDIR && error != EISDIR) return error;
    CacheEntry there;
    const EntryCheck check = read_entry(path, key, cubin ? Cubin::required : Cubin::unwanted, &there);
    if (check.state == State::whole) {
      remove_tree(draft);
      return 0;
    }
    if (check.state == State::unreadable && check.error != EIO) return check.error;  // another user's, say
    if (check.state != State::missing) remove_entry(root_, path);
  }
  return error;
}

fs::path Cache::store(const std::string& key, const CacheEntry& entry) const {
  if (!prepare("drafts") || !prepare("kernels")) return {};
  const fs::path draft = root_ / "drafts" / private_name();
  std::uint64_t bytes = 0;
  int error = write_entry(draft, key, entry, &bytes);
  if (error == 0) error = publish(draft, key, !entry.compiled.cubin.empty());
  if (error != 0) {
    remove_tree(draft);
    trouble("written", directory(key), error);
    return {};
  }
  note_stored(root_, bytes);
  return directory(key);
}

FileLock Cache::lock(const std::string& key) const {
  if (!prepare("locks")) return FileLock(fs::path());
  FileLock lock(root_ / "locks" / (key + ".lock"), lock_patience());
  if (!lock.slow_holder().empty()) {
    warn_once(
        fmt::format("{} has been preparing a kernel in the cache {} for more than {} s and may have stopped; this "
                    "process prepares the kernel itself (TESSERA_CACHE_WAIT sets the number of seconds)",
                    lock.slow_holder(), root_.string(), static_cast<double>(lock_patience().count()) / 1000));
  } else if (lock.state() == FileLock::State::none) {
    const int error = lock.error();
    if (error == ENOLCK || error == ENOTSUP || error == ENOSYS) {
      if (first_time("trouble " + root_.string())) {
        warn(
            fmt::format("the file system of the kernel cache {} has no locks ({}); processes that start together may "
                        "compile the same kernel",
                        root_.string(), error_text(error)));
      }
    } else if (error != ESTALE) {
      trouble("written", root_ / "locks", error);
    }
  }
  return lock;
}

void Cache::upkeep() const {
  if (root_.empty()) return;
  const std::uint64_t limit = cache_size_limit();
  if (upkeep_is_due(read_ledger(root_), limit, now_ns() / 1'000'000'000)) keep_up(root_, limit);
}

std::optional<std::string> Cache::load_record(const std::string& key) const {
  if (root_.empty()) return std::nullopt;
  const fs::path path = record_path(key);
  std::string text;
  EntryCheck check = read_record(path, key, &text);
  if (check.error == ESTALE) check = read_record(path, key, &text);
  if (check.state == State::whole) {
    note_use(path);
    return text;
  }
  FileFacts facts;
  if (check.state == State::unreadable) {
    trouble("read", path, check.error);
  } else if (check.state == State::damaged && file_system().facts(path, false, &facts) == 0 &&
             first_time(incarnation(path, facts))) {
    warn(fmt::format("the tuning record {} is damaged; the kernel is tuned anew ({})", path.string(), check.why));
  }
  return std::nullopt;
}

void Cache::store_record(const std::string& key, std::string_view text) const {
  if (!prepare("tuning")) return;
  std::string why, sealed;
  try {
    sealed = sealed_record(key, text);
  } catch (const nlohmann::json::exception& error) {
    warn_once(fmt::format("a tuning record is not kept, it is no JSON object: {}", error.what()));
    return;
  }
  if (replace_file(record_path(key), sealed, &why)) {
    note_stored(root_, sealed.size());
  } else if (first_time("trouble " + root_.string())) {
    warn(
        fmt::format("the kernel cache {} cannot be written ({}); kernels are tuned anew in every process "
                    "(set TESSERA_CACHE_DIR to a folder of yours)",
                    root_.string(), why));
  }
}

}  // namespace tessera::runtime
