// A libcuda.so (and a libnvrtc.so) of our own whose kernels misbehave as asked: memory is host memory, and a "cubin" is
// a line of text that a launch interprets.
//
//   ACT [time=MILLISECONDS]    parameters: int32 n, pointers x and y to 4-byte elements
//
//   add, add_int      y[i] = x[i] + 1, of floats or int32
//   wrong             y[i] = x[i] + 1, but for the last element
//   half, half_int    the first half of it
//   behind, before    all of it, and 512 bytes behind or before y
//   touch             all of it, and one element of x
//   trap              the launch goes well, and every later call of this process fails
//   hang              the launch goes well, and nothing that waits for it returns
//   crash, exit       the process ends
//   garble            writes what is no message to standard input, which is the socket of a trial process
//   bus               y[i] = the PCI bus of the device
//   late_trap         adds, and from its fifth launch on traps
//   far               writes four gigabytes behind y
//   map               y = what the first tensor map was made of: base - x, type, rank, two dims, stride, two of the
//   box, swizzle launch            y = how it is launched: grid, threads, bytes of shared memory, cluster, whether it
//   is dependent
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <string>

namespace {

// Read once, when the library is loaded: what a test sets later holds for processes that it starts.
std::uint64_t from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? 0 : std::strtoull(value, nullptr, 10);
}
const std::uint64_t exclusive = from_environment("FIELD_EXCLUSIVE"), memory_limit = from_environment("FIELD_MEMORY"),
                    reversed = from_environment("FIELD_REVERSED"), other_bus = from_environment("FIELD_OTHER_BUS");

struct Module {
  std::string act;
  float milliseconds = 1;
  int launches = 0;
};

std::recursive_mutex mutex;
std::map<std::uintptr_t, std::size_t> allocations;
std::string launched;  // acts, in order
std::atomic<int> dead{0};
std::atomic<bool> hanging{false};
thread_local int current = 0;  // device + 1
float last_milliseconds = 0;

int bus_of(int device) {
  const int place = reversed != 0 ? 1 - device : device;
  return static_cast<int>(0x3b + place + static_cast<int>(other_bus));
}

int state() {
  while (hanging) ::pause();
  return dead;
}

template <class T>
void add(const T* x, T* y, std::int32_t n) {
  for (std::int32_t i = 0; i < n; ++i) y[i] = static_cast<T>(x[i] + 1);
}

void stray(void* at) { std::memset(at, 0x11, 512); }

struct Launch {
  unsigned grid[3] = {}, threads = 0, shared = 0, cluster[3] = {1, 1, 1};
  int dependent = 0;
};

// What the driver's own encoding would hold is nobody's business; ours holds what it was given.
struct Map {
  std::uint64_t base, type, rank, dims[2], stride, box[2], swizzle;
};

void tell(const Map& map, const void* x, float* y) {
  const std::uint64_t numbers[] = {map.base - reinterpret_cast<std::uintptr_t>(x),
                                   map.type,
                                   map.rank,
                                   map.dims[0],
                                   map.dims[1],
                                   map.stride,
                                   map.box[0],
                                   map.box[1],
                                   map.swizzle};
  for (const std::uint64_t number : numbers) *y++ = static_cast<float>(number);
}
void tell(const Launch& launch, float* y) {
  for (const unsigned g : launch.grid) *y++ = static_cast<float>(g);
  *y++ = static_cast<float>(launch.threads);
  *y++ = static_cast<float>(launch.shared);
  for (const unsigned c : launch.cluster) *y++ = static_cast<float>(c);
  *y = static_cast<float>(launch.dependent);
}

