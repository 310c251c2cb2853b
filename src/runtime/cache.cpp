#include "runtime/cache.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "runtime/hash.hpp"
#include "runtime/progress.hpp"

namespace tessera::runtime {
namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

constexpr int format_version = 1;
constexpr const char* manifest_name = "manifest.json";
constexpr const char* cubin_name = "kernel.cubin";

ordered_json facts_json(const jit::CubinFacts& f) {
  return {{"registers", f.registers},
          {"spill_store_bytes", f.spill_store_bytes},
          {"spill_load_bytes", f.spill_load_bytes},
          {"stack_bytes", f.stack_bytes},
          {"static_shared_bytes", f.static_shared_bytes},
          {"remarks", f.remarks}};
}

jit::CubinFacts facts_from(const ordered_json& j) {
  jit::CubinFacts f;
  f.registers = j.at("registers").get<int>();
  f.spill_store_bytes = j.at("spill_store_bytes").get<int>();
  f.spill_load_bytes = j.at("spill_load_bytes").get<int>();
  f.stack_bytes = j.at("stack_bytes").get<int>();
  f.static_shared_bytes = j.at("static_shared_bytes").get<int>();
  f.remarks = j.at("remarks").get<std::vector<std::string>>();
  return f;
}

// The content of a file of the entry, if length and checksum are those of the manifest.
std::optional<std::string> checked_file(const fs::path& directory, const ordered_json& files, const char* name) {
  const ordered_json& expected = files.at(name);
  std::optional<std::string> content = read_file(directory / name);
  if (!content || content->size() != expected.at("bytes").get<std::size_t>()) return std::nullopt;
  if (hash_hex(*content) != expected.at("xxh3").get<std::string>()) return std::nullopt;
  return content;
}

std::optional<CacheEntry> read_entry(const fs::path& directory, const std::string& key, bool want_cubin) {
  const std::optional<std::string> sealed = read_file(directory / manifest_name);
  if (!sealed) return std::nullopt;
  const std::optional<std::string> text = unseal(*sealed);
  if (!text) return std::nullopt;
  const ordered_json manifest = ordered_json::parse(*text);
  if (manifest.at("format") != format_version || manifest.at("key") != key) return std::nullopt;
  const ordered_json& files = manifest.at("files");
  CacheEntry entry;
  entry.directory = directory;
  entry.kernel = manifest.at("kernel").get<std::string>();
  entry.config = manifest.at("config").get<std::string>();
  entry.target = manifest.at("target").get<std::string>();
  const auto take = [&](const char* name, std::string* out) {
    std::optional<std::string> content = checked_file(directory, files, name);
    if (content) *out = std::move(*content);
    return content.has_value();
  };
  if (!take("kernel.cu", &entry.cuda) || !take("tile.txt", &entry.tile_text)) return std::nullopt;
  if (!take("thread.txt", &entry.thread_text) || !take("compiler.log", &entry.compiled.log)) return std::nullopt;
  if (want_cubin) {
    std::string cubin;
    if (!files.contains(cubin_name) || !take(cubin_name, &cubin)) return std::nullopt;
    entry.compiled.cubin.assign(cubin.begin(), cubin.end());
    entry.compiled.facts = facts_from(manifest.at("facts"));
  }
  return entry;
}

bool whole(const fs::path& directory, const std::string& key, bool want_cubin) {
  try {
    return read_entry(directory, key, want_cubin).has_value();
  } catch (const ordered_json::exception&) {  // well-formed JSON of another shape: damaged all the same
    return false;
  }
}

}  // namespace

std::string seal(const std::string& json_object) {
  ordered_json json = ordered_json::parse(json_object);
  json.erase("checksum");
  json["checksum"] = hash_hex(json.dump());
  return json.dump(2) + "\n";
}

std::optional<std::string> unseal(std::string_view text) {
  ordered_json json = ordered_json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("checksum") || !json["checksum"].is_string()) return std::nullopt;
  const auto expected = json["checksum"].get<std::string>();
  json.erase("checksum");
  std::string plain = json.dump();
  if (hash_hex(plain) != expected) return std::nullopt;
  return plain;
}

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

