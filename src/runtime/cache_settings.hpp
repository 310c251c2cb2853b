// What the environment says about the cache's size and patience.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::runtime {

constexpr std::uint64_t no_size_limit = ~std::uint64_t{0};
constexpr std::uint64_t default_size_limit = std::uint64_t{2} << 30;
constexpr std::chrono::seconds default_patience{60};
// For messages: what parse_size and parse_age take.
constexpr const char* size_forms =
    "bytes, or a number with K, M, G or T behind it (powers of 1024: 500M, 2G), or unlimited";
constexpr const char* age_forms = "a number with m, h, d or w behind it (minutes, hours, days, weeks: 12h, 30d)";

// "500M", "1.5G", "2GB", "2GiB", "1048576", "unlimited"; null for anything else, 0 among it.
std::optional<std::uint64_t> parse_size(std::string_view text);
std::optional<std::chrono::seconds> parse_age(std::string_view text);
// "1.5 GiB"
std::string size_text(std::uint64_t bytes);

// TESSERA_CACHE_SIZE and TESSERA_CACHE_WAIT (seconds); a value of no known form is warned of once and not used.
std::uint64_t cache_size_limit();
std::chrono::milliseconds lock_patience();

}  // namespace tessera::runtime
