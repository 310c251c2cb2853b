// A kernel compiled for one launch: a flat list of instructions over a warp's frame. Parameters and the grid are bound,
// so they are constants here.
//
// A frame is one block of bytes for each warp: slots for scalars that all lanes share (8 bytes), slots for lane values
// (32 words of 4 or 8 bytes), and the register arrays, word after word, each word for 32 lanes. Scalars and lane values
// that never change (constants, the lane index) are in the frame's initial image.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/thread.hpp"
#include "sim/lane_ops.hpp"
#include "sim/simulator.hpp"

namespace tessera::sim {

inline constexpr std::uint32_t full_mask = 0xffffffffU;
inline constexpr std::uint32_t no_slot = 0xffffffffU;
// Address of the CTA's dynamic shared memory: not 0, so that offsets taken for addresses are noticed.
inline constexpr std::uint32_t shared_base = 0x400;
inline constexpr std::uint32_t max_shared_bytes = 232448;

enum class Op : std::uint8_t {
  // expressions
  eval,        // dst = fn(a, b, c)
  eval_div,    // as eval; b = 0 in an active lane is an error
  eval_shift,  // as eval; b outside [0, width) in an active lane is an error
  elect,       // dst lanes = 1 in one active lane
  read_reg,    // dst lanes = element of a register array
  check_reg,   // the same element is read in place: only checks that it was written
  // variables
  set_scalar,  // dst = a, 8 bytes
  set_lanes,   // dst = a in active lanes
  // control flow
  if_scalar,    // a: condition; target: else part or end
  if_lanes,     // the same with lane masks; pushes a frame
  else_scalar,  // end of a scalar If's first part: to target
  else_lanes,   // to the lanes of the second part; target: end
  end_if,       // pops the frame; target: end of the enclosing block, if no lane is left
  rejoin,       // after a scalar If that can leave the loop: target as end_if
  loop_begin,   // pushes a frame; For: dst = a (begin), b (end); target: after the loop
  loop_next,    // For: dst += c (step); target: first instruction of the body; pops the frame at the end
  leave,        // Break: target: end of the block
  next,         // Continue: target: end of the block
  // statements
  declare_regs,
  write_regs,
  load_global,
  store_global,
  load_shared,
  store_shared,
  ldmatrix,
  stmatrix,
  mma,
  wgmma_fence,
  wgmma,
  wgmma_commit,
  wgmma_wait,
  set_registers,
  signal_flag,
  wait_flag,
  barrier,
  barrier_arrive,
  warp_sync,
  mbarrier_init,
  mbarrier_arrive,
  mbarrier_expect,
  mbarrier_wait,
  tma_load,
  tma_store,
  tma_commit,
  tma_wait,
  tma_prefetch,
  cluster_arrive,
  cluster_wait,
  nothing,  // a hint without an effect that anybody could see
  fence,
  check_index,
  print,
  end
};

struct Instr {
  Op op = Op::end;
  DType type = DType::i32;                                             // of the operands, where it matters
  bool lanes = false;                                                  // lane values, else a scalar
  bool lane_loop = false;                                              // loops: bounds differ by lane
  std::uint32_t dst = no_slot, a = no_slot, b = no_slot, c = no_slot;  // byte offsets in the frame
  std::uint32_t target = 0;                                            // instruction
  std::uint32_t extra = 0;                                             // index into Program::operands
  LaneFn fn = nullptr;
  const ir::Stmt* stmt = nullptr;  // for lines in reports
};

// Where a register operand begins: element `index` of array `array`.
struct RegPlace {
  std::uint32_t array = 0;
  std::uint32_t index = no_slot;  // slot, i32
  bool lanes = false;             // the index differs by lane
};

// What a statement needs beyond the fields of Instr.
struct Operands {
  RegPlace d, a, b;
  std::uint32_t address = no_slot;  // lanes
  std::uint32_t mask = no_slot;     // lanes of bool; TMA loads: the multicast mask
  std::uint32_t value =
      no_slot;  // lanes: parity, bytes, a flag's value, the barrier's address; wgmma: the second descriptor
  std::uint32_t cta = no_slot;      // lanes: rank in the cluster
  std::vector<std::uint32_t> list;  // lanes: values to write, coordinates, what to print
  std::vector<DType> types;         // of `list`
  int count = 0;
  int element_bytes = 0;
};

struct RegInfo {
  const ir::RegArray* array = nullptr;  // null: not used by this kernel
  std::uint32_t words = 0;              // byte offset of the first word in the frame
  std::uint32_t word_count = 0;
  std::uint32_t valid = 0;          // index of the first element's lane mask in the warp's table of written elements
  std::uint32_t word_bytes = 4;     // bytes an element takes in registers: 1, 2, 4 or 8
  std::uint32_t tracked = no_slot;  // wgmma uses the array: index of its first element among the warp's RegisterUse
};

struct Buffer {
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
};

// A tensor map with its sizes evaluated; dimension 0 is innermost.
struct MapInfo {
  const ir::thread::TensorMap* map = nullptr;
  std::byte* base = nullptr;
  int rank = 0;
  std::int64_t dims[5] = {};
  std::int64_t strides[5] = {};  // bytes
  std::uint32_t box[5] = {};
  std::uint32_t element_bytes = 2;
  std::uint32_t row_bytes = 0;  // of the box along dimension 0
  std::uint32_t rows = 0;       // product of the other box extents
};

struct Program {
  const ir::thread::Kernel* kernel = nullptr;
  std::vector<Instr> code;
  std::vector<Operands> operands;
  std::vector<RegInfo> regs;  // by RegArray::id
  std::vector<std::byte> image;
  std::uint32_t frame_bytes = 0;
  std::uint32_t valid_count = 0;
  std::uint32_t tracked_count = 0;
  std::uint32_t depth = 0;  // of the control stack
  std::array<std::uint32_t, 3> block_idx_slots{};
  std::uint32_t cluster_rank_slot = 0;
  std::uint32_t warp_idx_slot = 0;
  std::uint32_t thread_idx_slot = 0;
  std::uint32_t lane_idx_slot = 0;
  std::array<std::int64_t, 3> grid{};
  std::array<std::int64_t, 3> cluster{1, 1, 1};
  std::vector<Buffer> buffers;  // by parameter
  std::vector<MapInfo> maps;
  bool prints = false;
  bool waits_for_flags = false;  // that other blocks set

  std::int64_t cluster_size() const { return cluster[0] * cluster[1] * cluster[2]; }
};

// Compiles `kernel` for these arguments and a device of `sms` multiprocessors. Throws a user Error for a wrong number
// of arguments, a grid that no card can run or that is not whole clusters, too much shared memory; an internal Error
// for IR that breaks its own rules.
Program compile(const ir::thread::Kernel& kernel, std::span<const Argument> arguments, int sms);

}  // namespace tessera::sim
