#include "runtime/local_executor.hpp"

namespace tessera::runtime {

void LocalExecutor::make_copy(std::size_t region, std::size_t bytes, std::uintptr_t original) {
  if (copies_.size() <= region) copies_.resize(region + 1);
  Copy& copy = copies_[region];
  copy.memory = std::make_unique<detail::Memory>(device_.shared_from_this(), bytes + copy_room);
  copy.address = copy_address(copy.memory->data(), original);
  copy.bytes = bytes;
}

void LocalExecutor::restore(bool poison) {
  for (const Copy& copy : copies_) {
    auto* to = reinterpret_cast<void*>(copy.address);
    if (copy.content != 0) {
      device_.copy(to, reinterpret_cast<const void*>(copy.content), copy.bytes);
    } else if (poison && copy.poison) {
      device_.fill(to, *copy.poison, copy.bytes);
    }
  }
}

std::vector<tune::Output> LocalExecutor::run(std::size_t candidate, std::vector<tune::Output> recycled) {
  const Ready one = ready(candidate);
  restore(true);
  one.executable.launch(one.plan, nullptr);
  device_.synchronize();
  return trial::take_outputs(outputs_, std::move(recycled), [this](const trial::OutputPlace& place, std::byte* to) {
    device_.copy_out(to, reinterpret_cast<const void*>(copies_[place.region].address + place.offset), place.bytes);
  });
}

double LocalExecutor::time(std::size_t candidate) {
  const Ready one = ready(candidate);
  restore(false);
  ++timed_;
  return timer_->milliseconds(one.executable, one.plan);
}

}  // namespace tessera::runtime
