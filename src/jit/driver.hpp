// The CUDA driver, opened at run time (libcuda.so.1), with our own minimal declarations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/thread.hpp"
#include "jit/launch_log.hpp"

namespace tessera::jit {

// Opaque 128-byte CUtensorMap.
struct alignas(64) EncodedTensorMap {
  std::uint64_t words[16] = {};
};

struct DeviceInfo {
  std::string name;
  int compute_major = 0, compute_minor = 0;
  int multiprocessors = 0;
  std::size_t l2_bytes = 0;
  std::size_t memory_bytes = 0;
  int driver_version = 0;
  std::string driver_text;
};

bool driver_available(std::string* reason = nullptr);
int device_count();
// Throws an unsupported Error, which says what was looked for, where, and what to do, without a driver or a device.
DeviceInfo device_info(int ordinal);
// PCI domain, bus and device: the same in every process, whatever the numbering.
std::array<int, 3> device_bus(int ordinal);
// Throws an unsupported Error unless the device has compute capability 9.0, the only one that sm_90a cubins run on.
void require_hopper(int ordinal);

// What a launch asks of the driver beside the grid.
struct LaunchOptions {
  std::array<int, 3> cluster{1, 1, 1};  // CTAs
  bool dependent = false;               // programmatic stream serialisation
};

// A loaded kernel of one device's primary context.
class Module {
 public:
  Module(int device, const std::vector<char>& cubin, const std::string& kernel_name, std::uint32_t dynamic_shared_bytes,
         const LaunchOptions& options = {});
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  int registers() const;
  int local_bytes() const;
  int max_active_ctas(int threads) const;
  // `params` as cuLaunchKernel takes them: an array of pointers to argument storage. stream is a CUstream. The grid is
  // a multiple of the cluster. Errors are reported at the origin's line.
  void launch(const unsigned grid[3], unsigned threads, void** params, void* stream,
              const LaunchOrigin& origin = {}) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Device memory and streams (CUdeviceptr, CUstream and CUevent as plain handles); every failure is a device Error.
void* device_alloc(int device, std::size_t bytes);
void device_free(int device, void* pointer);
void copy_to_device(int device, void* dst, const void* src, std::size_t bytes);
void copy_to_host(int device, void* dst, const void* src, std::size_t bytes);
void copy_on_device(int device, void* dst, const void* src, std::size_t bytes, void* stream);
void fill_bytes(int device, void* dst, unsigned char value, std::size_t bytes, void* stream);
void synchronize(int device, void* stream = nullptr);  // null: everything on the device
void synchronize_stream(int device, void* stream);     // also the default stream alone
void* create_stream(int device);
void destroy_stream(int device, void* stream);
void* create_event(int device);
void destroy_event(int device, void* event);
void record_event(int device, void* event, void* stream);
float elapsed_ms(int device, void* begin, void* end);  // waits for `end`
// Whether `pointer` is memory that kernels of `device` can use; what it is instead, if not.
bool is_device_pointer(int device, const void* pointer, std::string* what = nullptr);
// Bytes from `pointer` to the end of the allocation that holds it, as the driver knows it; 0 if it knows none.
std::size_t allocation_bytes_from(int device, const void* pointer);

// cuTensorMapEncodeTiled. The caller has validated the rules; a failure is an internal Error.
EncodedTensorMap encode_tensor_map(int device, const ir::thread::TensorMap& map, void* base,
                                   const std::vector<std::int64_t>& dims,
                                   const std::vector<std::int64_t>& strides_bytes);
// cuTensorMapReplaceAddress: the same map over memory that begins elsewhere.
void replace_address(int device, EncodedTensorMap* map, void* base);

}  // namespace tessera::jit
