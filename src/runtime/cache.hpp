// The disk cache of compiled kernels.
//
//   <root>/kernels/<key>/   kernel.cu kernel.cubin compiler.log tile.txt thread.txt manifest.json
//   <root>/tuning/<key>.json
//   <root>/locks/<key>.lock
//   <root>/drafts/          entries under construction, and damaged ones on their way out
//
// The root is TESSERA_CACHE_DIR, else $XDG_CACHE_HOME/tessera, else ~/.cache/tessera. An entry is built in a directory
// of its own under drafts/ and published by one rename; entries never change after that. Every file's length and
// checksum stand in the manifest, and the manifest carries its own: an entry that is damaged in any way is a miss, is
// reported once and written anew. A cache that cannot be written costs one warning and nothing else.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jit/compiler.hpp"
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
  // damaged one unless `quiet`.
  std::optional<CacheEntry> load(const std::string& key, bool want_cubin, bool quiet = false) const;
  // Publishes the entry and returns its directory, or an empty path if the cache cannot be written.
  std::filesystem::path store(const std::string& key, const CacheEntry& entry) const;
  // Among the processes that share the cache, one at a time prepares the entry of `key`.
  FileLock lock(const std::string& key) const;

  std::filesystem::path record_path(const std::string& key) const;
  std::optional<std::string> load_record(const std::string& key) const;
  void store_record(const std::string& key, std::string_view text) const;

 private:
  bool prepare(const char* folder) const;
  void unwritable() const;
  std::filesystem::path root_;
};

// JSON text with a checksum of its own in the field "checksum", and back: null if it does not match.
std::string seal(const std::string& json_object);
std::optional<std::string> unseal(std::string_view text);

}  // namespace tessera::runtime
