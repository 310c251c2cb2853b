#include "commands.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "runtime/cache_entry.hpp"
#include "runtime/cache_settings.hpp"
#include "runtime/cache_upkeep.hpp"
#include "tune/record.hpp"

namespace tessera::cache_command {
namespace fs = std::filesystem;
using nlohmann::ordered_json;
using namespace runtime;
using State = EntryCheck::State;

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::size_t shown_digits = 12;

// One item, looked at.
struct Looked {
  CacheItem item;
  EntryCheck check;
  CacheEntry entry;     // of a kernel
  tune::Record record;  // of a record
  std::string kernel, config;
};

Looked look_at(const CacheItem& item) {
  Looked looked{item, {}, {}, {}, "?", "?"};
  if (item.kind == CacheItem::Kind::kernel) {
    looked.check = read_entry(item.path, item.key, Cubin::if_listed, &looked.entry);
    if (looked.check.state == State::whole) {
      looked.kernel = looked.entry.kernel;
      looked.config = looked.entry.config;
    }
    return looked;
  }
  std::string text;
  looked.check = read_record(item.path, item.key, &text);
  if (looked.check.state != State::whole) return looked;
  std::string why;
  const std::optional<tune::Record> record = tune::parse_record(text, &why);
  if (!record) {
    looked.check = {State::damaged, "of another form: " + why, 0};
    return looked;
  }
  looked.record = *record;
  looked.kernel = record->kernel;
  looked.config = record->winner;
  return looked;
}

const char* kind_name(const CacheItem& item) { return item.kind == CacheItem::Kind::kernel ? "kernel" : "record"; }

std::string state_text(const EntryCheck& check) {
  switch (check.state) {
    case State::whole: return "whole";
    case State::missing: return "gone";
    case State::damaged: return "damaged: " + check.why;
    case State::unreadable: return "unreadable: " + check.why;
  }
  return "?";
}

std::string time_text(std::int64_t ns) {
  const std::time_t seconds = static_cast<std::time_t>(ns / second_ns);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  return fmt::format("{:%Y-%m-%d %H:%M}", local);
}

std::string text_of(const ordered_json& json) {
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

ordered_json json_of(const Looked& looked) {
  ordered_json json = {{"key", looked.item.key},
                       {"kind", kind_name(looked.item)},
                       {"kernel", looked.kernel},
                       {"config", looked.config},
                       {"bytes", looked.item.bytes},
                       {"last_use", looked.item.last_use_ns / second_ns},
                       {"state", state_text(looked.check)},
                       {"path", looked.item.path.string()}};
  if (looked.check.state != State::whole) return json;
  if (looked.item.kind == CacheItem::Kind::record) {
    json["device"] = looked.record.device;
    json["bucket"] = looked.record.bucket;
    return json;
  }
  json["target"] = looked.entry.target;
  if (looked.entry.compiled.cubin.empty()) return json;
  const jit::CubinFacts& facts = looked.entry.compiled.facts;
  json["registers"] = facts.registers;
  json["spill_bytes"] = facts.spill_bytes();
  json["stack_bytes"] = facts.stack_bytes;
  json["remarks"] = facts.remarks;
  return json;
}

void print_line(const char* name, const std::string& value) { fmt::print("{:<11} {}\n", name, value); }

void print_looked(const Looked& looked) {
  print_line("key", looked.item.key);
  print_line("kind", kind_name(looked.item));
  print_line("state", state_text(looked.check));
  print_line("kernel", looked.kernel);
  print_line("config", looked.config);
  print_line("size", size_text(looked.item.bytes));
  print_line("last use", time_text(looked.item.last_use_ns));
  if (looked.check.state == State::whole && looked.item.kind == CacheItem::Kind::record) {
    print_line("device", looked.record.device);
    print_line("bucket", looked.record.bucket);
  }
  if (looked.check.state == State::whole && looked.item.kind == CacheItem::Kind::kernel) {
    print_line("target", looked.entry.target);
    const jit::CubinFacts& facts = looked.entry.compiled.facts;
    if (!looked.entry.compiled.cubin.empty()) {
      print_line("registers", std::to_string(facts.registers));
      print_line("spills", fmt::format("{} B stored, {} B loaded", facts.spill_store_bytes, facts.spill_load_bytes));
      print_line("stack", fmt::format("{} B", facts.stack_bytes));
      for (const std::string& remark : facts.remarks) print_line("remark", remark);
    }
  }
  if (looked.item.kind == CacheItem::Kind::record) {
    print_line("file", looked.item.path.string());
    return;
  }
  std::vector<std::string> names;
  file_system().list(looked.item.path, &names);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) print_line("file", (looked.item.path / name).string());
}

// Most recently used first: what is looked for has just been made.
std::vector<CacheItem> latest_first(const fs::path& root) {
  std::vector<CacheItem> items = items_of(root);
  std::reverse(items.begin(), items.end());
  return items;
}

std::string one_line(const CacheItem& item) {
  return fmt::format("{} {}, {}, last used {}", kind_name(item), item.key, size_text(item.bytes),
                     time_text(item.last_use_ns));
}

}  // namespace

