#include "cuda/printer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cuda/expr_printer.hpp"
#include "cuda/names.hpp"
#include "cuda/prelude.hpp"
#include "cuda/stmt_printer.hpp"

namespace tessera::cuda {
namespace {

using ir::thread::Kernel;

void append_comment(std::string& out, const std::string& text) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (!line.empty() && line.back() == '\\') line += ' ';  // would continue the comment
    out += line.empty() ? "//\n" : "//   " + line + "\n";
    begin = end + 1;
  }
}

// What a reader wants to know first: where it comes from, the tile program and the shared-memory map.
std::string head_comment(const Kernel& kernel) {
  const char* slash = std::strrchr(kernel.loc.file, '/');
  const char* file = slash == nullptr ? kernel.loc.file : slash + 1;
  std::string out = fmt::format("// {}", kernel.name);
  if (kernel.loc.known()) out += fmt::format(", {}:{}", file, kernel.loc.line);
  out += ".  nvcc -arch=sm_90a -fmad=false compiles it as Tessera does.\n";
  if (!kernel.tile_program.empty()) {
    out += "//\n// The tile program:\n";
    append_comment(out, kernel.tile_program);
  }
  if (!kernel.regions.empty()) {
    out += fmt::format("//\n// Shared memory, {} bytes:\n", kernel.shared_bytes);
    for (const auto& r : kernel.regions) {
      out += fmt::format("//   {:6} .. {:6}  {}{}\n", r.offset, r.offset + r.bytes, r.name,
                         r.is_barrier ? " (barriers)" : "");
    }
  }
  return out + "\n";
}

std::string special_registers(const SpecialRegisters& s) {
  std::string out;
  for (int axis = 0; axis < 3; ++axis) {
    const char name = "xyz"[axis];
    if (s.block[axis]) out += fmt::format("  const int block_{} = blockIdx.{};\n", name, name);
    if (s.grid[axis]) out += fmt::format("  const int grid_{} = gridDim.{};\n", name, name);
  }
  if (s.cluster_rank) out += "  const int cluster_rank = cta_rank();\n";
  if (s.thread) out += "  const int thread = threadIdx.x;\n";
  if (s.lane) out += "  const int lane = threadIdx.x & 31;\n";
  if (s.warp) out += "  const int warp = __shfl_sync(0xffffffffu, threadIdx.x >> 5, 0);\n";  // provably uniform
  if (s.elected) out += "  const bool elected = elect_one();\n";
  if (s.shared) {
    // The array is the only shared memory of the kernel, so it begins the window and its alignment holds.
    out += "  extern __shared__ __align__(1024) unsigned char smem[];\n";
    out += "  const unsigned shared = (unsigned)__cvta_generic_to_shared(smem);\n";
  }
  return out;
}

std::string parameter(const ir::Param& p, const std::string& name, bool written, Prelude& prelude) {
  if (p.type == DType::f16 || p.type == DType::bf16) prelude.use(cuda_type(p.type));
  if (!p.is_pointer) return fmt::format("{} {}", cuda_type(p.type), name);
  return fmt::format("{}{}* {}", written ? "" : "const ", cuda_type(p.type), name);
}

// Types in declarations of the body; the helpers declare what they need themselves.
void use_types(const ir::Block& body, Prelude& prelude) {
  const auto use = [&](DType t) {
    if (t == DType::f16 || t == DType::bf16) prelude.use(cuda_type(t));
  };
  for (const ir::Stmt* s : body) {
    if (const auto* let = ir::as<ir::control::Let>(s)) use(let->value->type);
    if (const auto* var = ir::as<ir::control::DeclareVar>(s)) use(var->var->type);
    if (const auto* write = ir::as<ir::thread::WriteRegs>(s)) use(write->dst.array->type);
    if (const auto* loop = ir::as<ir::control::For>(s)) use_types(loop->body, prelude);
    if (const auto* loop = ir::as<ir::control::Loop>(s)) use_types(loop->body, prelude);
    if (const auto* branch = ir::as<ir::control::If>(s)) {
      use_types(branch->then_body, prelude);
      use_types(branch->else_body, prelude);
    }
  }
}

std::string kernel_name(const Kernel& kernel, const PrintOptions& options, Names& names) {
  return options.readable ? names.fresh(kernel.name, "kernel") : "tessera_kernel";
}

}  // namespace

std::string function_name(const Kernel& kernel, const PrintOptions& options) {
  Names names(options.readable);
  return kernel_name(kernel, options, names);
}

std::string print(const Kernel& kernel, const PrintOptions& options) {
  Names names(options.readable);
  Prelude prelude;
  const std::string function = kernel_name(kernel, options, names);

  std::vector<std::string> params, maps, signature;
  for (std::size_t i = 0; i < kernel.params.size(); ++i) {
    params.push_back(names.fresh(kernel.params[i].name, "p"));
    const bool written =
        std::find(kernel.written_params.begin(), kernel.written_params.end(), i) != kernel.written_params.end();
    signature.push_back(parameter(kernel.params[i], params.back(), written, prelude));
  }
  for (const auto& map : kernel.tensor_maps) {
    prelude.use("TensorMap");
    maps.push_back(names.fresh(map.name, "map"));
    signature.push_back(fmt::format("const __grid_constant__ TensorMap {}", maps.back()));
  }
  use_types(kernel.body, prelude);

  ExprPrinter exprs(kernel.context->expr, names, prelude, params, options.readable);
  StmtPrinter body(exprs, names, prelude, maps, options.readable);
  body.block(kernel.body);

  std::string out = options.readable ? head_comment(kernel) : std::string();
  const std::string helpers = prelude.text();
  out += helpers + (helpers.empty() ? "" : "\n");
  const auto [x, y, z] = kernel.cluster;
  const std::string cluster = x * y * z == 1 ? "" : fmt::format("__cluster_dims__({}, {}, {}) ", x, y, z);
  out += fmt::format("extern \"C\" __global__ void {}__launch_bounds__({}, {}) {}({}) {{\n", cluster, kernel.warps * 32,
                     kernel.ctas_per_sm, function, fmt::join(signature, ", "));
  return out + special_registers(exprs.special()) + body.text() + "}\n";
}

}  // namespace tessera::cuda
