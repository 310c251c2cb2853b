// NAME.c.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "export/c_expr.hpp"
#include "export/c_plan.hpp"
#include "export/model.hpp"
#include "export/status.hpp"
#include "tessera/version.hpp"

namespace tessera::exporter {
using detail::ParamInfo;
using detail::ParamKind;

namespace {

// As src/jit/module.cpp: a kernel that stages tiles wants shared memory rather than L1.
constexpr std::uint32_t carveout_from_bytes = 8192;
constexpr int portable_cluster = 8;
constexpr std::size_t map_bytes = 128, map_alignment = 64;

int cluster_size(const ir::thread::Kernel& k) { return k.cluster[0] * k.cluster[1] * k.cluster[2]; }

class SourceWriter {
 public:
  explicit SourceWriter(const Model& model) : m_(model), name_(model.options.name), names_(c_names(model)) {}

  std::string write() {
    std::string plans;
    std::set<std::string> helpers;
    for (std::size_t i = 0; i < m_.variants.size(); ++i) {
      const PlanText plan = plan_text(m_, i, &statuses_);
      plans += fmt::format("/* {} */\n{}\n",
                           m_.variants[i].config.empty() ? "the only configuration" : m_.variants[i].config, plan.text);
      helpers.insert(plan.helpers.begin(), plan.helpers.end());
      most_params_ =
          std::max(most_params_, m_.variants[i].kernel->params.size() + m_.variants[i].kernel->tensor_maps.size());
      most_maps_ = std::max(most_maps_, m_.variants[i].kernel->tensor_maps.size());
      clusters_ = clusters_ || cluster_size(*m_.variants[i].kernel) > 1;
      dependent_ = dependent_ || m_.variants[i].kernel->dependent_launch;
    }
    std::string text = fmt::format("/* Written by Tessera {}; see {}.h. */\n#include \"{}.h\"\n\n#include <stddef.h>\n",
                                   version(), name_, name_);
    if (!m_.options.embed) text += "#include <stdio.h>\n#include <stdlib.h>\n";
    text += "#include <string.h>\n\n";
    if (m_.options.embed) text += images();
    text += types() + helper_text(helpers) + (helpers.empty() ? "" : "\n");
    if (most_maps_ > 0) text += map_functions();
    text += plans + table() + run() + dispatch() + load() + status_functions();
    return text;
  }

 private:
  std::string images() const {
    std::string text;
    for (std::size_t i = 0; i < m_.cubins.size(); ++i) {
      const std::vector<char>& cubin = m_.cubins[i];
      text += fmt::format("/* {} bytes, as 64-bit little-endian words */\nstatic const uint64_t cubin_{}[] = {{",
                          cubin.size(), i);
      for (std::size_t at = 0; at < cubin.size(); at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, cubin.data() + at, std::min<std::size_t>(8, cubin.size() - at));
        text += fmt::format("{}{:#x}u,", at % 48 == 0 ? "\n    " : " ", word);
      }
      text.pop_back();
      text += "};\n\n";
    }
    return text;
  }

  std::string types() const {
    std::string text = fmt::format("/* The arguments of a launch. */\nstruct {}_arguments {{\n", name_);
    bool any = false;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (!m_.in_signature[i]) continue;
      any = true;
      const std::string type = c_type(m_.params[i]);
      text += fmt::format("  {} {};\n", type == "bool" ? "uint8_t" : type, names_[i]);
    }
    if (!any) text += "  int unused;\n";
    text += fmt::format(
        "}};\n\n/* A launch, worked out: the grid, the kernel's parameters{}. */\nstruct {}_plan {{\n  int64_t "
        "grid[3];\n  int empty;\n  void* params[{}];\n",
        most_maps_ > 0 ? ", its tensor maps" : "", name_, std::max<std::size_t>(1, most_params_));
    if (most_maps_ > 0) text += fmt::format("  unsigned char maps[{}];\n", most_maps_ * map_bytes + map_alignment);
    return text + "};\n\n";
  }