void run(Module& module, const Launch& launch, void** params) {
  const std::int32_t n = *static_cast<std::int32_t*>(params[0]);
  void* x = *static_cast<void**>(params[1]);
  void* y = *static_cast<void**>(params[2]);
  const std::string& act = module.act;
  auto* floats = static_cast<float*>(y);
  const auto* in = static_cast<const float*>(x);
  ++module.launches;
  if (act == "add_int" || act == "half_int") {
    add(static_cast<const std::int32_t*>(x), static_cast<std::int32_t*>(y), act == "add_int" ? n : n / 2);
    return;
  }
  if (act == "crash") std::abort();
  if (act == "exit") ::_exit(3);
  if (act == "garble") {
    const std::string noise(64, '?');
    if (::write(0, noise.data(), noise.size()) < 0) ::_exit(4);
  }
  if (act == "trap" || (act == "late_trap" && module.launches > 4)) dead = 716;
  if (act == "hang" || act == "garble") hanging = true;
  if (act == "trap" || act == "hang" || act == "garble") return;
  add(in, floats, act == "half" ? n / 2 : n);
  if (act == "map") tell(*static_cast<const Map*>(params[3]), x, floats);
  if (act == "launch") tell(launch, floats);
  if (act == "far") *const_cast<volatile float*>(floats + (std::size_t{1} << 30)) = 1;
  if (act == "wrong") floats[n - 1] += 7;
  if (act == "behind") stray(floats + n);
  if (act == "before") stray(static_cast<char*>(y) - 512);
  if (act == "touch") *static_cast<float*>(x) = 77;
  for (std::int32_t i = 0; act == "bus" && i < n; ++i) floats[i] = static_cast<float>(bus_of(current - 1));
}

void* pointer(unsigned long long p) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(p)); }

}  // namespace

#define FIELD extern "C" __attribute__((visibility("default")))
#define OR_DEAD \
  if (const int code = state()) return code
#define LOCK const std::lock_guard lock(mutex)

FIELD const char* field_launched() { return launched.c_str(); }
FIELD void field_reset() { launched.clear(); }
FIELD std::size_t field_allocations() { return allocations.size(); }

