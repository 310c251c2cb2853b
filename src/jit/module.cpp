// Loaded kernels and their launch.
#include <fmt/format.h>

#include "jit/driver.hpp"
#include "jit/driver_api.hpp"
#include "tessera/core/error.hpp"

namespace tessera::jit {
namespace {

// CUfunction_attribute.
constexpr int function_local_bytes = 3, function_registers = 4, function_max_dynamic_shared = 8,
              function_shared_carveout = 9;
// A kernel that stages tiles in shared memory wants it rather than L1, so that several CTAs fit on a multiprocessor.
constexpr std::uint32_t carveout_from_bytes = 8192;
constexpr int carveout_all = 100;

}  // namespace

struct Module::Impl {
  int device;
  std::string name;
  std::uint32_t shared_bytes;
  CuHandle module = nullptr;
  CuHandle function = nullptr;

  int attribute(int which) const {
    const ContextScope scope(device);
    int value = 0;
    check_cuda(driver_api().function_get(&value, which, function), "cuFuncGetAttribute", name);
    return value;
  }
  void set(int which, int value) const {
    check_cuda(driver_api().function_set(function, which, value), "cuFuncSetAttribute", name);
  }
  void unload() {
    // At the end of the process the driver may be gone already; there is nothing left to do then.
    if (module != nullptr) static_cast<void>(driver_api().module_unload(module));
    module = nullptr;
  }
};

Module::Module(int device, const std::vector<char>& cubin, const std::string& kernel_name,
               std::uint32_t dynamic_shared_bytes)
    : impl_(std::make_unique<Impl>(Impl{device, kernel_name, dynamic_shared_bytes})) {
  require_hopper(device);
  const ContextScope scope(device);
  check_cuda(driver_api().module_load(&impl_->module, cubin.data()), "cuModuleLoadData", kernel_name);
  try {
    check_cuda(driver_api().module_function(&impl_->function, impl_->module, kernel_name.c_str()),
               "cuModuleGetFunction", kernel_name);
    if (dynamic_shared_bytes > 0) impl_->set(function_max_dynamic_shared, static_cast<int>(dynamic_shared_bytes));
    if (dynamic_shared_bytes >= carveout_from_bytes) impl_->set(function_shared_carveout, carveout_all);
  } catch (...) {
    impl_->unload();
    throw;
  }
}

Module::~Module() {
  try {
    const ContextScope scope(impl_->device);
    impl_->unload();
  } catch (const Error&) {  // the context is lost, and the module with it
  }
}

int Module::registers() const { return impl_->attribute(function_registers); }
int Module::local_bytes() const { return impl_->attribute(function_local_bytes); }

int Module::max_active_ctas(int threads) const {
  const ContextScope scope(impl_->device);
  int ctas = 0;
  check_cuda(driver_api().occupancy(&ctas, impl_->function, threads, impl_->shared_bytes),
             "cuOccupancyMaxActiveBlocksPerMultiprocessor", impl_->name);
  return ctas;
}

void Module::launch(const unsigned grid[3], unsigned threads, void** params, void* stream) const {
  const ContextScope scope(impl_->device);
  const CuResult code = driver_api().launch(impl_->function, grid[0], grid[1], grid[2], threads, 1, 1,
                                            impl_->shared_bytes, stream, params, nullptr);
  if (code != 0) throw_cuda(code, "cuLaunchKernel", impl_->name);
}

}  // namespace tessera::jit
