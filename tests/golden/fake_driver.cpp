// A libcuda.so of our own, so that the driver layer is tested where there is no card: memory is host memory, a launch
// records its arguments, and fake_set makes a chosen call fail or changes what the "card" is.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace {
std::map<std::string, int>& settings() {
  static std::map<std::string, int> all;
  return all;
}
int setting(const char* name, int otherwise = 0) {
  const auto it = settings().find(name);
  return it == settings().end() ? otherwise : it->second;
}
std::map<std::uintptr_t, std::size_t>& allocations() {
  static std::map<std::uintptr_t, std::size_t> all;
  return all;
}
thread_local void* current_context = nullptr;
thread_local void* pushed_over = nullptr;
int context_objects[2];
std::string& record() {
  static std::string text;
  return text;
}
}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))
#define MAY_FAIL(name) \
  if (const int code = setting(name)) return code

FAKE void fake_set(const char* name, int value) { settings()[name] = value; }
FAKE const char* fake_record() { return record().c_str(); }
FAKE void fake_reset() {
  settings().clear();
  record().clear();
}
FAKE void* fake_context(int i) { return &context_objects[i]; }

FAKE int cuInit(unsigned) { return 0; }
FAKE int cuDriverGetVersion(int* v) { return *v = 13000, 0; }
FAKE int cuDeviceGetCount(int* n) { return *n = 2, 0; }
FAKE int cuDeviceGet(int* d, int i) { return *d = i, 0; }
FAKE int cuDeviceGetName(char* name, int size, int) {
  return std::strncpy(name, "Fake H200", static_cast<std::size_t>(size)), 0;
}
FAKE int cuDeviceGetAttribute(int* v, int which, int) {
  *v = which == 75 ? setting("major", 9) : which == 76 ? setting("minor", 0) : which == 16 ? 132 : 1 << 20;
  return 0;
}
FAKE int cuDeviceTotalMem_v2(std::size_t* n, int) { return *n = std::size_t{1} << 37, 0; }
FAKE int cuDevicePrimaryCtxRetain(void** c, int d) {
  record() += "retain " + std::to_string(d) + "\n";
  return *c = &context_objects[d], 0;
}
FAKE int cuCtxGetCurrent(void** c) { return *c = current_context, 0; }
FAKE int cuCtxSetCurrent(void* c) { return current_context = c, 0; }
FAKE int cuCtxPushCurrent_v2(void* c) { return pushed_over = current_context, current_context = c, 0; }
FAKE int cuCtxPopCurrent_v2(void** c) { return *c = current_context, current_context = pushed_over, 0; }
FAKE int cuCtxSynchronize() {
  MAY_FAIL("synchronize");
  return 0;
}
FAKE int cuModuleLoadData(void** m, const void* image) {
  MAY_FAIL("load");
  return *m = const_cast<void*>(image), 0;
}
FAKE int cuModuleUnload(void*) { return record() += "unload\n", 0; }
FAKE int cuModuleGetFunction(void** f, void* m, const char*) {
  MAY_FAIL("function");
  return *f = m, 0;
}
FAKE int cuFuncGetAttribute(int* v, int which, void*) { return *v = which == 4 ? 77 : 0, 0; }
FAKE int cuFuncSetAttribute(void*, int which, int value) {
  record() += "attribute " + std::to_string(which) + " = " + std::to_string(value) + "\n";
  return 0;
}
FAKE int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* n, void*, int threads, std::size_t) {
  return *n = 2048 / threads, 0;
}
FAKE int cuLaunchKernel(void*, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned, unsigned,
                        unsigned shared, void* stream, void** params, void**) {
  MAY_FAIL("launch");
  int first = 0;
  std::memcpy(&first, params[0], sizeof first);
  record() += "launch " + std::to_string(x) + " " + std::to_string(y) + " " + std::to_string(z) + " of " +
              std::to_string(threads) + ", shared " + std::to_string(shared) + ", first " + std::to_string(first) +
              (stream == nullptr ? "\n" : ", stream\n");
  return 0;
}
// As the driver declares them.
struct LaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    unsigned cluster[3];
    int flag;
    void* alignment;
  } value;
};
struct LaunchConfig {
  unsigned grid[3], block[3], shared;
  void* stream;
  LaunchAttribute* attributes;
  unsigned count;
};
FAKE int cuLaunchKernelEx(const void* config, void* f, void** params, void** extra) {
  const auto* c = static_cast<const LaunchConfig*>(config);
  for (unsigned i = 0; i < c->count; ++i) {
    const LaunchAttribute& a = c->attributes[i];
    record() += "launch attribute " + std::to_string(a.id);
    for (int k = 0; k < (a.id == 4 ? 3 : 1); ++k) record() += " " + std::to_string(a.value.cluster[k]);
    record() += "\n";
  }
  return cuLaunchKernel(f, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared,
                        c->stream, params, extra);
}
FAKE int cuMemAlloc_v2(unsigned long long* p, std::size_t n) {
  MAY_FAIL("alloc");
  *p = reinterpret_cast<std::uintptr_t>(std::malloc(n));
  allocations()[static_cast<std::uintptr_t>(*p)] = n;
  return 0;
}
FAKE int cuMemFree_v2(unsigned long long p) {
  if (allocations().erase(static_cast<std::uintptr_t>(p)) == 0) return 1;
  std::free(reinterpret_cast<void*>(static_cast<std::uintptr_t>(p)));
  return 0;
}
FAKE int cuMemcpyHtoD_v2(unsigned long long d, const void* s, std::size_t n) {
  return std::memcpy(reinterpret_cast<void*>(static_cast<std::uintptr_t>(d)), s, n), 0;
}
FAKE int cuMemcpyDtoH_v2(void* d, unsigned long long s, std::size_t n) {
  return std::memcpy(d, reinterpret_cast<void*>(static_cast<std::uintptr_t>(s)), n), 0;
}
FAKE int cuMemcpyDtoDAsync_v2(unsigned long long d, unsigned long long s, std::size_t n, void*) {
  return std::memcpy(reinterpret_cast<void*>(static_cast<std::uintptr_t>(d)),
                     reinterpret_cast<void*>(static_cast<std::uintptr_t>(s)), n),
         0;
}
FAKE int cuMemsetD8Async(unsigned long long d, unsigned char v, std::size_t n, void*) {
  return std::memset(reinterpret_cast<void*>(static_cast<std::uintptr_t>(d)), v, n), 0;
}
FAKE int cuStreamCreate(void** s, unsigned) { return *s = &context_objects[0], 0; }
FAKE int cuStreamDestroy_v2(void*) { return 0; }
FAKE int cuStreamSynchronize(void*) { return 0; }
FAKE int cuEventCreate(void** e, unsigned) { return *e = &context_objects[1], 0; }
FAKE int cuEventDestroy_v2(void*) { return 0; }
FAKE int cuEventRecord(void*, void*) { return 0; }
FAKE int cuEventSynchronize(void*) { return 0; }
FAKE int cuEventElapsedTime(float* ms, void*, void*) { return *ms = 1.5F, 0; }
FAKE int cuPointerGetAttribute(void* out, int which, unsigned long long p) {
  const auto it = allocations().upper_bound(static_cast<std::uintptr_t>(p));
  if (it == allocations().begin()) return 1;
  const auto& [start, size] = *std::prev(it);
  if (p >= start + size) return 1;
  const unsigned type = static_cast<unsigned>(setting("memory_type", 2)),
                 managed = static_cast<unsigned>(setting("managed"));
  const int ordinal = setting("ordinal");
  const unsigned long long begin = start;
  switch (which) {
    case 2: std::memcpy(out, &type, sizeof type); return 0;
    case 8: std::memcpy(out, &managed, sizeof managed); return 0;
    case 9: std::memcpy(out, &ordinal, sizeof ordinal); return 0;
    case 11: std::memcpy(out, &begin, sizeof begin); return 0;
    case 12: std::memcpy(out, &size, sizeof size); return 0;
    default: return 1;
  }
}
FAKE int cuTensorMapEncodeTiled(void* map, int type, std::uint32_t rank, void*, const std::uint64_t* dims,
                                const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t* steps,
                                int interleave, int swizzle, int promotion, int fill) {
  MAY_FAIL("encode");
  const auto n = [](std::uint64_t v) { return " " + std::to_string(v); };
  std::string& r = record();
  r += "encode type" + n(static_cast<std::uint64_t>(type)) + " rank" + n(rank) + " dims";
  for (std::uint32_t i = 0; i < rank; ++i) r += n(dims[i]);
  r += " strides";
  for (std::uint32_t i = 0; i + 1 < rank; ++i) r += n(strides[i]);
  r += " box";
  for (std::uint32_t i = 0; i < rank; ++i) r += n(box[i]);
  r += " steps";
  for (std::uint32_t i = 0; i < rank; ++i) r += n(steps[i]);
  r += " modes " + std::to_string(interleave) + std::to_string(swizzle) + std::to_string(promotion) +
       std::to_string(fill) + "\n";
  std::memset(map, 0x5a, 128);
  return 0;
}
FAKE int cuGetErrorName(int, const char** s) { return *s = "CUDA_ERROR_FAKE", 0; }
FAKE int cuGetErrorString(int, const char** s) { return *s = "as the test asked", 0; }
