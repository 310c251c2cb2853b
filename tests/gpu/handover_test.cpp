// V0 on the card in the configurations in which a kernel without the proxy fence is wrong, and beside the simulator.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "harness.hpp"
#include "jit/cublas.hpp"
#include "passes/pipeline.hpp"
#include "runtime/toolchain.hpp"
#include "tessera/tessera.hpp"

namespace tessera::gpu_tests {
namespace {

// V0 as the tutorial writes it, with any number of warps and a float32 result.
struct HandOver : Script {
  int block_m, block_n, warps;
  HandOver(int m, int n, int w) : block_m(m), block_n(n), warps(w) {}
  void operator()(Int32 m_size, int n_size, int k_size, Ptr<float16> a_ptr, Ptr<float16> b_ptr, Ptr<float> c_ptr) {
    constexpr int block_k = 64;
    attrs.blocks = {cdiv(m_size, block_m), cdiv(n_size, block_n)};
    attrs.warps = warps;
    Int32 offset_m = block_m * blockIdx.x;
    Int32 offset_n = block_n * blockIdx.y;
    auto ga = global_view(a_ptr, {m_size, k_size});
    auto gb = global_view(b_ptr, {n_size, k_size});
    auto sa = shared_tensor<float16>({block_m, block_k});
    auto sb = shared_tensor<float16>({block_n, block_k});
    auto acc = register_tensor<float>({block_m, block_n}, 0.0f);
    auto full = mbarrier.alloc(1);
    Var<UInt32> phase = 0u;
    for (auto k : range(0, k_size, block_k)) {
      if (auto _ = single_thread()) {
        mbarrier.arrive_and_expect_tx(full, sa.nbytes() + sb.nbytes());
        tma.global_to_shared({.src = ga, .dst = sa, .offsets = {offset_m, k}, .mbarrier = full});
        tma.global_to_shared({.src = gb, .dst = sb, .offsets = {offset_n, k}, .mbarrier = full});
        mbarrier.wait(full, phase);
      }
      sync();
      dot(load_shared(sa), load_shared(sb).transpose(), acc);
      sync();
      phase ^= 1u;
    }
    store_global(global_view(c_ptr, {m_size, n_size}), acc, {offset_m, offset_n});
  }
};

detail::KernelImpl kernel_of(const HandOver& script, bool fences) {
  detail::Program program;
  program.name = "HandOver";
  program.params = detail::param_infos<HandOver>();
  program.candidates.push_back(
      {"", [script](std::span<const std::int64_t> constants) { return detail::trace(script, constants); }});
  auto toolchain = std::make_shared<runtime::Toolchain>(*runtime::real_toolchain());
  toolchain->lower = [fences](ir::tile::Kernel& kernel) {
    passes::Options options;
    options.insert_proxy_fences = fences;
    return passes::lower(kernel, options);
  };
  return detail::KernelImpl(std::move(program), toolchain);
}

struct Problem {
  int size;
  Device device;
  Buffer<float16> a, b;
  Buffer<float> c;
  Problem(const Device& d, int n)
      : size(n),
        device(d),
        a(device.randn<float16>({n, n}, 1)),
        b(device.randn<float16>({n, n}, 2)),
        c(device.empty<float>({n, n})) {}

  void launch(detail::KernelImpl& kernel) {
    const auto number = [](std::int64_t v) {
      detail::Argument argument;
      argument.integer = v;
      return argument;
    };
    const auto pointer = [](auto&& p) {
      detail::Argument argument;
      argument.pointer = p.value();
      return argument;
    };
    const detail::Argument arguments[] = {number(size),
                                          number(size),
                                          number(size),
                                          pointer(PtrArg<float16>(a)),
                                          pointer(PtrArg<float16>(b)),
                                          pointer(PtrArg<float>(c))};
    kernel.launch(arguments, &device, nullptr);
    device.synchronize();
  }
};

std::size_t wrong_elements(const std::vector<float>& got, const std::vector<float>& expected) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!(std::fabs(got[i] - expected[i]) <= 1e-3F * std::fabs(expected[i]) + 0.02F)) ++wrong;
  }
  return wrong;
}

class HandOverOnCard : public ::testing::TestWithParam<std::array<int, 3>> {
  void SetUp() override {
    if (const std::string why = why_no_card(); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_P(HandOverOnCard, IsExactWithTheFenceThatTheCompilerInserts) {
  const auto [m, n, warps] = GetParam();
  Problem p(Device::cuda(0), 4096);
  auto reference = p.device.empty<float>({p.size, p.size});
  jit::Cublas(0).gemm(DType::f16, p.size, p.size, p.size, p.a.data(), p.b.data(), reference.data(), nullptr, true);
  p.device.synchronize();
  const std::vector<float> expected = reference.to_host();
  detail::KernelImpl fenced = kernel_of(HandOver(m, n, warps), true);
  detail::KernelImpl plain = kernel_of(HandOver(m, n, warps), false);
  std::size_t without = 0;
  for (int launch = 0; launch < 10; ++launch) {
    p.launch(fenced);
    EXPECT_EQ(wrong_elements(p.c.to_host(), expected), 0U);
    p.launch(plain);
    without += wrong_elements(p.c.to_host(), expected);
  }
  // What happens without it depends on the compiler's schedule and the card's: reported, not required.
  std::cout << m << "x" << n << " with " << warps << " warps: without the fence " << without
            << " wrong elements in 10 launches\n";
}

INSTANTIATE_TEST_SUITE_P(Configurations, HandOverOnCard,
                         ::testing::Values(std::array{64, 64, 4}, std::array{64, 128, 8}, std::array{64, 128, 4},
                                           std::array{128, 128, 4}));

TEST(SimulatorAndCard, AgreeToTheRoundingOfFloat32) {
  if (const std::string why = why_no_card(); !why.empty()) GTEST_SKIP() << why;
  Problem card(Device::cuda(0), 256);
  Problem simulated(Device::sim(), 256);
  detail::KernelImpl kernel = kernel_of(HandOver(64, 128, 4), true);
  detail::KernelImpl again = kernel_of(HandOver(64, 128, 4), true);
  card.launch(kernel);
  simulated.launch(again);
  const auto a = simulated.a.to_host();
  const auto b = simulated.b.to_host();
  const auto c = card.c.to_host();
  const auto d = simulated.c.to_host();
  double largest = 0;
  for (std::size_t i = 0; i < 256; ++i) {
    for (std::size_t j = 0; j < 256; ++j) {
      double magnitude = 0;
      for (std::size_t k = 0; k < 256; ++k)
        magnitude +=
            std::fabs(static_cast<double>(static_cast<float>(a[i * 256 + k])) * static_cast<float>(b[j * 256 + k]));
      const double difference = std::fabs(static_cast<double>(c[i * 256 + j]) - d[i * 256 + j]);
      // Two summations of 256 products in fp32, each within k u sum |a||b| of the exact value.
      ASSERT_LE(difference, 2 * 256 * std::ldexp(1.0, -24) * magnitude);
      largest = std::max(largest, difference / magnitude);
    }
  }
  std::cout << "largest difference / sum of |a b|: " << largest << "\n";
}

}  // namespace
}  // namespace tessera::gpu_tests
