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
    fail(Hazard::uninitialised, site(warp, in, lane),
         fmt::format("read of an uninitialised register: element {} of {} (of the {} that a thread holds)", first + i,
                     array_name(info), info.array->size),
         "give the tile a value before it is read", std::move(notes));
  }
}

void Cta::declare_regs(Warp& warp, const Instr& in) const {
  const RegInfo& info = program_.regs[operands(in).d.array];
  if (info.tracked != no_slot) track(warp, in, info, 0, static_cast<int>(info.array->size));
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
    use(warp, in, info, index, 1);
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
    use(warp, in, info, index, ops.count);
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

}  // namespace tessera::sim
