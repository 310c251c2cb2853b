// printf: format, order of lanes, order of blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "kernel_builder.hpp"

namespace tessera::testing {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> printed(KernelBuilder& b, sim::Options o = options()) {
  std::vector<std::string> lines;
  o.print = [&](std::string_view text) { lines.emplace_back(text); };
  sim::run(b.kernel, {}, o);
  return lines;
}

TEST(Print, ActiveLanesInOrder) {
  KernelBuilder b;
  b.when(b.lane() % 10 == 3, [&] {
    b.add<thread::PrintThread>(SourceLoc::here(), std::vector<std::string>{"lane ", " of ", "\n"},
                               std::vector<const Expr*>{b.lane(), b.i32(32)});
  });
  EXPECT_THAT(printed(b), ElementsAre("lane 3 of 32\n", "lane 13 of 32\n", "lane 23 of 32\n"));
}

TEST(Print, EveryType) {
  KernelBuilder b;
  b.when(b.elect(), [&] {
    std::vector<const Expr*> args = {b.real(DType::f16, 0.5),
                                     b.real(DType::bf16, -2),
                                     b.real(DType::f32, 1e10),
                                     b.lane() == 0,
                                     b.e(b.pool().constant(DType::i8, -5)),
                                     b.e(b.pool().constant(DType::u8, 200)),
                                     b.i64(std::numeric_limits<std::int64_t>::min()),
                                     b.e(b.pool().constant(DType::u64, -1)),
                                     b.u32(-1),
                                     b.lane().cast(DType::f32) / b.real(DType::f32, 0)};
    b.add<thread::PrintThread>(SourceLoc::here(), std::vector<std::string>(args.size() + 1, " "), args);
  });
  EXPECT_THAT(printed(b),
              ElementsAre(" 0.5 -2 1e+10 1 -5 200 -9223372036854775808 18446744073709551615 4294967295 nan "));
}

TEST(Print, BlocksInOrderWhateverTheThreads) {
  KernelBuilder b;
  const E n = b.block_idx(0);
  b.kernel.grid[0] = b.i64(40);
  b.kernel.grid[1] = b.i64(2);
  const auto* x = b.declare(b.i32(0));
  b.loop(b.i32(0), (b.i32(40) - n) * 50, b.i32(1),
         [&](E i) { b.assign(x, b.var(x) + i); });  // early blocks take longer
  b.when(b.elect(), [&] {
    b.add<thread::PrintThread>(SourceLoc::here(), std::vector<std::string>{"", ",", ""},
                               std::vector<const Expr*>{b.block_idx(1), n});
  });
  std::vector<std::string> expected;
  for (int y = 0; y < 2; ++y) {
    for (int i = 0; i < 40; ++i) expected.push_back(std::to_string(y) + "," + std::to_string(i));
  }
  EXPECT_EQ(printed(b, options("eager", 4)), expected);
}

TEST(Print, WhatWasPrintedBeforeAnErrorIsNotLost) {
  KernelBuilder b;
  b.kernel.grid[0] = b.i64(5);
  b.when(b.elect(), [&] {
    b.add<thread::PrintThread>(SourceLoc::here(), std::vector<std::string>{"block ", ""},
                               std::vector<const Expr*>{b.block_idx(0)});
    b.let(b.i32(1) / (b.block_idx(0) - 2));
  });
  std::vector<std::string> lines;
  sim::Options o = options("eager", 3);
  o.print = [&](std::string_view text) { lines.emplace_back(text); };
  const Error error = error_of(b.kernel, {}, o);
  EXPECT_THAT(error.what(), ::testing::HasSubstr("block (2, 0, 0)"));
  EXPECT_THAT(lines, ElementsAre("block 0", "block 1", "block 2"));
}

}  // namespace
}  // namespace tessera::testing
