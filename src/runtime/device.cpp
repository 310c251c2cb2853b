#include "tessera/runtime/device.hpp"

#include <fmt/format.h>

#include <charconv>

#include "jit/compiler.hpp"
#include "jit/driver.hpp"
#include "runtime/device_state.hpp"
#include "tessera/core/error.hpp"
#include "trial/session.hpp"

namespace tessera {

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

namespace tessera::detail {

std::unique_ptr<trial::Session> DeviceState::start_trial() { return nullptr; }

}  // namespace tessera::detail