void Cache::unwritable() const {
  warn_once(
      fmt::format("the kernel cache {} cannot be written; kernels are compiled anew in every process "
                  "(set TESSERA_CACHE_DIR to a folder of yours)",
                  root_.string()));
}

bool Cache::prepare(const char* folder) const {
  if (root_.empty()) return false;
  std::error_code code;
  fs::create_directories(root_ / folder, code);
  if (code) unwritable();
  return !code;
}

std::optional<CacheEntry> Cache::load(const std::string& key, bool want_cubin, bool quiet) const {
  if (root_.empty()) return std::nullopt;
  const fs::path path = directory(key);
  std::error_code code;
  if (!fs::exists(path, code)) return std::nullopt;
  std::optional<CacheEntry> entry;
  try {
    entry = read_entry(path, key, want_cubin);
  } catch (const ordered_json::exception&) {  // whole JSON of another form: damaged all the same
  }
  if (!entry && !quiet) warn(fmt::format("the cache entry {} is damaged; it is written anew", path.string()));
  return entry;
}

fs::path Cache::store(const std::string& key, const CacheEntry& entry) const {
  if (!prepare("drafts") || !prepare("kernels")) return {};
  const fs::path draft = root_ / "drafts" / private_name();
  const fs::path path = directory(key);
  std::error_code code;
  std::string why;
  fs::create_directory(draft, code);
  const std::string cubin(entry.compiled.cubin.begin(), entry.compiled.cubin.end());
  std::vector<std::pair<const char*, const std::string*>> files = {{"kernel.cu", &entry.cuda},
                                                                   {"tile.txt", &entry.tile_text},
                                                                   {"thread.txt", &entry.thread_text},
                                                                   {"compiler.log", &entry.compiled.log}};
  if (!cubin.empty()) files.emplace_back(cubin_name, &cubin);
  ordered_json manifest = {{"format", format_version},
                           {"key", key},
                           {"kernel", entry.kernel},
                           {"config", entry.config},
                           {"target", entry.target}};
  bool good = !code;
  for (const auto& [name, content] : files) {
    manifest["files"][name] = {{"bytes", content->size()}, {"xxh3", hash_hex(*content)}};
    good = good && write_file(draft / name, *content, &why);
  }
  manifest["facts"] = facts_json(entry.compiled.facts);
  good = good && write_file(draft / manifest_name, seal(manifest.dump()), &why);
  if (good) {
    fs::rename(draft, path, code);
    if (code && whole(path, key, !cubin.empty())) {  // another process has just published it
      fs::remove_all(draft, code);
      return path;
    }
    if (code && fs::exists(path)) {  // damaged
      const fs::path old = root_ / "drafts" / private_name();
      fs::rename(path, old, code);
      fs::rename(draft, path, code);
      std::error_code ignored;
      fs::remove_all(old, ignored);
    }
    good = !code;
  }
  if (!good) {
    unwritable();
    fs::remove_all(draft, code);
    return {};
  }
  return path;
}

FileLock Cache::lock(const std::string& key) const {
  if (!prepare("locks")) return FileLock(fs::path());
  return FileLock(root_ / "locks" / (key + ".lock"));
}

std::optional<std::string> Cache::load_record(const std::string& key) const {
  if (root_.empty()) return std::nullopt;
  const fs::path path = record_path(key);
  const std::optional<std::string> text = read_file(path);
  if (!text) return std::nullopt;
  std::optional<std::string> plain = unseal(*text);
  if (!plain) warn(fmt::format("the tuning record {} is damaged; the kernel is tuned anew", path.string()));
  return plain;
}

void Cache::store_record(const std::string& key, std::string_view text) const {
  if (!prepare("tuning")) return;
  std::string why;
  if (!replace_file(record_path(key), seal(std::string(text)), &why)) unwritable();
}

}  // namespace tessera::runtime
