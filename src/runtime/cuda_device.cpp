// A GPU as a device: a thin layer over the driver functions of src/jit.
#include <fmt/format.h>

#include <map>
#include <mutex>

#include "cuda/printer.hpp"
#include "jit/compiler.hpp"
#include "jit/launch_timer.hpp"
#include "jit/streams.hpp"
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
    module_.launch(grid, threads_, const_cast<void**>(plan.params.data()), stream, plan.origin);
  }
  bool blocking() const override { return false; }
  std::span<const char> image() const override { return cubin_; }

 private:
  jit::Module module_;
  std::vector<char> cubin_;
  unsigned threads_;
};

class CudaTimer final : public runtime::Timer {
 public:
  explicit CudaTimer(int device) : timer_(device) {}
  double milliseconds(const runtime::Executable& executable, const runtime::LaunchPlan& plan) override {
    return timer_.milliseconds([&] { executable.launch(plan, nullptr); });
  }
  double milliseconds_of(const std::function<void()>& launch) override { return timer_.milliseconds(launch); }

 private:
  jit::LaunchTimer timer_;
};

// An event, and how far the stream was on which it was recorded. May be recorded and waited for by several threads.
class CudaEvent {
 public:
  explicit CudaEvent(int device) : device_(device), handle_(jit::create_event(device)) {}
  ~CudaEvent() {
    try {
      jit::destroy_event(device_, handle_);
    } catch (const Error&) {  // as for memory
    }
  }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  void* handle() const { return handle_; }

  void record(void* stream) {
    const std::lock_guard lock(mutex_);
    // In a capture it becomes part of a graph, and tells nothing of the stream.
    const bool captured = jit::is_capturing(device_, stream);
    recorded_ = {recorded_.number + 1, captured ? jit::LaunchLog::Place{} : jit::launch_log(device_).place(stream)};
    jit::record_event(device_, handle_, stream);
  }
  struct Recorded {
    std::uint64_t number = 0;
    jit::LaunchLog::Place place;
  };
  Recorded recorded() const {
    const std::lock_guard lock(mutex_);
    return recorded_;
  }
  // After a wait for it that began when it was recorded in this way. Which recording the wait was about is not known if
  // there has been another one since.
  void reached(const Recorded& before) const {
    if (recorded().number == before.number) jit::launch_log(device_).clear(before.place);
  }

 private:
  int device_;
  void* handle_;
  mutable std::mutex mutex_;
  Recorded recorded_;
};

class CudaStreams final : public runtime::StreamOps {
 public:
  explicit CudaStreams(int device) : device_(device) {}
  bool immediate() const override { return false; }

  void* create_stream(bool independent) override { return jit::create_stream(device_, independent); }
  void destroy_stream(void* stream) noexcept override {
    try {
      jit::destroy_stream(device_, stream);
    } catch (const Error&) {  // as for memory
    }
  }
  int device_of(void* stream) const override { return jit::device_of_stream(device_, stream); }
  void synchronize(void* stream) override { jit::synchronize_stream(device_, stream); }
  bool finished(void* stream) override { return jit::stream_finished(device_, stream); }
  bool capturing(void* stream) override { return jit::is_capturing(device_, stream); }

  void* create_event() override { return new CudaEvent(device_); }
  void destroy_event(void* event) noexcept override { delete of(event); }
  void record(void* event, void* stream) override { of(event)->record(stream); }
  void wait(void* stream, void* event) override { jit::wait_event(device_, stream, of(event)->handle()); }
  void synchronize_event(void* event) override {
    const CudaEvent::Recorded before = of(event)->recorded();
    jit::synchronize_event(device_, of(event)->handle());
    of(event)->reached(before);
  }
  bool event_finished(void* event) override {
    const CudaEvent::Recorded before = of(event)->recorded();
    const bool finished = jit::event_finished(device_, of(event)->handle());
    if (finished) of(event)->reached(before);
    return finished;
  }
  double elapsed_ms(void* begin, void* end) override {
    const CudaEvent::Recorded first = of(begin)->recorded(), last = of(end)->recorded();
    const float ms = jit::elapsed_ms(device_, of(begin)->handle(), of(end)->handle());
    of(begin)->reached(first);
    of(end)->reached(last);
    return static_cast<double>(ms);
  }

  void begin_capture(void* stream) override { jit::begin_capture(device_, stream); }
  void* end_capture(void* stream) override { return jit::end_capture(device_, stream); }
  void abandon_capture(void* stream) noexcept override { jit::abandon_capture(device_, stream); }
  void* instantiate(void* graph) override { return jit::instantiate(device_, graph); }
  bool update(void* exec, void* graph) override { return jit::update_graph(device_, exec, graph); }
  void launch(void* exec, void* stream, const jit::LaunchOrigin& origin) override {
    jit::launch_graph(device_, exec, stream, origin);
  }
  void destroy_graph(void* graph) noexcept override { jit::destroy_graph(device_, graph); }
  void destroy_exec(void* exec) noexcept override { jit::destroy_graph_exec(device_, exec); }

 private:
  static CudaEvent* of(void* event) { return static_cast<CudaEvent*>(event); }
  int device_;
};

class CudaDevice final : public DeviceState {
 public:
  CudaDevice(int ordinal, jit::DeviceInfo info) : ordinal_(ordinal), info_(std::move(info)), streams_(ordinal) {}

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
  void rebase(const ir::thread::TensorMap&, const runtime::ResolvedMap&, std::uint64_t base,
              jit::EncodedTensorMap* encoded) const override {
    jit::replace_address(ordinal_, encoded, reinterpret_cast<void*>(static_cast<std::uintptr_t>(base)));
  }
  runtime::StreamOps& streams() override { return streams_; }
  void copy_on(void* stream, void* to, const void* from, std::size_t bytes) override {
    jit::copy_on_device(ordinal_, to, from, bytes, stream);
  }
  void fill_on(void* stream, void* to, unsigned char value, std::size_t bytes) override {
    jit::fill_bytes(ordinal_, to, value, bytes, stream);
  }
  std::unique_ptr<runtime::Executable> load(std::shared_ptr<const ir::thread::Kernel> kernel,
                                            const std::vector<char>& cubin) override {
    return std::make_unique<CudaExecutable>(ordinal_, *kernel, cubin);
  }
  std::unique_ptr<runtime::Timer> make_timer() override { return std::make_unique<CudaTimer>(ordinal_); }
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
  CudaStreams streams_;
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