  std::string map_functions() const {
    std::string text = fmt::format(
        "/* Where tensor map `index` lies in a plan: on {0} bytes. */\n"
        "static void* map_storage(struct {1}_plan* plan, size_t index) {{\n"
        "  const uintptr_t base = ((uintptr_t)plan->maps + {2}) / {0} * {0};\n"
        "  return (void*)(base + index * {3});\n}}\n\n",
        map_alignment, name_, map_alignment - 1, map_bytes);
    text +=
        R"(/* Encodes a tensor map, once the rules of the TMA unit are checked. `first`: the status for the first of them. */
static int encode_map(void* map, CUtensorMapDataType type, CUtensorMapSwizzle swizzle, cuuint32_t rank, uint64_t base,
                      const int64_t* dims, const int64_t* strides, const cuuint32_t* box, int first) {
  static const cuuint32_t steps[5] = {1, 1, 1, 1, 1};
  cuuint64_t extents[5] = {0, 0, 0, 0, 0}, pitches[5] = {0, 0, 0, 0, 0};
  cuuint32_t d;
  memset(map, 0, 128);
  for (d = 0; d < rank; ++d) {
    if (dims[d] == 0) return 0; /* no box of it is ever copied */
  }
  if (base % 16 != 0) return first;
  for (d = 0; d < rank; ++d) {
    if (dims[d] < 1 || dims[d] > INT64_C(4294967296)) return first + 1 + (int)d;
    extents[d] = (cuuint64_t)dims[d];
  }
  for (d = 0; d + 1 < rank; ++d) {
    if (strides[d] < 0 || strides[d] >= INT64_C(1099511627776) || strides[d] % 16 != 0) return first + (int)(1 + rank + d);
    pitches[d] = (cuuint64_t)strides[d];
  }
  return (int)cuTensorMapEncodeTiled((CUtensorMap*)map, type, rank, (void*)(uintptr_t)base, extents, pitches, box, steps,
                                     CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                                     CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

)";
    return text;
  }

  // One row a variant.
  std::string table() const {
    std::string text = fmt::format(
        "static const struct {0}_variant {{\n  int (*plan)(const {0}_module*, struct {0}_arguments*, struct "
        "{0}_plan*);\n"
        "  int function;\n  unsigned int threads, shared_bytes, cluster[3];\n  int dependent;\n}} variants[] = {{\n",
        name_);
    for (std::size_t i = 0; i < m_.variants.size(); ++i) {
      const ir::thread::Kernel& k = *m_.variants[i].kernel;
      text += fmt::format("    {{plan_{}, {}, {}, {}, {{{}, {}, {}}}, {}}}{}\n", i, m_.variants[i].cubin, k.warps * 32,
                          k.shared_bytes, k.cluster[0], k.cluster[1], k.cluster[2], k.dependent_launch ? 1 : 0,
                          i + 1 < m_.variants.size() ? "," : "");
    }
    return text + "};\n\n";
  }

  std::string run() const {
    std::string text = fmt::format(
        "static int run_plan(const {0}_module* module, int variant, struct {0}_plan* plan, CUstream stream) {{\n"
        "  const struct {0}_variant* v = &variants[variant];\n"
        "  const unsigned int x = (unsigned int)plan->grid[0], y = (unsigned int)plan->grid[1];\n"
        "  const unsigned int z = (unsigned int)plan->grid[2];\n",
        name_);
    if (clusters_ || dependent_) text += launch_with_attributes();
    return text +
           "  return (int)cuLaunchKernel(module->functions[v->function], x, y, z, v->threads, 1, 1, v->shared_bytes, "
           "stream,\n"
           "                             plan->params, NULL);\n}\n\n";
  }
  std::string launch_with_attributes() const {
    std::string text =
        "  CUlaunchAttribute attributes[2];\n  CUlaunchConfig config;\n  unsigned int count = 0;\n"
        "  memset(attributes, 0, sizeof attributes);\n";
    if (clusters_) {
      text +=
          "  if (v->cluster[0] * v->cluster[1] * v->cluster[2] > 1) {\n"
          "    attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;\n"
          "    attributes[count].value.clusterDim.x = v->cluster[0];\n"
          "    attributes[count].value.clusterDim.y = v->cluster[1];\n"
          "    attributes[count].value.clusterDim.z = v->cluster[2];\n    ++count;\n  }\n";
    }
    if (dependent_) {
      text +=
          "  if (v->dependent) {\n    attributes[count].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;\n"
          "    attributes[count].value.programmaticStreamSerializationAllowed = 1;\n    ++count;\n  }\n";
    }
    text +=
        "  if (count > 0) {\n    memset(&config, 0, sizeof config);\n"
        "    config.gridDimX = x;\n    config.gridDimY = y;\n    config.gridDimZ = z;\n"
        "    config.blockDimX = v->threads;\n    config.blockDimY = 1;\n    config.blockDimZ = 1;\n"
        "    config.sharedMemBytes = v->shared_bytes;\n    config.hStream = stream;\n    config.attrs = attributes;\n"
        "    config.numAttrs = count;\n"
        "    return (int)cuLaunchKernelEx(&config, module->functions[v->function], plan->params, NULL);\n  }\n";
    return text;
  }

  // How far an entry's sizes are from those of a launch.
  std::string distances() const {
    bool sized = false;
    std::string cases, which;
    for (std::size_t i = 0; i < m_.entries.size(); ++i) {
      const Entry& entry = m_.entries[i];
      const Variant& variant = m_.variants[entry.variant];
      std::string other, sum;
      std::size_t bound = 0;
      for (std::size_t p = 0; p < names_.size(); ++p) {
        const ParamInfo& param = m_.params[p];
        if (param.kind == ParamKind::constant) {
          if (m_.in_signature[p]) other += (other.empty() ? "" : " || ") + unequal(p, variant.constants[p]);
          continue;
        }
        const std::int64_t value = entry.bounds[bound++];
        if (!is_sized(param)) continue;
        const int level = value == 0 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value)));
        sum += fmt::format("{}gap((int64_t)in->{}, {})", sum.empty() ? "" : " + ", names_[p], level);
        sized = true;
      }
      cases += fmt::format("    case {}:\n", i);
      if (!other.empty()) cases += fmt::format("      if ({}) return -1;\n", other);
      cases += fmt::format("      return {};\n", sum.empty() ? "0" : sum);
      which += fmt::format("{}{}", which.empty() ? "" : ", ", entry.variant);
    }
    std::string text = sized ? level_functions : "";
    text += fmt::format(
        "/* The variant of each exported set of sizes. */\nstatic const int entries[] = {{{}}};\n\n"
        "/* How many powers of two the sizes are away from those of an entry; -1: its constants are others. */\n"
        "static int distance(int entry, const struct {}_arguments* in) {{\n  (void)in;\n  switch (entry) {{\n{}    "
        "default:\n      return -1;\n  }}\n}}\n\n",
        which, name_, cases);
    return text;
  }
  std::string unequal(std::size_t param, std::int64_t value) const {
    if (m_.params[param].type == DType::u64)
      return fmt::format("in->{} != UINT64_C({})", names_[param], static_cast<std::uint64_t>(value));
    return fmt::format("in->{} != {}", names_[param], integer_literal(value));
  }
  static constexpr const char* level_functions =
      R"(/* The bucket of a size: 0 for 0 and less, else 1 more than the exponent of the power of two that it rounds up to. */
