// The few entry points of libcuda that Tessera calls, with declarations of our own, and the per-device context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "jit/dynamic_library.hpp"
#include "jit/launch_log.hpp"

namespace tessera::jit {

using CuResult = int;
using CuDevice = int;
using CuHandle = void*;                // CUcontext, CUmodule, CUfunction, CUstream, CUevent
using CuPointer = unsigned long long;  // CUdeviceptr

// CUlaunchAttribute and CUlaunchConfig.
struct CuLaunchAttribute {
  int id = 0;
  union {
    alignas(8) char bytes[64] = {};
    unsigned cluster[3];
    int flag;
  } value;
};
static_assert(sizeof(CuLaunchAttribute) == 72);
struct CuLaunchConfig {
  unsigned grid[3] = {}, block[3] = {};
  unsigned shared_bytes = 0;
  CuHandle stream = nullptr;
  const CuLaunchAttribute* attributes = nullptr;
  unsigned count = 0;
};
static_assert(sizeof(CuLaunchConfig) == 56);

struct DriverApi {
  DynamicLibrary library{{"TESSERA_LIBCUDA", {"libcuda.so.1", "libcuda.so"}, false}};
  std::string unavailable;  // why it cannot be used; empty if it can
  int devices = 0;

  CuResult (*init)(unsigned) = nullptr;
  CuResult (*driver_version)(int*) = nullptr;
  CuResult (*device_count)(int*) = nullptr;
  CuResult (*device_get)(CuDevice*, int) = nullptr;
  CuResult (*device_name)(char*, int, CuDevice) = nullptr;
  CuResult (*device_attribute)(int*, int, CuDevice) = nullptr;
  CuResult (*device_total_memory)(std::size_t*, CuDevice) = nullptr;
  CuResult (*primary_retain)(CuHandle*, CuDevice) = nullptr;
  CuResult (*context_get)(CuHandle*) = nullptr;
  CuResult (*context_set)(CuHandle) = nullptr;
  CuResult (*context_push)(CuHandle) = nullptr;
  CuResult (*context_pop)(CuHandle*) = nullptr;
  CuResult (*context_synchronize)() = nullptr;
  CuResult (*module_load)(CuHandle*, const void*) = nullptr;
  CuResult (*module_unload)(CuHandle) = nullptr;
  CuResult (*module_function)(CuHandle*, CuHandle, const char*) = nullptr;
  CuResult (*function_get)(int*, int, CuHandle) = nullptr;
  CuResult (*function_set)(CuHandle, int, int) = nullptr;
  CuResult (*occupancy)(int*, CuHandle, int, std::size_t) = nullptr;
  CuResult (*launch)(CuHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CuHandle, void**,
                     void**) = nullptr;
  CuResult (*launch_with_attributes)(const void*, CuHandle, void**, void**) = nullptr;  // of a CuLaunchConfig
  CuResult (*mem_alloc)(CuPointer*, std::size_t) = nullptr;
  CuResult (*mem_free)(CuPointer) = nullptr;
  CuResult (*copy_in)(CuPointer, const void*, std::size_t) = nullptr;
  CuResult (*copy_out)(void*, CuPointer, std::size_t) = nullptr;
  CuResult (*copy_across)(CuPointer, CuPointer, std::size_t, CuHandle) = nullptr;
  CuResult (*fill8)(CuPointer, unsigned char, std::size_t, CuHandle) = nullptr;
  CuResult (*stream_create)(CuHandle*, unsigned) = nullptr;
  CuResult (*stream_destroy)(CuHandle) = nullptr;
  CuResult (*stream_synchronize)(CuHandle) = nullptr;
  CuResult (*stream_query)(CuHandle) = nullptr;
  CuResult (*stream_wait)(CuHandle, CuHandle, unsigned) = nullptr;
  CuResult (*stream_context)(CuHandle, CuHandle*) = nullptr;
  CuResult (*stream_capturing)(CuHandle, int*) = nullptr;
  CuResult (*begin_capture)(CuHandle, int) = nullptr;
  CuResult (*end_capture)(CuHandle, CuHandle*) = nullptr;
  CuResult (*exchange_capture_mode)(int*) = nullptr;
  CuResult (*graph_instantiate)(CuHandle*, CuHandle, unsigned long long) = nullptr;
  CuResult (*graph_update)(CuHandle, CuHandle, void*) = nullptr;  // a CUgraphExecUpdateResultInfo
  CuResult (*graph_launch)(CuHandle, CuHandle) = nullptr;
  CuResult (*graph_destroy)(CuHandle) = nullptr;
  CuResult (*graph_exec_destroy)(CuHandle) = nullptr;
  CuResult (*event_create)(CuHandle*, unsigned) = nullptr;
  CuResult (*event_destroy)(CuHandle) = nullptr;
  CuResult (*event_record)(CuHandle, CuHandle) = nullptr;
  CuResult (*event_query)(CuHandle) = nullptr;
  CuResult (*event_synchronize)(CuHandle) = nullptr;
  CuResult (*event_elapsed)(float*, CuHandle, CuHandle) = nullptr;
  CuResult (*pointer_attribute)(void*, int, CuPointer) = nullptr;
  CuResult (*encode_tiled)(void*, int, std::uint32_t, void*, const std::uint64_t*, const std::uint64_t*,
                           const std::uint32_t*, const std::uint32_t*, int, int, int, int) = nullptr;
  CuResult (*replace_address)(void*, void*) = nullptr;  // of a CUtensorMap
  CuResult (*error_name)(CuResult, const char**) = nullptr;
  CuResult (*error_string)(CuResult, const char**) = nullptr;

  DriverApi();

 private:
  void bind_all();
};

// The driver, loaded and initialised on first use; never throws.
const DriverApi& driver_api();
// As driver_api, but an unsupported Error if it cannot be used or has no device of that number.
const DriverApi& require_device(int ordinal);

// Throws a device Error that names the call, the kernel where there is one, and what to do. Where a kernel has failed
// while it ran, the Error names the launches that it may have been (launch_log.hpp), now and in every later call to the
// device.
[[noreturn]] void throw_cuda(CuResult code, const char* call, const std::string& kernel = {});
// The same for the launch of somebody's kernel, at his line.
[[noreturn]] void throw_launch(CuResult code, const char* call, const LaunchOrigin& origin);
// Waits for what was just launched, unless the stream is being captured. A failure is that of `origin`.
void wait_for_launch(CuHandle stream, const LaunchOrigin& origin);
inline void check_cuda(CuResult code, const char* call, const std::string& kernel = {}) {
  if (code != 0) throw_cuda(code, call, kernel);
}

// Makes the primary context of a device current for this thread and puts the caller's back afterwards. A thread that
// had none keeps ours, so that the next scope costs one query.
class ContextScope {
 public:
  explicit ContextScope(int ordinal);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  bool pushed_ = false;
  int outer_;
};

// The device of the innermost scope of this thread; -1 outside of one.
int scope_device();
// The primary context of a device.
CuHandle primary_context(int ordinal);

}  // namespace tessera::jit
