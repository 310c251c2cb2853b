// How many CTAs of an SM the compiler is asked for.
#include "passes/registers.hpp"

#include <gtest/gtest.h>

namespace tessera::passes {
namespace {

TEST(CtasPerSm, AskedForOnlyWhereOneMoreFits) {
  // 160 registers of tiles: 168 with few addresses fit three times in 65536 registers of 128 threads, 184 only twice.
  EXPECT_EQ(choose_ctas_per_sm({160, 184}, 128, 32768), 3);
  EXPECT_EQ(choose_ctas_per_sm({88, 112}, 128, 24576), 5);
  // A small kernel fits as often as threads allow either way.
  EXPECT_EQ(choose_ctas_per_sm({8, 32}, 128, 0), 1);
}

TEST(CtasPerSm, LimitedBySharedMemory) {
  EXPECT_EQ(choose_ctas_per_sm({160, 184}, 128, 100000), 1);
  EXPECT_EQ(choose_ctas_per_sm({160, 184}, 128, 76000), 3);
}

}  // namespace
}  // namespace tessera::passes
