// A first kernel: c = a + b.
#include <cstdio>
#include <string_view>
#include <tessera/check.hpp>
#include <tessera/tessera.hpp>

using namespace tessera;

struct VectorAdd : Script {
  void operator()(Int32 n, Ptr<float> a_ptr, Ptr<float> b_ptr, Ptr<float> c_ptr) {
    constexpr int block = 1024;
    attrs.blocks = {cdiv(n, block)};
    attrs.warps = 4;

    Int32 offset = block * blockIdx.x;
    auto a = load_global(global_view(a_ptr, {n}), {offset}, {block});  // elements past the end read as 0
    auto b = load_global(global_view(b_ptr, {n}), {offset}, {block});
    store_global(global_view(c_ptr, {n}), a + b, {offset});  // and are not written
  }
};

int main(int argc, char** argv) try {
  const int n = 100003;
  const bool checking = argc > 1 && std::string_view(argv[1]) == "--check";
  Device device = checking ? Device::sim() : Device::best();
  auto a = device.randn<float>({n}), b = device.randn<float>({n});
  auto c = device.empty<float>({n});

  Kernel<VectorAdd> add;
  if (checking) {
    const CheckReport report = check(add, n, a, b, c);
    std::puts(report.text().c_str());
    return report.clean() ? 0 : 1;
  }
  add(n, a, b, c);

  const auto x = a.to_host(), y = b.to_host(), sum = c.to_host();
  int wrong = 0;
  for (std::size_t i = 0; i < sum.size(); ++i) wrong += sum[i] != x[i] + y[i] ? 1 : 0;
  std::printf("vector_add of %d elements on %s: %d wrong\n", n, device.name().c_str(), wrong);
  std::printf("emitted CUDA: %s\n", add.report().cuda_path.c_str());
  return wrong == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 3;
}