FIELD int cuInit(unsigned) { return 0; }
FIELD int cuDriverGetVersion(int* v) { return *v = 13000, 0; }
FIELD int cuDeviceGetCount(int* n) { return *n = 2, 0; }
FIELD int cuDeviceGet(int* d, int i) { return *d = i, 0; }
FIELD int cuDeviceGetName(char* name, int size, int) {
  return std::strncpy(name, "Field H200", static_cast<std::size_t>(size)), 0;
}
FIELD int cuDeviceGetAttribute(int* v, int which, int device) {
  switch (which) {
    case 75: return *v = 9, 0;
    case 76: return *v = 0, 0;
    case 16: return *v = 132, 0;
    case 33: return *v = bus_of(device), 0;
    case 34: return *v = 0, 0;
    case 50: return *v = 0, 0;
    default: return *v = 1 << 16, 0;
  }
}
FIELD int cuDeviceTotalMem_v2(std::size_t* n, int) { return *n = std::size_t{1} << 37, 0; }
FIELD int cuDevicePrimaryCtxRetain(void** c, int d) {
  if (exclusive != 0) return 46;
  return *c = reinterpret_cast<void*>(static_cast<std::uintptr_t>(d) + 1), 0;
}
FIELD int cuCtxGetCurrent(void** c) { return *c = reinterpret_cast<void*>(static_cast<std::uintptr_t>(current)), 0; }
FIELD int cuCtxSetCurrent(void* c) { return current = static_cast<int>(reinterpret_cast<std::uintptr_t>(c)), 0; }
FIELD int cuCtxPushCurrent_v2(void* c) { return cuCtxSetCurrent(c); }
FIELD int cuCtxPopCurrent_v2(void** c) { return cuCtxGetCurrent(c); }
FIELD int cuCtxSynchronize() { return state(); }
FIELD int cuModuleLoadData(void** m, const void* image) {
  OR_DEAD;
  const std::string text(static_cast<const char*>(image));
  if (text.rfind("damaged", 0) == 0) return 200;
  auto* module = new Module;
  module->act = text.substr(0, text.find(' '));
  if (const auto at = text.find("time="); at != std::string::npos)
    module->milliseconds = std::strtof(text.c_str() + at + 5, nullptr);
  return *m = module, 0;
}
FIELD int cuModuleUnload(void* m) { return delete static_cast<Module*>(m), 0; }
FIELD int cuModuleGetFunction(void** f, void* m, const char*) { return *f = m, 0; }
FIELD int cuFuncGetAttribute(int* v, int, void*) { return *v = 0, 0; }
FIELD int cuFuncSetAttribute(void*, int, int) { return 0; }
FIELD int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* n, void*, int, std::size_t) { return *n = 1, 0; }
static int start(void* f, const Launch& launch, void** params) {
  OR_DEAD;
  auto& module = *static_cast<Module*>(f);
  LOCK;
  if (module.act == ".version") return 0;  // PTX: the library's own kernel that fills L2
  launched += module.act + " ";
  last_milliseconds = module.milliseconds;
  run(module, launch, params);
  return 0;
}
FIELD int cuLaunchKernel(void* f, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned, unsigned,
                         unsigned shared, void*, void** params, void**) {
  return start(f, {{x, y, z}, threads, shared, {1, 1, 1}, 0}, params);
}
// As the driver declares them.
struct Attribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    unsigned cluster[3];
    int flag;
    void* alignment;
  } value;
};
struct Config {
  unsigned grid[3], block[3], shared;
  void* stream;
  Attribute* attributes;
  unsigned count;
};
FIELD int cuLaunchKernelEx(const void* config, void* f, void** params, void**) {
  const auto& c = *static_cast<const Config*>(config);
  Launch launch{{c.grid[0], c.grid[1], c.grid[2]}, c.block[0], c.shared, {1, 1, 1}, 0};
  for (unsigned i = 0; i < c.count; ++i) {
    if (c.attributes[i].id == 4) std::copy_n(c.attributes[i].value.cluster, 3, launch.cluster);
    if (c.attributes[i].id == 6) launch.dependent = c.attributes[i].value.flag;
  }
  return start(f, launch, params);
}
FIELD int cuMemAlloc_v2(unsigned long long* p, std::size_t n) {
  OR_DEAD;
  if (memory_limit != 0 && n > memory_limit) return 2;
  void* memory = ::operator new (n, std::align_val_t{256});
  *p = reinterpret_cast<std::uintptr_t>(memory);
  LOCK;
  allocations[reinterpret_cast<std::uintptr_t>(memory)] = n;
  return 0;
}
FIELD int cuMemFree_v2(unsigned long long p) {
  {
    LOCK;
    if (allocations.erase(static_cast<std::uintptr_t>(p)) == 0) return 1;
  }
  ::operator delete (pointer(p), std::align_val_t{256});
  return 0;
}
FIELD int cuMemcpyHtoD_v2(unsigned long long d, const void* s, std::size_t n) {
  OR_DEAD;
  return std::memcpy(pointer(d), s, n), 0;
}
FIELD int cuMemcpyDtoH_v2(void* d, unsigned long long s, std::size_t n) {
  OR_DEAD;
  return std::memcpy(d, pointer(s), n), 0;
}
FIELD int cuMemcpyDtoDAsync_v2(unsigned long long d, unsigned long long s, std::size_t n, void*) {
  OR_DEAD;
  return std::memcpy(pointer(d), pointer(s), n), 0;
}
FIELD int cuMemsetD8Async(unsigned long long d, unsigned char v, std::size_t n, void*) {
  OR_DEAD;
  return std::memset(pointer(d), v, n), 0;
}
FIELD int cuStreamCreate(void** s, unsigned) { return *s = &mutex, 0; }
FIELD int cuStreamDestroy_v2(void*) { return 0; }
FIELD int cuStreamSynchronize(void*) { return state(); }
FIELD int cuEventCreate(void** e, unsigned) { return *e = &mutex, 0; }
FIELD int cuEventDestroy_v2(void*) { return 0; }
FIELD int cuEventRecord(void*, void*) { return state(); }
FIELD int cuEventSynchronize(void*) { return state(); }
FIELD int cuEventElapsedTime(float* ms, void*, void*) {
  LOCK;
  return *ms = last_milliseconds, 0;
}
FIELD int cuPointerGetAttribute(void* out, int which, unsigned long long p) {
  LOCK;
  const auto it = allocations.upper_bound(static_cast<std::uintptr_t>(p));
  if (it == allocations.begin()) return 1;
  const auto& [start, size] = *std::prev(it);
  if (p >= start + size) return 1;
  const unsigned type = 2;
  const int ordinal = 0;
  const unsigned long long begin = start;
  switch (which) {
    case 2: std::memcpy(out, &type, sizeof type); return 0;
    case 9: std::memcpy(out, &ordinal, sizeof ordinal); return 0;
    case 11: std::memcpy(out, &begin, sizeof begin); return 0;
    case 12: std::memcpy(out, &size, sizeof size); return 0;
    default: return 1;
  }
}
FIELD int cuTensorMapEncodeTiled(void* to, int type, std::uint32_t rank, void* base, const std::uint64_t* dims,
                                 const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t*, int,
                                 int swizzle, int, int) {
  static_assert(sizeof(Map) <= 128);
  if (rank != 2) return 1;
  *static_cast<Map*>(to) = {reinterpret_cast<std::uintptr_t>(base),
                            static_cast<std::uint64_t>(type),
                            rank,
                            {dims[0], dims[1]},
                            strides[0],
                            {box[0], box[1]},
                            static_cast<std::uint64_t>(swizzle)};
  return 0;
}
FIELD int cuTensorMapReplaceAddress(void* map, void* base) {
  return static_cast<Map*>(map)->base = reinterpret_cast<std::uintptr_t>(base), 0;
}
// Streams of one's own and graphs are no part of these tests: nothing is captured, and what is asked for is refused.
FIELD int cuStreamIsCapturing(void*, int* status) { return *status = 0, 0; }
FIELD int cuStreamQuery(void*) { return state(); }
FIELD int cuEventQuery(void*) { return state(); }
FIELD int cuStreamWaitEvent(void*, void*, unsigned) { return state(); }
FIELD int cuStreamGetCtx(void*, void**) { return 801; }
FIELD int cuStreamBeginCapture_v2(void*, int) { return 801; }
FIELD int cuStreamEndCapture(void*, void**) { return 801; }
FIELD int cuThreadExchangeStreamCaptureMode(int*) { return 801; }
FIELD int cuGraphInstantiateWithFlags(void**, void*, unsigned long long) { return 801; }
FIELD int cuGraphExecUpdate_v2(void*, void*, void*) { return 801; }
FIELD int cuGraphLaunch(void*, void*) { return 801; }
FIELD int cuGraphDestroy(void*) { return 801; }
FIELD int cuGraphExecDestroy(void*) { return 801; }
FIELD int cuGetErrorName(int code, const char** s) {
  return *s = code == 716 ? "CUDA_ERROR_MISALIGNED_ADDRESS" : code == 46 ? "CUDA_ERROR_DEVICE_UNAVAILABLE" : "FIELD", 0;
}
FIELD int cuGetErrorString(int code, const char** s) {
  return *s = code == 716 ? "misaligned address" : "as the test asked", 0;
}

// NVRTC is looked for before a GPU is used; the tests bring a compiler of their own.
FIELD int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, 0; }
FIELD int nvrtcCreateProgram(void**, const char*, const char*, int, const char* const*, const char* const*) {
  return 1;
}
FIELD int nvrtcDestroyProgram(void**) { return 1; }
FIELD int nvrtcCompileProgram(void*, int, const char* const*) { return 1; }
FIELD int nvrtcGetProgramLogSize(void*, std::size_t*) { return 1; }
FIELD int nvrtcGetProgramLog(void*, char*) { return 1; }
FIELD int nvrtcGetCUBINSize(void*, std::size_t*) { return 1; }
FIELD int nvrtcGetCUBIN(void*, char*) { return 1; }
FIELD const char* nvrtcGetErrorString(int) { return "this is no compiler"; }
