// A libcuda.so of our own, so that the driver layer is tested where there is no card: memory is host memory, a launch
// records its arguments, and fake_set makes a chosen call fail or changes what the "card" is.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace {
std::recursive_mutex& guard() {
  static std::recursive_mutex mutex;
  return mutex;
}
using Lock = std::lock_guard<std::recursive_mutex>;

std::map<std::string, int>& settings() {
  static std::map<std::string, int> all;
  return all;
}
int setting(const char* name, int otherwise = 0) {
  const Lock lock(guard());
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
// Without a record; an environment variable for programs that know nothing of the fake.
bool quiet() {
  static const bool always = std::getenv("FAKE_DRIVER_QUIET") != nullptr;
  return always || setting("quiet") != 0;
}
void write(const std::string& text) {
  if (quiet()) return;
  const Lock lock(guard());
  record() += text;
}

// A launch as the record shows it, and whose it was.
struct Launch {
  const void* function;
  std::string text;
};
struct Graph {
  std::vector<Launch> launches;
};
struct Stream {
  void* context = nullptr;
  bool capturing = false;
  Graph graph;
};
struct Event {
  Stream* stream = nullptr;
};
std::set<void*>& streams() {
  static std::set<void*> all;
  return all;
}
thread_local int captures = 0;      // of this thread
thread_local int capture_mode = 0;  // relaxed: 2
Stream* capturing(void* stream) {
  if (stream == nullptr || streams().count(stream) == 0) return nullptr;
  auto* s = static_cast<Stream*>(stream);
  return s->capturing ? s : nullptr;
}
// What a capture of this thread forbids.
bool forbidden() { return captures > 0 && capture_mode != 2; }
}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))
#define MAY_FAIL(name) \
  if (const int code = setting(name)) return code

