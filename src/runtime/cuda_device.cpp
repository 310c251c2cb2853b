// A GPU as a device: a thin layer over the driver functions of src/jit.
#include <fmt/format.h>

#include <map>
#include <mutex>

#include "cuda/printer.hpp"
#include "jit/compiler.hpp"
#include "runtime/cache.hpp"
#include "runtime/device_state.hpp"
#include "tessera/core/error.hpp"
#include "trial/session.hpp"

namespace tessera::detail {
namespace {

class CudaExecutable final : public runtime::Executable {
 public:
  CudaExecutable(int device, const ir::thread::Kernel& kernel, const std::vector<char>& cubin)
      : module_(device, cubin, cuda::function_name(kernel), kernel.shared_bytes,
                {kernel.cluster, kernel.dependent_launch}),
        cubin_(cubin),
        threads_(static_cast<unsigned>(kernel.warps) * 32) {}

  void launch(const runtime::LaunchPlan& plan, void* stream) const override {
    const unsigned grid[3] = {static_cast<unsigned>(plan.grid[0]), static_cast<unsigned>(plan.grid[1]),
                              static_cast<unsigned>(plan.grid[2])};
    module_.launch(grid, threads_, const_cast<void**>(plan.params.data()), stream);
  }
  bool blocking() const override { return false; }
  std::span<const char> image() const override { return cubin_; }

 private:
  jit::Module module_;
  std::vector<char> cubin_;
  unsigned threads_;
};

// Device memory and events of one timer; frees them without throwing.
class CudaTimer final : public runtime::Timer {
 public:
  CudaTimer(int device, std::size_t l2_bytes) : device_(device), flush_bytes_(2 * l2_bytes) {
    flush_ = jit::device_alloc(device_, flush_bytes_);
    begin_ = jit::create_event(device_);
    end_ = jit::create_event(device_);
  }
  ~CudaTimer() override {
    try {
      if (begin_ != nullptr) jit::destroy_event(device_, begin_);
      if (end_ != nullptr) jit::destroy_event(device_, end_);
      jit::device_free(device_, flush_);
    } catch (const Error&) {  // the device has failed; its error is already on its way to the user
    }
  }
  double milliseconds(const runtime::Executable& executable, const runtime::LaunchPlan& plan) override {
    jit::fill_bytes(device_, flush_, 0, flush_bytes_, nullptr);
    jit::record_event(device_, begin_, nullptr);
    executable.launch(plan, nullptr);
    jit::record_event(device_, end_, nullptr);
    return jit::elapsed_ms(device_, begin_, end_);
  }

 private:
  int device_;
  std::size_t flush_bytes_;
  void* flush_ = nullptr;
  void* begin_ = nullptr;
  void* end_ = nullptr;
};

class CudaDevice final : public DeviceState {
 public:
  CudaDevice(int ordinal, jit::DeviceInfo info) : ordinal_(ordinal), info_(std::move(info)) {}

  std::string name() const override { return info_.name; }
  bool simulated() const override { return false; }
  int ordinal() const override { return ordinal_; }
  std::string driver() const override {
    return info_.driver_text.empty() ? fmt::format("CUDA {}", info_.driver_version) : info_.driver_text;
  }
  int multiprocessors() const override { return info_.multiprocessors; }
  bool needs_cubin() const override { return true; }
  bool host_memory() const override { return false; }

  void* allocate(std::size_t bytes) override { return jit::device_alloc(ordinal_, bytes); }
  void release(void* pointer) noexcept override {
    try {
      jit::device_free(ordinal_, pointer);
    } catch (const Error&) {  // only after the device has failed or the process is ending
    }
  }
  void copy_in(void* to, const void* from, std::size_t bytes) override {
    jit::copy_to_device(ordinal_, to, from, bytes);
  }
  void copy_out(void* to, const void* from, std::size_t bytes) override {
    jit::synchronize(ordinal_);
    jit::copy_to_host(ordinal_, to, from, bytes);
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    jit::copy_on_device(ordinal_, to, from, bytes, nullptr);
  }
  void copy_on(void* stream, void* to, const void* from, std::size_t bytes) override {
    jit::copy_on_device(ordinal_, to, from, bytes, stream);
  }
  void fill(void* to, unsigned char value, std::size_t bytes) override {
    jit::fill_bytes(ordinal_, to, value, bytes, nullptr);
  }
  void synchronize() override { jit::synchronize(ordinal_); }
  bool usable(const void* pointer, std::string* what) const override {
    return jit::is_device_pointer(ordinal_, pointer, what);
  }

