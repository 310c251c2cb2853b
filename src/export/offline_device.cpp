#include "export/offline_device.hpp"

#include "tessera/core/error.hpp"

namespace tessera::exporter {

namespace {

constexpr int multiprocessors_of_h200 = 132;
constexpr std::size_t alignment = 256;

class NoExecutable final : public runtime::Executable {
 public:
  void launch(const runtime::LaunchPlan&, void*) const override {
    throw Error(ErrorKind::internal, {}, "a kernel that is exported was launched");
  }
  bool blocking() const override { return false; }
};

}  // namespace

int OfflineDevice::multiprocessors() const { return multiprocessors_of_h200; }

void OfflineDevice::no_memory() {
  throw Error(ErrorKind::internal, {}, "memory of a device that is only compiled for was used");
}

void* OfflineDevice::allocate(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::uintptr_t address = next_;
  next_ += (bytes + alignment - 1) / alignment * alignment + alignment;
  return reinterpret_cast<void*>(address);
}

std::unique_ptr<runtime::Executable> OfflineDevice::load(std::shared_ptr<const ir::thread::Kernel> kernel,
                                                         const std::vector<char>& cubin) {
  const std::lock_guard lock(mutex_);
  const ir::thread::Kernel* key = kernel.get();
  loaded_[key] = {std::move(kernel), cubin};
  return std::make_unique<NoExecutable>();
}

const std::vector<char>& OfflineDevice::cubin_of(const ir::thread::Kernel* kernel) const {
  const std::lock_guard lock(mutex_);
  const auto found = loaded_.find(kernel);
  if (found == loaded_.end() || found->second.cubin.empty())
    throw Error(ErrorKind::internal, {}, "there is no cubin of a kernel that was compiled");
  return found->second.cubin;
}

}  // namespace tessera::exporter
