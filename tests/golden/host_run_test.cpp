// The printed text means what the simulator executes: the CUDA C++ of the scalar golden kernels, compiled for the CPU,
// gives the simulator's bits for every type, operator, conversion and vector width.
#include <gtest/gtest.h>

#include "golden/host_kernels.hpp"
#include "golden/kernels.hpp"
#include "sim/simulator.hpp"

namespace tessera::golden {
namespace {

void compare(const std::string& name, const ir::thread::Kernel& kernel, std::vector<Argument> arguments,
             unsigned ctas = 1) {
  std::vector<Argument> simulated = arguments;
  std::vector<sim::Argument> all;
  for (Argument& a : simulated) all.push_back({a.scalar, a.bytes.empty() ? nullptr : a.bytes.data(), a.bytes.size()});
  EXPECT_EQ(run_text_on_host(name, arguments, ctas), 0) << "misaligned accesses";
  sim::run(kernel, all);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (kernel.params[i].is_pointer)
      expect_same(kernel.params[i].type, arguments[i].bytes, simulated[i].bytes, kernel.params[i].name);
  }
}

TEST(TextOnHost, Arithmetic) {
  const auto kernel = arithmetic();
  for (int round = 0; round < 20; ++round) compare("arithmetic", kernel, arithmetic_arguments(kernel, round));
}

TEST(TextOnHost, Casts) {
  const auto kernel = casts();
  for (int round = 0; round < 20; ++round) compare("casts", kernel, interesting_arguments(kernel, 32UL * 14));
}

TEST(TextOnHost, Float8Casts) {
  const auto kernel = float8_casts();
  std::vector<Argument> arguments = interesting_arguments(kernel, 128UL * 14);
  for (int round = 0; round < 2; ++round) {  // all 256 codes in two rounds
    for (const std::size_t in : {0U, 2U})
      for (std::size_t i = 0; i < 128; ++i)
        arguments[in].bytes[i] = static_cast<std::byte>(128 * round + static_cast<int>(i));
    compare("float8_casts", kernel, arguments);
  }
}

TEST(TextOnHost, PackedRegisters) {
  const auto kernel = packed_registers();
  for (int round = 0; round < 5; ++round) compare("packed_registers", kernel, interesting_arguments(kernel, 32UL * 64));
}

TEST(TextOnHost, ControlFlow) {
  const auto kernel = control_flow();
  for (const std::int64_t n : {-1, 0, 7, 51, 60, 99, 1000}) {
    compare("control_flow", kernel, {{n, {}}, {0, bytes_of(std::vector<std::int32_t>{0})}});
  }
}

TEST(TextOnHost, VectorAdd) {
  const auto kernel = vector_add();
  for (const std::int64_t n : {1, 3, 4, 5, 511, 512, 513, 2000}) {
    const auto size = static_cast<std::size_t>(n);
    compare("vector_add", kernel,
            {{n, {}},
             {0, interesting(DType::f32, size)},
             {0, interesting(DType::f32, size)},
             {0, interesting(DType::f32, size)}},
            static_cast<unsigned>((n + 511) / 512));
  }
}

}  // namespace
}  // namespace tessera::golden
