// The configurations that a kernel may be built with: Space<Config>{}.choices<&Config::block_m>({64, 128}).where(...).
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/core/source_loc.hpp"

namespace tessera {

namespace detail {

// The name of the field that a pointer to member names, as g++ and clang spell it in __PRETTY_FUNCTION__.
template <auto Member>
consteval std::string_view member_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  std::size_t end = text.find_last_of(']');
  const std::size_t begin = text.find("Member = ");
  const std::size_t cut = text.find(';', begin);
  if (cut != std::string_view::npos && cut < end) end = cut;
  text = text.substr(0, end);
  return text.substr(text.find_last_of(':') + 1);
}

template <class>
struct member_pointer;
template <class C, class F>
struct member_pointer<F C::*> {
  using owner = C;
  using field = F;
};
template <auto Member>
using field_of = typename member_pointer<decltype(Member)>::field;

// The parts of Space that do not depend on the Config: its rules and their messages, and config texts.
class SpaceRules {
 public:
  explicit SpaceRules(SourceLoc loc) : loc_(loc) {}
  // Registers the fields of one `choices`; a user Error if one has choices already or there are no values.
  void add_fields(std::initializer_list<std::string_view> names, std::size_t values, SourceLoc loc);
  [[noreturn]] void duplicate(std::string_view value, SourceLoc loc) const;
  [[noreturn]] void nothing_left(std::size_t before) const;
  [[noreturn]] void bad_value(std::string_view field, std::string_view value, SourceLoc loc) const;
  void filtered(SourceLoc loc) { filter_ = loc; }
  const std::vector<std::string>& names() const { return names_; }
  SourceLoc loc() const { return loc_; }
  // "a=1,b=2" to indices into names() and values; a user Error for other text, unknown or repeated fields.
  std::vector<std::pair<std::size_t, std::string>> split(std::string_view text, SourceLoc loc) const;

 private:
  SourceLoc loc_;
  SourceLoc filter_;
  std::vector<std::string> names_;
  std::vector<SourceLoc> places_;
};

std::string number_text(std::int64_t value);
bool parse_number(std::string_view text, std::int64_t* value);
std::string real_text(double value);
bool parse_real(std::string_view text, double* value);

template <class F>
std::string field_text(const F& value) {
  if constexpr (std::is_floating_point_v<F>) {
    return real_text(value);
  } else {
    return number_text(static_cast<std::int64_t>(value));
  }
}
template <class F>
bool parse_field(std::string_view text, F* value) {
  if constexpr (std::is_floating_point_v<F>) {
    double real = 0;
    if (!parse_real(text, &real)) return false;
    *value = static_cast<F>(real);
    return true;
  } else {
    std::int64_t number = 0;
    if (!parse_number(text, &number)) return false;
    *value = static_cast<F>(number);
    return static_cast<std::int64_t>(*value) == number;
  }
}

}  // namespace detail

// All combinations of the given choices that satisfy the conditions. Fields without choices keep their default. Fields
// are integers, bools, enumerations or floating-point numbers.
template <class Config>
class Space {
 public:
  explicit Space(SourceLoc loc = SourceLoc::here()) : rules_(loc) {}

  // Exactly these configurations, which differ in the named fields:
  //   Space<Config>::of<&Config::block_m, &Config::stages>(configs)
  // A user Error if there are none, or two alike.
  template <auto... Members>
  static Space of(const std::vector<Config>& configs, SourceLoc loc = SourceLoc::here()) {
    Space space(loc);
    space.rules_.add_fields({detail::member_name<Members>()...}, configs.size(), loc);
    (space.template add_field<Members>(), ...);
    std::set<std::string> texts;
    for (const Config& config : configs) {
      const std::string text = space.text(config);
      if (!texts.insert(text).second) space.rules_.duplicate(text, loc);
    }
    space.all_ = configs;
    return space;
  }

