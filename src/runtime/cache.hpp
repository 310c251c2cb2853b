// The disk cache of compiled kernels; docs/cache.md describes it for its users.
//
//   <root>/kernels/<key>/   kernel.cu kernel.cubin compiler.log tile.txt thread.txt manifest.json
//   <root>/tuning/<key>.json
//   <root>/locks/<key>.lock
//   <root>/drafts/          entries under construction, and damaged or evicted ones on their way out
//   <root>/ledger           how much is there, roughly: what the last look counted, then a line for each store
//
// The root is TESSERA_CACHE_DIR, else $XDG_CACHE_HOME/tessera, else ~/.cache/tessera. An entry is built in a directory
// of its own under drafts/ and published by one rename; its content never changes after that. Every file's length and
// checksum stand in the manifest, and the manifest carries its own: an entry that is damaged in any way is a miss, is
// reported once and written anew. A cache that cannot be read or written costs one warning and nothing else.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jit/compiler.hpp"
#include "runtime/file_lock.hpp"
#include "runtime/files.hpp"

namespace tessera::runtime {

struct CacheEntry {
  std::string kernel;  // the script's name
  std::string config;
  std::string target;  // compiler, flags and architecture, for the reader of the manifest
  std::string cuda;
  std::string tile_text;
  std::string thread_text;
  jit::Compiled compiled;           // no cubin: the sources only
  std::filesystem::path directory;  // set when loaded or stored
};

class Cache {
 public:
  explicit Cache(std::filesystem::path root);
  // The root by the environment; empty if there is none (no home directory), which switches the cache off.
  static std::filesystem::path default_root();

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path directory(const std::string& key) const;

  // The entry if it is there and whole; `want_cubin` is false for entries that hold the sources only. Warns of a
  // damaged one unless `quiet`. Notes that the entry is in use.
  std::optional<CacheEntry> load(const std::string& key, bool want_cubin, bool quiet = false) const;
  // Publishes the entry and returns its directory, or an empty path if the cache cannot be written.
  std::filesystem::path store(const std::string& key, const CacheEntry& entry) const;
  // Among the processes and threads that share the cache, one at a time prepares the entry of `key`. Waits for a
  // bounded time (TESSERA_CACHE_WAIT) and returns in any case.
  FileLock lock(const std::string& key) const;
  // Evicts what has not been used for longest where the cache has outgrown TESSERA_CACHE_SIZE, and sweeps up what
  // killed processes left; looks whether it is time for that first. To be called after a store, without locks.
  void upkeep() const;

  std::filesystem::path record_path(const std::string& key) const;
  std::optional<std::string> load_record(const std::string& key) const;
  void store_record(const std::string& key, std::string_view text) const;

 private:
  bool prepare(const char* folder) const;
  int publish(const std::filesystem::path& draft, const std::string& key, bool cubin) const;
  void trouble(const char* what, const std::filesystem::path& path, int error) const;
  std::filesystem::path root_;
};

// JSON text with a checksum of its own in the field "checksum", and back: null if it does not match or is nested deeper
// than anything that was ever sealed.
std::string seal(const std::string& json_object);
std::optional<std::string> unseal(std::string_view text);

}  // namespace tessera::runtime
