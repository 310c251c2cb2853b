#include "jit/driver.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "jit/driver_api.hpp"
#include "jit/streams.hpp"
#include "tessera/core/error.hpp"

namespace tessera::jit {
namespace {

// CUdevice_attribute, CUpointer_attribute and CUmemorytype, as far as they are used here.
constexpr int attribute_multiprocessors = 16, attribute_l2_bytes = 38, attribute_major = 75, attribute_minor = 76,
              attribute_bus = 33, attribute_device = 34, attribute_domain = 50;
constexpr int pointer_memory_type = 2, pointer_is_managed = 8, pointer_ordinal = 9, pointer_range_start = 11,
              pointer_range_size = 12;
constexpr unsigned memory_host = 1, memory_device = 2;

CuPointer address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

}  // namespace

bool driver_available(std::string* reason) {
  const DriverApi& api = driver_api();
  if (!api.unavailable.empty() && reason != nullptr) *reason = api.unavailable;
  return api.unavailable.empty();
}

int device_count() { return driver_api().devices; }

DeviceInfo device_info(int ordinal) {
  const DriverApi& api = require_device(ordinal);
  DeviceInfo info;
  CuDevice device = 0;
  check_cuda(api.device_get(&device, ordinal), "cuDeviceGet");
  char name[256] = {};
  check_cuda(api.device_name(name, sizeof name, device), "cuDeviceGetName");
  info.name = name;
  const auto attribute = [&](int which) {
    int value = 0;
    check_cuda(api.device_attribute(&value, which, device), "cuDeviceGetAttribute");
    return value;
  };
  info.compute_major = attribute(attribute_major);
  info.compute_minor = attribute(attribute_minor);
  info.multiprocessors = attribute(attribute_multiprocessors);
  info.l2_bytes = static_cast<std::size_t>(attribute(attribute_l2_bytes));
  check_cuda(api.device_total_memory(&info.memory_bytes, device), "cuDeviceTotalMem");
  check_cuda(api.driver_version(&info.driver_version), "cuDriverGetVersion");
  info.driver_text = fmt::format("CUDA {}.{}", info.driver_version / 1000, info.driver_version % 1000 / 10);
  return info;
}

std::array<int, 3> device_bus(int ordinal) {
  const DriverApi& api = require_device(ordinal);
  CuDevice device = 0;
  check_cuda(api.device_get(&device, ordinal), "cuDeviceGet");
  std::array<int, 3> bus{};
  const int attributes[] = {attribute_domain, attribute_bus, attribute_device};
  for (std::size_t i = 0; i < bus.size(); ++i)
    check_cuda(api.device_attribute(&bus[i], attributes[i], device), "cuDeviceGetAttribute");
  return bus;
}

void require_hopper(int ordinal) {
  const DeviceInfo info = device_info(ordinal);
  if (info.compute_major == 9 && info.compute_minor == 0) return;
  throw Error(
      ErrorKind::unsupported, {},
      fmt::format("device {} is a {} of compute capability {}.{}; Tessera's kernels need 9.0 (Hopper: H100, H200, "
                  "GH200)",
                  ordinal, info.name, info.compute_major, info.compute_minor),
      "choose a Hopper GPU (CUDA_VISIBLE_DEVICES), or run on the simulated Hopper");
}

void* device_alloc(int device, std::size_t bytes) {
  const ContextScope scope(device);
  CuPointer pointer = 0;
  // An empty buffer still has an address of its own.
  const CuResult code = driver_api().mem_alloc(&pointer, bytes == 0 ? 1 : bytes);
  if (code == 2) {
    throw Error(ErrorKind::device, {}, fmt::format("device {} has no {} bytes of memory left", device, bytes),
                "free buffers or use smaller ones");
  }
  check_cuda(code, "cuMemAlloc");
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(pointer));
}

void device_free(int device, void* pointer) {
  if (pointer == nullptr) return;
  const ContextScope scope(device);
  check_cuda(driver_api().mem_free(address(pointer)), "cuMemFree");
}

void copy_to_device(int device, void* dst, const void* src, std::size_t bytes) {
  if (bytes == 0) return;
  const ContextScope scope(device);
  check_cuda(driver_api().copy_in(address(dst), src, bytes), "cuMemcpyHtoD");
  // From pageable memory the call may return before the last bytes have landed.
  check_cuda(driver_api().stream_synchronize(nullptr), "cuStreamSynchronize");
}

