// JSON with a checksum of its own.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/cache.hpp"
#include "runtime/hash.hpp"

namespace tessera::runtime {
using nlohmann::ordered_json;

namespace {

constexpr int deepest = 32;

// The library parses any depth and then follows it by recursion; a file of a million brackets must not cost the stack.
bool nested_too_deeply(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > deepest) return true;
  }
  return false;
}

// Bytes that are no UTF-8 (a compiler's remark, a device's name) are replaced rather than thrown at the user.
std::string text_of(const ordered_json& json, int indent = -1) {
  return json.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace

std::string seal(const std::string& json_object) {
  ordered_json json = ordered_json::parse(json_object);
  json.erase("checksum");
  json["checksum"] = hash_hex(text_of(json));
  return text_of(json, 2) + "\n";
}

std::optional<std::string> unseal(std::string_view text) {
  if (nested_too_deeply(text)) return std::nullopt;
  ordered_json json = ordered_json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("checksum") || !json["checksum"].is_string()) return std::nullopt;
  const auto expected = json["checksum"].get<std::string>();
  json.erase("checksum");
  std::string plain = text_of(json);
  if (hash_hex(plain) != expected) return std::nullopt;
  return plain;
}

}  // namespace tessera::runtime
