// Which memory the candidates of a tuning get copies of.
#include "runtime/candidate_memory.hpp"

#include "kernels/programs.hpp"
#include "passes/pipeline.hpp"
#include "runtime_fixture.hpp"

namespace tessera {
namespace {
using runtime::CandidateMemory;

// Two pointers of 64 floats each.
class CandidateMemoryTest : public ::testing::Test {
 protected:
  CandidateMemoryTest() {
    kernel->context = std::make_shared<ir::Context>();
    kernel->params = {{"x", DType::f32, true, 4}, {"y", DType::f32, true, 4}};
    kernel->written_params = {1};
    for (std::size_t i = 0; i < 2; ++i) {
      arguments[i].pointer.pointer = floats.data() + 64 * i;
      arguments[i].pointer.bytes = 256;
    }
  }
  void view(std::uint32_t param, const ir::Expr* elements) {
    kernel->views.push_back({"", param, DType::f32, {}, elements, SourceLoc::here()});
  }
  CandidateMemory memory() const {
    const std::vector<const detail::Argument*> pointers = {&arguments[0], &arguments[1]};
    std::vector<runtime::Entry> entries(1);
    entries[0].kernel = kernel;
    return runtime::find_memory(pointers, entries, device);
  }

  std::shared_ptr<ir::thread::Kernel> kernel = std::make_shared<ir::thread::Kernel>();
  test::FakeDevice device{std::make_shared<test::FakeWorld>()};
  std::array<float, 128> floats{};
  std::array<detail::Argument, 2> arguments;
};

TEST_F(CandidateMemoryTest, AViewReachesItsElements) {
  view(0, kernel->context->expr.i64(16));
  view(1, kernel->context->expr.i64(8));
  const CandidateMemory found = memory();
  EXPECT_EQ(found.reach, (std::vector<std::size_t>{64, 32}));
  ASSERT_EQ(found.regions.size(), 2U);
  EXPECT_FALSE(found.regions[found.region[0]].written);
  EXPECT_TRUE(found.regions[found.region[1]].written);
}

TEST_F(CandidateMemoryTest, AViewThatBeginsElsewhereInEachBlockReachesAllThereIs) {
  kernel->open_params = {1};
  CandidateMemory found = memory();
  EXPECT_EQ(found.reach, (std::vector<std::size_t>{0, 256}));
  arguments[1].pointer.bytes = detail::PtrValue::unknown_bytes;  // and the fake device does not know either
  found = memory();
  EXPECT_EQ(found.reach, (std::vector<std::size_t>{0, 0}));
  EXPECT_TRUE(found.regions.empty());
}

// What a candidate writes must lie in a copy: else it would write to the caller's memory, or, in a process of its own,
// nowhere.
TEST(CandidateMemory, HoldsAllThatTheLibrarysKernelsWrite) {
  test::FakeDevice device{std::make_shared<test::FakeWorld>()};
  std::vector<float> memory(1 << 16);
  const auto check = [&](const detail::Program& program, const std::vector<std::int64_t>& constants,
                         const std::vector<std::int64_t>& scalars) {
    auto tile = program.candidates.front().trace(constants);
    std::vector<runtime::Entry> entries(1);
    entries[0].kernel = std::make_shared<ir::thread::Kernel>(passes::lower(*tile, {}).kernel);
    const ir::thread::Kernel& kernel = *entries[0].kernel;
    std::vector<detail::Argument> arguments(kernel.params.size());
    std::vector<const detail::Argument*> pointers;
    for (std::size_t i = 0, next = 0; i < arguments.size(); ++i) {
      if (kernel.params[i].is_pointer) {
        arguments[i].pointer.pointer = memory.data() + 4096 * i;
        arguments[i].pointer.bytes = 16384;
      } else {
        arguments[i].integer = next < scalars.size() ? scalars[next] : 64;
        ++next;
      }
      pointers.push_back(&arguments[i]);
    }
    const CandidateMemory found = runtime::find_memory(pointers, entries, device);
    EXPECT_FALSE(kernel.written_params.empty()) << program.name;
    for (const std::uint32_t param : kernel.written_params) {
      ASSERT_NE(found.region[param], MergedRanges::none) << program.name << ", " << kernel.params[param].name;
      EXPECT_TRUE(found.regions[found.region[param]].written) << program.name << ", " << kernel.params[param].name;
      EXPECT_GT(found.reach[param], 0U) << program.name << ", " << kernel.params[param].name;
    }
  };
  for (const int splits : {1, 3}) {
    std::vector<std::int64_t> constants(19);
    constants[1] = constants[2] = 64;  // n, k
    constants[3] = constants[4] = 1;   // by k
    constants[7] = splits;
    check(kernels::split_program(DType::f16, DType::f16, {kernels::SplitConfig{16, 64, 64, 2, 1}}), constants, {16});
  }
}

}  // namespace
}  // namespace tessera
