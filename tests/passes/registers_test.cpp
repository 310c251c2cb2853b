// What a launch gives each thread, and how many CTAs of an SM the compiler is asked for.
#include "passes/registers.hpp"

#include <gtest/gtest.h>

#include "ir/register_file.hpp"

namespace tessera::passes {
namespace {

TEST(LaunchRegisters, TheFileOverTheThreads) {
  EXPECT_EQ(ir::launch_registers(1024), 64);
  EXPECT_EQ(ir::launch_registers(512), 128);
  EXPECT_EQ(ir::launch_registers(384), 168);  // 170 is no multiple of 8
  EXPECT_EQ(ir::launch_registers(384, 2), 80);
  EXPECT_EQ(ir::launch_registers(128, 3), 168);
  // No thread has more than 256.
  EXPECT_EQ(ir::launch_registers(256), 256);
  EXPECT_EQ(ir::launch_registers(32), 256);
}

TEST(LaunchRegisters, APartitionHoldsWholeWarps) {
  // 9 to 12 warps are up to three in a partition, of 16384 / 96 registers each.
  for (const int warps : {9, 10, 11, 12}) EXPECT_EQ(ir::launch_registers(32 * warps), 168) << warps;
  EXPECT_EQ(ir::launch_registers(32 * 13), 128);
  // Several blocks are dealt out as one: three of three warps fill the partitions as nine warps do.
  EXPECT_EQ(ir::launch_registers(96, 3), 168);
  EXPECT_EQ(ir::launch_registers(32, 8), 256);
  // The last warp need not be whole.
  EXPECT_EQ(ir::launch_registers(257), ir::launch_registers(288));
}

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
