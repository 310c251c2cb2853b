// The driver stand-in of tests/golden with a full record of what launches hand to the driver: which image and function,
// the grid, every attribute, the bytes of every parameter and every argument of an encoded tensor map.
#define cuLaunchKernel plain_cuLaunchKernel
#define cuLaunchKernelEx plain_cuLaunchKernelEx
#define cuTensorMapEncodeTiled plain_cuTensorMapEncodeTiled
#define cuTensorMapReplaceAddress plain_cuTensorMapReplaceAddress
#define cuModuleLoadData plain_cuModuleLoadData
#define cuModuleUnload plain_cuModuleUnload
#define cuModuleGetFunction plain_cuModuleGetFunction
#define cuFuncSetAttribute plain_cuFuncSetAttribute
#include "golden/fake_driver.cpp"
#undef cuLaunchKernel
#undef cuLaunchKernelEx
#undef cuTensorMapEncodeTiled
#undef cuTensorMapReplaceAddress
#undef cuModuleLoadData
#undef cuModuleUnload
#undef cuModuleGetFunction
#undef cuFuncSetAttribute

#include <deque>
#include <mutex>
#include <vector>

namespace {

struct Image {
  std::string text;
  bool loaded = true;
};
struct Function {
  Image* image;
  std::string name;
};
std::mutex recording_guard;
std::deque<Image> images;
std::deque<Function> functions;
std::vector<int> parameter_bytes;
std::map<std::string, std::vector<int>> parameter_bytes_of;  // a function
void (*on_launch)(const char* function, void** params, void* user) = nullptr;
void* on_launch_user = nullptr;
int launches_until_failure = 0;
std::vector<std::string> encoded;  // the arguments of each tensor map, but for its address
std::string full;
thread_local int device_of_context = 0;

std::string number(unsigned long long v) { return " " + std::to_string(v); }

std::string parameter(const void* bytes, int count) {
  constexpr int map_bytes = 128;
  std::uint64_t words[16] = {};
  std::memcpy(words, bytes, static_cast<std::size_t>(count));
  if (count == map_bytes) {
    if (words[1] == 0) return " no map";
    return " map {" + encoded.at(words[1] - 1) + " base" + number(words[0]) + "}";
  }
  return " " + std::to_string(count) + ":" + std::to_string(words[0]);
}

}  // namespace

// Bytes of each parameter of the kernel that is launched next; a real driver knows them from the image.
FAKE void recording_parameters(const int* bytes, int count) { parameter_bytes.assign(bytes, bytes + count); }
// The same for one function only.
FAKE void recording_parameters_of(const char* function, const int* bytes, int count) {
  parameter_bytes_of[function].assign(bytes, bytes + count);
}
// Called by each launch; null: nothing is.
FAKE void recording_on_launch(void (*call)(const char*, void**, void*), void* user) {
  on_launch = call;
  on_launch_user = user;
}
// The `count`-th launch from now fails; 0: none does.
FAKE void recording_fail_after(int count) { launches_until_failure = count; }
FAKE const char* recording_text() { return full.c_str(); }
FAKE void recording_clear() { full.clear(); }
FAKE int recording_loaded() {
  int count = 0;
  for (const Image& image : images) count += image.loaded ? 1 : 0;
  return count;
}