int list(const fs::path& root, bool json) {
  const std::vector<CacheItem> items = latest_first(root);
  if (json) {
    ordered_json all = ordered_json::array();
    for (const CacheItem& item : items) all.push_back(json_of(look_at(item)));
    fmt::print("{}\n", text_of(all));
    return good;
  }
  std::vector<Looked> looked;
  std::size_t kernel_width = 6, config_width = 6;
  for (const CacheItem& item : items) {
    looked.push_back(look_at(item));
    looked.back().entry = {};  // their texts are not printed
    kernel_width = std::max(kernel_width, looked.back().kernel.size());
    config_width = std::max(config_width, looked.back().config.size());
  }
  fmt::print("{:<{}}  {:<6}  {:<{}}  {:<{}}  {:>10}  {:<16}  {}\n", "KEY", shown_digits, "KIND", "KERNEL", kernel_width,
             "CONFIG", config_width, "SIZE", "LAST USE", "STATE");
  for (const Looked& one : looked) {
    fmt::print("{}  {:<6}  {:<{}}  {:<{}}  {:>10}  {:<16}  {}\n", one.item.key.substr(0, shown_digits),
               kind_name(one.item), one.kernel, kernel_width, one.config, config_width, size_text(one.item.bytes),
               time_text(one.item.last_use_ns), state_text(one.check));
  }
  fmt::print("{} in {}, {}\n", items.size(), root.string(), size_text(total_bytes(items)));
  return good;
}

int show(const fs::path& root, const std::string& prefix, bool json) {
  if (prefix.empty() || prefix.find_first_not_of("0123456789abcdef") != std::string::npos) {
    fmt::print(stderr, "tessera-cache: '{}' is no beginning of a key; keys are of the digits 0-9 and a-f\n", prefix);
    return wrong_use;
  }
  std::vector<CacheItem> items = latest_first(root);
  std::erase_if(items, [&](const CacheItem& item) { return !item.key.starts_with(prefix); });
  if (items.empty()) {
    fmt::print(stderr,
               "tessera-cache: no key in {} begins with '{}'; `tessera-cache list` shows those that there are\n",
               root.string(), prefix);
    return found;
  }
  if (items.size() > 1) {
    fmt::print(stderr, "tessera-cache: '{}' begins {} keys; give more digits:\n", prefix, items.size());
    for (const CacheItem& item : items) fmt::print(stderr, "  {}\n", one_line(item));
    return wrong_use;
  }
  const Looked looked = look_at(items.front());
  if (json) {
    fmt::print("{}\n", text_of(json_of(looked)));
  } else {
    print_looked(looked);
  }
  return good;
}

int verify(const fs::path& root, bool remove) {
  std::size_t bad = 0, seen = 0, removed = 0;
  for (const CacheItem& item : items_of(root)) {
    const EntryCheck check = look_at(item).check;
    if (check.state == State::missing) continue;  // evicted in the meantime
    ++seen;
    if (check.state == State::whole) continue;
    ++bad;
    fmt::print("{} {}: {}\n", kind_name(item), item.path.string(), state_text(check));
    if (!remove || check.state != State::damaged) continue;
    if (const int error = remove_entry(root, item.path); error == 0) {
      ++removed;
    } else {
      fmt::print(stderr, "tessera-cache: cannot remove {}: {}\n", item.path.string(), error_text(error));
    }
  }
  fmt::print("{} looked at, {} not whole{}\n", seen, bad, remove ? fmt::format(", {} removed", removed) : "");
  return bad == 0 ? good : found;
}

int prune(const fs::path& root, const PruneOptions& options) {
  const std::int64_t now = now_ns();
  const std::vector<CacheItem> items = items_of(root);
  std::vector<CacheItem> going;
  if (options.all) {
    going = items;
  } else if (options.older_than) {
    const std::int64_t before = now - options.older_than->count() * second_ns;
    std::copy_if(items.begin(), items.end(), std::back_inserter(going),
                 [&](const CacheItem& item) { return item.last_use_ns < before; });
  }
  if (!options.all && options.size) {
    // The least recently used first: what is older than an age is the beginning of what is too much, or the reverse.
    std::vector<CacheItem> excess = least_recently_used(items, *options.size, now);
    if (excess.size() > going.size()) going = std::move(excess);
  }
  std::uint64_t freed = 0;
  std::size_t removed = 0, kept = 0;
  for (const CacheItem& item : going) {
    if (!options.dry_run && !evict(root, item)) {
      ++kept;
      fmt::print("kept {}: in use, or it cannot be removed\n", one_line(item));
      continue;
    }
    freed += item.bytes;
    ++removed;
    fmt::print("{} {}\n", options.dry_run ? "would remove" : "removed", one_line(item));
  }
  const std::uint64_t left = total_bytes(items) - freed;
  fmt::print("{} {} of {}, {}; {} left\n", options.dry_run ? "would remove" : "removed", removed, items.size(),
             size_text(freed), size_text(left));
  if (!options.dry_run && fs::exists(root)) {
    sweep(root, now);
    write_ledger(root, left, now / second_ns);
  }
  return kept == 0 ? good : found;
}

}  // namespace tessera::cache_command
