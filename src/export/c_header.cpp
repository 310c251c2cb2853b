// NAME.h and tessera_cuda.h.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "export/sequence.hpp"
#include "tessera/version.hpp"

namespace tessera::exporter {
using detail::ParamKind;

namespace {

constexpr std::size_t line_width = 116;

// A comment must not end early.
std::string comment_safe(std::string text) {
  for (std::size_t at = text.find("*/"); at != std::string::npos; at = text.find("*/")) text.replace(at, 2, "* /");
  for (std::size_t at = text.find("/*"); at != std::string::npos; at = text.find("/*")) text.replace(at, 2, "/ *");
  return text;
}

std::string constants_text(const Model& model, const Variant& variant, bool in_signature) {
  const std::vector<std::string> names = c_names(model);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (model.params[i].kind != ParamKind::constant || model.in_signature[i] != in_signature) continue;
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", names[i], variant.constants[i]);
  }
  return text;
}

std::string entry_text(const Model& model, const Entry& entry) {
  const Variant& variant = model.variants[entry.variant];
  std::string text = constants_text(model, variant, true);
  if (!entry.bucket.empty()) text += (text.empty() ? "" : ", ") + entry.bucket;
  if (text.empty()) text = "all sizes";
  if (!variant.config.empty()) text += ": " + variant.config;
  return text + ", " + entry.chosen;
}

std::string opening(const Model& m) {
  const std::string& name = m.options.name;
  std::string text = fmt::format(
      "/* {}: {} {}, exported by Tessera {} for compute capability 9.0.\n *\n"
      " * Initialise the driver (cuInit), make a context current, then\n"
      " *   {}_module module;\n *   int status = {}_load(&module{});\n"
      " *   if (status == 0) status = {}_launch(&module, ..., stream);\n"
      " *   if (status != 0) puts({}_status_text(status));\n *\n * Compiled for\n",
      name, m.several() ? "the kernels of" : "the kernel", comment_safe(m.script), version(), name, name,
      m.options.embed ? "" : ", directory", name, name);
  for (const Entry& entry : m.entries) text += " *   " + comment_safe(entry_text(m, entry)) + "\n";
  for (const std::string& line : m.launches) text += " *   " + comment_safe(line) + "\n";
  text +=
      m.options.dispatch == ExportOptions::Dispatch::exact
          ? " * Other sizes are refused.\n"
          : " * Other sizes run by the nearest of these kernels that accepts them: right, perhaps not the fastest.\n";
  const std::string fixed = m.several() ? "" : constants_text(m, m.variants.front(), false);
  if (!fixed.empty()) text += fmt::format(" * Compile-time constants, the same for all: {}.\n", fixed);
  for (const std::string& note : m.notes) text += " * " + comment_safe(note) + "\n";
  return text + " */\n";
}

std::string status_enum(const Model& m) {
  const std::string prefix = upper(m.options.name);
  std::string text = fmt::format(
      "/* What the functions return: 0, a CUresult of the driver (below {}), or one of these plus a number below {} "
      "that\n"
      " * says where; {}_status_kind() takes the number away. */\n"
      "typedef enum {}_status {{\n  {}_SUCCESS = 0",
      status_unit, status_unit, m.options.name, m.options.name, prefix);
  for (const StatusInfo& info : status_infos(m.several()))
    text += fmt::format(",\n  {}_{} = {} /* {} */", prefix, info.name, static_cast<int>(info.kind) * status_unit,
                        info.text);
  return text + fmt::format("\n}} {}_status;\n", m.options.name);
}

std::string parameter_docs(const Model& m) {
  const std::vector<std::string> names = c_names(m);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!m.in_signature[i]) continue;
    text += fmt::format(" *   {}: {}{}\n", names[i], c_meaning(m.params[i]),
                        m.params[i].kind == ParamKind::constant ? ", one of the exported values" : "");
  }
  return text;
}

}  // namespace

// "const NAME_module* module, int32_t m_size, ..., CUstream stream"
std::string launch_parameters(const Model& m) {
  const std::vector<std::string> names = c_names(m);
  std::string text = fmt::format("const {}_module* module", m.options.name);
  std::size_t line = text.size() + m.options.name.size() + 12;  // "int NAME_launch("
  const auto add = [&](const std::string& one) {
    const bool wrap = line + one.size() + 2 > line_width;
    text += wrap ? ",\n    " + one : ", " + one;
    line = wrap ? 4 + one.size() : line + one.size() + 2;
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (m.in_signature[i]) add(fmt::format("{} {}", c_type(m.params[i]), names[i]));
  }
  if (m.several()) {
    add("CUdeviceptr workspace");
    add("size_t workspace_bytes");
  }
  add("CUstream stream");
  return text;
}

