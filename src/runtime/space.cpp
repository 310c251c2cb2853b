#include "tessera/runtime/space.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "support/config_text.hpp"
#include "tessera/core/error.hpp"

namespace tessera::detail {

void SpaceRules::add_fields(std::initializer_list<std::string_view> names, std::size_t values, SourceLoc loc) {
  if (values == 0) {
    throw Error(ErrorKind::user, loc, fmt::format("choices of {} without a value", fmt::join(names, ", ")),
                "give at least one value, or leave the field at its default by leaving out the choices");
  }
  for (const std::string_view name : names) {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found != names_.end()) {
      throw Error(ErrorKind::user, loc, fmt::format("the field {} has choices already", name),
                  "put all values of a field into one choices",
                  {{places_[static_cast<std::size_t>(found - names_.begin())], "they were given here"}});
    }
    names_.emplace_back(name);
    places_.push_back(loc);
  }
}

void SpaceRules::duplicate(std::string_view value, SourceLoc loc) const {
  throw Error(ErrorKind::user, loc, fmt::format("the value {} is listed twice", value), "list each value once");
}

void SpaceRules::nothing_left(std::size_t before) const {
  std::vector<Note> notes;
  if (filter_.known()) notes.push_back({filter_, "the last condition is here"});
  throw Error(ErrorKind::user, loc_, fmt::format("the space is empty: none of its {} configurations is left", before),
              "loosen the where conditions, or add choices", notes);
}

void SpaceRules::bad_value(std::string_view field, std::string_view value, SourceLoc loc) const {
  throw Error(ErrorKind::user, loc, fmt::format("\"{}\" is not a value of the field {}", value, field),
              "give a number that the field's type can hold");
}

std::vector<std::pair<std::size_t, std::string>> SpaceRules::split(std::string_view text, SourceLoc loc) const {
  std::vector<std::pair<std::size_t, std::string>> result;
  const std::string known = fmt::format("the fields are {}", fmt::join(names_, ", "));
  for (const ConfigItem& item : config_items(trimmed(text))) {
    if (!item.has_value) {
      throw Error(ErrorKind::user, loc, fmt::format("\"{}\" is not of the form field=value", item.text), known);
    }
    const std::string_view name = item.field;
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) {
      throw Error(ErrorKind::user, loc, fmt::format("the configuration has no field \"{}\" with choices", name), known);
    }
    const auto index = static_cast<std::size_t>(found - names_.begin());
    for (const auto& [earlier, value] : result) {
      if (earlier == index) {
        throw Error(ErrorKind::user, loc, fmt::format("the field {} is given twice", name), "give each field once");
      }
    }
    result.emplace_back(index, item.value);
  }
  return result;
}

std::string number_text(std::int64_t value) { return fmt::format("{}", value); }
std::string real_text(double value) { return fmt::format("{}", value); }

bool parse_number(std::string_view text, std::int64_t* value) {
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, *value);
  return code == std::errc() && stop == end;
}

bool parse_real(std::string_view text, double* value) {
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, *value);
  return code == std::errc() && stop == end;
}

}  // namespace tessera::detail
