#include "runtime/cache_upkeep.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <tuple>

#include "runtime/cache_entry.hpp"
#include "runtime/file_lock.hpp"
#include "runtime/files.hpp"

namespace tessera::runtime {
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t protection_ns = 60 * second_ns;    // whoever waited for an entry has loaded it by then
constexpr std::int64_t dead_draft_ns = 600 * second_ns;   // of a process of this machine that is gone
constexpr std::int64_t old_draft_ns = 86400 * second_ns;  // of anybody: writing one takes a second
constexpr std::int64_t old_lock_ns = 3600 * second_ns;
constexpr std::int64_t scan_interval_s = 3600, least_interval_s = 15;
constexpr std::uint64_t longest_ledger = 256 << 10;
constexpr std::string_view ledger_mark = "tessera-cache 1 ";
constexpr std::string_view record_suffix = ".json", lock_suffix = ".lock";

// What is evicted goes on until a tenth of the limit is free, so that not every store of a full cache evicts.
std::uint64_t goal_of(std::uint64_t limit) { return limit - limit / 10; }

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  file_system().list(folder, &names);  // what cannot be listed has no items
  return names;
}

CacheItem kernel_item(const fs::path& path, const std::string& key) {
  FileSystem& system = file_system();
  CacheItem item{CacheItem::Kind::kernel, key, path, 0, 0};
  FileFacts facts;
  if (system.facts(path, false, &facts) != 0) return item;
  item.last_use_ns = facts.modified_ns;
  if (facts.kind != FileFacts::Kind::directory) {
    item.bytes = facts.bytes;
    return item;
  }
  for (const std::string& name : names_in(path)) {
    if (system.facts(path / name, false, &facts) != 0) continue;
    item.bytes += facts.bytes;
    if (name == manifest_name) item.last_use_ns = facts.modified_ns;
  }
  return item;
}

// Only what bears a key's name is the cache's to remove: a folder that it shares with other things keeps them.
bool is_key(std::string_view name) {
  constexpr std::size_t digits = 32;
  return name.size() == digits && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}
bool is_key_with(std::string_view name, std::string_view suffix) {
  return name.ends_with(suffix) && is_key(name.substr(0, name.size() - suffix.size()));
}

std::optional<std::uint64_t> number_at(std::string_view* text, char end) {
  std::uint64_t value = 0;
  const auto [rest, code] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (code != std::errc() || rest == text->data() + text->size() || *rest != end) return std::nullopt;
  text->remove_prefix(static_cast<std::size_t>(rest - text->data()) + 1);
  return value;
}

std::size_t sweep_drafts(const fs::path& folder, std::int64_t now, bool hidden) {
  std::size_t swept = 0;
  for (const std::string& name : names_in(folder)) {
    const std::optional<Maker> maker = name.starts_with('.') == hidden ? maker_of(name) : std::nullopt;
    FileFacts facts;
    if (!maker || file_system().facts(folder / name, false, &facts) != 0) continue;
    const std::int64_t age = now - facts.modified_ns;
    const bool dead = is_gone(*maker) && age > dead_draft_ns;
    if ((dead || age > old_draft_ns) && remove_tree(folder / name) == 0) ++swept;
  }
  return swept;
}

std::size_t sweep_locks(const fs::path& folder, std::int64_t now) {
  std::size_t swept = 0;
  for (const std::string& name : names_in(folder)) {
    FileFacts facts;
    if (!is_key_with(name, lock_suffix) || file_system().facts(folder / name, false, &facts) != 0) continue;
    if (now - facts.modified_ns < old_lock_ns) continue;
    if (FileLock::attempt(folder / name).held()) ++swept;  // its end removes the file
  }
  return swept;
}

}  // namespace

std::int64_t now_ns() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

std::vector<CacheItem> items_of(const fs::path& root) {
  std::vector<CacheItem> items;
  for (const std::string& name : names_in(root / "kernels")) {
    if (is_key(name)) items.push_back(kernel_item(root / "kernels" / name, name));
  }
  for (const std::string& name : names_in(root / "tuning")) {
    if (!is_key_with(name, record_suffix)) continue;
    FileFacts facts;
    const fs::path path = root / "tuning" / name;
    if (file_system().facts(path, false, &facts) != 0) continue;
    const std::string key = name.substr(0, name.size() - record_suffix.size());
    items.push_back({CacheItem::Kind::record, key, path, facts.bytes, facts.modified_ns});
  }
  std::sort(items.begin(), items.end(), [](const CacheItem& a, const CacheItem& b) {
    return std::tie(a.last_use_ns, a.path) < std::tie(b.last_use_ns, b.path);
  });
  return items;
}

