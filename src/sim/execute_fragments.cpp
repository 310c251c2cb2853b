// Fragments that a whole warp holds together: ldmatrix, stmatrix, mma.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/cta.hpp"

namespace tessera::sim {

void Cta::require_whole_warp(const Warp& warp, const Instr& in, const char* what) const {
  if (warp.active == full_mask) return;
  fail(Hazard::misuse, site(warp, in),
       fmt::format("{} must be executed by a whole warp; here only {} of 32 lanes execute it", what,
                   std::popcount(warp.active)),
       "move it out of the conditional code, or make the condition the same in all threads of the warp");
}

// The register that a fragment begins.
std::uint32_t Cta::fragment_word(const Warp& warp, const Instr& in, const RegPlace& place) const {
  const RegInfo& info = program_.regs[place.array];
  const std::int64_t index = *warp.at<std::int32_t>(place.index);
  if (place.lanes || index * info.word_bytes % 4 != 0) {
    fail_internal(site(warp, in),
                  fmt::format("a fragment begins at element {} of register tile {}, which does not begin a register",
                              index, info.array->name));
  }
  return static_cast<std::uint32_t>(index * info.word_bytes / 4);
}

// First word of a fragment of `count` elements.
std::uint32_t Cta::collective_place(const Warp& warp, const Instr& in, const RegPlace& place, int count,
                                    bool read) const {
  const RegInfo& info = program_.regs[place.array];
  const std::uint32_t word = fragment_word(warp, in, place);
  const std::int64_t index = *warp.at<std::int32_t>(place.index);
  use(warp, in, info, index, count);
  if (read) check_written(warp, in, info, index, count, full_mask);
  return word;
}

void Cta::ldmatrix(Warp& warp, const Instr& in) {
  require_whole_warp(warp, in, "ldmatrix");
  const Operands& ops = operands(in);
  const RegInfo& info = program_.regs[ops.d.array];
  const std::int64_t first = *warp.at<std::int32_t>(ops.d.index);
  RegisterWord* words = warp.words(info) + collective_place(warp, in, ops.d, 2 * ops.count, false);
  const auto* address = warp.at<std::uint32_t>(ops.address);
  const Access by = access(warp, in, full_mask);
  for (int matrix = 0; matrix < ops.count; ++matrix) {
    // Row r fills lanes 4r to 4r+3 with two elements each; transposed, those lanes get column r.
    std::uint16_t rows[8][8];
    for (int r = 0; r < 8; ++r) {
      const int lane = 8 * matrix + r;
      std::memcpy(rows[r], memory_.read_shared(by, lane, address[lane], 16), 16);
    }
    if (in.lanes) {
      std::uint16_t columns[8][8];
      for (int r = 0; r < 8; ++r) {
        for (int c = 0; c < 8; ++c) columns[c][r] = rows[r][c];
      }
      std::memcpy(words[matrix], columns, sizeof(columns));
    } else {
      std::memcpy(words[matrix], rows, sizeof(rows));
    }
  }
  std::fill_n(warp.valid + info.valid + first, 2 * ops.count, full_mask);
}

// The mirror of ldmatrix: lanes 4r to 4r+3 hold row r (transposed: column r).
void Cta::stmatrix(Warp& warp, const Instr& in) {
  require_whole_warp(warp, in, "stmatrix");
  const Operands& ops = operands(in);
  const RegInfo& info = program_.regs[ops.d.array];
  const RegisterWord* words = warp.words(info) + collective_place(warp, in, ops.d, 2 * ops.count, true);
  const auto* address = warp.at<std::uint32_t>(ops.address);
  const Access by = access(warp, in, full_mask);
  for (int matrix = 0; matrix < ops.count; ++matrix) {
    std::uint16_t rows[8][8];
    std::memcpy(rows, words[matrix], sizeof(rows));
    if (in.lanes) {
      for (int r = 0; r < 8; ++r) {
        for (int c = 0; c < r; ++c) std::swap(rows[r][c], rows[c][r]);
      }
    }
    for (int r = 0; r < 8; ++r) {
      const int lane = 8 * matrix + r;
      std::memcpy(memory_.write_shared(by, lane, address[lane], 16), rows[r], 16);
    }
  }
}

void Cta::mma(Warp& warp, const Instr& in) {
  require_whole_warp(warp, in, "mma.sync");
  const Operands& ops = operands(in);
  const auto& stmt = *static_cast<const ir::thread::MmaSync*>(in.stmt);
  RegisterWord* d = warp.words(program_.regs[ops.d.array]) + collective_place(warp, in, ops.d, 4, true);
  const RegisterWord* a = warp.words(program_.regs[ops.a.array]) + collective_place(warp, in, ops.a, 8, true);
  const RegisterWord* b = warp.words(program_.regs[ops.b.array]) + collective_place(warp, in, ops.b, 4, true);
  const LaneOps& lanes = lane_ops();
  if (stmt.operand_type == DType::f16 && stmt.accumulator_type == DType::f32) return lanes.mma_f16_f32(d, a, b);
  if (stmt.operand_type == DType::bf16 && stmt.accumulator_type == DType::f32) return lanes.mma_bf16_f32(d, a, b);
  if (stmt.operand_type == DType::f16 && stmt.accumulator_type == DType::f16) return lanes.mma_f16_f16(d, a, b);
  fail_internal(site(warp, in), fmt::format("mma.sync of {} into {} does not exist", name_of(stmt.operand_type),
                                            name_of(stmt.accumulator_type)));
}

}  // namespace tessera::sim
