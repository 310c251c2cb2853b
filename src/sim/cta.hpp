// One thread block: its warps, its memory, its barriers and its asynchronous engines. The cluster's scheduler decides
// which of them moves on.
//
// The lanes of a warp run together: where a divergent branch blocks, the lanes of the other branch wait too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "sim/bulk_store.hpp"
#include "sim/mbarrier.hpp"
#include "sim/memory.hpp"
#include "sim/order.hpp"
#include "sim/program.hpp"
#include "sim/random.hpp"
#include "sim/tma.hpp"
#include "sim/warp.hpp"

namespace tessera::sim {

class Cluster;

class Cta {
 public:
  Cta(const Program& program, const Options& options, Cluster& cluster, Order* order, int place);
  Cta(const Cta&) = delete;
  Cta& operator=(const Cta&) = delete;

  // Back to the start of the kernel, as block `index` of the grid.
  void begin(const std::array<std::int64_t, 3>& index);
  // Until place_block() no warp runs: all multiprocessors are taken.
  void hold_back();
  void place_block();

  std::vector<Warp>& warps() { return warps_; }
  const std::vector<Warp>& warps() const { return warps_; }
  const BlockInfo& block() const { return block_; }
  bool all_done() const;
  // interpreter.cpp: runs until the warp blocks, ends, or has executed `budget` statements, or one that others may
  // notice (`to_sync`).
  void execute(Warp& warp, std::uint64_t budget, bool to_sync = false);
  // Whether the warp can run; a wait is looked at here.
  bool ready(Warp& warp);

  // async.cpp: what the engines have under way, and moving one step of it on.
  std::size_t operations();  // that a schedule may move on: loads, stores, warps with a wgmma to execute
  void advance(std::size_t index, Random& random);
  bool advance_for(Warp& warp);  // the oldest that the blocked warp waits for; false if there is none
  bool land_oldest();
  void finish_all();  // at the end of the kernel

  // deadlock.cpp
  Note waiting_note(const Warp& warp, std::string* help);
  std::string waits_for(const Warp& warp) const;  // "waits on mbarrier full[0]"

  const std::vector<std::string>& output() const { return output_; }  // one entry a printf
  std::uint64_t statements() const;
  std::uint64_t tma_bytes() const { return tma_.bytes_landed(); }

 private:
  // interpreter.cpp
  void if_lanes(Warp& warp, const Instr& in);
  void end_if(Warp& warp, const Instr& in);
  void begin_loop(Warp& warp, const Instr& in);
  void next_iteration(Warp& warp, const Instr& in);
  void leave(Warp& warp, const Instr& in);
  void check_divisor(const Warp& warp, const Instr& in) const;
  void check_shift(const Warp& warp, const Instr& in) const;
  void elect(Warp& warp, const Instr& in) const;
  void set_lanes(Warp& warp, const Instr& in) const;
  void fence(Warp& warp, const Instr& in);
  bool statement(Warp& warp, const Instr& in);  // false: the warp blocks here
  bool async_statement(Warp& warp, const Instr& in);
  void end(Warp& warp, const Instr& in);
  // Blocks the warp in `state` unless `passed`, which ready() asks for again.
  static bool wait_in(Warp& warp, WarpState state, bool passed);

  // execute_registers.cpp, execute_memory.cpp, execute_fragments.cpp
  void read_reg(Warp& warp, const Instr& in) const;
  void check_written(const Warp& warp, const Instr& in, const RegInfo& info, std::int64_t first, int count,
                     std::uint32_t lanes) const;
  void check_index(const Warp& warp, const Instr& in, const RegInfo& info, std::int64_t first, int count) const;
  // An ordinary instruction accesses these elements: bounds, and no wgmma in flight that uses them.
  void use(const Warp& warp, const Instr& in, const RegInfo& info, std::int64_t first, int count) const {
    check_index(warp, in, info, first, count);
    if (info.tracked != no_slot) track(warp, in, info, first, count);
  }
  void track(const Warp& warp, const Instr& in, const RegInfo& info, std::int64_t first, int count) const;
  void declare_regs(Warp& warp, const Instr& in) const;
  void write_regs(Warp& warp, const Instr& in) const;
  void write_element(Warp& warp, const RegInfo& info, std::int64_t element, const void* lanes,
                     std::uint32_t mask) const;
  void access_global(Warp& warp, const Instr& in);
  void access_shared(Warp& warp, const Instr& in);
  void ldmatrix(Warp& warp, const Instr& in);
  void stmatrix(Warp& warp, const Instr& in);
  void mma(Warp& warp, const Instr& in);
  std::uint32_t fragment_word(const Warp& warp, const Instr& in, const RegPlace& place) const;
  std::uint32_t collective_place(const Warp& warp, const Instr& in, const RegPlace& place, int count, bool read) const;
  void require_whole_warp(const Warp& warp, const Instr& in, const char* what) const;

