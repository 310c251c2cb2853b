#include "gpu/harness.hpp"

#include "cuda/printer.hpp"
#include "jit/compiler.hpp"
#include "jit/driver.hpp"
#include "sim/simulator.hpp"
#include "tessera/core/error.hpp"

namespace tessera::gpu_tests {
namespace {

constexpr int device = 0;

std::vector<std::int64_t> scalars(const std::vector<Argument>& arguments) {
  std::vector<std::int64_t> out;
  for (const Argument& a : arguments) out.push_back(a.scalar);
  return out;
}

std::vector<std::int64_t> evaluate(const std::vector<const ir::Expr*>& exprs, const std::vector<std::int64_t>& params) {
  std::vector<std::int64_t> out;
  for (const ir::Expr* e : exprs) out.push_back(ir::evaluate_on_host(e, params));
  return out;
}

}  // namespace

std::string why_no_card() {
  std::string reason;
  if (!jit::driver_available(&reason) || !jit::available(&reason)) return reason;
  try {
    jit::require_hopper(device);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

CardProgram::CardProgram(const ir::thread::Kernel& kernel) : kernel_(kernel) {
  const std::string name = cuda::function_name(kernel);
  const jit::Compiled compiled = jit::compile(cuda::print(kernel), name);
  const jit::LaunchOptions options{kernel.cluster, kernel.dependent_launch};
  module_ = std::make_unique<jit::Module>(device, compiled.cubin, name, kernel.shared_bytes, options);
}

void CardProgram::run(std::vector<Argument>& arguments) const {
  const std::vector<std::int64_t> params = scalars(arguments);
  std::vector<void*> pointers(arguments.size(), nullptr);
  std::vector<void*> launch_params;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (kernel_.params[i].is_pointer) {
      pointers[i] = jit::device_alloc(device, arguments[i].bytes.size());
      jit::copy_to_device(device, pointers[i], arguments[i].bytes.data(), arguments[i].bytes.size());
      launch_params.push_back(&pointers[i]);
    } else {
      launch_params.push_back(&arguments[i].scalar);  // little-endian: the low bytes are the value
    }
  }
  std::vector<jit::EncodedTensorMap> maps;
  maps.reserve(kernel_.tensor_maps.size());
  for (const auto& map : kernel_.tensor_maps) {
    maps.push_back(jit::encode_tensor_map(device, map, pointers[map.param], evaluate(map.dims, params),
                                          evaluate(map.strides_bytes, params)));
    launch_params.push_back(&maps.back());
  }
  unsigned grid[3];
  for (int i = 0; i < 3; ++i)
    grid[i] = static_cast<unsigned>(ir::evaluate_on_host(kernel_.grid[static_cast<std::size_t>(i)], params,
                                                         jit::device_info(device).multiprocessors));
  module_->launch(grid, static_cast<unsigned>(kernel_.warps) * 32, launch_params.data(), nullptr);
  jit::synchronize(device);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (pointers[i] == nullptr) continue;
    jit::copy_to_host(device, arguments[i].bytes.data(), pointers[i], arguments[i].bytes.size());
    jit::device_free(device, pointers[i]);
  }
}

void run_on_card(const ir::thread::Kernel& kernel, std::vector<Argument>& arguments) {
  CardProgram(kernel).run(arguments);
}

void run_on_simulator(const ir::thread::Kernel& kernel, std::vector<Argument>& arguments) {
  std::vector<sim::Argument> all;
  for (Argument& a : arguments) all.push_back({a.scalar, a.bytes.empty() ? nullptr : a.bytes.data(), a.bytes.size()});
  sim::run(kernel, all);
}

}  // namespace tessera::gpu_tests
