#include "runtime/cache_settings.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "runtime/progress.hpp"

namespace tessera::runtime {
namespace {

// A number without sign at the beginning of `text`, which keeps what follows it.
std::optional<double> take_number(std::string_view* text) {
  if (text->empty() || text->front() < '0' || text->front() > '9') return std::nullopt;
  double value = 0;
  const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), value, std::chars_format::fixed);
  if (code != std::errc() || !std::isfinite(value)) return std::nullopt;
  text->remove_prefix(static_cast<std::size_t>(end - text->data()));
  return value;
}

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) {
  if (text == "unlimited") return no_size_limit;
  const std::optional<double> number = take_number(&text);
  if (!number) return std::nullopt;
  constexpr std::string_view units = "KMGT";
  double factor = 1;
  if (!text.empty()) {
    const std::size_t at = units.find(static_cast<char>(text.front() & ~0x20));  // small letters, too
    if (at == std::string_view::npos) return std::nullopt;
    factor = std::ldexp(1.0, 10 * static_cast<int>(at + 1));
    text.remove_prefix(1);
    if (text != "" && text != "B" && text != "iB") return std::nullopt;
  }
  const double bytes = *number * factor;
  if (bytes < 1 || bytes >= std::ldexp(1.0, 62)) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::optional<std::chrono::seconds> parse_age(std::string_view text) {
  const std::optional<double> number = take_number(&text);
  if (!number || text.size() != 1) return std::nullopt;
  double seconds = 0;
  switch (text.front()) {
    case 'm': seconds = 60; break;
    case 'h': seconds = 3600; break;
    case 'd': seconds = 86400; break;
    case 'w': seconds = 7.0 * 86400; break;
    default: return std::nullopt;
  }
  const double total = *number * seconds;
  if (total > 1e10) return std::nullopt;  // three centuries
  return std::chrono::seconds(static_cast<std::int64_t>(total));
}

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr std::array units = {"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::uint64_t cache_size_limit() {
  const std::string_view text = variable("TESSERA_CACHE_SIZE");
  if (text.empty()) return default_size_limit;
  if (const std::optional<std::uint64_t> bytes = parse_size(text)) return *bytes;
  warn_once(fmt::format("TESSERA_CACHE_SIZE is '{}'; it can be {}; the limit is {}", text, size_forms,
                        size_text(default_size_limit)));
  return default_size_limit;
}

std::chrono::milliseconds lock_patience() {
  std::string_view text = variable("TESSERA_CACHE_WAIT");
  if (text.empty()) return default_patience;
  const std::string_view whole = text;
  const std::optional<double> seconds = take_number(&text);
  if (seconds && text.empty() && *seconds <= 86400) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(*seconds * 1000));
  }
  warn_once(fmt::format("TESSERA_CACHE_WAIT is '{}'; it can be a number of seconds from 0 to 86400; it is {}", whole,
                        default_patience.count()));
  return default_patience;
}

}  // namespace tessera::runtime
