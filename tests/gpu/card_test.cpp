// The golden kernels on the card, against the simulated Hopper and against the host's own arithmetic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "golden/buffers.hpp"
#include "golden/builder.hpp"
#include "golden/kernels.hpp"
#include "gpu/harness.hpp"
#include "jit/cublas.hpp"
#include "jit/driver.hpp"
#include "tessera/core/error.hpp"

namespace tessera::gpu_tests {
namespace {

using namespace golden;  // NOLINT(google-build-using-namespace)

class OnCard : public testing::Test {
 protected:
  void SetUp() override {
    const std::string reason = why_no_card();
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
};

void compare_with_simulator(const ir::thread::Kernel& kernel, std::vector<Argument> arguments) {
  std::vector<Argument> simulated = arguments;
  run_on_card(kernel, arguments);
  run_on_simulator(kernel, simulated);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (kernel.params[i].is_pointer)
      expect_same(kernel.params[i].type, arguments[i].bytes, simulated[i].bytes, kernel.params[i].name);
  }
}

TEST_F(OnCard, SharedMemoryBeginsOnAMultipleOf1024) {
  Builder b("base", 1);
  b.kernel.shared_bytes = 64;
  ir::ExprPool& e = b.e();
  const auto out = b.pointer("out", DType::u32, true);
  const auto* r = b.regs("r", DType::u32, 1);
  b.add<thread::WriteRegs>(b.ref(r, 0), std::vector{e.mod(e.leaf(ir::ExprKind::shared_base, DType::u32), 1024)});
  b.add<thread::StoreGlobalVector>(b.ref(r, 0), 1, out, e.i64(0), nullptr);
  std::vector<Argument> arguments = {{0, bytes_of(std::vector<std::uint32_t>{99})}};
  run_on_card(b.kernel, arguments);
  EXPECT_EQ(values_of<std::uint32_t>(arguments[0].bytes)[0], 0U);
}

TEST_F(OnCard, OneLaneIsElected) {
  Builder b("elect", 4);
  ir::ExprPool& e = b.e();
  const auto out = b.pointer("out", DType::i32, true);
  const auto* r = b.regs("r", DType::i32, 1);
  b.add<thread::WriteRegs>(b.ref(r, 0), std::vector{e.cast(DType::i32, b.elected())});
  b.add<thread::StoreGlobalVector>(b.ref(r, 0), 1, out, e.cast(DType::i64, b.thread_idx()), nullptr);
  std::vector<Argument> arguments = {{0, bytes_of(std::vector<std::int32_t>(128, 99))}};
  run_on_card(b.kernel, arguments);
  const auto elected = values_of<std::int32_t>(arguments[0].bytes);
  for (int warp = 0; warp < 4; ++warp) {
    EXPECT_EQ(std::count(elected.begin() + 32 * warp, elected.begin() + 32 * warp + 32, 1), 1);
    EXPECT_EQ(std::count(elected.begin() + 32 * warp, elected.begin() + 32 * warp + 32, 0), 31);
  }
}

TEST_F(OnCard, VectorAdd) {
  for (const std::int64_t n : {1, 3, 4, 511, 512, 513, 10001}) {
    std::vector<float> a(static_cast<std::size_t>(n)), c(a.size() + 8, 7.0F);
    for (float& x : a) x = std::normal_distribution<float>()(engine());
    std::vector<float> d(a.rbegin(), a.rend());
    std::vector<Argument> arguments = {{n, {}}, {0, bytes_of(a)}, {0, bytes_of(d)}, {0, bytes_of(c)}};
    run_on_card(golden::vector_add(), arguments);
    c = values_of<float>(arguments[3].bytes);
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(c[i], a[i] + d[i]) << n << ", " << i;
    for (std::size_t i = a.size(); i < c.size(); ++i) ASSERT_EQ(c[i], 7.0F) << "wrote past the end";
  }
}

TEST_F(OnCard, ControlFlow) {
  for (const std::int64_t n : {0, 7, 60, 1000}) {
    const auto kernel = golden::control_flow();
    std::vector<Argument> arguments = {{n, {}}, {0, bytes_of(std::vector<std::int32_t>{0})}};
    compare_with_simulator(kernel, arguments);
  }
}

TEST_F(OnCard, PackedRegisters) {
  const auto kernel = golden::packed_registers();
  compare_with_simulator(kernel, interesting_arguments(kernel, 32UL * 64));
}

TEST_F(OnCard, Casts) {
  const auto kernel = golden::casts();
  compare_with_simulator(kernel, interesting_arguments(kernel, 32UL * 14));
}

TEST_F(OnCard, Arithmetic) {
  const auto kernel = golden::arithmetic();
  for (int round = 0; round < 8; ++round) {
    compare_with_simulator(kernel, arithmetic_arguments(kernel, round));
  }
}

TEST_F(OnCard, Matmul) {
  constexpr std::size_t n = golden::matmul_n, k = golden::matmul_k;
  for (const std::size_t m : {128U, 300U}) {
    std::vector<std::uint16_t> a(m * k), b(n * k), c(m * n, 0x7e00);
    for (auto& x : a) x = float16::from_float(std::normal_distribution<float>()(engine()));
    for (auto& x : b) x = float16::from_float(std::normal_distribution<float>()(engine()));
    std::vector<Argument> arguments = {
        {static_cast<std::int64_t>(m), {}}, {0, bytes_of(a)}, {0, bytes_of(b)}, {0, bytes_of(c)}};
    run_on_card(golden::matmul(), arguments);
    c = values_of<std::uint16_t>(arguments[3].bytes);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::size_t x = 0; x < k; ++x)
          sum += static_cast<double>(float16::to_float(a[i * k + x])) * float16::to_float(b[j * k + x]);
        const double got = float16::to_float(c[i * n + j]);
        // half a unit of the result's format and the rounding of a float32 sum over k
        if (!(std::abs(got - sum) <= std::abs(sum) * 0x1p-10 + 0.01)) ++wrong;
      }
    }
    EXPECT_EQ(wrong, 0U) << "m = " << m;
  }
}

