// The simulated Hopper: executes a thread-IR kernel on the CPU with the asynchronous hardware modelled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/thread.hpp"
#include "sim/timeline.hpp"
#include "tessera/core/finding.hpp"
#include "tessera/core/schedule.hpp"

namespace tessera::sim {

using tessera::Schedule;
inline std::string to_string(const Schedule& schedule) { return schedule.to_string(); }

struct Argument {
  std::int64_t integer = 0;   // scalar parameters: the value's bits, sign- or zero-extended (float32: its bit pattern)
  std::byte* data = nullptr;  // pointer parameters
  std::size_t bytes = 0;      // size of the buffer from `data` on
};

struct Options {
  Schedule schedule;
  int threads = 0;                              // host threads over CTAs; 0: all cores
  std::function<void(std::string_view)> print;  // sink of device printf; default standard output
  bool check_proxy_handover = true;
  bool relaxed_waits = false;  // for tests, with findings: a wait on an mbarrier orders nothing, as a relaxed one would
  int sms = 4;                 // multiprocessors of the device, where a grid asks for their number
  // Not null: the run checks that what it saw is right under every other schedule, too (docs/checker.md), collects the
  // hazards here and throws none of them. It runs on one host thread.
  std::vector<Finding>* findings = nullptr;
  // Not null: takes how many could go on at each step of the first cluster, under a schedule of the kind order.
  std::vector<std::uint32_t>* alternatives = nullptr;
  Timeline* timeline = nullptr;  // not null, together with findings: takes the first cluster's timeline
};

struct Statistics {
  std::uint64_t ctas = 0;
  std::uint64_t warp_statements = 0;
  std::uint64_t tma_bytes = 0;
};

// Runs the whole grid. Throws a user Error (with the line of the statement) for out-of-bounds accesses, reads of
// uninitialised shared memory or registers, misaligned accesses, unfenced hand-over to the TMA engine or to wgmma,
// writes to what an engine may still read, registers used while a wgmma may still use them, misuse of barriers and of
// groups, signals to a block that has ended, and deadlock. Where several blocks fail, the error is that of the first
// one, whatever the host threads do.
//
// What to know about the machine:
// - The lanes of a warp run together. Where one side of a divergent If blocks, the other lanes wait too, so lanes of
//   one warp cannot hand work to each other across such a branch.
// - The blocks of a cluster run together on one host thread; other clusters run on the other ones. In a kernel that
//   waits for flags in global memory all blocks of the grid run together on one host thread: at a time as many as
//   Options::sms multiprocessors hold for certain (ctas_per_sm each), then others as these end.
// - Deadlock is found by logic: no warp can run and no copy is in flight. A loop that spins without ever blocking is
//   not a deadlock, and does not end.
// - mma.sync and wgmma add exact products to a float32 accumulator for k = 0, 1, ..., each sum rounded to nearest
//   even. The card adds in another order, and keeps fewer bits where operands have 8; results agree to that rounding.
//   A float16 accumulator is rounded once an instruction.
// - Each warp of a warpgroup executes its own 16 rows of a wgmma, on its own: reads its rows of A and all of B, at a
//   time that the schedule chooses. What one warp has waited for says nothing of the others.
// - A TMA store reads shared memory at one time between its issue and the wait that covers it, and writes global
//   memory at another, up to the end of the kernel. Float additions of several blocks to one element happen in the
//   order in which the host threads come to them, so that their last bits may differ from run to run.
// - setmaxnreg moves registers between the block's warps and its pool; the launch gives each thread what
//   ir/register_file.hpp says: 65536 over the threads of ctas_per_sm blocks, rounded down to a multiple of 8, less
//   where their warps are no multiple of four.
// - `elect_one` is lane 0 under the eager schedule, lane 31 under the lazy one, and drawn from the seed for each warp
//   under a random one. It is the same every time for the same set of active lanes.
// - Which effect lands when depends on the schedule (see Schedule), the results of a correct kernel do not. A random
//   schedule also holds single warps and blocks back, and lands boxes in pieces.
// - `Options::print` gets each thread's printf in one call, clusters in the order of their index and blocks in the
//   order of their rank.
Statistics run(const ir::thread::Kernel& kernel, std::span<const Argument> arguments, const Options& options = {});

}  // namespace tessera::sim