FAKE void fake_set(const char* name, int value) {
  const Lock lock(guard());
  settings()[name] = value;
}
FAKE const char* fake_record() { return record().c_str(); }
FAKE int fake_streams() { return static_cast<int>(streams().size()); }
FAKE int fake_allocations() { return static_cast<int>(allocations().size()); }
FAKE void fake_reset() {
  const Lock lock(guard());
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
  write("retain " + std::to_string(d) + "\n");
  return *c = &context_objects[d], 0;
}
FAKE int cuCtxGetCurrent(void** c) { return *c = current_context, 0; }
FAKE int cuCtxSetCurrent(void* c) { return current_context = c, 0; }
FAKE int cuCtxPushCurrent_v2(void* c) { return pushed_over = current_context, current_context = c, 0; }
FAKE int cuCtxPopCurrent_v2(void** c) { return *c = current_context, current_context = pushed_over, 0; }
FAKE int cuCtxSynchronize() {
  MAY_FAIL("synchronize");
  return forbidden() ? 900 : 0;
}
FAKE int cuModuleLoadData(void** m, const void*) {
  MAY_FAIL("load");
  if (forbidden()) return 900;
  return *m = new char, 0;
}
FAKE int cuModuleUnload(void* m) { return delete static_cast<char*>(m), write("unload\n"), 0; }
FAKE int cuModuleGetFunction(void** f, void* m, const char*) {
  MAY_FAIL("function");
  return *f = m, 0;
}
FAKE int cuFuncGetAttribute(int* v, int which, void*) { return *v = which == 4 ? 77 : 0, 0; }
FAKE int cuFuncSetAttribute(void*, int which, int value) {
  write("attribute " + std::to_string(which) + " = " + std::to_string(value) + "\n");
  return 0;
}
FAKE int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* n, void*, int threads, std::size_t) {
  return *n = 2048 / threads, 0;
}
namespace {
// With the setting "words" the first so many parameters stand in the record as numbers of 8 bytes, "maps" tensor maps
// of them by their address.
std::string text_of(unsigned x, unsigned y, unsigned z, unsigned threads, unsigned shared, const Stream* stream,
                    void** params) {
  int first = 0;
  if (params != nullptr) std::memcpy(&first, params[0], sizeof first);
  std::string text = "launch " + std::to_string(x) + " " + std::to_string(y) + " " + std::to_string(z) + " of " +
                     std::to_string(threads) + ", shared " + std::to_string(shared) + ", first " +
                     std::to_string(first) + (stream == nullptr ? "" : ", stream");
  for (int i = 0; i < setting("words"); ++i) {
    unsigned long long word = 0;
    std::memcpy(&word, params[i], sizeof word);
    text += " " + std::to_string(word);
  }
  return text + "\n";
}
int launch(const void* f, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned shared, void* stream,
           void** params, const std::string& attributes) {
  MAY_FAIL("launch");
  const Lock lock(guard());
  Stream* into = capturing(stream);
  if (into == nullptr && stream == nullptr && captures > 0) return 906;
  if (into == nullptr && quiet()) return 0;
  const std::string text = attributes + text_of(x, y, z, threads, shared, static_cast<Stream*>(stream), params);
  if (into != nullptr) {
    into->graph.launches.push_back({f, text});
  } else {
    write(text);
  }
  return 0;
}
}  // namespace
FAKE int cuLaunchKernel(void* f, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned, unsigned,
                        unsigned shared, void* stream, void** params, void**) {
  return launch(f, x, y, z, threads, shared, stream, params, "");
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
FAKE int cuLaunchKernelEx(const void* config, void* f, void** params, void**) {
  const auto* c = static_cast<const LaunchConfig*>(config);
  std::string text;
  for (unsigned i = 0; i < c->count; ++i) {
    const LaunchAttribute& a = c->attributes[i];
    text += "launch attribute " + std::to_string(a.id);
    for (int k = 0; k < (a.id == 4 ? 3 : 1); ++k) text += " " + std::to_string(a.value.cluster[k]);
    text += "\n";
  }
  return launch(f, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->shared, c->stream, params, text);
}
FAKE int cuMemAlloc_v2(unsigned long long* p, std::size_t n) {
  MAY_FAIL("alloc");
  if (forbidden()) return 900;
  const Lock lock(guard());
  *p = reinterpret_cast<std::uintptr_t>(std::aligned_alloc(256, (n + 255) / 256 * 256));
  allocations()[static_cast<std::uintptr_t>(*p)] = n;
  return 0;
}
FAKE int cuMemFree_v2(unsigned long long p) {
  const Lock lock(guard());
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
FAKE int cuStreamCreate(void** s, unsigned) {
  const Lock lock(guard());
  auto* stream = new Stream;
  stream->context = current_context;
  streams().insert(stream);
  return *s = stream, 0;
}
FAKE int cuStreamDestroy_v2(void* s) {
  const Lock lock(guard());
  if (streams().erase(s) == 0) return 400;
  return delete static_cast<Stream*>(s), 0;
}
FAKE int cuStreamSynchronize(void* s) {
  MAY_FAIL("stream_synchronize");
  return capturing(s) != nullptr ? 900 : 0;
}
FAKE int cuStreamQuery(void*) { return setting("query"); }
FAKE int cuStreamGetCtx(void* s, void** c) { return *c = static_cast<Stream*>(s)->context, 0; }
FAKE int cuStreamIsCapturing(void* s, int* status) {
  const Lock lock(guard());
  return *status = capturing(s) != nullptr || setting("foreign_capture") != 0 ? 1 : 0, 0;
}
FAKE int cuStreamBeginCapture_v2(void* s, int) {
  const Lock lock(guard());
  if (streams().count(s) == 0 || capturing(s) != nullptr) return 900;
  static_cast<Stream*>(s)->capturing = true;
  static_cast<Stream*>(s)->graph = {};
  return ++captures, 0;
}
FAKE int cuStreamEndCapture(void* s, void** g) {
  const Lock lock(guard());
  Stream* stream = capturing(s);
  if (stream == nullptr) return 903;
  stream->capturing = false;
  --captures;
  MAY_FAIL("end_capture");
  return *g = new Graph(stream->graph), 0;
}
FAKE int cuThreadExchangeStreamCaptureMode(int* mode) { return std::swap(*mode, capture_mode), 0; }
FAKE int cuGraphInstantiateWithFlags(void** exec, void* g, unsigned long long) {
  MAY_FAIL("instantiate");
  write("instantiate " + std::to_string(static_cast<Graph*>(g)->launches.size()) + "\n");
  return *exec = new Graph(*static_cast<Graph*>(g)), 0;
}
FAKE int cuGraphExecUpdate_v2(void* exec, void* g, void*) {
  auto* old = static_cast<Graph*>(exec);
  const auto* now = static_cast<Graph*>(g);
  bool same = old->launches.size() == now->launches.size();
  for (std::size_t i = 0; same && i < now->launches.size(); ++i)
    same = old->launches[i].function == now->launches[i].function;
  if (!same) return 910;
  write("update\n");
  return *old = *now, 0;
}
FAKE int cuGraphLaunch(void* exec, void*) {
  MAY_FAIL("graph_launch");
  for (const Launch& one : static_cast<Graph*>(exec)->launches) write("graph " + one.text);
  return 0;
}
FAKE int cuGraphDestroy(void* g) { return delete static_cast<Graph*>(g), 0; }
FAKE int cuGraphExecDestroy(void* g) { return delete static_cast<Graph*>(g), 0; }
FAKE int cuEventCreate(void** e, unsigned) { return *e = new Event, 0; }
FAKE int cuEventDestroy_v2(void* e) { return delete static_cast<Event*>(e), 0; }
FAKE int cuEventRecord(void* e, void* s) {
  static_cast<Event*>(e)->stream = static_cast<Stream*>(s);
  return write("event\n"), 0;
}
FAKE int cuEventQuery(void*) { return setting("query"); }
FAKE int cuStreamWaitEvent(void* s, void* e, unsigned) {
  return write(static_cast<Event*>(e)->stream == s ? "wait for itself\n" : "wait\n"), 0;
}
FAKE int cuEventSynchronize(void*) { return setting("event_synchronize"); }
FAKE int cuEventElapsedTime(float* ms, void*, void*) {
  return *ms = static_cast<float>(setting("elapsed_us", 1500)) / 1000.0F, 0;
}
FAKE int cuPointerGetAttribute(void* out, int which, unsigned long long p) {
  const Lock lock(guard());
  if (which == 2) ++settings()["asked"];
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
FAKE int cuTensorMapEncodeTiled(void* map, int type, std::uint32_t rank, void* base, const std::uint64_t* dims,
                                const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t* steps,
                                int interleave, int swizzle, int promotion, int fill) {
  MAY_FAIL("encode");
  const auto n = [](std::uint64_t v) { return " " + std::to_string(v); };
  std::string r = "encode type" + n(static_cast<std::uint64_t>(type)) + " rank" + n(rank) + " dims";
  for (std::uint32_t i = 0; i < rank; ++i) r += n(dims[i]);
  r += " strides";
  for (std::uint32_t i = 0; i + 1 < rank; ++i) r += n(strides[i]);
  r += " box";
  for (std::uint32_t i = 0; i < rank; ++i) r += n(box[i]);
  r += " steps";
  for (std::uint32_t i = 0; i < rank; ++i) r += n(steps[i]);
  r += " modes " + std::to_string(interleave) + std::to_string(swizzle) + std::to_string(promotion) +
       std::to_string(fill) + "\n";
  write(r);
  std::memset(map, 0x5a, 128);
  std::memcpy(map, &base, sizeof base);  // where it is on the real one is the driver's business
  return 0;
}
FAKE int cuTensorMapReplaceAddress(void* map, void* base) {
  MAY_FAIL("replace");
  write("replace\n");
  return std::memcpy(map, &base, sizeof base), 0;
}
FAKE int cuGetErrorName(int, const char** s) { return *s = "CUDA_ERROR_FAKE", 0; }
FAKE int cuGetErrorString(int, const char** s) { return *s = "as the test asked", 0; }
