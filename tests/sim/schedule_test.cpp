// Names of schedules, and that a seed determines the run whatever the number of host threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel_builder.hpp"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

TEST(Schedule, NamesRoundTrip) {
  for (const char* name :
       {"eager", "lazy", "random:0", "random:18446744073709551615", "order:", "order:3.1", "order:3.1,17.2"}) {
    EXPECT_EQ(sim::to_string(Schedule::parse(name)), name);
  }
  for (const char* name :
       {"", "Eager", "random", "random:", "random:-1", "random:1x", "random:18446744073709551616", "order", "order:3",
        "order:3.", "order:.1", "order:3.1,", "order:5.1,5.2", "order:7.1,2.1"}) {
    try {
      Schedule::parse(name);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::user);
      EXPECT_THAT(error.what(), HasSubstr("is not a schedule"));
    }
  }
}

// A racy kernel, so that the result shows the order in which warps ran: each warp appends its number to a list.
std::vector<std::int32_t> order_of_warps(const char* schedule, int threads) {
  KernelBuilder b(8, 256);
  b.kernel.grid[0] = b.i64(24);
  const auto out = b.pointer(DType::i32, "out");
  const auto* n = b.regs(DType::i32, 1, "n");
  const auto store = [&](E value, E address) {
    b.write(n, 0, {value});
    b.add<thread::StoreSharedVector>(SourceLoc::here(), b.ref(n), 1, address);
  };
  b.when(b.thread_idx() == 0, [&] { store(b.i32(0), b.shared(0)); });
  b.sync();
  b.loop(b.i32(0), b.i32(4), b.i32(1), [&](E) {
    b.when(b.elect(), [&] {
      b.add<thread::LoadSharedVector>(SourceLoc::here(), b.ref(n), 1, b.shared(0));
      const E at = b.let(b.reg(n, 0));
      b.store(out, b.block_idx(0) * 32 + at, b.warp() * 32 + b.lane());
      store(at + 1, b.shared(0));
    });
  });
  std::vector<std::int32_t> r(24 * 32, -1);
  sim::run(b.kernel, std::vector<sim::Argument>{buffer(r)}, options(schedule, threads));
  return r;
}

TEST(Schedule, ASeedDeterminesTheRun) {
  const auto reference = order_of_warps("random:5", 1);
  for (const int threads : {1, 2, 3, 8}) EXPECT_EQ(order_of_warps("random:5", threads), reference) << threads;
  EXPECT_NE(order_of_warps("random:6", 1), reference);
  EXPECT_NE(order_of_warps("eager", 1), reference);
}

// A choice at one step lets another warp go on there, and the same choice gives the same run.
TEST(Schedule, AnOrderTakesTheChoicesThatItNames) {
  const auto plain = order_of_warps("order:", 1);
  EXPECT_EQ(order_of_warps("order:0.0", 1), plain);
  const auto other = order_of_warps("order:0.3", 1);
  EXPECT_NE(other, plain);
  EXPECT_EQ(order_of_warps("order:0.3", 1), other);
  EXPECT_EQ(order_of_warps("order:100000.1", 1), plain);
}

// How many could go on at each step: what a search chooses from.
TEST(Schedule, AnOrderTellsItsAlternatives) {
  KernelBuilder b(3, 256);
  b.sync();
  b.sync();
  std::vector<std::uint32_t> alternatives;
  sim::Options o = options("order:");
  o.alternatives = &alternatives;
  sim::run(b.kernel, {}, o);
  EXPECT_EQ(alternatives, (std::vector<std::uint32_t>{3, 2, 1, 3, 2, 1, 3, 2, 1}));
}

TEST(Schedule, BlocksOfOneRunDiffer) {
  const auto r = order_of_warps("random:5", 1);
  EXPECT_FALSE(std::equal(r.begin(), r.begin() + 32, r.begin() + 32));
}

}  // namespace
}  // namespace tessera::testing
