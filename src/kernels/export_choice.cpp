#include "kernels/export_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "export/records.hpp"
#include "kernels/options.hpp"
#include "runtime/device_state.hpp"
#include "runtime/launchable.hpp"
#include "support/config_text.hpp"
#include "tessera/core/error.hpp"

namespace tessera::kernels {

namespace {

// What of an option is left by the pins.
struct Allowed {
  const Option* option;
  std::vector<std::size_t> configs;
};

// "a=1,b=2" to its fields and values, as far as it is of that form.
Pins fields_of(std::string_view config) {
  Pins result;
  for (const ConfigItem& item : config_items(config)) result.emplace_back(item.field, item.value);
  return result;
}

Pins fields_of(const Option& option, const std::string& config) {
  Pins fields = {{"kernel", option.script}, {"splits", std::to_string(option.splits)}};
  for (auto& field : fields_of(config)) fields.push_back(std::move(field));
  return fields;
}

// Of each kernel its fields and their values, as a text: what may be pinned.
std::string what_there_is(const std::vector<Option>& options) {
  std::map<std::string, std::vector<std::pair<std::string, std::set<std::int64_t>>>> kernels;
  for (const Option& option : options) {
    auto& fields = kernels[option.script];
    for (const std::string& config : option.configs()) {
      for (const auto& [field, value] : fields_of(option, config)) {
        if (field == "kernel") continue;
        const auto found =
            std::find_if(fields.begin(), fields.end(), [&f = field](const auto& x) { return x.first == f; });
        auto& values =
            found != fields.end() ? found->second : fields.emplace_back(field, std::set<std::int64_t>()).second;
        values.insert(std::stoll(value));
      }
    }
  }
  std::vector<std::string> texts;
  for (const auto& [kernel, fields] : kernels) {
    std::vector<std::string> values;
    for (const auto& [field, all] : fields) values.push_back(fmt::format("{} {}", field, fmt::join(all, ", ")));
    texts.push_back(fmt::format("kernel={} ({})", kernel, fmt::join(values, "; ")));
  }
  return fmt::format("for these sizes there are {}; not in all combinations", fmt::join(texts, ", "));
}

std::vector<Allowed> allowed_by(const Pins& pins, const std::vector<Option>& options) {
  std::vector<Allowed> result;
  for (const Option& option : options) {
    const std::vector<std::string> configs = option.configs();
    Allowed allowed{&option, {}};
    for (std::size_t i = 0; i < configs.size(); ++i) {
      const Pins fields = fields_of(option, configs[i]);
      const bool has_all = std::all_of(pins.begin(), pins.end(), [&](const auto& pin) {
        return std::find(fields.begin(), fields.end(), pin) != fields.end();
      });
      if (has_all) allowed.configs.push_back(i);
    }
    if (!allowed.configs.empty()) result.push_back(std::move(allowed));
  }
  return result;
}

std::string text_of(const Pins& pins) {
  std::vector<std::string> texts;
  for (const auto& [field, value] : pins) texts.push_back(fmt::format("{}={}", field, value));
  return fmt::format("{}", fmt::join(texts, ","));
}

void require_known_fields(const Pins& pins, const std::vector<Option>& options, SourceLoc loc) {
  std::vector<std::string> known;
  for (const Option& option : options) {
    for (const auto& [field, value] : fields_of(option, option.configs().front())) {
      if (std::find(known.begin(), known.end(), field) == known.end()) known.push_back(field);
    }
  }
  for (const auto& [field, value] : pins) {
    if (std::find(known.begin(), known.end(), field) != known.end()) continue;
    throw Error(ErrorKind::user, loc, fmt::format("matmul: no kernel has a field \"{}\"", field),
                fmt::format("the fields are {}", fmt::join(known, ", ")));
  }
}

ExportChoice made(const Allowed& allowed, std::size_t config, std::string how, bool measured) {
  ExportChoice result;
  result.executor = allowed.option->make({config});
  result.choice = allowed.option->choice;
  result.choice.config = allowed.option->configs().at(config);
  result.how = std::move(how);
  result.measured = measured;
  return result;
}

// The fastest by the model.
ExportChoice by_model(const std::vector<Allowed>& all, std::string how) {
  const Allowed* best = nullptr;
  double least = 0;
  for (const Allowed& allowed : all) {
    const Option& option = *allowed.option;
    const double beside = option.choice.estimate_us - option.us.front();
    const double us = option.us[allowed.configs.front()] + beside;
    if (best != nullptr && us >= least) continue;
    best = &allowed;
    least = us;
  }
  ExportChoice result = made(*best, best->configs.front(), std::move(how), false);
  result.choice.estimate_us = least;
  return result;
}

// A record's winner, as one of an option's configurations.
struct Recorded {
  const Allowed* allowed;
  std::size_t config;
  double us;  // with what belongs to it
};

// By devices, each of which has one clock.
std::map<std::string, std::vector<Recorded>> recorded(const Call& call, const std::vector<Allowed>& all,
                                                      const std::string& path) {
  std::map<std::string, std::vector<Recorded>> result;
  for (const Allowed& allowed : all) {
    const std::vector<std::string> configs = allowed.option->configs();
    std::vector<std::size_t> every(configs.size());
    for (std::size_t i = 0; i < every.size(); ++i) every[i] = i;
    const auto executor = allowed.option->make(every);
    for (const Executor::Step& step : executor->steps(call)) {
      const detail::Program& program = *step.kernel->launchable({}, nullptr).program;
      if (program.name != allowed.option->script) continue;
      for (const exporter::Record& record : exporter::find_records(path, program, step.arguments)) {
        const auto config =
            static_cast<std::size_t>(std::find(configs.begin(), configs.end(), record.config) - configs.begin());
        const bool pinned = std::find(allowed.configs.begin(), allowed.configs.end(), config) != allowed.configs.end();
        if (record.us <= 0 || !pinned) continue;
        result[record.device].push_back({&allowed, config, record.us + executor->extra_us()});
      }
    }
  }
  return result;
}

// The device that knows most kernels decides.
std::optional<ExportChoice> by_records(const Call& call, const std::vector<Allowed>& all, const std::string& path) {
  const auto devices = recorded(call, all, path);
  const auto most = std::max_element(devices.begin(), devices.end(),
                                     [](const auto& x, const auto& y) { return x.second.size() < y.second.size(); });
  if (most == devices.end()) return std::nullopt;
  const auto& [device, list] = *most;
  const auto best =
      std::min_element(list.begin(), list.end(), [](const Recorded& x, const Recorded& y) { return x.us < y.us; });
  std::string how = list.size() == 1
                        ? fmt::format("by the tuning record of {}", device)
                        : fmt::format("by the tuning records of {}, the fastest of {}", device, list.size());
  ExportChoice result = made(*best->allowed, best->config, std::move(how), true);
  result.choice.measured_us = best->us;
  return result;
}

}  // namespace

Pins parse_pins(std::string_view text, SourceLoc loc) {
  Pins result;
  for (auto& [field, value] : fields_of(text)) {
    if (field.empty() || value.empty()) {
      throw Error(ErrorKind::user, loc, fmt::format("matmul: \"{}\" is not of the form field=value,field=value", text),
                  "for example kernel=PersistentMatmul, or kernel=SplitMatmul,splits=4,block_m=16");
    }
    const bool known = std::any_of(result.begin(), result.end(), [&f = field](const auto& x) { return x.first == f; });
    if (known)
      throw Error(ErrorKind::user, loc, fmt::format("matmul: the field {} is given twice", field),
                  "give each field once");
    result.emplace_back(std::move(field), std::move(value));
  }
  return result;
}

ExportChoice choose_for_export(const Call& call, const Wanted& wanted) {
  const int sms = call.device.state()->multiprocessors();
  const auto options_of = [&](Consider consider) {
    std::vector<Option> options = options_for(call.problem, sms, consider);
    if (!wanted.several) std::erase_if(options, [](const Option& option) { return option.packs || option.splits > 1; });
    return options;
  };
  if (wanted.pins.empty() && wanted.tuning.empty()) {
    const std::vector<Option> options = options_of(Consider::what_may_win);
    return by_model(allowed_by({}, options), "by the model of matmul()");
  }
  const std::vector<Option> options = options_of(Consider::everything);
  require_known_fields(wanted.pins, options, call.loc);
  const std::vector<Allowed> allowed = allowed_by(wanted.pins, options);
  if (allowed.empty()) {
    const Problem& p = call.problem;
    throw Error(ErrorKind::user, call.loc,
                fmt::format("matmul of {} x {} x {}: no {} has {}", p.m, p.n, p.k,
                            wanted.several ? "kernel" : "single kernel, which a matrix of one column gets,",
                            text_of(wanted.pins)),
                what_there_is(options));
  }
  if (!wanted.tuning.empty()) {
    if (auto result = by_records(call, allowed, wanted.tuning)) return std::move(*result);
  }
  if (!wanted.pins.empty()) return by_model(allowed, "pinned: " + text_of(wanted.pins));
  const std::vector<Option> likely = options_of(Consider::what_may_win);
  return by_model(allowed_by({}, likely), "by the model of matmul(), for there is no tuning record");
}

}  // namespace tessera::kernels
