// The register file of a multiprocessor of sm_90, and what a launch gives each thread of it.
#pragma once

#include <algorithm>

namespace tessera::ir {

inline constexpr int registers_an_sm = 65536;

// Registers of a thread at launch where blocks of `threads` get as many as fit, `ctas_per_sm` of them at a time: a
// multiple of 8 and at most 256, the most that setmaxnreg can name (a thread can use 255). The file lies in four
// partitions over which the warps are dealt out in turn. A partition holds whole warps, so that nine of them leave a
// thread no more than twelve do.
constexpr int launch_registers(int threads, int ctas_per_sm = 1) {
  constexpr int warp = 32, partitions = 4;
  const int warps = (threads + warp - 1) / warp * ctas_per_sm;
  const int warps_a_partition = (warps + partitions - 1) / partitions;
  return std::min(256, registers_an_sm / partitions / warp / warps_a_partition / 8 * 8);
}

// Blocks of `warps` warps that the register file has room for at a time, where a thread uses `registers`. A warp gets
// them in units of 256 and lies in one partition.
constexpr int blocks_by_registers(int warps, int registers) {
  constexpr int warp = 32, partitions = 4, unit = 256;
  const int a_warp = (std::max(registers, 1) * warp + unit - 1) / unit * unit;
  return registers_an_sm / partitions / a_warp * partitions / std::max(warps, 1);
}

}  // namespace tessera::ir
