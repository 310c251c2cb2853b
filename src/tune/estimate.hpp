// A static estimate of a kernel's time, for ranking candidates where there is no clock.
#pragma once

#include <cstdint>
#include <span>

#include "ir/thread.hpp"

namespace tessera::tune {

// What one thread block does, counted from the thread IR. Loops count their trips where these follow from the
// arguments, else once; both sides of an If count, with the warps that a condition on the warp alone lets through; a
// statement under an elected thread counts once a block.
struct BlockWork {
  double bytes = 0;  // between shared memory or registers and global memory
  double flops = 0;  // on the tensor cores, by mma.sync
  // By wgmma, as many 16-bit ones as take the same time: 8-bit operands count half, tf32 double.
  double wgmma_flops = 0;
  double waits = 0;  // for mbarriers, in one thread's order
};
BlockWork block_work(const ir::thread::Kernel& kernel, std::span<const std::int64_t> params);

// Blocks of the kernel that fit on one multiprocessor of compute capability 9.0: by registers
// (ir/register_file.hpp), shared memory (233,472 B, 1 KiB more a block than it asks for), 64 warps and 32 blocks. At
// least 1.
int resident_blocks(int warps, int registers, std::uint32_t shared_bytes);

// Microseconds, to be compared with each other only:
//
//   waves * max(resident * max(copy, math) + min(copy, math), waits * 0.8 + copy + math)
//
// copy and math are the microseconds that one block's bytes and flops take at one multiprocessor's share of an H200
// (5.5 TB/s from L2, 660 TFLOPS of mma.sync, 850 of wgmma, 132 multiprocessors). The first argument of max is the
// throughput of `resident` blocks, of which one's copies overlap another's mathematics; the second is one block by
// itself, with a latency of 0.8 us for each wait. waves is the number of rounds that the grid needs, rounded up.
double estimate_us(const ir::thread::Kernel& kernel, std::span<const std::int64_t> params, std::int64_t blocks,
                   int registers, int multiprocessors);

}  // namespace tessera::tune