TEST_F(OnCard, PointersAreToldApart) {
  void* p = jit::device_alloc(0, 256);
  std::string what;
  int host = 0;
  EXPECT_TRUE(jit::is_device_pointer(0, static_cast<char*>(p) + 128));
  EXPECT_EQ(jit::allocation_bytes_from(0, static_cast<char*>(p) + 56), 200U);
  EXPECT_FALSE(jit::is_device_pointer(0, &host, &what));
  EXPECT_THAT(what, testing::HasSubstr("host memory"));
  jit::device_free(0, p);
}

TEST_F(OnCard, EventsMeasureTime) {
  void* stream = jit::create_stream(0);
  void *begin = jit::create_event(0), *end = jit::create_event(0);
  void* p = jit::device_alloc(0, 1 << 26);
  jit::record_event(0, begin, stream);
  jit::fill_bytes(0, p, 1, 1 << 26, stream);
  jit::record_event(0, end, stream);
  const float ms = jit::elapsed_ms(0, begin, end);
  EXPECT_GT(ms, 0.0F);
  EXPECT_LT(ms, 1000.0F);
  jit::synchronize(0, stream);
  jit::device_free(0, p);
  jit::destroy_event(0, begin);
  jit::destroy_event(0, end);
  jit::destroy_stream(0, stream);
}

TEST_F(OnCard, Cublas) {
  std::string reason;
  if (!jit::cublas_available(&reason)) GTEST_SKIP() << reason;
  constexpr std::size_t m = 40, n = 24, k = 16;
  for (const DType type : {DType::f16, DType::bf16}) {
    const auto encode = [&](float x) { return type == DType::f16 ? float16::from_float(x) : bfloat16::from_float(x); };
    const auto decode = [&](std::uint16_t x) {
      return type == DType::f16 ? float16::to_float(x) : bfloat16::to_float(x);
    };
    std::vector<std::uint16_t> a(m * k), b(n * k), c(m * n);
    for (auto& x : a) x = encode(static_cast<float>(engine()() % 9) - 4);
    for (auto& x : b) x = encode(static_cast<float>(engine()() % 9) - 4);
    void *pa = jit::device_alloc(0, 2 * a.size()), *pb = jit::device_alloc(0, 2 * b.size()),
         *pc = jit::device_alloc(0, 2 * c.size());
    jit::copy_to_device(0, pa, a.data(), 2 * a.size());
    jit::copy_to_device(0, pb, b.data(), 2 * b.size());
    jit::Cublas cublas(0);
    cublas.gemm(type, m, n, k, pa, pb, pc);
    jit::synchronize(0);
    jit::copy_to_host(0, c.data(), pc, 2 * c.size());
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        float sum = 0;  // small integers: exact
        for (std::size_t x = 0; x < k; ++x) sum += decode(a[i * k + x]) * decode(b[j * k + x]);
        ASSERT_EQ(c[i * n + j], encode(sum)) << i << ", " << j;
      }
    }
    EXPECT_THAT(cublas.version(), testing::StartsWith("cuBLAS 1"));
    for (void* p : {pa, pb, pc}) jit::device_free(0, p);
  }
}

}  // namespace
}  // namespace tessera::gpu_tests