std::uint64_t total_bytes(const std::vector<CacheItem>& items) {
  std::uint64_t sum = 0;
  for (const CacheItem& item : items) sum += item.bytes;
  return sum;
}

std::vector<CacheItem> least_recently_used(const std::vector<CacheItem>& items, std::uint64_t bytes,
                                           std::int64_t protected_since_ns) {
  std::vector<CacheItem> chosen;
  std::uint64_t left = total_bytes(items);
  for (const CacheItem& item : items) {
    if (left <= bytes) break;
    if (item.last_use_ns > protected_since_ns) continue;
    left -= item.bytes;
    chosen.push_back(item);
  }
  return chosen;
}

bool evict(const fs::path& root, const CacheItem& item) {
  FileSystem& system = file_system();
  const bool kernel = item.kind == CacheItem::Kind::kernel;
  FileFacts facts;
  std::optional<FileLock> lock;
  if (kernel && make_directories(root / "locks") == 0) {
    lock.emplace(FileLock::attempt(root / "locks" / (item.key + std::string(lock_suffix))));
    if (lock->state() == FileLock::State::busy) return false;
  }
  const bool marked = system.facts(kernel ? item.path / manifest_name : item.path, false, &facts) == 0;
  if (!marked && system.facts(item.path, false, &facts) != 0) return false;  // gone
  if (facts.modified_ns > item.last_use_ns) return false;                    // used since
  return remove_entry(root, item.path) == 0;
}

std::size_t sweep(const fs::path& root, std::int64_t now) {
  return sweep_drafts(root / "drafts", now, false) + sweep_drafts(root / "tuning", now, true) +
         sweep_drafts(root, now, true) + sweep_locks(root / "locks", now);
}

void note_stored(const fs::path& root, std::uint64_t bytes) {
  FileSystem& system = file_system();
  const int descriptor = system.open(root / "ledger", O_WRONLY | O_APPEND | O_NONBLOCK, 0);
  if (descriptor < 0) return;  // there is none: the next upkeep counts
  const std::string line = fmt::format("{}\n", bytes);
  system.write(descriptor, line.data(), line.size());
  system.close(descriptor);
}

std::optional<Ledger> read_ledger(const fs::path& root) {
  std::string content;
  if (read_regular(root / "ledger", longest_ledger, &content) != 0) return std::nullopt;
  std::string_view text = content;
  if (!text.starts_with(ledger_mark)) return std::nullopt;
  text.remove_prefix(ledger_mark.size());
  const std::optional<std::uint64_t> when = number_at(&text, ' ');
  const std::optional<std::uint64_t> counted = when ? number_at(&text, '\n') : std::nullopt;
  if (!counted) return std::nullopt;
  Ledger ledger{static_cast<std::int64_t>(*when), *counted, *counted, content.size()};
  while (!text.empty()) {
    const std::optional<std::uint64_t> bytes = number_at(&text, '\n');
    if (!bytes) return std::nullopt;
    ledger.bytes += *bytes;
  }
  return ledger;
}

void write_ledger(const fs::path& root, std::uint64_t bytes, std::int64_t now_s) {
  std::string ignored;
  replace_file(root / "ledger", fmt::format("{}{} {}\n", ledger_mark, now_s, bytes), &ignored);
}

bool upkeep_is_due(const std::optional<Ledger>& ledger, std::uint64_t limit, std::int64_t now_s) {
  if (!ledger) return true;
  const std::int64_t age = now_s - ledger->scanned_s;
  if (age < 0 || age >= scan_interval_s || ledger->length > longest_ledger / 2) return true;
  return ledger->bytes > limit && age >= least_interval_s;
}

void keep_up(const fs::path& root, std::uint64_t limit) {
  if (make_directories(root / "locks") != 0) return;
  const FileLock lock = FileLock::attempt(root / "locks" / "upkeep.lock");
  if (lock.state() == FileLock::State::busy) return;
  const std::int64_t now = now_ns();
  sweep(root, now);
  const std::vector<CacheItem> items = items_of(root);
  std::uint64_t bytes = total_bytes(items);
  if (bytes > limit) {
    for (const CacheItem& item : least_recently_used(items, goal_of(limit), now - protection_ns)) {
      if (evict(root, item)) bytes -= item.bytes;
    }
  }
  write_ledger(root, bytes, now / second_ns);
}

}  // namespace tessera::runtime
