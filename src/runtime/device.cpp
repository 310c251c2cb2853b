#include "tessera/runtime/device.hpp"

#include <fmt/format.h>

#include <charconv>

#include "jit/compiler.hpp"
#include "jit/driver.hpp"
#include "runtime/device_state.hpp"
#include "tessera/core/error.hpp"

namespace tessera {

Schedule Schedule::parse(std::string_view text, SourceLoc loc) {
  if (text == "eager") return eager();
  if (text == "lazy") return lazy();
  constexpr std::string_view prefix = "random:";
  if (text.substr(0, prefix.size()) == prefix) {
    const std::string_view digits = text.substr(prefix.size());
    std::uint64_t seed = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
    if (code == std::errc() && end == digits.data() + digits.size()) return random(seed);
  }
  throw Error(ErrorKind::user, loc, fmt::format("\"{}\" is not a schedule of the simulated Hopper", text),
              "use eager, lazy or random:SEED, for example random:1");
}

std::string Schedule::to_string() const {
  switch (kind) {
    case Kind::eager: return "eager";
    case Kind::lazy: return "lazy";
    case Kind::random: return fmt::format("random:{}", seed);
  }
  return "?";
}

Device Device::best() {
  if (jit::driver_available() && jit::available()) {
    const int count = jit::device_count();
    for (int i = 0; i < count; ++i) {
      const jit::DeviceInfo info = jit::device_info(i);
      if (info.compute_major == 9 && info.compute_minor == 0) return cuda(i);
    }
  }
  return sim();
}

Device Device::sim(SimOptions options, SourceLoc loc) {
  return Device(detail::make_sim_device(std::move(options), loc));
}
Device Device::cuda(int ordinal, SourceLoc loc) { return Device(detail::make_cuda_device(ordinal, loc)); }

std::string Device::name() const { return state_->name(); }
bool Device::is_simulated() const { return state_->simulated(); }
int Device::ordinal() const { return state_->ordinal(); }
void Device::synchronize() const { state_->synchronize(); }

}  // namespace tessera
