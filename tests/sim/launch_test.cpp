// Arguments, grids, and how failures of several blocks are reported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel_builder.hpp"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

TEST(Launch, EveryBlockRunsOnce) {
  KernelBuilder b(1);
  const auto out = b.pointer(DType::i32, "out");
  b.kernel.grid = {b.i64(5), b.i64(3), b.i64(2)};
  const E index = b.block_idx(0) + b.block_idx(1) * 5 + b.block_idx(2) * 15;
  b.when(b.lane() == 0, [&] { b.store(out, index, index * 7 + b.leaf(ExprKind::grid_dim, DType::i32, 1)); });
  for (const int threads : {1, 2, 5}) {
    std::vector<std::int32_t> r(30, -1);
    const auto statistics = sim::run(b.kernel, std::vector<sim::Argument>{buffer(r)}, options("eager", threads));
    for (int i = 0; i < 30; ++i) EXPECT_EQ(r[static_cast<std::size_t>(i)], 7 * i + 3);
    EXPECT_EQ(statistics.ctas, 30U);
  }
}

TEST(Launch, GridsFromParameters) {
  KernelBuilder b(1);
  const E n = b.scalar(DType::i32, "n");
  const auto out = b.pointer(DType::i32, "out");
  b.kernel.grid[0] = n.cast(DType::i64);
  b.store(out, b.block_idx(0), b.i32(1));
  std::vector<std::int32_t> r(4);
  sim::run(b.kernel, std::vector<sim::Argument>{scalar(3), buffer(r)}, options());
  EXPECT_THAT(r, ::testing::ElementsAre(1, 1, 1, 0));
  EXPECT_EQ(sim::run(b.kernel, std::vector<sim::Argument>{scalar(0), buffer(r)}, options()).ctas, 0U);
  const Error error = error_of(b.kernel, {scalar(-1), buffer(r)}, options());
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(), HasSubstr("the grid of test has -1 blocks along x; 0 to 2147483647 are possible"));
}

TEST(Launch, GridLimitsOfTheOtherAxes) {
  KernelBuilder b(1);
  b.kernel.grid[1] = b.i64(65536);
  EXPECT_THAT(error_of(b.kernel, {}, options()).what(), HasSubstr("65536 blocks along y; 0 to 65535"));
}

TEST(Launch, ArgumentsAreCounted) {
  KernelBuilder b(1);
  b.scalar(DType::i32, "n");
  const Error error = error_of(b.kernel, {}, options());
  EXPECT_EQ(error.kind(), ErrorKind::user);
  EXPECT_THAT(error.what(), HasSubstr("test takes 1 run-time arguments, 0 were given"));
}

TEST(Launch, SharedMemoryHasALimit) {
  KernelBuilder b(1, 232449);
  EXPECT_THAT(error_of(b.kernel, {}, options()).what(),
              HasSubstr("needs 232449 bytes of shared memory; a block has 232448"));
  KernelBuilder largest(1, 232448);
  EXPECT_TRUE(error_of(largest.kernel, {}, options()).diagnostics().empty());
}

TEST(Launch, TheFirstFailingBlockIsReported) {
  KernelBuilder b(1);
  b.kernel.grid[0] = b.i64(64);
  b.when(b.block_idx(0) >= 17, [&] { b.let(b.i32(1) / (b.block_idx(0) * 0)); });
  // A multiplication by 0 folds, so divide by something that is 0 only at run time.
  const E zero = b.scalar(DType::i32, "zero");
  b.when(b.block_idx(0) >= 11, [&] { b.let(b.i32(1) / zero); });
  for (const int threads : {1, 2, 7}) {
    EXPECT_THAT(error_of(b.kernel, {scalar(0)}, options("eager", threads)).what(), HasSubstr("block (11, 0, 0)"));
  }
}

}  // namespace
}  // namespace tessera::testing