FAKE int cuCtxGetDevice(int* device) {
  MAY_FAIL("context_device");
  return *device = device_of_context, 0;
}
FAKE int cuModuleLoadData(void** module, const void* image) {
  MAY_FAIL("load");
  // PTX, which this driver does not compile: the library's own kernel that fills L2, whose launches are nobody's.
  if (std::strncmp(static_cast<const char*>(image), ".version", 8) == 0) return 218;
  const std::lock_guard lock(recording_guard);
  images.push_back({static_cast<const char*>(image)});  // images of the fake compiler are text
  full += "load " + images.back().text + "\n";
  return *module = &images.back(), 0;
}
FAKE int cuModuleUnload(void* module) {
  auto& image = *static_cast<Image*>(module);
  if (!image.loaded) return 1;
  return image.loaded = false, 0;
}
FAKE int cuModuleGetFunction(void** function, void* module, const char* name) {
  MAY_FAIL("function");
  const std::lock_guard lock(recording_guard);
  functions.push_back({static_cast<Image*>(module), name});
  return *function = &functions.back(), 0;
}
FAKE int cuFuncSetAttribute(void* function, int which, int value) {
  MAY_FAIL("attribute");
  const std::lock_guard lock(recording_guard);
  full += "attribute" + number(static_cast<unsigned>(which)) + " =" + number(static_cast<unsigned>(value)) + " of " +
          static_cast<Function*>(function)->name + "\n";
  return 0;
}
FAKE int cuLaunchKernelEx(const void* config, void* f, void** params, void**) {
  MAY_FAIL("launch");
  const auto* c = reinterpret_cast<const LaunchConfig*>(config);
  const auto* function = static_cast<Function*>(f);
  if (launches_until_failure > 0 && launches_until_failure-- == 1) return 719;
  std::string text = "launch " + function->name + " of " + function->image->text + " grid";
  for (const unsigned g : c->grid) text += number(g);
  text += " block";
  for (const unsigned b : c->block) text += number(b);
  text += " shared" + number(c->shared) + " stream" + number(reinterpret_cast<std::uintptr_t>(c->stream));
  for (unsigned i = 0; i < c->count; ++i) {
    const auto& a = c->attributes[i];
    text += " attribute" + number(static_cast<unsigned>(a.id));
    for (int k = 0; k < (a.id == 4 ? 3 : 1); ++k) text += number(a.value.cluster[k]);
  }
  const std::lock_guard lock(recording_guard);
  text += " parameters";
  const auto own = parameter_bytes_of.find(function->name);
  const std::vector<int>& bytes = own == parameter_bytes_of.end() ? parameter_bytes : own->second;
  for (std::size_t i = 0; i < bytes.size(); ++i) text += parameter(params[i], bytes[i]);
  full += (c->count > 0 ? "extended " : "") + text + "\n";
  if (on_launch != nullptr) on_launch(function->name.c_str(), params, on_launch_user);
  return 0;
}
FAKE int cuLaunchKernel(void* f, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, void* stream, void** params, void** extra) {
  const LaunchConfig config{{x, y, z}, {bx, by, bz}, shared, stream, nullptr, 0};
  return cuLaunchKernelEx(&config, f, params, extra);
}
// A map holds its base address and the number of a text with all other arguments.
FAKE int cuTensorMapEncodeTiled(void* map, int type, std::uint32_t rank, void* base, const std::uint64_t* dims,
                                const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t* steps,
                                int interleave, int swizzle, int promotion, int fill) {
  MAY_FAIL("encode");
  if (reinterpret_cast<std::uintptr_t>(map) % 64 != 0) return 1;
  std::string text = "type" + number(static_cast<unsigned>(type)) + " rank" + number(rank) + " dims";
  for (std::uint32_t i = 0; i < rank; ++i) text += number(dims[i]);
  text += " strides";
  for (std::uint32_t i = 0; i + 1 < rank; ++i) text += number(strides[i]);
  text += " box";
  for (std::uint32_t i = 0; i < rank; ++i) text += number(box[i]) + number(steps[i]);
  text += " modes";
  for (const int mode : {interleave, swizzle, promotion, fill}) text += number(static_cast<unsigned>(mode));
  const std::lock_guard lock(recording_guard);
  encoded.push_back(text);
  const std::uint64_t words[16] = {reinterpret_cast<std::uintptr_t>(base), encoded.size()};
  std::memcpy(map, words, sizeof words);
  return 0;
}
FAKE int cuTensorMapReplaceAddress(void* map, void* base) {
  const std::uint64_t address = reinterpret_cast<std::uintptr_t>(base);
  return std::memcpy(map, &address, sizeof address), 0;
}