std::string workspace_parameters(const Model& m) {
  const std::vector<std::string> names = c_names(m);
  std::string text = fmt::format("const {}_module* module", m.options.name);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (m.in_signature[i] && m.decides[i]) text += fmt::format(", {} {}", c_type(m.params[i]), names[i]);
  }
  return text + ", size_t* bytes";
}

namespace {

std::string launch_declarations(const Model& m) {
  const std::string& name = m.options.name;
  std::string text, launches = "launches on `stream`; asynchronous", workspace;
  if (m.several()) {
    text = fmt::format(
        "/* How many bytes of device memory a launch of these sizes needs as its workspace; 0 if it needs none. More "
        "rows may\n * need fewer: ask for the sizes that are launched. */\nint {}_workspace_bytes({});\n\n",
        name, workspace_parameters(m));
    launches =
        "launches the kernels one after the other on\n * `stream`; asynchronous. What is refused launches nothing";
    workspace = fmt::format(
        " *   workspace: device memory of its own until the kernels have ended; a multiple of {0} bytes. What it "
        "holds\n"
        " *     before does not matter. Not read where {1}_workspace_bytes() says 0\n"
        " *   workspace_bytes: its size, at least what {1}_workspace_bytes() says for the sizes\n",
        workspace_alignment, name);
  }
  return text + fmt::format(
                    "/* Checks the arguments and {}. The context of the load is current. A grid without\n"
                    " * blocks is no error and launches nothing. How far memory reaches is not checked.\n{}{} */\nint "
                    "{}_launch({});\n\n",
                    launches, parameter_docs(m), workspace, name, launch_parameters(m));
}

}  // namespace

std::string header_text(const Model& m) {
  const std::string& name = m.options.name;
  const std::string guard = upper(name) + "_H";
  std::string text = opening(m);
  text += fmt::format("#ifndef {0}\n#define {0}\n\n#include <stdbool.h>\n{1}#include <stdint.h>\n\n", guard,
                      m.several() ? "#include <stddef.h>\n" : "");
  text += "#include \"tessera_cuda.h\"\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  text += status_enum(m);
  text += fmt::format(
      "\n/* The kernels as loaded into one context. Launches from several threads may share it; a program with "
      "several\n"
      " * devices has one for each context. */\n"
      "typedef struct {0}_module {{\n  CUcontext context;\n  int multiprocessors;\n  CUmodule modules[{1}];\n"
      "  CUfunction functions[{1}];\n}} {0}_module;\n\n",
      name, m.cubins.size());
  text += fmt::format("/* Loads the kernels into the current context{}. */\nint {}_load({}_module* module{});\n",
                      m.options.embed ? "" : "; `directory` holds the .cubin files", name, name,
                      m.options.embed ? "" : ", const char* directory");
  text += fmt::format(
      "/* Unloads them; the context of the load is current. Does nothing to a module that is not loaded. */\nint "
      "{0}_unload({0}_module* module);\n\n",
      name);
  text += launch_declarations(m);
  text += fmt::format(
      "/* A sentence for any status; never NULL. */\nconst char* {0}_status_text(int status);\n"
      "{0}_status {0}_status_kind(int status);\n\n#ifdef __cplusplus\n}}\n#endif\n\n#endif /* {1} */\n",
      name, guard);
  return text;
}

const char* const cuda_declarations =
    R"(/* What sources that Tessera exports need of the CUDA driver. With TESSERA_WITHOUT_CUDA_H defined they are compiled
 * without CUDA's headers, by these declarations of their own; do not define it where <cuda.h> is included as well. */
#ifndef TESSERA_CUDA_H
#define TESSERA_CUDA_H

#ifndef TESSERA_WITHOUT_CUDA_H
#include <cuda.h>
#if CUDA_VERSION < 12000
#error "exported kernels need the declarations of CUDA 12 or newer"
#endif
#else

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;
typedef unsigned long long CUdeviceptr;
typedef int CUdevice;
typedef struct CUctx_st* CUcontext;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct CUstream_st* CUstream;

