#include "runtime/cache_entry.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/hash.hpp"

namespace tessera::runtime {
namespace fs = std::filesystem;
using nlohmann::ordered_json;
using State = EntryCheck::State;

namespace {

constexpr int format_version = 1;
constexpr std::uint64_t longest_json = std::uint64_t{4} << 20;    // manifests and records have some kilobytes
constexpr std::uint64_t longest_file = std::uint64_t{256} << 20;  // kernels have some hundred kilobytes
constexpr const char* record_key = "cache_key";

struct Damage {
  std::string why;
};

int count_from(const ordered_json& j, const char* name) {
  const ordered_json& value = j.at(name);
  if (!value.is_number_integer()) throw Damage{fmt::format("{} is no whole number", name)};
  const bool fits = value.is_number_unsigned()
                        ? value.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<int>::max()}
                        : value.get<std::int64_t>() >= 0;
  if (!fits) throw Damage{fmt::format("{} is out of range", name)};
  return value.get<int>();
}

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
  f.registers = count_from(j, "registers");
  f.spill_store_bytes = count_from(j, "spill_store_bytes");
  f.spill_load_bytes = count_from(j, "spill_load_bytes");
  f.stack_bytes = count_from(j, "stack_bytes");
  f.static_shared_bytes = count_from(j, "static_shared_bytes");
  f.remarks = j.at("remarks").get<std::vector<std::string>>();
  return f;
}

// What an error of the system says about the entry: that it is not as it was written, or that it cannot be seen now.
State state_of(int error) {
  for (const int content : {ENOENT, ENOTDIR, EISDIR, ELOOP, EFBIG, ENXIO, EINVAL}) {
    if (error == content) return State::damaged;
  }
  return State::unreadable;
}

EntryCheck failed(const char* name, int error) {
  return {state_of(error), fmt::format("{}: {}", name, error_text(error)), error};
}

// The content of a file of the entry, if length and checksum are those of the manifest.
EntryCheck read_checked(const fs::path& directory, const ordered_json& files, const char* name, std::string* out) {
  const ordered_json& expected = files.at(name);
  if (!expected.at("bytes").is_number_unsigned()) throw Damage{fmt::format("{}: a length that is none", name)};
  const auto bytes = expected.at("bytes").get<std::uint64_t>();
  if (bytes > longest_file) throw Damage{fmt::format("{}: a length of {} bytes", name, bytes)};
  if (const int error = read_regular(directory / name, bytes, out); error != 0) return failed(name, error);
  if (out->size() != bytes) throw Damage{fmt::format("{}: {} bytes instead of {}", name, out->size(), bytes)};
  if (hash_hex(*out) != expected.at("xxh3").get<std::string>()) throw Damage{fmt::format("{}: another checksum", name)};
  return {State::whole, {}, 0};
}

EntryCheck read_files(const fs::path& directory, const ordered_json& manifest, Cubin want, CacheEntry* entry) {
  const ordered_json& files = manifest.at("files");
  std::string cubin;
  std::vector<std::pair<const char*, std::string*>> wanted = {{"kernel.cu", &entry->cuda},
                                                              {"tile.txt", &entry->tile_text},
                                                              {"thread.txt", &entry->thread_text},
                                                              {"compiler.log", &entry->compiled.log}};
  const bool with_cubin = want == Cubin::required || (want == Cubin::if_listed && files.contains(cubin_name));
  if (with_cubin) wanted.emplace_back(cubin_name, &cubin);
  for (const auto& [name, out] : wanted) {
    EntryCheck check = read_checked(directory, files, name, out);
    if (check.state != State::whole) return check;
  }
  if (with_cubin) {
    if (cubin.empty()) throw Damage{"an empty cubin"};
    entry->compiled.cubin.assign(cubin.begin(), cubin.end());
    entry->compiled.facts = facts_from(manifest.at("facts"));
  }
  return {State::whole, {}, 0};
}

