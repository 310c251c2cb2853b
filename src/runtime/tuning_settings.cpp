#include "runtime/tuning_settings.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "tessera/core/error.hpp"

namespace tessera::runtime {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

void check_tuning(const Tuning& tuning, SourceLoc loc) {
  if (!tuning.seconds || (std::isfinite(*tuning.seconds) && *tuning.seconds >= 0)) return;
  throw Error(ErrorKind::user, loc, fmt::format("a tuning budget of {} s", *tuning.seconds),
              "give a number of seconds from 0 on, or leave it out for no limit");
}

Tuning with_environment(Tuning given) {
  if (const std::string_view mode = variable("TESSERA_TUNING"); mode == "now") {
    given.mode = Tuning::now;
  } else if (mode == "background") {
    given.mode = Tuning::background;
  } else if (mode == "never") {
    given.mode = Tuning::never;
  } else if (!mode.empty()) {
    throw Error(ErrorKind::user, {}, fmt::format("TESSERA_TUNING is \"{}\"", mode),
                "set it to now, background or never, or unset it");
  }
  if (const std::string_view text = variable("TESSERA_TUNING_SECONDS"); !text.empty()) {
    double seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(seconds) || seconds < 0) {
      throw Error(ErrorKind::user, {}, fmt::format("TESSERA_TUNING_SECONDS is \"{}\"", text),
                  "set it to a number of seconds from 0 on, such as 5 or 0.5, or unset it");
    }
    given.seconds = seconds;
  }
  return given;
}

}  // namespace tessera::runtime