  // The values of one field. A user Error for no values, a repeated value, or a field that has choices already.
  template <auto Member>
  Space& choices(std::initializer_list<detail::field_of<Member>> values, SourceLoc loc = SourceLoc::here()) {
    std::vector<std::tuple<detail::field_of<Member>>> tuples;
    for (const auto& value : values) tuples.emplace_back(value);
    return add<Member>(tuples, loc);
  }
  // Values that belong together: choices<&Config::block_m, &Config::block_n>({{64, 128}, {128, 256}}).
  template <auto... Members>
  requires(sizeof...(Members) >
           1) Space& choices(std::initializer_list<std::tuple<detail::field_of<Members>...>> values,
                             SourceLoc loc = SourceLoc::here()) {
    return add<Members...>(std::vector<std::tuple<detail::field_of<Members>...>>(values), loc);
  }
  // Keeps the configurations for which the condition holds.
  Space& where(std::function<bool(const Config&)> condition, SourceLoc loc = SourceLoc::here()) {
    rules_.filtered(loc);
    conditions_.push_back(std::move(condition));
    return *this;
  }

  // In the order of the choices, the last field running fastest. A user Error if no configuration is left.
  std::vector<Config> configs() const {
    std::vector<Config> result;
    for (const Config& config : all_) {
      bool kept = true;
      for (const auto& condition : conditions_) kept = kept && condition(config);
      if (kept) result.push_back(config);
    }
    if (result.empty()) rules_.nothing_left(all_.size());
    return result;
  }
  std::size_t size() const { return configs().size(); }
  const std::vector<std::string>& names() const { return rules_.names(); }

  // "block_m=64,block_n=128,block_k=64": the fields that have choices, in their order.
  std::string text(const Config& config) const {
    std::string result;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      result += (i == 0 ? "" : ",") + rules_.names()[i] + "=" + fields_[i].get(config);
    }
    return result;
  }
  // The inverse of `text`. Fields left out keep their default; the values need not be among the choices. A user Error
  // for text of another form and for unknown fields.
  Config parse(std::string_view text, SourceLoc loc = SourceLoc::here()) const {
    Config config{};
    for (const auto& [index, value] : rules_.split(text, loc)) {
      if (!fields_[index].set(config, value)) rules_.bad_value(rules_.names()[index], value, loc);
    }
    return config;
  }

 private:
  struct Field {
    std::function<std::string(const Config&)> get;
    std::function<bool(Config&, std::string_view)> set;
  };

  template <auto Member>
  void add_field() {
    fields_.push_back({[](const Config& c) { return detail::field_text(c.*Member); },
                       [](Config& c, std::string_view text) { return detail::parse_field(text, &(c.*Member)); }});
  }
  template <auto... Members, class Tuple>
  Space& add(const std::vector<Tuple>& values, SourceLoc loc) {
    static_assert((std::is_same_v<typename detail::member_pointer<decltype(Members)>::owner, Config> && ...),
                  "choices takes pointers to fields of the Space's own Config");
    rules_.add_fields({detail::member_name<Members>()...}, values.size(), loc);
    for (std::size_t i = 0; i < values.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (values[i] == values[j]) rules_.duplicate(tuple_text(values[i]), loc);
      }
    }
    (add_field<Members>(), ...);
    std::vector<Config> next;
    for (const Config& config : all_) {
      for (const Tuple& value : values) {
        Config changed = config;
        std::apply([&](const auto&... v) { ((changed.*Members = v), ...); }, value);
        next.push_back(changed);
      }
    }
    all_ = std::move(next);
    return *this;
  }
  template <class Tuple>
  static std::string tuple_text(const Tuple& value) {
    std::string result;
    std::apply([&](const auto&... v) { ((result += (result.empty() ? "" : ", ") + detail::field_text(v)), ...); },
               value);
    return "{" + result + "}";
  }

  detail::SpaceRules rules_;
  std::vector<Config> all_ = std::vector<Config>(1);
  std::vector<Field> fields_;
  std::vector<std::function<bool(const Config&)>> conditions_;
};

}  // namespace tessera
