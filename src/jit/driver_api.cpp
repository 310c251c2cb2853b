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
    case 715:
    case 716:
    case 718:
    case 719:
      return "a kernel failed while it ran, and the CUDA context is lost; run the same program on the simulated Hopper "
             "(Device::simulated), which names the line";
    case 701: return "the launch needs more registers, threads or shared memory than the card has";
    case 912:
      return "the card cannot run so many CTAs of a cluster together: use a smaller cluster or less shared memory";
    case 702: return "the kernel did not end: look for a wait on an mbarrier that nobody completes";
    default: return "";
  }
}

std::string error_text(const DriverApi& api, CuResult code) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.error_name == nullptr || api.error_name(code, &name) != 0) name = "unknown";
  if (api.error_string == nullptr || api.error_string(code, &text) != 0) text = "no description";
  return fmt::format("{} ({}: {})", name, code, text);
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

}  // namespace

const char* DriverApi::bind_all() {
  const char* missing = nullptr;
  const auto bind = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(library.symbol(name));
    if (function == nullptr && missing == nullptr) missing = name;
  };
  bind(init, "cuInit");
  bind(driver_version, "cuDriverGetVersion");
  bind(device_count, "cuDeviceGetCount");
  bind(device_get, "cuDeviceGet");
  bind(device_name, "cuDeviceGetName");
  bind(device_attribute, "cuDeviceGetAttribute");
  bind(device_total_memory, "cuDeviceTotalMem_v2");
  bind(primary_retain, "cuDevicePrimaryCtxRetain");
  bind(context_get, "cuCtxGetCurrent");
  bind(context_set, "cuCtxSetCurrent");
  bind(context_push, "cuCtxPushCurrent_v2");
  bind(context_pop, "cuCtxPopCurrent_v2");
  bind(context_synchronize, "cuCtxSynchronize");
  bind(module_load, "cuModuleLoadData");
  bind(module_unload, "cuModuleUnload");
  bind(module_function, "cuModuleGetFunction");
  bind(function_get, "cuFuncGetAttribute");
  bind(function_set, "cuFuncSetAttribute");
  bind(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  bind(launch, "cuLaunchKernel");
  bind(launch_with_attributes, "cuLaunchKernelEx");
  bind(mem_alloc, "cuMemAlloc_v2");
  bind(mem_free, "cuMemFree_v2");
  bind(copy_in, "cuMemcpyHtoD_v2");
  bind(copy_out, "cuMemcpyDtoH_v2");
  bind(copy_across, "cuMemcpyDtoDAsync_v2");
  bind(fill8, "cuMemsetD8Async");
  bind(stream_create, "cuStreamCreate");
  bind(stream_destroy, "cuStreamDestroy_v2");
  bind(stream_synchronize, "cuStreamSynchronize");
  bind(event_create, "cuEventCreate");
  bind(event_destroy, "cuEventDestroy_v2");
  bind(event_record, "cuEventRecord");
  bind(event_synchronize, "cuEventSynchronize");
  bind(event_elapsed, "cuEventElapsedTime");
  bind(pointer_attribute, "cuPointerGetAttribute");
  bind(encode_tiled, "cuTensorMapEncodeTiled");
  bind(error_name, "cuGetErrorName");
  bind(error_string, "cuGetErrorString");
  return missing;
}

DriverApi::DriverApi() {
  if (!library.loaded()) {
    unavailable = fmt::format("the NVIDIA driver was not found: looked for {}", library.looked_for());
    return;
  }
  const char* missing = bind_all();
  if (missing != nullptr) {
    unavailable =
        fmt::format("the NVIDIA driver found is too old, it has no {}: looked for {}", missing, library.looked_for());
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

void throw_cuda(CuResult code, const char* call, const std::string& kernel) {
  const std::string where = kernel.empty() ? std::string(call) : fmt::format("{} of kernel '{}'", call, kernel);
  throw Error(ErrorKind::device, {}, fmt::format("{} failed: {}", where, error_text(driver_api(), code)),
              hint_for(code));
}

ContextScope::ContextScope(int ordinal) {
  const CuHandle wanted = primary_context(ordinal);
  const DriverApi& api = driver_api();
  CuHandle current = nullptr;
  check_cuda(api.context_get(&current), "cuCtxGetCurrent");
  if (current == wanted) return;
  if (current == nullptr) {
    check_cuda(api.context_set(wanted), "cuCtxSetCurrent");
    return;
  }
  check_cuda(api.context_push(wanted), "cuCtxPushCurrent");
  pushed_ = true;
}

ContextScope::~ContextScope() {
  CuHandle ours = nullptr;
  if (pushed_) static_cast<void>(driver_api().context_pop(&ours));
}

}  // namespace tessera::jit
