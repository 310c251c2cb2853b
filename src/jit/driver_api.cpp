#include "jit/driver_api.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <mutex>

#include "tessera/core/error.hpp"

namespace tessera::jit {
namespace {

constexpr int most_devices = 64;

const char* hint_for(CuResult code) {
  switch (code) {
    case 2: return "the card's memory is full: free buffers or use smaller ones";
    case 200:
    case 209: return "the cubin is for sm_90a and runs on compute capability 9.0 only";
    case 400: return "a stream or event was destroyed, or belongs to another device";
    case 700:
    case 710:
    case 714:
    case 715:
    case 716:
    case 717:
    case 718:
    case 719:
      return "a kernel failed while it ran, and the CUDA context is lost; run the same program on the simulated Hopper "
             "(Device::sim()), which names the line";
    case 900:
    case 905:
    case 906:
    case 907:
    case 908:
      return "the stream is being captured into a graph: allocate, compile, tune and synchronise before the capture, "
             "and launch on the captured stream";
    case 901:
    case 902:
    case 904: return "everything in a capture has to be joined with the captured stream before it ends";
    case 701: return "the launch needs more registers, threads or shared memory than the card has";
    case 912:
      return "the card cannot run so many CTAs of a cluster together: use a smaller cluster or less shared memory";
    case 702: return "the kernel did not end: look for a wait on an mbarrier that nobody completes";
    default: return "";
  }
}

// Whether a kernel has failed while it ran: from then on every call to the context gives this error.
bool is_sticky(CuResult code) {
  switch (code) {
    case 214:  // uncorrectable memory error
    case 700:
    case 702:
    case 710:  // a device assertion
    case 714:
    case 715:
    case 716:
    case 717:
    case 718:
    case 719: return true;
    default: return false;
  }
}

std::string error_text(const DriverApi& api, CuResult code) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.error_name == nullptr || api.error_name(code, &name) != 0) name = "unknown";
  if (api.error_string == nullptr || api.error_string(code, &text) != 0) text = "no description";
  return fmt::format("{} ({}: {})", name, code, text);
}

thread_local int device_of_scope = -1;

}  // namespace

