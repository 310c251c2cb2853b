// wgmma: one warp's rows of an instruction, asynchronous from its issue until a wait covers its group.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/cta.hpp"

namespace tessera::sim {

namespace {

using ir::thread::Wgmma;

int accumulators(const Wgmma& s) { return s.n / 2; }
int a_elements(const Wgmma& s) { return 16 / size_of(s.a_registers.array->type); }
constexpr std::uint32_t warps_of_group = 4;

bool within(std::int64_t first, std::int64_t count, std::int64_t from, std::int64_t size) {
  return first < from + size && from < first + count;
}

}  // namespace

// An instruction other than wgmma accesses these elements of an array that wgmma uses.
void Cta::track(const Warp& warp, const Instr& in, const RegInfo& info, std::int64_t first, int count) const {
  for (std::int64_t element = first; element < first + count; ++element) {
    RegisterUse& use = warp.uses[info.tracked + element];
    use.stmt = in.stmt;
    use.fence = warp.wgmma_fences;
    if (use.flights == 0) continue;
    for (const PendingWgmma& pending : warp.wgmmas) {
      const auto& wgmma = *static_cast<const Wgmma*>(pending.instr->stmt);
      const bool in_d = wgmma.d.array == info.array && within(element, 1, pending.d, accumulators(wgmma));
      const bool in_a = wgmma.a_registers.array == info.array && within(element, 1, pending.a, a_elements(wgmma));
      if (!in_d && !in_a) continue;
      fail(Hazard::wgmma, site(warp, in),
           fmt::format("{} accesses element {} of register tile {}, which the wgmma of {} may still {}",
                       line_of(in.stmt), element, info.array->name, line_of(&wgmma), in_d ? "write" : "read"),
           "commit the wgmma to a group (wgmma.commit_group) and wait for it (wgmma.wait_group) "
           "before its registers are used",
           {{loc_of(&wgmma), "the wgmma is issued here"}});
    }
  }
}

void Cta::wgmma_fence(Warp& warp, const Instr& in) const {
  require_whole_warp(warp, in, "wgmma.fence");
  ++warp.wgmma_fences;
}

void Cta::check_wgmma_group(const Warp& warp, const Instr& in) const {
  const auto& s = *static_cast<const Wgmma*>(in.stmt);
  const int group = warp.index / static_cast<int>(warps_of_group);
  if (program_.kernel->warps < (group + 1) * static_cast<int>(warps_of_group)) {
    fail(Hazard::wgmma, site(warp, in),
         fmt::format("a wgmma is executed by warp {}, whose warpgroup has {} of 4 warps: the block has {} warps",
                     warp.index, program_.kernel->warps - group * static_cast<int>(warps_of_group),
                     program_.kernel->warps),
         "give the block a multiple of 4 warps");
  }
  const bool integers = s.accumulator_type == DType::i32;
  if (s.n < 8 || s.n > 256 || s.n % 8 != 0 || size_of(s.a_type) != size_of(s.b_type) ||
      size_of(s.d.array->type) != size_of(s.accumulator_type) || integers != is_integer(s.a_type) ||
      ((s.a_mn_major || s.b_mn_major) && size_of(s.a_type) != 2)) {
    fail_internal(site(warp, in), fmt::format("wgmma m64n{} of {} and {} into {} does not exist", s.n,
                                              name_of(s.a_type), name_of(s.b_type), name_of(s.accumulator_type)));
  }
}

// A value that is the same in all lanes.
std::uint32_t Cta::uniform(const Warp& warp, const Instr& in, std::uint32_t slot, const char* what) const {
  const auto* lanes = warp.at<std::uint32_t>(slot);
  for (int lane = 1; lane < warp_lanes; ++lane) {
    if (lanes[lane] == lanes[0]) continue;
    fail(Hazard::wgmma, site(warp, in, lane),
         fmt::format("{} of a wgmma differs between threads: {:#x} in lane 0, {:#x} here", what, lanes[0], lanes[lane]),
         "the operands of wgmma are those of the whole warpgroup: choose them by values that all its threads share");
  }
  return lanes[0];
}

// The warps of a warpgroup may come to a wgmma at different times, but all come to the same ones with the same
// operands.
void Cta::join_warpgroup(Warp& warp, const Instr& in, bool accumulate) {
  const Operands& ops = operands(in);
  WgmmaIssue issue;
  issue.stmt = in.stmt;
  issue.warp = warp.index;
  issue.a = ops.address == no_slot ? 0 : *warp.at<std::uint32_t>(ops.address);
  issue.b = *warp.at<std::uint32_t>(ops.value);
  issue.accumulate = accumulate;
  Warpgroup& group = warpgroups_[static_cast<std::size_t>(warp.index) / warps_of_group];
  const std::uint64_t number = warp.wgmmas_issued++ - group.first;
  if (number == group.issues.size()) {
    group.issues.push_back(issue);
  } else if (const WgmmaIssue& other = group.issues[number]; !other.same(issue)) {
    fail(Hazard::wgmma, site(warp, in),
         fmt::format("warp {} executes the wgmma of {}, where warp {} of its warpgroup executed {}", warp.index,
                     line_of(in.stmt), other.warp,
                     other.stmt == in.stmt ? "it with other operands" : "that of " + line_of(other.stmt)),
         "the four warps of a warpgroup execute the same wgmmas with the same operands: their conditions and indices "
         "must not depend on the warp",
         {{loc_of(other.stmt), "the other warp's wgmma"}});
  }
  const std::size_t first_warp = static_cast<std::size_t>(warp.index) / warps_of_group * warps_of_group;
  const auto behind = [&](std::size_t w) { return warps_[first_warp + w].wgmmas_issued <= group.first; };
  if (behind(0) || behind(1) || behind(2) || behind(3)) return;
  group.issues.pop_front();
  ++group.first;
}

void Cta::check_warpgroups() const {
  for (std::size_t g = 0; g < warpgroups_.size(); ++g) {
    const Warpgroup& group = warpgroups_[g];
    if (group.issues.empty()) continue;
    const WgmmaIssue& issue = group.issues.front();
    for (std::size_t w = g * warps_of_group; w < (g + 1) * warps_of_group; ++w) {
      if (warps_[w].wgmmas_issued > group.first) continue;
      fail(Hazard::wgmma, {&block_, issue.stmt, issue.warp, -1},
           fmt::format("warp {} executed a wgmma that warp {} of its warpgroup never came to", issue.warp, w),
           "a wgmma is executed by all four warps of a warpgroup: move it out of the conditional code, or give the "
           "code a whole warpgroup");
    }
  }
}

// The registers of `pending`: fenced since ordinary instructions used them, written where they are read.
void Cta::add_registers(Warp& warp, const Instr& in, PendingWgmma& pending) {
  const auto& s = *static_cast<const Wgmma*>(in.stmt);
  if (warp.wgmma_fences == 0) {
    fail(Hazard::wgmma, site(warp, in), fmt::format("warp {} executes a wgmma before any wgmma.fence", warp.index),
         "execute wgmma.fence before the first wgmma, and after every other access to its registers");
  }
  const auto check = [&](const ir::thread::RegRef& ref, std::int64_t first, int count, const char* what) {
    const RegInfo& info = program_.regs[ref.array->id];
    for (std::int64_t element = first; element < first + count; ++element) {
      RegisterUse& use = warp.uses[info.tracked + element];
      if (use.stmt != nullptr && use.fence == warp.wgmma_fences) {
        fail(Hazard::wgmma, site(warp, in),
             fmt::format("the wgmma of {} uses element {} of register tile {} ({}), which {} accessed without a "
                         "wgmma.fence since",
                         line_of(in.stmt), element, info.array->name, what, line_of(use.stmt)),
             "execute wgmma.fence between ordinary accesses to the registers and the wgmma",
             {{loc_of(use.stmt), "the registers are accessed here"}});
      }
      ++use.flights;
    }
  };
  check(s.d, pending.d, accumulators(s), "the accumulator");
  if (pending.a_words != nullptr) check(s.a_registers, pending.a, a_elements(s), "its first operand");
  for (const PendingWgmma& other : warp.wgmmas) {
    const auto& o = *static_cast<const Wgmma*>(other.instr->stmt);
    const auto meets = [&](const ir::thread::RegRef& x, std::int64_t at, int n, const ir::thread::RegRef& y,
                           std::int64_t from, int m) { return x.array == y.array && within(at, n, from, m); };
    const bool same = s.n == o.n && s.accumulator_type == o.accumulator_type && pending.d == other.d;
    const bool d_in_d = !same && other.fence == warp.wgmma_fences &&
                        meets(s.d, pending.d, accumulators(s), o.d, other.d, accumulators(o));
    const bool a_in_d =
        pending.a_words != nullptr && meets(s.a_registers, pending.a, a_elements(s), o.d, other.d, accumulators(o));
    const bool d_in_a =
        other.a_words != nullptr && meets(s.d, pending.d, accumulators(s), o.a_registers, other.a, a_elements(o));
    if (!d_in_d && !a_in_d && !d_in_a) continue;
    fail(Hazard::wgmma, site(warp, in),
         fmt::format("the wgmma of {} uses registers that the wgmma of {} may still {}", line_of(in.stmt), line_of(&o),
                     d_in_a ? "read" : "write"),
         "only wgmmas of one shape that accumulate into the same registers follow each other without a wait: execute "
         "wgmma.wait_group between them",
         {{loc_of(&o), "the other wgmma is issued here"}});
  }
}

// What `pending` will read from shared memory.
void Cta::add_operands(Warp& warp, const Instr& in, PendingWgmma& pending) {
  const auto& s = *static_cast<const Wgmma*>(in.stmt);
  const Operands& ops = operands(in);
  pending.flight = memory_.begin_flight(site(warp, in), Engine::wgmma);
  const auto read_as = [&](const WgmmaOperand& operand) {
    if (order_ == nullptr) return;
    const Epoch epoch = order_->wgmma_epoch(place_, warp.index, pending.group);
    const auto swizzle = static_cast<int>(operand.swizzle);
    memory_.continue_as(pending.flight, order_->issue(site(warp, in), Role::wgmma, false, epoch, swizzle));
  };
  const auto add = [&](std::uint32_t address, std::uint32_t, std::uint32_t) {
    memory_.add_source(pending.flight, address - shared_base);
  };
  const auto decode = [&](std::uint32_t slot, std::uint32_t high, bool mn_major, const char* what) {
    if ((high >> 17 & 7U) != 0) fail_internal(site(warp, in), "a matrix descriptor has a base offset");
    return WgmmaOperand::decode(uniform(warp, in, slot, what), high, mn_major);
  };
  if (pending.a_words == nullptr) {
    pending.a_shared = decode(ops.address, s.a.high, s.a_mn_major, "the first operand");
    pending.a_row = 16 * (static_cast<std::uint32_t>(warp.index) % warps_of_group);
    read_as(pending.a_shared);
    pending.a_shared.for_each_piece(pending.a_row, 16, add);
  }
  pending.b_shared = decode(ops.value, s.b.high, s.b_mn_major, "the second operand");
  read_as(pending.b_shared);
  pending.b_shared.for_each_piece(0, static_cast<std::uint32_t>(s.n), add);
}

void Cta::wgmma(Warp& warp, const Instr& in) {
  require_whole_warp(warp, in, "wgmma");
  check_wgmma_group(warp, in);
  const auto& s = *static_cast<const Wgmma*>(in.stmt);
  const Operands& ops = operands(in);
  PendingWgmma pending;
  pending.instr = &in;
  pending.accumulate = ops.mask == no_slot || uniform(warp, in, ops.mask, "'accumulate'") != 0;
  pending.group = warp.wgmma_groups;
  pending.fence = warp.wgmma_fences;
  const RegInfo& d = program_.regs[ops.d.array];
  pending.d = *warp.at<std::int32_t>(ops.d.index);
  pending.d_words = warp.words(d) + fragment_word(warp, in, ops.d);
  check_index(warp, in, d, pending.d, accumulators(s));
  if (s.a_registers.array != nullptr) {
    const RegInfo& a = program_.regs[ops.a.array];
    pending.a = *warp.at<std::int32_t>(ops.a.index);
    pending.a_words = warp.words(a) + fragment_word(warp, in, ops.a);
    check_index(warp, in, a, pending.a, a_elements(s));
    check_written(warp, in, a, pending.a, a_elements(s), full_mask);
  }
  if (pending.accumulate) check_written(warp, in, d, pending.d, accumulators(s), full_mask);
  add_registers(warp, in, pending);
  join_warpgroup(warp, in, pending.accumulate);
  add_operands(warp, in, pending);
  std::fill_n(warp.valid + d.valid + pending.d, accumulators(s), full_mask);
  warp.wgmmas.push_back(pending);
  if (options_.schedule.kind == Schedule::Kind::eager) execute_wgmma(warp, warp.wgmmas.back());
}

void Cta::execute_wgmma(Warp& warp, PendingWgmma& pending) {
  const auto& s = *static_cast<const Wgmma*>(pending.instr->stmt);
  alignas(32) std::byte a[16 * 32];
  alignas(32) std::byte b[256 * 32];
  const auto read = [&](const WgmmaOperand& operand, std::uint32_t first, std::uint32_t count, std::byte* to) {
    operand.for_each_piece(first, count, [&](std::uint32_t address, std::uint32_t row, std::uint32_t k) {
      const std::byte* from = memory_.read_async(pending.flight, address - shared_base);
      if (!operand.mn_major) {
        std::memcpy(to + 32 * row + 16 * k, from, 16);
        return;
      }
      for (std::uint32_t i = 0; i < 8; ++i) std::memcpy(to + 32 * (row + i) + 2 * k, from + 2 * i, 2);
    });
  };
  if (pending.a_words == nullptr) {
    read(pending.a_shared, pending.a_row, 16, a);
  } else {
    // Four lanes hold 16 bytes of a row: words 0 and 2 of rows 0 to 7, words 1 and 3 of rows 8 to 15.
    for (int row = 0; row < 16; ++row) {
      for (int half = 0; half < 2; ++half) {
        std::memcpy(a + 32 * row + 16 * half, &pending.a_words[2 * half + row / 8][4 * (row % 8)], 16);
      }
    }
  }
  read(pending.b_shared, 0, static_cast<std::uint32_t>(s.n), b);
  WgmmaShape shape;
  shape.a_type = s.a_type;
  shape.b_type = s.b_type;
  shape.accumulator_type = s.accumulator_type;
  shape.n = s.n;
  shape.accumulate = pending.accumulate;
  shape.negate = s.negate_a != s.negate_b;
  lane_ops().wgmma(shape, pending.d_words, a, b);
  pending.executed = true;
  memory_.performed(pending.flight);
  static_cast<void>(warp);
}

// The wgmmas of one warp are executed in the order of their issue.
bool Cta::execute_next_wgmma(Warp& warp) {
  for (PendingWgmma& pending : warp.wgmmas) {
    if (pending.executed) continue;
    execute_wgmma(warp, pending);
    return true;
  }
  return false;
}

void Cta::finish_wgmma(Warp& warp, const PendingWgmma& pending) {
  const auto& s = *static_cast<const Wgmma*>(pending.instr->stmt);
  memory_.end_flight(pending.flight);
  const auto release = [&](const ir::thread::RegRef& ref, std::int64_t first, int count) {
    RegisterUse* uses = warp.uses + program_.regs[ref.array->id].tracked + first;
    for (int i = 0; i < count; ++i) --uses[i].flights;
  };
  release(s.d, pending.d, accumulators(s));
  if (pending.a_words != nullptr) release(s.a_registers, pending.a, a_elements(s));
}

bool Cta::wgmma_wait(Warp& warp, const Instr& in) {
  require_whole_warp(warp, in, "wgmma.wait_group");
  const auto& wait = *static_cast<const ir::thread::WgmmaWait*>(in.stmt);
  const auto covered = [&](const PendingWgmma& p) {
    return p.group + static_cast<std::uint64_t>(wait.pending) < warp.wgmma_groups;
  };
  for (const PendingWgmma& pending : warp.wgmmas) {
    if (covered(pending) && !pending.executed) return false;
  }
  while (!warp.wgmmas.empty() && covered(warp.wgmmas.front())) {
    finish_wgmma(warp, warp.wgmmas.front());
    warp.wgmmas.pop_front();
  }
  const auto kept = static_cast<std::uint64_t>(wait.pending);
  if (order_ != nullptr && warp.wgmma_groups > kept) {
    order_->wgmma_waited(place_, warp.index, warp.wgmma_groups - kept);
  }
  return true;
}

}  // namespace tessera::sim