void copy_to_host(int device, void* dst, const void* src, std::size_t bytes) {
  if (bytes == 0) return;
  const ContextScope scope(device);
  check_cuda(driver_api().copy_out(dst, address(src), bytes), "cuMemcpyDtoH");
}

void copy_on_device(int device, void* dst, const void* src, std::size_t bytes, void* stream) {
  if (bytes == 0) return;
  const ContextScope scope(device);
  check_cuda(driver_api().copy_across(address(dst), address(src), bytes, stream), "cuMemcpyDtoDAsync");
}

void fill_bytes(int device, void* dst, unsigned char value, std::size_t bytes, void* stream) {
  if (bytes == 0) return;
  const ContextScope scope(device);
  check_cuda(driver_api().fill8(address(dst), value, bytes, stream), "cuMemsetD8Async");
}

void synchronize_stream(int device, void* stream) {
  const ContextScope scope(device);
  LaunchLog& log = launch_log(device);
  const LaunchLog::Place place = log.place(stream);
  check_cuda(driver_api().stream_synchronize(stream), "cuStreamSynchronize");
  log.clear(place);
}

void synchronize(int device, void* stream) {
  if (stream != nullptr) return synchronize_stream(device, stream);
  const ContextScope scope(device);
  const std::uint64_t launches = launch_log(device).position();
  check_cuda(driver_api().context_synchronize(), "cuCtxSynchronize");
  launch_log(device).clear(launches);
}

void* create_stream(int device) { return create_stream(device, false); }

void destroy_stream(int device, void* stream) {
  const ContextScope scope(device);
  launch_log(device).retire(stream);
  check_cuda(driver_api().stream_destroy(stream), "cuStreamDestroy");
}

void* create_event(int device) {
  const ContextScope scope(device);
  CuHandle event = nullptr;
  check_cuda(driver_api().event_create(&event, 0), "cuEventCreate");
  return event;
}

void destroy_event(int device, void* event) {
  const ContextScope scope(device);
  check_cuda(driver_api().event_destroy(event), "cuEventDestroy");
}

void record_event(int device, void* event, void* stream) {
  const ContextScope scope(device);
  check_cuda(driver_api().event_record(event, stream), "cuEventRecord");
}

float elapsed_ms(int device, void* begin, void* end) {
  const ContextScope scope(device);
  float ms = 0;
  check_cuda(driver_api().event_synchronize(end), "cuEventSynchronize");
  check_cuda(driver_api().event_elapsed(&ms, begin, end), "cuEventElapsedTime");
  return ms;
}

bool is_device_pointer(int device, const void* pointer, std::string* what) {
  const auto no = [&](std::string text) {
    if (what != nullptr) *what = std::move(text);
    return false;
  };
  if (pointer == nullptr) return no("a null pointer");
  const ContextScope scope(device);
  const DriverApi& api = driver_api();
  unsigned type = 0;
  if (api.pointer_attribute(&type, pointer_memory_type, address(pointer)) != 0) {
    return no("ordinary host memory, or memory that was freed");
  }
  unsigned managed = 0;
  if (api.pointer_attribute(&managed, pointer_is_managed, address(pointer)) == 0 && managed != 0) return true;
  if (type == memory_host) return no("page-locked host memory");
  if (type != memory_device) return no(fmt::format("memory of CUDA type {}", type));
  int ordinal = device;
  check_cuda(api.pointer_attribute(&ordinal, pointer_ordinal, address(pointer)), "cuPointerGetAttribute");
  return ordinal == device || no(fmt::format("memory of device {}", ordinal));
}

std::size_t allocation_bytes_from(int device, const void* pointer) {
  const ContextScope scope(device);
  CuPointer start = 0;
  std::size_t size = 0;
  const DriverApi& api = driver_api();
  if (api.pointer_attribute(&start, pointer_range_start, address(pointer)) != 0) return 0;
  if (api.pointer_attribute(&size, pointer_range_size, address(pointer)) != 0) return 0;
  const CuPointer offset = address(pointer) - start;
  return offset < size ? static_cast<std::size_t>(size - offset) : 0;
}

}  // namespace tessera::jit