  std::size_t bytes_from(const void* pointer) const override {
    const std::size_t bytes = jit::allocation_bytes_from(ordinal_, pointer);
    return bytes != 0 ? bytes : DeviceState::bytes_from(pointer);
  }

  void encode(const ir::thread::TensorMap& map, const runtime::ResolvedMap& resolved,
              jit::EncodedTensorMap* out) const override {
    *out = jit::encode_tensor_map(ordinal_, map, reinterpret_cast<void*>(static_cast<std::uintptr_t>(resolved.base)),
                                  resolved.dims, resolved.strides);
  }
  std::unique_ptr<runtime::Executable> load(std::shared_ptr<const ir::thread::Kernel> kernel,
                                            const std::vector<char>& cubin) override {
    return std::make_unique<CudaExecutable>(ordinal_, *kernel, cubin);
  }
  std::unique_ptr<runtime::Timer> make_timer() override {
    return std::make_unique<CudaTimer>(ordinal_, info_.l2_bytes);
  }
  std::unique_ptr<trial::Session> start_trial() override {
    if (!trial::wanted_by_environment()) return trial::Session::switched_off("TESSERA_TRIAL=0");
    trial::Settings settings;
    settings.limit = trial::limit_by_environment(settings.limit);
    const std::filesystem::path root = runtime::Cache::default_root();
    if (!root.empty()) settings.folder = root / "programs";
    settings.ordinal = ordinal_;
    settings.bus = jit::device_bus(ordinal_);
    return std::make_unique<trial::Session>(settings);
  }

 private:
  int ordinal_;
  jit::DeviceInfo info_;
};

jit::DeviceInfo checked_device(int ordinal, SourceLoc loc) {
  std::string reason;
  const std::string sim_help = "use Device::best() or Device::sim() to run on the simulated Hopper instead";
  if (!jit::driver_available(&reason)) {
    throw Error(ErrorKind::unsupported, loc, fmt::format("Device::cuda({}): no CUDA driver: {}", ordinal, reason),
                "install the NVIDIA driver, or " + sim_help);
  }
  const int count = jit::device_count();
  if (ordinal < 0 || ordinal >= count) {
    throw Error(ErrorKind::unsupported, loc,
                fmt::format("Device::cuda({}): the driver shows {} GPU{}, numbered from 0", ordinal, count,
                            count == 1 ? "" : "s"),
                count == 0 ? sim_help : fmt::format("give a number from 0 to {}", count - 1));
  }
  jit::DeviceInfo info = jit::device_info(ordinal);
  if (info.compute_major != 9 || info.compute_minor != 0) {
    throw Error(ErrorKind::unsupported, loc,
                fmt::format("Device::cuda({}): {} has compute capability {}.{}; Tessera emits sm_90a code, which runs "
                            "on 9.0 (H100, H200, GH200) only",
                            ordinal, info.name, info.compute_major, info.compute_minor),
                sim_help);
  }
  if (!jit::available(&reason)) {
    throw Error(ErrorKind::unsupported, loc, fmt::format("Device::cuda({}): no NVRTC: {}", ordinal, reason),
                "install the CUDA toolkit's libnvrtc or name it in TESSERA_NVRTC, or " + sim_help);
  }
  return info;
}

}  // namespace

// One state a GPU, so that two handles of the same GPU are equal. Holds nothing alive.
std::shared_ptr<DeviceState> make_cuda_device(int ordinal, SourceLoc loc) {
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<DeviceState>> states;
  const std::lock_guard lock(mutex);
  if (std::shared_ptr<DeviceState> state = states[ordinal].lock()) return state;
  std::shared_ptr<DeviceState> state = std::make_shared<CudaDevice>(ordinal, checked_device(ordinal, loc));
  states[ordinal] = state;
  return state;
}

}  // namespace tessera::detail
