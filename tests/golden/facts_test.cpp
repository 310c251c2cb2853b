// Registers, spills, stack and remarks: read from the compiler's log, and from real compilations where NVRTC is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "jit/compiler.hpp"
#include "jit/cubin_facts.hpp"
#include "tessera/core/error.hpp"

namespace tessera::golden {
namespace {

using testing::HasSubstr;

constexpr const char* log_text =
    "ptxas info    : 13 bytes gmem\n"
    "ptxas info    : Compiling entry function 'other' for 'sm_90a'\n"
    "ptxas info    : Function properties for other\n"
    "ptxas         .     8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
    "ptxas info    : Used 11 registers, used 0 barriers\n"
    "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized in function 'k'\n"
    "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
    "ptxas info    : Function properties for k\n"
    "ptxas         .     336 bytes stack frame, 528 bytes spill stores, 480 bytes spill loads\n"
    "ptxas info    : Used 168 registers, used 3 barriers, 336 bytes cumulative stack size, 1024 bytes smem\n"
    "ptxas info    : Compile time = 53.047 ms\n";

TEST(Facts, AreReadFromTheLog) {
  jit::CubinFacts facts;
  ASSERT_TRUE(jit::parse_facts(log_text, "k", &facts));
  EXPECT_EQ(facts.registers, 168);
  EXPECT_EQ(facts.spill_store_bytes, 528);
  EXPECT_EQ(facts.spill_load_bytes, 480);
  EXPECT_EQ(facts.stack_bytes, 336);
  EXPECT_EQ(facts.static_shared_bytes, 1024);
  EXPECT_EQ(facts.spill_bytes(), 1008);
  EXPECT_TRUE(facts.flawed());
  ASSERT_EQ(facts.remarks.size(), 1U);
  EXPECT_THAT(facts.remarks[0], HasSubstr("C7510"));
}

TEST(Facts, AnIgnoredSetmaxnregAndASerialisedWgmmaAreFlaws) {
  const std::string clean =
      "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
      "ptxas info    : Function properties for k\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 3 barriers\n";
  jit::CubinFacts facts;
  ASSERT_TRUE(jit::parse_facts(clean, "k", &facts));
  EXPECT_FALSE(facts.flawed());
  for (const std::string remark :
       {"ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored to maintain minimum register needs",
        "ptxas info    : (C7517) warpgroup.wait is injected in around line 60 by compiler to allow use of registers"}) {
    facts = {};
    ASSERT_TRUE(jit::parse_facts(remark + "\n" + clean, "k", &facts));
    EXPECT_TRUE(facts.flawed());
    EXPECT_EQ(facts.remarks, std::vector<std::string>{remark});
  }
}

TEST(Facts, AreNotInventedForALogWithoutThem) {
  jit::CubinFacts facts;
  EXPECT_FALSE(jit::parse_facts("", "k", &facts));
  EXPECT_FALSE(jit::parse_facts(log_text, "third", &facts));
  EXPECT_FALSE(jit::parse_facts("ptxas info    : Compiling entry function 'k' for 'sm_90a'\n", "k", &facts));
}

class Nvrtc : public testing::Test {
 protected:
  void SetUp() override {
    std::string reason;
    if (!jit::available(&reason)) GTEST_SKIP() << reason;
  }
  // A kernel that keeps `live` sums alive at once.
  static std::string many_live_values(int live, const char* name) {
    const std::string n = std::to_string(live);
    return std::string("extern \"C\" __global__ void __launch_bounds__(1024, 1) ") + name + "(float* p) {\n  float x[" +
           n + "];\n#pragma unroll\n  for (int i = 0; i < " + n +
           "; ++i) x[i] = p[i];\n  __syncthreads();\n#pragma unroll\n  for (int i = 0; i < " + n + "; ++i) p[" + n +
           " - i] = x[i] * x[(i * 7) % " + n + "];\n}\n";
  }
};

TEST_F(Nvrtc, NamesItsVersionAndFlags) {
  EXPECT_THAT(jit::compiler_version(), testing::StartsWith("NVRTC 1"));
  EXPECT_THAT(jit::compiler_flags(), HasSubstr("sm_90a"));
  EXPECT_THAT(jit::compiler_flags(), HasSubstr("--fmad=false"));
}

TEST_F(Nvrtc, ReportsSpills) {
  const jit::Compiled tight = jit::compile(many_live_values(100, "spilling"), "spilling");  // 64 registers a thread
  EXPECT_EQ(tight.facts.registers, 64);
  EXPECT_GT(tight.facts.spill_store_bytes, 0);
  EXPECT_GT(tight.facts.spill_load_bytes, 0);
  EXPECT_GT(tight.facts.stack_bytes, 0);
  const jit::Compiled loose = jit::compile(many_live_values(10, "fits"), "fits");
  EXPECT_EQ(loose.facts.spill_store_bytes, 0);
}

TEST_F(Nvrtc, ReportsAnErrorWithTheLog) {
  try {
    static_cast<void>(jit::compile("extern \"C\" __global__ void k() { undeclared = 1; }", "k"));
    FAIL() << "compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
    EXPECT_THAT(error.what(), HasSubstr("kernel 'k'"));
    EXPECT_THAT(error.what(), HasSubstr("\"undeclared\" is undefined"));
  }
}

TEST_F(Nvrtc, RefusesATextWithoutTheKernel) {
  EXPECT_THROW(static_cast<void>(jit::compile("extern \"C\" __global__ void other() {}", "k")), Error);
}

TEST_F(Nvrtc, CompilesInSeveralThreads) {
  const std::string text = many_live_values(40, "k");
  const std::vector<char> alone = jit::compile(text, "k").cubin;
  std::vector<std::vector<char>> cubins(4);
  std::vector<std::thread> threads;
  for (auto& cubin : cubins) threads.emplace_back([&] { cubin = jit::compile(text, "k").cubin; });
  for (std::thread& t : threads) t.join();
  for (const auto& cubin : cubins) EXPECT_EQ(cubin, alone);
}

}  // namespace
}  // namespace tessera::golden
