// Golden kernels through NVRTC, where it is installed: they compile for sm_90a and stay in registers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "cuda/printer.hpp"
#include "golden/kernels.hpp"
#include "jit/compiler.hpp"
#include "tessera/core/error.hpp"

namespace tessera::golden {
namespace {

class Compiled : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    std::string reason;
    if (!jit::available(&reason)) GTEST_SKIP() << reason;
  }
};

TEST_P(Compiled, ToACubinWithoutSpills) {
  const auto kernel = GetParam().make();
  for (const bool readable : {true, false}) {
    const std::string name = cuda::function_name(kernel, {readable});
    const jit::Compiled out = jit::compile(cuda::print(kernel, {readable}), name);
    EXPECT_FALSE(out.cubin.empty());
    EXPECT_GT(out.facts.registers, 0);
    EXPECT_LE(out.facts.registers, 255);
    EXPECT_EQ(out.facts.spill_store_bytes, 0) << out.log;
    EXPECT_EQ(out.facts.spill_load_bytes, 0) << out.log;
    EXPECT_THAT(out.log, testing::Not(testing::HasSubstr("warning")));
    if (!GetParam().needs_stack) {
      EXPECT_EQ(out.facts.stack_bytes, 0) << out.log;
    }
    EXPECT_TRUE(out.facts.remarks.empty()) << out.facts.remarks.front();
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, Compiled, testing::ValuesIn(cases()), [](const auto& c) { return c.param.name; });

}  // namespace
}  // namespace tessera::golden
