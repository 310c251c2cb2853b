// A libnvrtc.so of our own, so that exports are tested where there is no CUDA toolkit: a "cubin" is a line of text that
// names the source it was made from.
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>

namespace {

struct Program {
  std::string source, log, cubin;
};

std::string entry_of(const std::string& source) {
  const std::size_t begin = source.find("void", source.find("extern \"C\" __global__"));
  const std::size_t end = source.find('(', source.find("__launch_bounds__(", begin) == std::string::npos
                                               ? begin
                                               : source.find(')', source.find("__launch_bounds__(", begin)));
  std::size_t from = end;
  while (from > 0 && (std::isalnum(static_cast<unsigned char>(source[from - 1])) != 0 || source[from - 1] == '_'))
    --from;
  return source.substr(from, end - from);
}

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE int nvrtcVersion(int* major, int* minor) { return *major = 0, *minor = 1, 0; }
FAKE int nvrtcCreateProgram(void** program, const char* source, const char*, int, const char* const*,
                            const char* const*) {
  return *program = new Program{source, {}, {}}, 0;
}
FAKE int nvrtcDestroyProgram(void** program) { return delete static_cast<Program*>(*program), *program = nullptr, 0; }
FAKE int nvrtcCompileProgram(void* program, int, const char* const*) {
  auto& p = *static_cast<Program*>(program);
  const std::string name = entry_of(p.source);
  p.log = "ptxas info    : Compiling entry function '" + name +
          "' for 'sm_90a'\nptxas info    : Function properties for " + name +
          "\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n" +
          "ptxas info    : Used 40 registers, used 1 barriers\n";
  char text[80];
  std::snprintf(text, sizeof text, "cubin of source %016zx", std::hash<std::string>{}(p.source));
  p.cubin = text;
  return 0;
}
FAKE int nvrtcGetProgramLogSize(void* program, std::size_t* size) {
  return *size = static_cast<Program*>(program)->log.size() + 1, 0;
}
FAKE int nvrtcGetProgramLog(void* program, char* log) {
  const std::string& text = static_cast<Program*>(program)->log;
  return std::memcpy(log, text.c_str(), text.size() + 1), 0;
}
FAKE int nvrtcGetCUBINSize(void* program, std::size_t* size) {
  return *size = static_cast<Program*>(program)->cubin.size() + 1, 0;
}
FAKE int nvrtcGetCUBIN(void* program, char* cubin) {
  const std::string& text = static_cast<Program*>(program)->cubin;
  return std::memcpy(cubin, text.c_str(), text.size() + 1), 0;
}
FAKE const char* nvrtcGetErrorString(int) { return "an error of the fake compiler"; }