void DriverApi::bind_all() {
  library.bind(init, "cuInit");
  library.bind(driver_version, "cuDriverGetVersion");
  library.bind(device_count, "cuDeviceGetCount");
  library.bind(device_get, "cuDeviceGet");
  library.bind(device_name, "cuDeviceGetName");
  library.bind(device_attribute, "cuDeviceGetAttribute");
  library.bind(device_total_memory, "cuDeviceTotalMem_v2");
  library.bind(primary_retain, "cuDevicePrimaryCtxRetain");
  library.bind(context_get, "cuCtxGetCurrent");
  library.bind(context_set, "cuCtxSetCurrent");
  library.bind(context_push, "cuCtxPushCurrent_v2");
  library.bind(context_pop, "cuCtxPopCurrent_v2");
  library.bind(context_synchronize, "cuCtxSynchronize");
  library.bind(module_load, "cuModuleLoadData");
  library.bind(module_unload, "cuModuleUnload");
  library.bind(module_function, "cuModuleGetFunction");
  library.bind(function_get, "cuFuncGetAttribute");
  library.bind(function_set, "cuFuncSetAttribute");
  library.bind(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  library.bind(launch, "cuLaunchKernel");
  library.bind(launch_with_attributes, "cuLaunchKernelEx");
  library.bind(mem_alloc, "cuMemAlloc_v2");
  library.bind(mem_free, "cuMemFree_v2");
  library.bind(copy_in, "cuMemcpyHtoD_v2");
  library.bind(copy_out, "cuMemcpyDtoH_v2");
  library.bind(copy_across, "cuMemcpyDtoDAsync_v2");
  library.bind(fill8, "cuMemsetD8Async");
  library.bind(stream_create, "cuStreamCreate");
  library.bind(stream_destroy, "cuStreamDestroy_v2");
  library.bind(stream_synchronize, "cuStreamSynchronize");
  library.bind(stream_query, "cuStreamQuery");
  library.bind(stream_wait, "cuStreamWaitEvent");
  library.bind(stream_context, "cuStreamGetCtx");
  library.bind(stream_capturing, "cuStreamIsCapturing");
  library.bind(begin_capture, "cuStreamBeginCapture_v2");
  library.bind(end_capture, "cuStreamEndCapture");
  library.bind(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
  library.bind(graph_instantiate, "cuGraphInstantiateWithFlags");
  library.bind(graph_update, "cuGraphExecUpdate_v2");
  library.bind(graph_launch, "cuGraphLaunch");
  library.bind(graph_destroy, "cuGraphDestroy");
  library.bind(graph_exec_destroy, "cuGraphExecDestroy");
  library.bind(event_query, "cuEventQuery");
  library.bind(event_create, "cuEventCreate");
  library.bind(event_destroy, "cuEventDestroy_v2");
  library.bind(event_record, "cuEventRecord");
  library.bind(event_synchronize, "cuEventSynchronize");
  library.bind(event_elapsed, "cuEventElapsedTime");
  library.bind(pointer_attribute, "cuPointerGetAttribute");
  library.bind(encode_tiled, "cuTensorMapEncodeTiled");
  library.bind(replace_address, "cuTensorMapReplaceAddress");
  library.bind(error_name, "cuGetErrorName");
  library.bind(error_string, "cuGetErrorString");
}

DriverApi::DriverApi() {
  if (!library.loaded()) {
    unavailable = fmt::format("the NVIDIA driver was not found: looked for {}", library.looked_for());
    return;
  }
  bind_all();
  if (!library.missing().empty()) {
    unavailable = fmt::format("the NVIDIA driver found is too old, it has no {}: looked for {}", library.missing(),
                              library.looked_for());
    return;
  }
  const CuResult code = init(0);
  if (code != 0) {
    unavailable = fmt::format("the NVIDIA driver is there, but cuInit says {}", error_text(*this, code));
  } else if (device_count(&devices) != 0) {
    devices = 0;
  }
}

const DriverApi& driver_api() {
  static const DriverApi instance;
  return instance;
}

const DriverApi& require_device(int ordinal) {
  const DriverApi& api = driver_api();
  if (!api.unavailable.empty()) {
    throw Error(
        ErrorKind::unsupported, {}, api.unavailable,
        "install the driver of a Hopper GPU (525 or newer), set TESSERA_LIBCUDA to the path of libcuda.so.1, or run "
        "on the simulated Hopper");
  }
  if (ordinal < 0 || ordinal >= api.devices) {
    throw Error(ErrorKind::unsupported, {},
                fmt::format("there is no CUDA device {}: the driver reports {}", ordinal, api.devices),
                "check nvidia-smi and CUDA_VISIBLE_DEVICES, or run on the simulated Hopper");
  }
  return api;
}

namespace {
[[noreturn]] void throw_at(SourceLoc loc, CuResult code, const std::string& where) {
  Diagnostic diagnostic;
  diagnostic.loc = loc;
  diagnostic.message = fmt::format("{} failed: {}", where, error_text(driver_api(), code));
  diagnostic.help = hint_for(code);
  if (device_of_scope >= 0) launch_log(device_of_scope).explain(is_sticky(code), &diagnostic);
  throw Error(ErrorKind::device, {std::move(diagnostic)});
}
}  // namespace

void throw_cuda(CuResult code, const char* call, const std::string& kernel) {
  throw_at({}, code, kernel.empty() ? std::string(call) : fmt::format("{} of kernel '{}'", call, kernel));
}

void throw_launch(CuResult code, const char* call, const LaunchOrigin& origin) {
  throw_at(origin.call, code, fmt::format("{} of kernel '{}'", call, origin.kernel));
}

void wait_for_launch(CuHandle stream, const LaunchOrigin& origin) {
  int capturing = 0;
  if (driver_api().stream_capturing(stream, &capturing) != 0 || capturing != 0) return;
  LaunchLog& log = launch_log(device_of_scope);
  const LaunchLog::Place place = log.place(stream);
  const CuResult code = driver_api().stream_synchronize(stream);
  if (code == 0) return log.clear(place);
  if (is_sticky(code)) log.blame(origin);
  throw_launch(code, "the run", origin);
}

// One primary context a device, retained on first use and kept until the process ends.
CuHandle primary_context(int ordinal) {
  static std::array<std::atomic<CuHandle>, most_devices> contexts{};
  static std::mutex guard;
  const DriverApi& api = driver_api();
  if (ordinal < 0 || ordinal >= api.devices || ordinal >= most_devices) require_device(ordinal);
  std::atomic<CuHandle>& slot = contexts[static_cast<std::size_t>(ordinal)];
  if (CuHandle context = slot.load(std::memory_order_acquire)) return context;
  const std::lock_guard lock(guard);
  if (CuHandle context = slot.load(std::memory_order_acquire)) return context;
  CuDevice device = 0;
  CuHandle context = nullptr;
  check_cuda(api.device_get(&device, ordinal), "cuDeviceGet");
  check_cuda(api.primary_retain(&context, device), "cuDevicePrimaryCtxRetain");
  slot.store(context, std::memory_order_release);
  return context;
}

int scope_device() { return device_of_scope; }

ContextScope::ContextScope(int ordinal) : outer_(device_of_scope) {
  const CuHandle wanted = primary_context(ordinal);
  const DriverApi& api = driver_api();
  CuHandle current = nullptr;
  check_cuda(api.context_get(&current), "cuCtxGetCurrent");
  if (current == nullptr) {
    check_cuda(api.context_set(wanted), "cuCtxSetCurrent");
  } else if (current != wanted) {
    check_cuda(api.context_push(wanted), "cuCtxPushCurrent");
    pushed_ = true;
  }
  device_of_scope = ordinal;
}

ContextScope::~ContextScope() {
  device_of_scope = outer_;
  CuHandle ours = nullptr;
  if (pushed_) static_cast<void>(driver_api().context_pop(&ours));
}

}  // namespace tessera::jit
