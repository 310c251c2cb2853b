#include "tessera/core/schedule.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "tessera/core/error.hpp"

namespace tessera {

namespace {

template <class T>
std::optional<T> number(std::string_view text) {
  T value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "12.1,40.2"
std::optional<std::vector<Schedule::Choice>> parse_choices(std::string_view text) {
  std::vector<Schedule::Choice> result;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view one = text.substr(0, comma);
    const std::size_t dot = std::min(one.find('.'), one.size());
    const auto step = number<std::uint32_t>(one.substr(0, dot));
    const auto choice = number<std::uint32_t>(one.substr(std::min(dot + 1, one.size())));
    if (!step || !choice || (!result.empty() && result.back().step >= *step)) return std::nullopt;
    if (comma + 1 == text.size()) return std::nullopt;  // nothing follows
    result.push_back({*step, *choice});
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return result;
}

}  // namespace

Schedule Schedule::parse(std::string_view text, SourceLoc loc) {
  if (text == "eager") return eager();
  if (text == "lazy") return lazy();
  constexpr std::string_view random_prefix = "random:", order_prefix = "order:";
  if (text.starts_with(random_prefix)) {
    if (const auto seed = number<std::uint64_t>(text.substr(random_prefix.size()))) return random(*seed);
  }
  if (text.starts_with(order_prefix)) {
    if (const auto list = parse_choices(text.substr(order_prefix.size()))) return {Kind::order, 0, *list};
  }
  throw Error(ErrorKind::user, loc, fmt::format("\"{}\" is not a schedule of the simulated Hopper", text),
              "use eager, lazy, random:SEED with a number of up to 64 bits, for example random:1, or an order that a "
              "report named, for example order:12.1");
}

std::string Schedule::to_string() const {
  switch (kind) {
    case Kind::eager: return "eager";
    case Kind::lazy: return "lazy";
    case Kind::random: return fmt::format("random:{}", seed);
    case Kind::order: break;
  }
  std::string text = "order:";
  for (const Choice& c : choices) text += fmt::format("{}{}.{}", text.back() == ':' ? "" : ",", c.step, c.choice);
  return text;
}

}  // namespace tessera
