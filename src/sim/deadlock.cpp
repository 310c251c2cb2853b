// The report of a block in which no warp can run and no copy is in flight: who waits where, and what is missing.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/cta.hpp"

namespace tessera::sim {

// What the barrier's current phase lacks; `help` gets the fix.
std::string Cta::missing(const Warp& warp, const Mbarrier& b, std::uint32_t parity, std::string* help) const {
  const std::uint64_t parity_now = b.phase & 1U;
  if (warp.waiting_since != ~0ULL && b.phase > warp.waiting_since) {
    *help =
        "nothing keeps the other threads from running two phases ahead: make them wait until this phase was observed";
    return fmt::format(
        "the barrier passed from phase {} to phase {} before this warp looked again, so parity {} is not the "
        "one that completed last",
        warp.waiting_since, b.phase, parity);
  }
  const std::string missing_arrivals = fmt::format("{} missing of {}", count_of(b.pending, "arrival"), b.count);
  if (b.tx < 0 && b.declared == 0 && b.pending == b.count) {
    *help = "call arrive_and_expect_tx, with the bytes of every copy, in the thread that issues the copies";
    return fmt::format(
        "{}: nobody has arrived in phase {}, and nobody declared the {} that the copies delivered (the last by "
        "the copy of {})",
        missing_arrivals, b.phase, count_of(b.delivered, "byte"), line_of(b.delivered_by));
  }
  if (b.tx < 0) {
    *help = "declare the bytes of every copy that completes on the barrier in arrive_and_expect_tx";
    return fmt::format(
        "the copies delivered {} more than were declared ({} delivered, the last by the copy of {}; {} declared, "
        "the last at {}){}",
        count_of(static_cast<std::uint64_t>(-b.tx), "byte"), b.delivered, line_of(b.delivered_by), b.declared,
        line_of(b.declared_at), b.pending == 0 ? "" : "; and " + missing_arrivals);
  }
  if (b.tx > 0) {
    *help = "declare exactly the bytes of the copies that complete on the barrier, and issue every copy";
    std::string text = fmt::format("{} of the {} declared by arrive_and_expect_tx at {} {} never delivered",
                                   count_of(static_cast<std::uint64_t>(b.tx), "byte"), b.declared,
                                   line_of(b.declared_at), b.tx == 1 ? "was" : "were");
    return b.pending == 0 ? text : text + "; and " + missing_arrivals;
  }
  if (b.phase == 0 && b.pending == b.count) {
    *help = "arrive on the barrier: mbarrier.arrive, or arrive_and_expect_tx in the thread that issues the copies";
    return missing_arrivals + ": nobody has arrived since it was initialised";
  }
  if (b.pending == b.count) {
    *help =
        "check the phase that is waited for (it flips once for each completed phase), and that somebody arrives in it";
    return fmt::format(
        "the wait is for phase parity {}, but phase {} (parity {}) was the last to complete, at {}, and nobody "
        "has arrived in phase {} (parity {}): {}; a wait for parity {} would not have waited",
        parity, b.phase - 1, 1 - parity_now, line_of(b.completed_at), b.phase, parity_now, missing_arrivals,
        1 - parity_now);
  }
  *help = "let as many threads arrive in each phase as the barrier's count says";
  return fmt::format("{} in phase {}; the last arrival was at {}", missing_arrivals, b.phase, line_of(b.arrived_at));
}

Note Cta::waiting_note(const Warp& warp, std::string* help) {
  const Instr& in = program_.code[warp.pc];
  std::string who = fmt::format("warp {}", warp.index);
  if (warp.state == WarpState::done) return {{}, who + " has ended"};
  if (warp.state == WarpState::at_barrier) {
    const auto& stmt = *static_cast<const ir::thread::BarrierSync*>(in.stmt);
    const auto& barrier = named_[static_cast<std::size_t>(stmt.id)];
    const auto here = static_cast<int>(barrier.warps.size()) * warp_lanes;
    *help = "every thread of the group must reach the barrier, the same number of times";
    return {in.stmt->loc,
            fmt::format("{} waits at barrier {} for {} threads, of which {} have come: {} missing", who, stmt.id,
                        stmt.threads, here, count_of(static_cast<std::uint64_t>(stmt.threads - here), "thread"))};
  }
  const Operands& ops = operands(in);
  const int lane = std::countr_zero(warp.waiting_lanes);
  const std::uint32_t parity = warp.at<std::uint32_t>(ops.value)[lane];
  const Mbarrier& b = barriers_.at(site(warp, in, lane), waiting_barrier(warp), "wait");
  if (warp.waiting_lanes != full_mask) who += fmt::format(" (lane {})", lane);
  return {in.stmt->loc,
          fmt::format("{} waits on {} for phase parity {}: {}", who, describe_barrier(*program_.kernel, b.offset),
                      parity, missing(warp, b, parity, help))};
}

// A warp that waits on an mbarrier says more than those that wait for it at a block barrier, so it comes first.
void Cta::deadlock() {
  std::string help, other_help;
  std::vector<Note> notes;
  const Warp* first = nullptr;
  for (const Warp& warp : warps_) {
    if (warp.state == WarpState::at_mbarrier && first == nullptr) first = &warp;
  }
  for (const Warp& warp : warps_) {
    if (warp.state == WarpState::at_barrier && first == nullptr) first = &warp;
  }
  const Note main = waiting_note(*first, &help);
  for (const Warp& warp : warps_) {
    if (&warp != first) notes.push_back(waiting_note(warp, &other_help));
  }
  throw Error(ErrorKind::user, main.loc,
              fmt::format("deadlock in {}: no warp can run and no copy is in flight; {}",
                          describe({&block_, nullptr, -1, -1}), main.message),
              help, std::move(notes));
}

}  // namespace tessera::sim
