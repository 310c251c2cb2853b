// Pieces of NAME.c: loading and unloading the cubins, and the statuses' texts.
#include <fmt/format.h>

#include <algorithm>

#include "export/c_common.hpp"

namespace tessera::exporter {

namespace {

// As src/jit/module.cpp: a kernel that stages tiles wants shared memory rather than L1.
constexpr std::uint32_t carveout_from_bytes = 8192;
constexpr int portable_cluster = 8;

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  return result;
}

}  // namespace

std::string CommonSource::unload_function() const {
  return fmt::format(
      "int {0}_unload({0}_module* module) {{\n  int status = 0, i;\n  if (module == NULL) return {1}_NOT_LOADED;\n"
      "  for (i = 0; i < {2}; ++i) {{\n"
      "    const int result = module->modules[i] == NULL ? 0 : (int)cuModuleUnload(module->modules[i]);\n"
      "    if (status == 0) status = result;\n  }}\n  memset(module, 0, sizeof *module);\n  return status;\n}}\n\n",
      name_, upper(name_), m_.cubins.size());
}

// For each cubin its function, and what the function is told before the first launch.
std::string CommonSource::images_table() const {
  std::string text = fmt::format(
      "static const struct {}_image {{\n  const {};\n  const char* function;\n  int shared_bytes, carveout, "
      "large_cluster;\n}} images[] = {{\n",
      name_, m_.options.embed ? "void* data" : "char* file");
  for (std::size_t i = 0; i < m_.cubins.size(); ++i) {
    const auto variant =
        std::find_if(m_.variants.begin(), m_.variants.end(), [&](const Variant& v) { return v.cubin == i; });
    std::uint32_t shared = 0;
    int cluster = 1;
    for (const Variant& v : m_.variants) {
      if (v.cubin != i) continue;
      shared = std::max(shared, v.kernel->shared_bytes);
      cluster = std::max(cluster, cluster_size(*v.kernel));
    }
    text += fmt::format("    {{{}, \"{}\", {}, {}, {}}}{}\n",
                        m_.options.embed ? fmt::format("cubin_{}", i) : fmt::format("\"{}\"", cubin_file(m_, i)),
                        variant->function, shared, shared >= carveout_from_bytes ? 1 : 0,
                        cluster > portable_cluster ? 1 : 0, i + 1 < m_.cubins.size() ? "," : "");
  }
  return text + "};\n\n";
}

std::string CommonSource::load() const {
  std::string text = images_table() + unload_function();
  if (!m_.options.embed) text += file_function();
  const std::string fetch = m_.options.embed
                                ? "    status = (int)cuModuleLoadData(&module->modules[i], images[i].data);\n"
                                : "    status = load_file(&module->modules[i], directory, images[i].file);\n";
  return text + fmt::format(
                    "int {0}_load({0}_module* module{3}) {{\n  CUdevice device = 0;\n  int status, major = 0, minor "
                    "= 0, i;\n"
                    "  if (module == NULL) return {1}_NOT_LOADED;\n  memset(module, 0, sizeof *module);\n"
                    "  status = (int)cuCtxGetCurrent(&module->context);\n"
                    "  if (status == 0 && module->context == NULL) status = CUDA_ERROR_INVALID_CONTEXT;\n"
                    "  if (status == 0) status = (int)cuCtxGetDevice(&device);\n"
                    "  if (status == 0) status = (int)cuDeviceGetAttribute(&major, "
                    "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);\n"
                    "  if (status == 0) status = (int)cuDeviceGetAttribute(&minor, "
                    "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);\n"
                    "  if (status == 0 && (major != 9 || minor != 0)) status = {1}_WRONG_DEVICE;\n"
                    "  if (status == 0)\n    status = (int)cuDeviceGetAttribute(&module->multiprocessors, "
                    "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);\n"
                    "  for (i = 0; i < {2} && status == 0; ++i) {{\n{4}"
                    "    if (status == 0) status = (int)cuModuleGetFunction(&module->functions[i], "
                    "module->modules[i], images[i].function);\n"
                    "    if (status == 0 && images[i].shared_bytes > 0)\n"
                    "      status = (int)cuFuncSetAttribute(module->functions[i], "
                    "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, images[i].shared_bytes);\n"
                    "    if (status == 0 && images[i].carveout)\n"
                    "      status = (int)cuFuncSetAttribute(module->functions[i], "
                    "CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100);\n"
                    "    if (status == 0 && images[i].large_cluster)\n"
                    "      status = (int)cuFuncSetAttribute(module->functions[i], "
                    "CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);\n"
                    "  }}\n  if (status != 0) (void){0}_unload(module);\n  return status;\n}}\n\n",
                    name_, upper(name_), m_.cubins.size(), m_.options.embed ? "" : ", const char* directory", fetch);
}
std::string CommonSource::file_function() const {
  return fmt::format(R"(static int load_file(CUmodule* module, const char* directory, const char* file) {{
  const size_t length = strlen(directory) + strlen(file) + 2;
  char* path = (char*)malloc(length);
  void* image = NULL;
  long bytes = -1;
  int status = {0}_FILE_ERROR;
  FILE* stream = NULL;
  if (path != NULL) {{
    (void)snprintf(path, length, "%s/%s", directory, file);
    stream = fopen(path, "rb");
  }}
  if (stream != NULL && fseek(stream, 0, SEEK_END) == 0) bytes = ftell(stream);
  if (bytes > 0) image = malloc((size_t)bytes);
  if (image != NULL && fseek(stream, 0, SEEK_SET) == 0 && fread(image, 1, (size_t)bytes, stream) == (size_t)bytes)
    status = (int)cuModuleLoadData(module, image);
  if (stream != NULL) (void)fclose(stream);
  free(image);
  free(path);
  return status;
}}

)",
                     upper(name_));
}

std::string CommonSource::status_functions(const Statuses& statuses) const {
  std::string text = fmt::format(
      "static const struct {}_text {{\n  int status;\n  const char* text;\n}} texts[] = {{\n    {{0, \"success\"}}",
      name_);
  for (const StatusInfo& info : status_infos(m_.several()))
    text += fmt::format(",\n    {{{}_{}, \"{}\"}}", upper(name_), info.name, info.text);
  for (const auto& [status, sentence] : statuses.texts())
    text += fmt::format(",\n    {{{}, \"{}\"}}", status, escaped(sentence));
  text += fmt::format(
      "}};\n\nconst char* {0}_status_text(int status) {{\n  const char* text = NULL;\n  size_t i;\n"
      "  for (i = 0; i < sizeof texts / sizeof texts[0]; ++i) {{\n    if (texts[i].status == status) return "
      "texts[i].text;\n  }}\n"
      "  if (status > 0 && status < {1} && cuGetErrorString((CUresult)status, &text) == CUDA_SUCCESS && text != "
      "NULL) return text;\n"
      "  return \"a status that these functions do not return\";\n}}\n\n"
      "{0}_status {0}_status_kind(int status) {{\n  if (status == 0) return {2}_SUCCESS;\n"
      "  if (status < {1}) return {2}_DRIVER_ERROR;\n  return ({0}_status)(status / {1} * {1});\n}}\n",
      name_, status_unit, upper(name_));
  return text;
}

}  // namespace tessera::exporter
