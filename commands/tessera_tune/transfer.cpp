// Records from one cache to another.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/files.hpp"
#include "runtime/hash.hpp"
#include "tessera_tune/records.hpp"

namespace tessera::tune_command {

int export_records(const runtime::Cache& cache, const std::string& file, const std::vector<std::string>& kernels) {
  std::vector<tune::Record> records;
  for (Stored& one : all_records(cache)) {
    if (!kernels.empty() && std::find(kernels.begin(), kernels.end(), one.record.kernel) == kernels.end()) continue;
    records.push_back(std::move(one.record));
  }
  if (records.empty()) {
    fmt::print(stderr, "tessera-tune: no such record in {}\n", cache.root().string());
    return refused;
  }
  std::string why;
  const std::filesystem::path path = std::filesystem::absolute(file);
  if (!runtime::replace_file(path, tune::to_archive(records), &why)) {
    fmt::print(stderr, "tessera-tune: {}\n", why);
    return failed;
  }
  fmt::print("{}: {} records\n", file, records.size());
  return done;
}

namespace {

// Merges one record into the cache and says what came of it.
void take(const runtime::Cache& cache, const tune::Record& theirs) {
  const std::string key = runtime::hash_hex(theirs.identity);
  const runtime::FileLock lock = cache.lock(key);
  const std::optional<std::string> text = cache.load_record(key);
  std::optional<tune::Record> ours;
  if (text) ours = tune::parse_record(*text);
  const std::string title = fmt::format("  {}  {} {}", key.substr(0, 12), theirs.kernel, theirs.bucket);
  if (!ours || ours->identity != theirs.identity) {
    cache.store_record(key, tune::to_json(theirs));
    fmt::print("{}: new, {} candidates\n", title, theirs.rows.size());
    return;
  }
  std::vector<std::string> taken;
  const tune::Record merged = tune::merge(*ours, theirs, &taken);
  if (taken.empty()) {
    fmt::print("{}: refused, what is here is as good or better for each of its {} candidates\n", title,
               theirs.rows.size());
    return;
  }
  cache.store_record(key, tune::to_json(merged));
  const std::string winner = merged.winner == ours->winner ? "the choice stays" : "the choice is now " + merged.winner;
  fmt::print("{}: better for {} of {} candidates ({}); {}\n", title, taken.size(), theirs.rows.size(),
             fmt::join(taken, " "), winner);
}

}  // namespace

int import_records(const runtime::Cache& cache, const std::vector<std::string>& files) {
  int status = done;
  std::vector<std::pair<std::string, std::vector<tune::Record>>> all;
  for (const std::string& file : files) {
    const std::optional<std::string> text = runtime::read_file(file);
    if (!text) {
      fmt::print(stderr, "tessera-tune: {} cannot be read\n", file);
      return failed;
    }
    std::string why;
    std::optional<std::vector<tune::Record>> records = tune::parse_archive(*text, &why);
    if (!records) {
      fmt::print(stderr, "tessera-tune: {} is refused: {}\n", file, why);
      status = refused;
      continue;
    }
    all.emplace_back(file, std::move(*records));
  }
  if (cache.root().empty()) {
    fmt::print(stderr, "tessera-tune: there is no cache; set TESSERA_CACHE_DIR\n");
    return failed;
  }
  for (const auto& [file, records] : all) {
    fmt::print("{}:\n", file);
    for (const tune::Record& record : records) take(cache, record);
  }
  return status;
}

}  // namespace tessera::tune_command