static int level_of(int64_t value) {
  uint64_t below;
  int level = 1;
  if (value <= 0 || value > INT64_C(4611686018427387904)) return 0;
  for (below = (uint64_t)value - 1; below != 0; below >>= 1) ++level;
  return level;
}

static int gap(int64_t value, int level) {
  const int difference = level_of(value) - level;
  return difference < 0 ? -difference : difference;
}

)";

  std::string dispatch() {
    const bool exact = m_.options.dispatch == ExportOptions::Dispatch::exact;
    std::string text = distances();
    text += fmt::format("int {}_launch({}) {{\n  struct {}_arguments in;\n  struct {}_plan plan;\n", name_,
                        launch_parameters(m_), name_, name_);
    text += fmt::format(
        "  unsigned char tried[{}] = {{0}};\n  CUcontext context = NULL;\n  int status = {};\n  int result;\n",
        m_.entries.size(), upper(name_) + "_NOT_EXPORTED");
    text += fmt::format("  if (module == NULL || module->functions[0] == NULL) return {}_NOT_LOADED;\n", upper(name_));
    text += "  result = (int)cuCtxGetCurrent(&context);\n  if (result != 0) return result;\n";
    text += fmt::format("  if (context != module->context) return {}_WRONG_CONTEXT;\n  memset(&in, 0, sizeof in);\n",
                        upper(name_));
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (!m_.in_signature[i]) continue;
      text +=
          fmt::format("  in.{0} = {0}{1};\n", names_[i], std::string(c_type(m_.params[i])) == "bool" ? " ? 1 : 0" : "");
    }
    text += exact ? "  /* The kernel of these sizes. */\n" : "  /* The nearest kernel that accepts the arguments. */\n";
    text += fmt::format(
        "  for (;;) {{\n    int entry, best = -1, least_distance = 0;\n"
        "    for (entry = 0; entry < {0}; ++entry) {{\n      const int away = tried[entry] ? -1 : distance(entry, "
        "&in);\n"
        "      if (away < 0{1} || (best >= 0 && away >= least_distance)) continue;\n      best = entry;\n"
        "      least_distance = away;\n    }}\n    if (best < 0) return status;\n    tried[best] = 1;\n    plan.empty "
        "= 0;\n"
        "    result = variants[entries[best]].plan(module, &in, &plan);\n"
        "    if (result == 0) return plan.empty ? 0 : run_plan(module, entries[best], &plan, stream);\n"
        "    if (result < {2}) return result; /* the driver's */\n"
        "    if (status == {3}_NOT_EXPORTED) status = result;\n  }}\n}}\n\n",
        m_.entries.size(), exact ? " || away > 0" : "", status_unit, upper(name_));
    return text;
  }

  std::string unload_function() const {
    return fmt::format(
        "int {0}_unload({0}_module* module) {{\n  int status = 0, i;\n  if (module == NULL) return {1}_NOT_LOADED;\n"
        "  for (i = 0; i < {2}; ++i) {{\n"
        "    const int result = module->modules[i] == NULL ? 0 : (int)cuModuleUnload(module->modules[i]);\n"
        "    if (status == 0) status = result;\n  }}\n  memset(module, 0, sizeof *module);\n  return status;\n}}\n\n",
        name_, upper(name_), m_.cubins.size());
  }

  // For each cubin its function, and what the function is told before the first launch.
  std::string images_table() const {
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

  std::string load() const {
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
  std::string file_function() const {
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

  std::string status_functions() const {
    std::string text = fmt::format(
        "static const struct {}_text {{\n  int status;\n  const char* text;\n}} texts[] = {{\n    {{0, \"success\"}}",
        name_);
    for (const StatusInfo& info : status_infos())
      text += fmt::format(",\n    {{{}_{}, \"{}\"}}", upper(name_), info.name, info.text);
    for (const auto& [status, sentence] : statuses_.texts())
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
  static std::string escaped(const std::string& text) {
    std::string result;
    for (const char c : text) result += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    return result;
  }

  const Model& m_;
  const std::string& name_;
  std::vector<std::string> names_;
  Statuses statuses_;
  std::size_t most_params_ = 0, most_maps_ = 0;
  bool clusters_ = false, dependent_ = false;
};

}  // namespace

std::string cubin_file(const Model& model, std::size_t index) {
  return fmt::format("{}_{}.cubin", model.options.name, index);
}

std::string source_text(const Model& model) { return SourceWriter(model).write(); }

}  // namespace tessera::exporter
