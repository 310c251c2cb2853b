// Register arrays: elements packed into words of 32 lanes, and the tracking of what was written.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/cta.hpp"
#include "sim/lane_groups.hpp"

namespace tessera::sim {

namespace {

constexpr std::uint32_t poison_word = 0x7fa07fa0U;

std::uint32_t low_bits(std::uint32_t bytes) { return bytes >= 4 ? ~0U : (1U << (8 * bytes)) - 1U; }

std::string array_name(const RegInfo& info) {
  return info.array->name.empty() ? fmt::format("register tile {}", info.array->id)
                                  : fmt::format("register tile {}", info.array->name);
}

}  // namespace

void Cta::check_index(const Warp& warp, const Instr& in, const RegInfo& info, std::int64_t first, int count) const {
  if (first >= 0 && first + count <= static_cast<std::int64_t>(info.array->size)) return;
  fail_internal(site(warp, in), fmt::format("elements {} to {} of {}, which has {} a thread", first, first + count - 1,
                                            array_name(info), info.array->size));
}

void Cta::check_written(const Warp& warp, const Instr& in, const RegInfo& info, std::int64_t first, int count,
                        std::uint32_t lanes) const {
  const std::uint32_t* valid = warp.valid + info.valid + first;
  for (int i = 0; i < count; ++i) {
    const std::uint32_t missing = lanes & ~valid[i];
    if (missing == 0) continue;
    const int lane = std::countr_zero(missing);
    std::vector<Note> notes;
    if (info.array->loc.known()) notes.push_back({info.array->loc, "it is declared here"});
    fail(site(warp, in, lane),
         fmt::format("read of an uninitialised register: element {} of {} (of the {} that a thread holds)", first + i,
                     array_name(info), info.array->size),
         "give the tile a value before it is read", std::move(notes));
  }
}

void Cta::declare_regs(Warp& warp, const Instr& in) const {
  const RegInfo& info = program_.regs[operands(in).d.array];
  for (std::uint32_t i = 0; i < info.array->size; ++i) warp.valid[info.valid + i] &= ~warp.active;
  RegisterWord* words = warp.words(info);
  for (std::uint32_t w = 0; w < info.word_count; ++w) {
    for (int lane = 0; lane < warp_lanes; ++lane) {
      if ((warp.active >> lane & 1U) != 0) words[w][lane] = poison_word;
    }
  }
}

// Reads one element in all active lanes, as raw lane values.
void Cta::read_reg(Warp& warp, const Instr& in) const {
  const RegPlace& place = operands(in).a;
  const RegInfo& info = program_.regs[place.array];
  for_each_index(warp, place, warp.active, [&](std::int64_t index, std::uint32_t lanes) {
    check_index(warp, in, info, index, 1);
    check_written(warp, in, info, index, 1, lanes);
    if (in.op == Op::check_reg) return;
    const std::uint64_t byte = static_cast<std::uint64_t>(index) * info.word_bytes;
    const RegisterWord* words = warp.words(info) + byte / 4;
    const auto shift = static_cast<std::uint32_t>(byte % 4 * 8);
    const std::uint32_t mask = low_bits(info.word_bytes);
    const std::uint32_t sign = is_signed(in.type) && !is_float(in.type) ? (mask >> 1) + 1 : 0;
    for (int lane = 0; lane < warp_lanes; ++lane) {
      if (lanes != full_mask && (lanes >> lane & 1U) == 0) continue;
      if (info.word_bytes == 8) {
        warp.at<std::uint64_t>(in.dst)[lane] = words[0][lane] | (static_cast<std::uint64_t>(words[1][lane]) << 32);
      } else {
        const std::uint32_t raw = (words[0][lane] >> shift) & mask;
        warp.at<std::uint32_t>(in.dst)[lane] = (raw ^ sign) - sign;
      }
    }
  });
}

void Cta::write_element(Warp& warp, const RegInfo& info, std::int64_t element, const void* values,
                        std::uint32_t lanes) const {
  const std::uint64_t byte = static_cast<std::uint64_t>(element) * info.word_bytes;
  RegisterWord* words = warp.words(info) + byte / 4;
  warp.valid[info.valid + element] |= lanes;
  if (info.word_bytes == 4 && lanes == full_mask) {
    std::memcpy(words[0], values, sizeof(RegisterWord));
    return;
  }
  const auto shift = static_cast<std::uint32_t>(byte % 4 * 8);
  const std::uint32_t mask = low_bits(info.word_bytes) << shift;
  for (int lane = 0; lane < warp_lanes; ++lane) {
    const std::uint32_t keep = (lanes >> lane & 1U) != 0 ? ~mask : ~0U;
    if (info.word_bytes == 8) {
      if (keep == ~0U) continue;
      const std::uint64_t raw = static_cast<const std::uint64_t*>(values)[lane];
      words[0][lane] = static_cast<std::uint32_t>(raw);
      words[1][lane] = static_cast<std::uint32_t>(raw >> 32);
    } else {
      const std::uint32_t raw = static_cast<const std::uint32_t*>(values)[lane] << shift;
      words[0][lane] = (words[0][lane] & keep) | (raw & ~keep);
    }
  }
}

void Cta::write_regs(Warp& warp, const Instr& in) const {
  const Operands& ops = operands(in);
  const RegInfo& info = program_.regs[ops.d.array];
  for_each_index(warp, ops.d, warp.active, [&](std::int64_t index, std::uint32_t lanes) {
    check_index(warp, in, info, index, ops.count);
    if (info.word_bytes == 2 && ops.count == 2 && index % 2 == 0 && lanes == full_mask) {  // a whole word
      std::uint32_t* word = warp.words(info)[index / 2];
      const auto* low = warp.at<std::uint32_t>(ops.list[0]);
      const auto* high = warp.at<std::uint32_t>(ops.list[1]);
      for (int lane = 0; lane < warp_lanes; ++lane) word[lane] = (low[lane] & 0xffffU) | (high[lane] << 16);
      warp.valid[info.valid + index] = warp.valid[info.valid + index + 1] = full_mask;
      return;
    }
    for (int i = 0; i < ops.count; ++i) {
      write_element(warp, info, index + i, warp.frame + ops.list[static_cast<std::size_t>(i)], lanes);
    }
  });
}

void Cta::require_whole_warp(const Warp& warp, const Instr& in, const char* what) const {
  if (warp.active == full_mask) return;
  fail(site(warp, in),
       fmt::format("{} must be executed by a whole warp; here only {} of 32 lanes execute it", what,
                   std::popcount(warp.active)),
       "move it out of the conditional code, or make the condition the same in all threads of the warp");
}

// First word of a fragment of `count` elements.
std::uint32_t Cta::collective_place(const Warp& warp, const Instr& in, const RegPlace& place, int count,
                                    bool read) const {
  const RegInfo& info = program_.regs[place.array];
  const std::int64_t index = *warp.at<std::int32_t>(place.index);
  if (place.lanes || index * info.word_bytes % 4 != 0) {
    fail_internal(site(warp, in), fmt::format("a fragment begins at element {} of {}, which does not begin a register",
                                              index, array_name(info)));
  }
  check_index(warp, in, info, index, count);
  if (read) check_written(warp, in, info, index, count, full_mask);
  return static_cast<std::uint32_t>(index * info.word_bytes / 4);
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
