// What keeps a cache small: the list of what is there, eviction, and sweeping up after processes that were killed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tessera::runtime {

struct CacheItem {
  enum class Kind { kernel, record };
  Kind kind = Kind::kernel;
  std::string key;
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  std::int64_t last_use_ns = 0;  // since 1970
};

// Everything that is there under the name of a key, least recently used first. A full scan.
std::vector<CacheItem> items_of(const std::filesystem::path& root);
std::uint64_t total_bytes(const std::vector<CacheItem>& items);

// The items to remove, in this order, so that at most `bytes` stay; what was used after `protected_since_ns` stays in
// any case.
std::vector<CacheItem> least_recently_used(const std::vector<CacheItem>& items, std::uint64_t bytes,
                                           std::int64_t protected_since_ns);
// Removes an item unless it is being prepared, has been used since it was listed, or is gone. Readers in other
// processes see it whole or not at all.
bool evict(const std::filesystem::path& root, const CacheItem& item);

// Removes drafts whose makers are gone and locks that nobody holds; how many.
std::size_t sweep(const std::filesystem::path& root, std::int64_t now_ns);

// The ledger.
void note_stored(const std::filesystem::path& root, std::uint64_t bytes);
struct Ledger {
  std::int64_t scanned_s = 0;  // when everything was counted last, in seconds since 1970
  std::uint64_t counted = 0;   // then
  std::uint64_t bytes = 0;     // with what was stored since
  std::uint64_t length = 0;    // of the file
};
// Null if there is none, or none that makes sense: then it is time to count.
std::optional<Ledger> read_ledger(const std::filesystem::path& root);
void write_ledger(const std::filesystem::path& root, std::uint64_t bytes, std::int64_t now_s);

// Whether to look after the cache now: it has outgrown `limit`, or nobody has for an hour.
bool upkeep_is_due(const std::optional<Ledger>& ledger, std::uint64_t limit, std::int64_t now_s);
// Does it, unless another process does already.
void keep_up(const std::filesystem::path& root, std::uint64_t limit);

std::int64_t now_ns();

}  // namespace tessera::runtime
