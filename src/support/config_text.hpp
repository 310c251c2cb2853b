// Configurations as texts, "block_m=128, stages=4".
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace tessera {

inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

struct ConfigItem {
  std::string_view text, field, value;  // without spaces around them; the field is all of it where there is no '='
  bool has_value = false;
};
inline std::vector<ConfigItem> config_items(std::string_view text) {
  std::vector<ConfigItem> items;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = trimmed(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t equals = std::min(item.find('='), item.size());
    const bool has_value = equals < item.size();
    items.push_back({item, trimmed(item.substr(0, equals)),
                     has_value ? trimmed(item.substr(equals + 1)) : std::string_view(), has_value});
  }
  return items;
}

}  // namespace tessera