  // execute_wgmma.cpp
  void wgmma(Warp& warp, const Instr& in);
  void check_wgmma_group(const Warp& warp, const Instr& in) const;
  void join_warpgroup(Warp& warp, const Instr& in, bool accumulate);
  void check_warpgroups() const;
  std::uint32_t uniform(const Warp& warp, const Instr& in, std::uint32_t slot, const char* what) const;
  void add_registers(Warp& warp, const Instr& in, PendingWgmma& pending);
  void add_operands(Warp& warp, const Instr& in, PendingWgmma& pending);
  void execute_wgmma(Warp& warp, PendingWgmma& pending);
  bool execute_next_wgmma(Warp& warp);
  void wgmma_fence(Warp& warp, const Instr& in) const;
  bool wgmma_wait(Warp& warp, const Instr& in);
  void finish_wgmma(Warp& warp, const PendingWgmma& pending);

  // execute_barriers.cpp, execute_async.cpp
  bool named_barrier(Warp& warp, const Instr& in, int id, int threads, bool waits);
  void warp_sync(const Warp& warp, const Instr& in);
  void mbarrier_update(Warp& warp, const Instr& in);
  bool mbarrier_wait(Warp& warp, const Instr& in);
  void order_wait(const Warp& warp, const Instr& in, std::uint32_t lanes);
  void tma_load(Warp& warp, const Instr& in);
  void tma_store(Warp& warp, const Instr& in);
  bool bulk_wait(Warp& warp, const Instr& in);
  // execute_flags.cpp
  void signal_flag(Warp& warp, const Instr& in);
  bool wait_flag(Warp& warp, const Instr& in);
  std::uint32_t flag_now(const Warp& warp, const Instr& in, int lane) const;
  void cluster_arrive(Warp& warp, const Instr& in);
  bool cluster_wait(Warp& warp, const Instr& in);
  bool set_registers(Warp& warp, const Instr& in);
  void check_index(const Warp& warp, const Instr& in) const;
  void print(Warp& warp, const Instr& in);
  Cta& peer(const Site& site, std::uint32_t rank, const char* what);
  void land(std::size_t index, std::uint32_t rows);

  // deadlock.cpp
  std::string missing(const Warp& warp, const Mbarrier& b, std::uint32_t parity, std::string* help) const;
  std::string arrivers_now(const Mbarrier& b) const;
  std::string missing_registers(const Warp& warp, const Instr& in) const;
  std::string flag_text(const Warp& warp) const;
  std::uint32_t waiting_barrier(const Warp& warp) const;

  Site site(const Warp& warp, const Instr& in, int lane = -1) const { return {&block_, in.stmt, warp.index, lane}; }
  Access access(const Warp& warp, const Instr& in, std::uint32_t lanes) const {
    return {&block_, in.stmt, warp.index, lanes};
  }
  const Operands& operands(const Instr& in) const { return program_.operands[in.extra]; }

  struct FreeAligned {
    void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{64}); }
  };

  const Program& program_;
  const Options& options_;
  Cluster& cluster_;
  Order* const order_;  // null: the run checks no order
  const int place_, rank_;
  BlockInfo block_;
  MemorySystem memory_;
  BarrierSet barriers_;
  TmaEngine tma_;
  BulkStores stores_;
  std::unique_ptr<std::byte[], FreeAligned> frames_;
  std::vector<std::uint32_t> valid_;
  std::vector<RegisterUse> uses_;
  std::vector<Warp> warps_;
  std::vector<Warpgroup> warpgroups_;
  std::vector<NamedBarrier> named_;
  std::vector<std::string> output_;
  int register_pool_ = 0;  // registers that setmaxnreg.dec has given back
};

}  // namespace tessera::sim
