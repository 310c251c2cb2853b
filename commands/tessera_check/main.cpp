// tessera-check over the kernels that this project ships. A program of yours does the same with its own kernels:
// register_check() for each, and this main function.
#include <cstdio>

#include "hopper_matmul/versions.hpp"
#include "tessera/check.hpp"

namespace {

using namespace tessera;

// Sizes that leave a remainder in every direction, with more tiles than blocks and more k-blocks than stages.
template <class T>
CheckReport check_matmul(const std::string& version, const CheckOptions& options) {
  constexpr std::int64_t m = 392, n = 328, k = 456;
  const Device device = Device::sim();
  const auto a = device.randn<T>({m, k}, 1), b = device.randn<T>({n, k}, 2);
  auto c = device.empty<T>({m, n});
  return hopper_matmul::make_matmul<T>(version, {})->check(options, m, n, k, a, b, c);
}

void register_all() {
  for (const std::string& version : hopper_matmul::version_names()) {
    register_check("hopper_matmul/" + version + "/f16",
                   [version](const CheckOptions& o) { return check_matmul<float16>(version, o); });
    register_check("hopper_matmul/" + version + "/bf16",
                   [version](const CheckOptions& o) { return check_matmul<bfloat16>(version, o); });
  }
}

}  // namespace

int main(int argc, char** argv) try {
  register_all();
  return tessera::check_main(argc, argv);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 3;
}
