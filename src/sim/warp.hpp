// A warp: a resumable interpreter. Program counter, active lanes and control stack live here, values in its frame. It
// runs until it blocks (or until the schedule takes the processor away) and continues at the same instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "sim/memory.hpp"
#include "sim/program.hpp"
#include "sim/wgmma_operand.hpp"

namespace tessera::sim {

// One divergent If or one loop around the current instruction.
struct ControlFrame {
  std::uint32_t outer = 0;         // active lanes before it
  std::uint32_t other = 0;         // If: lanes of the second part; loop: lanes that have left it
  std::uint32_t next = 0;          // loop: lanes that wait for the next iteration
  int outer_loop = -1;             // loop: frame of the loop around it
  const ir::Stmt* stmt = nullptr;  // loop
  std::uint32_t iteration = 0;     // loop: from 0
};

enum class WarpState : std::uint8_t {
  ready,
  at_mbarrier,
  at_barrier,
  at_wgmma,      // wgmma.wait_group
  at_bulk,       // cp.async.bulk.wait_group
  at_cluster,    // barrier.cluster.wait
  at_registers,  // setmaxnreg.inc
  at_flag,       // a flag in global memory
  unplaced,      // the block has no multiprocessor yet
  done
};

// Who used an element of a register array that wgmma uses, too.
struct RegisterUse {
  const ir::Stmt* stmt = nullptr;  // the last ordinary instruction
  std::uint32_t fence = 0;         // number of wgmma.fences before it
  std::uint32_t flights = 0;       // wgmmas that may still read or write the element
};

// One warp's part of a wgmma, from its issue until a wait covers it.
struct PendingWgmma {
  const Instr* instr = nullptr;
  std::int64_t d = 0, a = 0;              // first elements
  RegisterWord* d_words = nullptr;        // registers
  const RegisterWord* a_words = nullptr;  // null: from shared memory
  WgmmaOperand a_shared, b_shared;
  std::uint32_t a_row = 0;  // first row of the warp
  bool accumulate = true;
  bool executed = false;
  FlightId flight = 0;
  std::uint64_t group = 0;
  std::uint32_t fence = 0;  // number of wgmma.fences before it
};

struct Warp {
  int index = 0;
  std::byte* frame = nullptr;
  std::uint32_t* valid = nullptr;  // lanes in which each element of each register array was written
  RegisterUse* uses = nullptr;     // of the elements that wgmma uses
  std::vector<ControlFrame> stack;
  int depth = 0;
  int loop = -1;  // innermost loop's frame
  std::uint32_t pc = 0;
  std::uint32_t active = full_mask;
  WarpState state = WarpState::ready;
  std::uint32_t waiting_lanes = 0;  // at_mbarrier, at_flag: lanes that have not passed
  std::uint64_t waiting_since = 0;  // at_mbarrier: the barrier's phase when the wait began
  int elected = 0;                  // lane that elect.sync prefers
  std::uint64_t statements = 0;
  std::deque<PendingWgmma> wgmmas;  // in order of issue
  std::uint64_t wgmmas_issued = 0;
  std::uint64_t wgmma_groups = 0;      // committed
  std::uint32_t wgmma_fences = 0;      // executed
  std::uint64_t cluster_arrivals = 0;  // at the cluster barrier
  std::uint64_t cluster_waits = 0;     // that have passed
  int registers = 0;                   // a thread may use

  // Back to the start of the kernel.
  void restart() {
    depth = 0;
    loop = -1;
    pc = 0;
    active = full_mask;
    state = WarpState::ready;
    wgmmas.clear();
    wgmmas_issued = 0;
    wgmma_groups = 0;
    wgmma_fences = 0;
    cluster_arrivals = cluster_waits = 0;
  }

  template <class T>
  T* at(std::uint32_t slot) const {
    return reinterpret_cast<T*>(frame + slot);
  }
  RegisterWord* words(const RegInfo& info) const { return reinterpret_cast<RegisterWord*>(frame + info.words); }
};

// What one of a warpgroup's wgmmas must have in common in its four warps.
struct WgmmaIssue {
  const ir::Stmt* stmt = nullptr;
  int warp = 0;                // the first that came
  std::uint32_t a = 0, b = 0;  // low words of the descriptors
  bool accumulate = true;
  bool same(const WgmmaIssue& o) const { return stmt == o.stmt && a == o.a && b == o.b && accumulate == o.accumulate; }
};
struct Warpgroup {
  std::deque<WgmmaIssue> issues;  // those that not all four warps have come to yet
  std::uint64_t first = 0;        // number of the first of them
};

struct NamedBarrier {
  int threads = 0;                  // 0: nobody has come
  int arrived = 0;                  // threads that have come, those that wait included
  int first_warp = 0;               // that came
  const ir::Stmt* first = nullptr;  // its statement
  std::vector<int> warps;           // that wait
};

}  // namespace tessera::sim
