// A libnvrtc.so of our own, so that what is launched and exported through the drivers of these tests is compiled where
// there is no CUDA: a "cubin" is a line of text that tells sources apart.
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {
struct Program {
  std::string log, cubin;
};
}  // namespace

FAKE int nvrtcVersion(int* major, int* minor) { return *major = 0, *minor = 1, 0; }
FAKE int nvrtcCreateProgram(void** program, const char* source, const char* file, int, const char* const*,
                            const char* const*) {
  std::string name = file;
  name.resize(name.size() - 3);  // ".cu"
  char cubin[80];
  std::snprintf(cubin, sizeof cubin, "cubin of source %016zx", std::hash<std::string>{}(source));
  *program = new Program{"ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function '" + name +
                             "' for 'sm_90a'\nptxas info    : Function properties for " + name +
                             "\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                             "ptxas info    : Used 40 registers, used 0 barriers\n",
                         cubin};
  return 0;
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
  return *size = static_cast<Program*>(program)->cubin.size() + 1, 0;
}
FAKE int nvrtcGetCUBIN(void* program, char* cubin) {
  return std::strcpy(cubin, static_cast<Program*>(program)->cubin.c_str()), 0;
}
FAKE const char* nvrtcGetErrorString(int) { return "NVRTC_ERROR_FAKE"; }
