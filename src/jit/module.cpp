// Loaded kernels and their launch.
#include <fmt/format.h>

#include <array>

#include "jit/driver.hpp"
#include "jit/driver_api.hpp"
#include "tessera/core/error.hpp"

namespace tessera::jit {
namespace {

// CUfunction_attribute.
constexpr int function_local_bytes = 3, function_registers = 4, function_max_dynamic_shared = 8,
              function_shared_carveout = 9, function_large_clusters = 14;
// CUlaunchAttributeID.
constexpr int attribute_cluster = 4, attribute_serialisation = 6;
constexpr int portable_cluster = 8;  // CTAs
// A kernel that stages tiles in shared memory wants it rather than L1, so that several CTAs fit on a multiprocessor.
constexpr std::uint32_t carveout_from_bytes = 8192;
constexpr int carveout_all = 100;

}  // namespace

struct Module::Impl {
  int device = 0;
  std::string name;
  const char* interned = "";
  std::uint32_t shared_bytes = 0;
  CuHandle module = nullptr;
  CuHandle function = nullptr;
  std::array<CuLaunchAttribute, 2> attributes{};
  unsigned attribute_count = 0;

  CuLaunchAttribute& add_attribute(int id) {
    attributes[attribute_count].id = id;
    return attributes[attribute_count++];
  }
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
               std::uint32_t dynamic_shared_bytes, const LaunchOptions& options)
    : impl_(std::make_unique<Impl>()) {
  impl_->device = device;
  impl_->name = kernel_name;
  impl_->interned = intern(kernel_name);
  impl_->shared_bytes = dynamic_shared_bytes;
  const auto [x, y, z] = options.cluster;
  if (x * y * z > 1) {
    CuLaunchAttribute& cluster = impl_->add_attribute(attribute_cluster);
    for (std::size_t i = 0; i < 3; ++i) cluster.value.cluster[i] = static_cast<unsigned>(options.cluster[i]);
  }
  if (options.dependent) impl_->add_attribute(attribute_serialisation).value.flag = 1;
  require_hopper(device);
  const ContextScope scope(device);
  check_cuda(driver_api().module_load(&impl_->module, cubin.data()), "cuModuleLoadData", kernel_name);
  try {
    check_cuda(driver_api().module_function(&impl_->function, impl_->module, kernel_name.c_str()),
               "cuModuleGetFunction", kernel_name);
    if (dynamic_shared_bytes > 0) impl_->set(function_max_dynamic_shared, static_cast<int>(dynamic_shared_bytes));
    if (dynamic_shared_bytes >= carveout_from_bytes) impl_->set(function_shared_carveout, carveout_all);
    if (x * y * z > portable_cluster) impl_->set(function_large_clusters, 1);
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

void Module::launch(const unsigned grid[3], unsigned threads, void** params, void* stream,
                    const LaunchOrigin& origin) const {
  const Impl& impl = *impl_;
  const ContextScope scope(impl.device);
  const LaunchOrigin named = *origin.kernel != 0 ? origin : LaunchOrigin{impl.interned, origin.call, origin.recorded};
  CuResult code = 0;
  const char* call = "cuLaunchKernel";
  if (impl.attribute_count > 0) {
    CuLaunchConfig config;
    for (std::size_t i = 0; i < 3; ++i) {
      config.grid[i] = grid[i];
      config.block[i] = i == 0 ? threads : 1;
    }
    config.shared_bytes = impl.shared_bytes;
    config.stream = stream;
    config.attributes = impl.attributes.data();
    config.count = impl.attribute_count;
    call = "cuLaunchKernelEx";
    code = driver_api().launch_with_attributes(&config, impl.function, params, nullptr);
  } else {
    code = driver_api().launch(impl.function, grid[0], grid[1], grid[2], threads, 1, 1, impl.shared_bytes, stream,
                               params, nullptr);
  }
  if (code != 0) throw_launch(code, call, named);
  if (named.recorded) return;
  launch_log(impl.device).add(named, stream);
  if (synchronous_launches()) wait_for_launch(stream, named);
}

}  // namespace tessera::jit
