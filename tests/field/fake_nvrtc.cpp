// A libnvrtc.so of our own: "compiles" every program into its name, so that Device::cuda can be tested over the fake
// driver (tests/golden/fake_driver.cpp) where there is no CUDA.
#include <cstddef>
#include <cstring>
#include <string>

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {
struct Program {
  std::string name, log;
};
}  // namespace

FAKE int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, 0; }
FAKE int nvrtcCreateProgram(void** program, const char*, const char* name, int, const char* const*,
                            const char* const*) {
  auto* made = new Program;
  made->name = name;
  made->name.resize(made->name.size() - 3);  // ".cu"
  made->log = "ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function '" + made->name +
              "' for 'sm_90a'\nptxas info    : Function properties for " + made->name +
              "\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
              "ptxas info    : Used 40 registers, used 0 barriers\n";
  return *program = made, 0;
}
FAKE int nvrtcDestroyProgram(void** program) { return delete static_cast<Program*>(*program), 0; }
FAKE int nvrtcCompileProgram(void*, int, const char* const*) { return 0; }
FAKE int nvrtcGetProgramLogSize(void* program, std::size_t* size) {
  return *size = static_cast<Program*>(program)->log.size() + 1, 0;
}
FAKE int nvrtcGetProgramLog(void* program, char* log) {
  return std::strcpy(log, static_cast<Program*>(program)->log.c_str()), 0;
}
FAKE int nvrtcGetCUBINSize(void* program, std::size_t* size) {
  return *size = static_cast<Program*>(program)->name.size() + 1, 0;
}
FAKE int nvrtcGetCUBIN(void* program, char* cubin) {
  return std::strcpy(cubin, static_cast<Program*>(program)->name.c_str()), 0;
}
FAKE const char* nvrtcGetErrorString(int) { return "NVRTC_ERROR_FAKE"; }