EntryCheck read_sealed(const fs::path& path, std::string* plain) {
  std::string text;
  const std::string name = path.filename().string();
  if (const int error = read_regular(path, longest_json, &text); error != 0) return failed(name.c_str(), error);
  std::optional<std::string> unsealed = unseal(text);
  if (!unsealed) return {State::damaged, name + ": another checksum", 0};
  *plain = std::move(*unsealed);
  return {State::whole, {}, 0};
}

EntryCheck read_whole(const fs::path& directory, const std::string& key, Cubin cubin, CacheEntry* entry) {
  std::string text;
  EntryCheck check = read_sealed(directory / manifest_name, &text);
  if (check.state != State::whole) {
    FileFacts facts;
    if (check.error == ENOENT && file_system().facts(directory, false, &facts) == -ENOENT) check.state = State::missing;
    return check;
  }
  const ordered_json manifest = ordered_json::parse(text);
  if (manifest.at("format") != format_version) throw Damage{"manifest.json: of another format"};
  if (manifest.at("key") != key) throw Damage{"the entry of another key"};
  entry->directory = directory;
  entry->kernel = manifest.at("kernel").get<std::string>();
  entry->config = manifest.at("config").get<std::string>();
  entry->target = manifest.at("target").get<std::string>();
  return read_files(directory, manifest, cubin, entry);
}

// So that a power cut after the rename finds the files under their names.
int sync_directory(const fs::path& path) {
  FileSystem& system = file_system();
  const int descriptor = system.open(path, O_RDONLY | O_DIRECTORY, 0);
  if (descriptor < 0) return -descriptor;
  const int error = -system.sync(descriptor);
  system.close(descriptor);
  return error == EINVAL ? 0 : error;
}

}  // namespace

EntryCheck read_entry(const fs::path& directory, const std::string& key, Cubin cubin, CacheEntry* out) {
  try {
    return read_whole(directory, key, cubin, out);
  } catch (const Damage& damage) {
    return {State::damaged, damage.why, 0};
  } catch (const ordered_json::exception&) {  // well-formed JSON of another shape
    return {State::damaged, "manifest.json: of another form", 0};
  }
}

int write_entry(const fs::path& directory, const std::string& key, const CacheEntry& entry, std::uint64_t* bytes) {
  if (const int error = -file_system().make_directory(directory); error != 0) return error;
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
  for (const auto& [name, content] : files) {
    if (content->size() > longest_file) return EFBIG;
    manifest["files"][name] = {{"bytes", content->size()}, {"xxh3", hash_hex(*content)}};
    if (const int error = write_new(directory / name, *content); error != 0) return error;
    *bytes += content->size();
  }
  manifest["facts"] = facts_json(entry.compiled.facts);
  const std::string text = seal(manifest.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
  if (text.size() > longest_json) return EFBIG;
  *bytes += text.size();
  if (const int error = write_new(directory / manifest_name, text); error != 0) return error;
  return sync_directory(directory);
}

int remove_entry(const fs::path& root, const fs::path& path) {
  FileSystem& system = file_system();
  const fs::path aside = root / "drafts" / private_name();
  int error = make_directories(root / "drafts");
  if (error == 0) error = -system.rename(path, aside);
  if (error == 0) {
    remove_tree(aside);  // what of it stays is swept up later
    return 0;
  }
  FileFacts facts;
  if (system.facts(path, false, &facts) == 0 && facts.kind == FileFacts::Kind::directory) {
    system.remove_file(path / manifest_name);  // not through a link, whose folder may be anybody's
  }
  return remove_tree(path);
}

EntryCheck read_record(const fs::path& path, const std::string& key, std::string* text) {
  EntryCheck check = read_sealed(path, text);
  if (check.error == ENOENT) check.state = State::missing;
  if (check.state != State::whole) return check;
  ordered_json json = ordered_json::parse(*text);
  if (!json.contains(record_key)) return check;  // nothing that says whose it is
  if (json[record_key] != key) return {State::damaged, "the record of another key", 0};
  json.erase(record_key);
  *text = json.dump();
  return check;
}

std::string sealed_record(const std::string& key, std::string_view text) {
  ordered_json json = ordered_json::parse(text);
  json[record_key] = key;
  return seal(json.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

}  // namespace tessera::runtime
