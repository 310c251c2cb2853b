// Loads and stores between registers and memory.
#include <bit>
#include <cstring>

#include "sim/cta.hpp"
#include "sim/lane_groups.hpp"
#include "sim/lanes.hpp"

namespace tessera::sim {

namespace {

// Bytes of consecutive elements from element `index` on, in one lane.
void put_bytes(const RegInfo& info, RegisterWord* words, std::int64_t index, int lane, const std::byte* from, int count,
               int element_bytes) {
  if (info.array->type == DType::boolean) {
    for (int i = 0; i < count; ++i) words[index + i][lane] = from[i] != std::byte{0} ? 1U : 0U;
    return;
  }
  const auto first = static_cast<std::size_t>(index) * info.word_bytes;
  const auto bytes = static_cast<std::size_t>(count * element_bytes);
  if (first % 4 == 0 && bytes % 4 == 0) {
    for (std::size_t i = 0; i < bytes / 4; ++i) std::memcpy(&words[first / 4 + i][lane], from + 4 * i, 4);
    return;
  }
  for (std::size_t i = 0; i < bytes; ++i) {
    auto* word = reinterpret_cast<std::byte*>(&words[(first + i) / 4][lane]);
    word[(first + i) % 4] = from[i];
  }
}

void get_bytes(const RegInfo& info, const RegisterWord* words, std::int64_t index, int lane, std::byte* to, int count,
               int element_bytes) {
  if (info.array->type == DType::boolean) {
    for (int i = 0; i < count; ++i) to[i] = words[index + i][lane] != 0 ? std::byte{1} : std::byte{0};
    return;
  }
  const auto first = static_cast<std::size_t>(index) * info.word_bytes;
  const auto bytes = static_cast<std::size_t>(count * element_bytes);
  if (first % 4 == 0 && bytes % 4 == 0) {
    for (std::size_t i = 0; i < bytes / 4; ++i) std::memcpy(to + 4 * i, &words[first / 4 + i][lane], 4);
    return;
  }
  for (std::size_t i = 0; i < bytes; ++i) {
    const auto* word = reinterpret_cast<const std::byte*>(&words[(first + i) / 4][lane]);
    to[i] = word[(first + i) % 4];
  }
}

std::uint32_t masked_lanes(const Warp& warp, std::uint32_t slot) {
  if (slot == no_slot) return full_mask;
  const auto* lanes = warp.at<std::uint32_t>(slot);
  std::uint32_t mask = 0;
  for (int i = 0; i < warp_lanes; ++i) mask |= (lanes[i] != 0 ? 1U : 0U) << i;
  return mask;
}

}  // namespace

void Cta::access_global(Warp& warp, const Instr& in) {
  static constexpr std::byte zeros[16] = {};
  const Operands& ops = operands(in);
  const RegInfo& info = program_.regs[ops.d.array];
  RegisterWord* words = warp.words(info);
  const auto* offset = warp.at<std::int64_t>(ops.address);
  const std::uint32_t mask = masked_lanes(warp, ops.mask);
  const bool store = in.op == Op::store_global;
  const auto element = static_cast<std::uint32_t>(ops.element_bytes);
  const auto bytes = static_cast<std::uint32_t>(ops.count) * element;
  const Access by = access(warp, in, warp.active & mask);
  for_each_index(warp, ops.d, warp.active, [&](std::int64_t index, std::uint32_t lanes) {
    use(warp, in, info, index, ops.count);
    if (store) check_written(warp, in, info, index, ops.count, lanes & mask);
    for_each_lane(lanes & mask, [&](int lane) {
      std::byte* p = memory_.access_global(by, lane, in.a, offset[lane], element, bytes, store);
      if (store) {
        get_bytes(info, words, index, lane, p, ops.count, ops.element_bytes);
      } else {
        put_bytes(info, words, index, lane, p, ops.count, ops.element_bytes);
      }
    });
    if (store) return;
    for_each_lane(lanes & ~mask,
                  [&](int lane) { put_bytes(info, words, index, lane, zeros, ops.count, ops.element_bytes); });
    for (int i = 0; i < ops.count; ++i) warp.valid[info.valid + index + i] |= lanes;
  });
}

void Cta::access_shared(Warp& warp, const Instr& in) {
  const Operands& ops = operands(in);
  const RegInfo& info = program_.regs[ops.d.array];
  RegisterWord* words = warp.words(info);
  const auto* address = warp.at<std::uint32_t>(ops.address);
  const std::uint32_t mask = masked_lanes(warp, ops.mask);
  const auto bytes = static_cast<std::uint32_t>(ops.count * ops.element_bytes);
  const Access by = access(warp, in, warp.active & mask);
  const auto memory_of = [&](int lane) -> MemorySystem& {
    if (ops.cta == no_slot) return memory_;
    const char* what = in.op == Op::store_shared ? "a store in" : "a load from";
    return peer(site(warp, in, lane), warp.at<std::uint32_t>(ops.cta)[lane], what).memory_;
  };
  for_each_index(warp, ops.d, warp.active & mask, [&](std::int64_t index, std::uint32_t lanes) {
    use(warp, in, info, index, ops.count);
    if (in.op == Op::store_shared) {
      check_written(warp, in, info, index, ops.count, lanes);
      for_each_lane(lanes, [&](int lane) {
        get_bytes(info, words, index, lane, memory_of(lane).write_shared(by, lane, address[lane], bytes), ops.count,
                  ops.element_bytes);
      });
      return;
    }
    for_each_lane(lanes, [&](int lane) {
      put_bytes(info, words, index, lane, memory_of(lane).read_shared(by, lane, address[lane], bytes), ops.count,
                ops.element_bytes);
    });
    for (int i = 0; i < ops.count; ++i) warp.valid[info.valid + index + i] |= lanes;
  });
}

}  // namespace tessera::sim
