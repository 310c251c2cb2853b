// One thread block: its warps, its memory, its barriers, its copy engine, and the schedule that interleaves them.
//
// A warp is a resumable interpreter: program counter, active lanes and control stack live here, values in its frame. It
// runs until it blocks (or until the schedule takes the processor away) and continues at the same instruction. The
// lanes of a warp run together: where a divergent branch blocks, the lanes of the other branch wait too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "sim/mbarrier.hpp"
#include "sim/memory.hpp"
#include "sim/program.hpp"
#include "sim/random.hpp"
#include "sim/tma.hpp"

namespace tessera::sim {

// One divergent If or one loop around the current instruction.
struct ControlFrame {
  std::uint32_t outer = 0;  // active lanes before it
  std::uint32_t other = 0;  // If: lanes of the second part; loop: lanes that have left it
  std::uint32_t next = 0;   // loop: lanes that wait for the next iteration
  int outer_loop = -1;      // loop: frame of the loop around it
};

enum class WarpState : std::uint8_t { ready, at_mbarrier, at_barrier, done };

struct Warp {
  int index = 0;
  std::byte* frame = nullptr;
  std::uint32_t* valid = nullptr;  // lanes in which each element of each register array was written
  std::vector<ControlFrame> stack;
  int depth = 0;
  int loop = -1;  // innermost loop's frame
  std::uint32_t pc = 0;
  std::uint32_t active = full_mask;
  WarpState state = WarpState::ready;
  std::uint32_t waiting_lanes = 0;  // at_mbarrier: lanes whose phase has not completed
  std::uint64_t waiting_since = 0;  // at_mbarrier: the barrier's phase when the wait began
  int elected = 0;                  // lane that elect.sync prefers
  std::uint64_t statements = 0;

  template <class T>
  T* at(std::uint32_t slot) const {
    return reinterpret_cast<T*>(frame + slot);
  }
  RegisterWord* words(const RegInfo& info) const { return reinterpret_cast<RegisterWord*>(frame + info.words); }
};

struct NamedBarrier {
  int threads = 0;                  // 0: nobody waits
  const ir::Stmt* first = nullptr;  // statement of the first warp that waits
  std::vector<int> warps;
};

class Cta {
 public:
  Cta(const Program& program, const Options& options);
  Cta(const Cta&) = delete;
  Cta& operator=(const Cta&) = delete;

  // Runs block number `index` of the grid to its end. Throws a user Error as run() documents.
  void run(std::uint64_t index);

  const std::vector<std::string>& output() const { return output_; }  // of the last block: one entry a printf
  std::uint64_t statements() const;
  std::uint64_t tma_bytes() const { return tma_.bytes_landed(); }

 private:
  // scheduler.cpp
  void run_in_order(bool lazy);
  void run_randomly();
  std::uint32_t draw_held_back();
  bool ready(Warp& warp);
  bool land_for(const Warp& warp);
  bool all_done() const;
  std::uint32_t waiting_barrier(const Warp& warp) const;

  // interpreter.cpp: runs until the warp blocks, ends, or has executed `budget` statements.
  void execute(Warp& warp, std::uint64_t budget);
  void if_lanes(Warp& warp, const Instr& in);
  void end_if(Warp& warp, const Instr& in);
  void begin_loop(Warp& warp, const Instr& in);
  void next_iteration(Warp& warp, const Instr& in);
  void leave(Warp& warp, const Instr& in);
  void check_divisor(const Warp& warp, const Instr& in) const;
  void check_shift(const Warp& warp, const Instr& in) const;
  void elect(Warp& warp, const Instr& in) const;
  void set_lanes(Warp& warp, const Instr& in) const;
  bool statement(Warp& warp, const Instr& in);  // false: the warp blocks here

  // execute_registers.cpp, execute_memory.cpp
  void read_reg(Warp& warp, const Instr& in) const;
  void check_written(const Warp& warp, const Instr& in, const RegInfo& info, std::int64_t first, int count,
                     std::uint32_t lanes) const;
  void check_index(const Warp& warp, const Instr& in, const RegInfo& info, std::int64_t first, int count) const;
  void declare_regs(Warp& warp, const Instr& in) const;
  void write_regs(Warp& warp, const Instr& in) const;
  void write_element(Warp& warp, const RegInfo& info, std::int64_t element, const void* lanes,
                     std::uint32_t mask) const;
  void access_global(Warp& warp, const Instr& in);
  void access_shared(Warp& warp, const Instr& in);
  void ldmatrix(Warp& warp, const Instr& in);
  void mma(Warp& warp, const Instr& in);
  std::uint32_t collective_place(const Warp& warp, const Instr& in, const RegPlace& place, int count, bool read) const;
  void require_whole_warp(const Warp& warp, const Instr& in, const char* what) const;

  // execute_barriers.cpp
  bool named_barrier(Warp& warp, const Instr& in);
  void warp_sync(const Warp& warp, const Instr& in) const;
  void mbarrier_update(Warp& warp, const Instr& in);
  bool mbarrier_wait(Warp& warp, const Instr& in);
  void tma_load(Warp& warp, const Instr& in);
  void print(Warp& warp, const Instr& in);

  // deadlock.cpp
  [[noreturn]] void deadlock();
  Note waiting_note(const Warp& warp, std::string* help);
  std::string missing(const Warp& warp, const Mbarrier& b, std::uint32_t parity, std::string* help) const;

  Site site(const Warp& warp, const Instr& in, int lane = -1) const { return {&block_, in.stmt, warp.index, lane}; }
  Access access(const Warp& warp, const Instr& in, std::uint32_t lanes) const { return {in.stmt, warp.index, lanes}; }
  const Operands& operands(const Instr& in) const { return program_.operands[in.extra]; }

  struct FreeAligned {
    void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{64}); }
  };

  const Program& program_;
  const Options& options_;
  BlockInfo block_;
  MemorySystem memory_;
  BarrierSet barriers_;
  TmaEngine tma_;
  std::unique_ptr<std::byte[], FreeAligned> frames_;
  std::vector<std::uint32_t> valid_;
  std::vector<Warp> warps_;
  std::vector<NamedBarrier> named_;
  std::vector<std::string> output_;
  Random random_;
};

}  // namespace tessera::sim
