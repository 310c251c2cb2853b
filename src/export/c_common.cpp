// Pieces of NAME.c that exports of one kernel and of several have in common: the cubins, a launch worked out, its
// start.
#include "export/c_common.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "export/c_expr.hpp"
#include "tessera/version.hpp"

namespace tessera::exporter {

namespace {

constexpr std::size_t map_bytes = 128, map_alignment = 64;

constexpr const char* level_functions =
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

}  // namespace

int cluster_size(const ir::thread::Kernel& k) { return k.cluster[0] * k.cluster[1] * k.cluster[2]; }

CommonSource::CommonSource(const Model& model) : m_(model), name_(model.options.name) {
  for (const Variant& variant : m_.variants) {
    const ir::thread::Kernel& k = *variant.kernel;
    most_params_ = std::max(most_params_, k.params.size() + k.tensor_maps.size());
    most_maps_ = std::max(most_maps_, k.tensor_maps.size());
    clusters_ = clusters_ || cluster_size(k) > 1;
    dependent_ = dependent_ || k.dependent_launch;
  }
}

std::string CommonSource::top() const {
  std::string text = fmt::format("/* Written by Tessera {}; see {}.h. */\n#include \"{}.h\"\n\n#include <stddef.h>\n",
                                 version(), name_, name_);
  if (!m_.options.embed) text += "#include <stdio.h>\n#include <stdlib.h>\n";
  text += "#include <string.h>\n\n";
  return m_.options.embed ? text + images() : text;
}

std::string CommonSource::images() const {
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

std::string CommonSource::arguments_struct(const Model& script, const std::string& name,
                                           const std::vector<std::string>& more) const {
  const std::vector<std::string> names = c_names(script);
  std::string text = fmt::format("struct {}_{} {{\n", name_, name);
  bool any = !more.empty();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!script.in_signature[i]) continue;
    any = true;
    const std::string type = c_type(script.params[i]);
    text += fmt::format("  {} {};\n", type == "bool" ? "uint8_t" : type, names[i]);
  }
  for (const std::string& member : more) text += "  " + member + "\n";
  return text + (any ? "};\n\n" : "  int unused;\n};\n\n");
}

std::string CommonSource::plan_struct(const std::string& more) const {
  std::string text = fmt::format(
      "/* A launch, worked out: the grid, the kernel's parameters{}. */\nstruct {}_plan {{\n  int64_t "
      "grid[3];\n  int empty;\n{}  void* params[{}];\n",
      most_maps_ > 0 ? ", its tensor maps" : "", name_, more, std::max<std::size_t>(1, most_params_));
  if (most_maps_ > 0) text += fmt::format("  unsigned char maps[{}];\n", most_maps_ * map_bytes + map_alignment);
  return text + "};\n\n";
}

std::string CommonSource::map_functions() const {
  if (most_maps_ == 0) return {};
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

std::string CommonSource::run() const {
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
std::string CommonSource::launch_with_attributes() const {
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

std::string CommonSource::variant_table(bool planned) const {
  std::string text = fmt::format("static const struct {}_variant {{\n", name_);
  if (planned) {
    text += fmt::format("  int (*plan)(const {0}_module*, struct {0}_arguments*, struct {0}_plan*);\n", name_);
  }
  text += "  int function;\n  unsigned int threads, shared_bytes, cluster[3];\n  int dependent;\n} variants[] = {\n";
  for (std::size_t i = 0; i < m_.variants.size(); ++i) {
    const ir::thread::Kernel& k = *m_.variants[i].kernel;
    text += fmt::format("    {{{}{}, {}, {}, {{{}, {}, {}}}, {}}}{}\n", planned ? fmt::format("plan_{}, ", i) : "",
                        m_.variants[i].cubin, k.warps * 32, k.shared_bytes, k.cluster[0], k.cluster[1], k.cluster[2],
                        k.dependent_launch ? 1 : 0, i + 1 < m_.variants.size() ? "," : "");
  }
  return text + "};\n\n";
}

std::string CommonSource::distance_function(const std::vector<DispatchRow>& rows, const std::string& table) const {
  bool sized = false;
  std::string cases;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::string sum;
    for (const auto& [size, bound] : rows[i].bounds) {
      const int level = bound == 0 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(bound)));
      sum += fmt::format("{}gap((int64_t)in->{}, {})", sum.empty() ? "" : " + ", size, level);
      sized = true;
    }
    cases += fmt::format("    case {}:\n", i);
    if (!rows[i].others.empty()) cases += fmt::format("      if ({}) return -1;\n", fmt::join(rows[i].others, " || "));
    cases += fmt::format("      return {};\n", sum.empty() ? "0" : sum);
  }
  return (sized ? level_functions : "") + table +
         fmt::format(
             "/* How many powers of two the sizes are away from those of an entry; -1: its constants are others. */\n"
             "static int distance(int entry, const struct {}_arguments* in) {{\n  (void)in;\n  switch (entry) {{\n{}   "
             " default:\n      return -1;\n  }}\n}}\n\n",
             name_, cases);
}

std::string CommonSource::unequal(const detail::ParamInfo& param, const std::string& name, std::int64_t value) {
  if (param.type == DType::u64) return fmt::format("in->{} != UINT64_C({})", name, static_cast<std::uint64_t>(value));
  return fmt::format("in->{} != {}", name, integer_literal(value));
}

std::string CommonSource::check_loaded() const {
  return fmt::format("  if (module == NULL || module->functions[0] == NULL) return {}_NOT_LOADED;\n", upper(name_));
}
std::string CommonSource::check_context() const {
  return fmt::format(
      "  result = (int)cuCtxGetCurrent(&context);\n  if (result != 0) return result;\n"
      "  if (context != module->context) return {}_WRONG_CONTEXT;\n",
      upper(name_));
}

std::string CommonSource::fill_arguments() const {
  const std::vector<std::string> names = c_names(m_);
  std::string text = "  memset(&in, 0, sizeof in);\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!m_.in_signature[i]) continue;
    text +=
        fmt::format("  in.{0} = {0}{1};\n", names[i], std::string(c_type(m_.params[i])) == "bool" ? " ? 1 : 0" : "");
  }
  return text;
}

}  // namespace tessera::exporter