typedef enum cudaError_enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_UNKNOWN = 999
} CUresult;
typedef enum CUdevice_attribute_enum {
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76
} CUdevice_attribute;
typedef enum CUfunction_attribute_enum {
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14
} CUfunction_attribute;
typedef enum CUlaunchAttributeID_enum {
  CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6
} CUlaunchAttributeID;

typedef union CUlaunchAttributeValue_union {
  char pad[64];
  struct {
    unsigned int x, y, z;
  } clusterDim;
  int programmaticStreamSerializationAllowed;
  void* alignment;
} CUlaunchAttributeValue;
typedef struct CUlaunchAttribute_st {
  CUlaunchAttributeID id;
  char pad[8 - sizeof(CUlaunchAttributeID)];
  CUlaunchAttributeValue value;
} CUlaunchAttribute;
typedef struct CUlaunchConfig_st {
  unsigned int gridDimX, gridDimY, gridDimZ;
  unsigned int blockDimX, blockDimY, blockDimZ;
  unsigned int sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned int numAttrs;
} CUlaunchConfig;

typedef struct CUtensorMap_st {
  cuuint64_t opaque[16];
} CUtensorMap;
typedef enum CUtensorMapDataType_enum {
  CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
  CU_TENSOR_MAP_DATA_TYPE_UINT16 = 1,
  CU_TENSOR_MAP_DATA_TYPE_UINT32 = 2,
  CU_TENSOR_MAP_DATA_TYPE_INT32 = 3,
  CU_TENSOR_MAP_DATA_TYPE_UINT64 = 4,
  CU_TENSOR_MAP_DATA_TYPE_INT64 = 5,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT16 = 6,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT32 = 7,
  CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 = 9
} CUtensorMapDataType;
typedef enum CUtensorMapInterleave_enum { CU_TENSOR_MAP_INTERLEAVE_NONE = 0 } CUtensorMapInterleave;
typedef enum CUtensorMapSwizzle_enum {
  CU_TENSOR_MAP_SWIZZLE_NONE = 0,
  CU_TENSOR_MAP_SWIZZLE_32B = 1,
  CU_TENSOR_MAP_SWIZZLE_64B = 2,
  CU_TENSOR_MAP_SWIZZLE_128B = 3
} CUtensorMapSwizzle;
typedef enum CUtensorMapL2promotion_enum { CU_TENSOR_MAP_L2_PROMOTION_L2_128B = 2 } CUtensorMapL2promotion;
typedef enum CUtensorMapFloatOOBfill_enum { CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0 } CUtensorMapFloatOOBfill;

CUresult cuCtxGetCurrent(CUcontext* context);
CUresult cuCtxGetDevice(CUdevice* device);
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device);
CUresult cuModuleLoadData(CUmodule* module, const void* image);
CUresult cuModuleUnload(CUmodule module);
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name);
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value);
CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
                        CUstream stream, void** parameters, void** extra);
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra);
CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* base,
                                const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);
CUresult cuGetErrorString(CUresult code, const char** text);

#ifdef __cplusplus
}
#endif

#endif /* TESSERA_WITHOUT_CUDA_H */

#endif /* TESSERA_CUDA_H */
)";

const char* const cmake_project =
    R"(# Static libraries of the exported kernels in this folder, a target for each NAME.c:
#   add_subdirectory(this-folder)
#   target_link_libraries(program PRIVATE NAME)
# Where CUDA's headers are not found they are compiled without; the driver's library, libcuda.so.1, is linked either way.
cmake_minimum_required(VERSION 3.18)
project(tessera_exported_kernels LANGUAGES C)

find_package(CUDAToolkit QUIET)
if(TARGET CUDA::cuda_driver)
  set(driver CUDA::cuda_driver)
else()
  find_library(TESSERA_CUDA_DRIVER NAMES cuda libcuda.so.1 PATH_SUFFIXES stubs REQUIRED)
  set(driver ${TESSERA_CUDA_DRIVER})
endif()
file(GLOB sources ${CMAKE_CURRENT_SOURCE_DIR}/*.c)
foreach(source IN LISTS sources)
  get_filename_component(name ${source} NAME_WE)
  add_library(${name} STATIC ${source})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${driver})
  if(NOT TARGET CUDA::cuda_driver)
    target_compile_definitions(${name} PUBLIC TESSERA_WITHOUT_CUDA_H)
  endif()
endforeach()
)";

}  // namespace tessera::exporter
