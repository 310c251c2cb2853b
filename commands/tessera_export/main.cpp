// tessera-export over the kernels that this project ships. A program of yours does the same with its own kernels:
// register_export() for each, and this main function.
#include <array>
#include <cstdio>
#include <map>

#include "hopper_matmul/versions.hpp"
#include "tessera/matmul_export.hpp"

namespace {

using namespace tessera;

std::vector<std::array<std::int64_t, 3>> three_each(const std::vector<std::vector<std::int64_t>>& sizes) {
  std::vector<std::array<std::int64_t, 3>> result;
  for (const auto& size : sizes) {
    if (size.size() != 3)
      throw Error(ErrorKind::user, {}, "a --size of another number of values than three", "give m, n and k");
    result.push_back({size[0], size[1], size[2]});
  }
  if (result.empty()) result.push_back({4096, 4096, 4096});
  return result;
}

template <class T>
std::vector<ExportReport> export_step(const std::string& version, const ExportRequest& request) {
  if (!request.type.empty())
    throw Error(ErrorKind::user, {}, "--type for a kernel of one type", "take the name that ends in the type");
  std::vector<std::vector<std::int64_t>> sizes;
  for (const auto& size : three_each(request.sizes)) sizes.emplace_back(size.begin(), size.end());
  return {hopper_matmul::make_matmul<T>(version, request.config)->export_as_c(request.options, sizes)};
}

// Of tessera::matmul: --type is that of the operands, or "operands:result".
std::vector<ExportReport> export_library_matmul(const ExportRequest& request) {
  static const std::map<std::string, std::pair<DType, DType>> types = {
      {"f16", {DType::f16, DType::f16}},      {"f16:f32", {DType::f16, DType::f32}},
      {"bf16", {DType::bf16, DType::bf16}},   {"bf16:f32", {DType::bf16, DType::f32}},
      {"f8", {DType::f8e4m3, DType::f16}},    {"f8:bf16", {DType::f8e4m3, DType::bf16}},
      {"f8:f32", {DType::f8e4m3, DType::f32}}};
  const auto found = types.find(request.type.empty() ? "f16" : request.type);
  if (found == types.end()) {
    throw Error(ErrorKind::user, {}, "--type " + request.type + " of matmul",
                "one of f16, f16:f32, bf16, bf16:f32, f8 (result f16), f8:bf16, f8:f32");
  }
  MatmulExport what;
  what.in = found->second.first;
  what.out = found->second.second;
  what.sizes = three_each(request.sizes);
  what.config = request.config;
  return export_matmul(what, request.options);
}

void register_all() {
  register_export("matmul", "m n k", export_library_matmul);
  for (const std::string& version : hopper_matmul::version_names()) {
    register_export("hopper_matmul/" + version + "/f16", "m n k",
                    [version](const ExportRequest& r) { return export_step<float16>(version, r); });
    register_export("hopper_matmul/" + version + "/bf16", "m n k",
                    [version](const ExportRequest& r) { return export_step<bfloat16>(version, r); });
  }
}

}  // namespace

int main(int argc, char** argv) try {
  register_all();
  return tessera::export_main(argc, argv);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 3;
}
