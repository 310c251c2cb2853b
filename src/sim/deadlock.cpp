// The report of a block in which no warp can run and no copy is in flight: who waits where, and what is missing.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/cluster.hpp"

namespace tessera::sim {

// Who completed the barrier's earlier phases, and where they are: they are whom the waiting warp waits for.
std::string Cta::arrivers_now(const Mbarrier& b) const {
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t i = 0; i < b.arrivers.size() && i < most; ++i) {
    const Arriver& a = b.arrivers[i];
    const Cta& home = cluster_.cta(a.block->place);
    const Warp& warp = home.warps_[static_cast<std::size_t>(a.warp)];
    const std::string who =
        a.block == &block_ ? fmt::format("warp {}", a.warp) : describe({a.block, nullptr, a.warp, -1});
    const std::string now = warp.state == WarpState::done
                                ? "has ended"
                                : fmt::format("{} at {}", home.waits_for(warp), line_of(program_.code[warp.pc].stmt));
    text += fmt::format("{} {}, which last arrived at {}, {}", i == 0 ? "; of those that arrived before," : ";", who,
                        line_of(a.stmt), now);
  }
  if (b.arrivers.size() > most) text += fmt::format("; and {} more", b.arrivers.size() - most);
  return text;
}

// What the barrier's current phase lacks; `help` gets the fix.
std::string Cta::missing(const Warp& warp, const Mbarrier& b, std::uint32_t parity, std::string* help) const {
  const std::uint64_t parity_now = b.phase & 1U;
  if (warp.waiting_since != ~0ULL && b.phase > warp.waiting_since) {
    *help =
        "nothing keeps the other threads from running two phases ahead: make them wait until this phase was observed";
    return fmt::format(
        "the barrier passed from phase {} to phase {} before this warp looked again (the last one was completed at "
        "{}), "
        "so parity {} is not the one that completed last",
        warp.waiting_since, b.phase, line_of(b.completed_at), parity);
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
               1 - parity_now) +
           arrivers_now(b);
  }
  *help = "let as many threads arrive in each phase as the barrier's count says";
  return fmt::format("{} in phase {}; the last arrival was at {}", missing_arrivals, b.phase, line_of(b.arrived_at)) +
         arrivers_now(b);
}

std::string Cta::missing_registers(const Warp& warp, const Instr& in) const {
  const auto& stmt = *static_cast<const ir::thread::SetMaxRegisters*>(in.stmt);
  int held = 0, wanted = 0;
  for (const Warp& w : warps_) {
    held += w.registers * warp_lanes;
    wanted += w.registers * warp_lanes;
    if (w.state != WarpState::at_registers) continue;
    const auto& other = *static_cast<const ir::thread::SetMaxRegisters*>(program_.code[w.pc].stmt);
    wanted += (other.count - w.registers) * warp_lanes;
  }
  return fmt::format(
      "from {} to {} a thread, which takes {} registers: {} are free of the {} that the block was launched with, and "
      "its warps together ask for {}",
      warp.registers, stmt.count, (stmt.count - warp.registers) * warp_lanes, register_pool_, held + register_pool_,
      wanted);
}

std::string Cta::waits_for(const Warp& warp) const {
  switch (warp.state) {
    case WarpState::at_mbarrier:
      return "waits on " + describe_barrier(*program_.kernel, waiting_barrier(warp) - shared_base);
    case WarpState::at_barrier: {
      const auto& stmt = *static_cast<const ir::thread::BarrierSync*>(program_.code[warp.pc].stmt);
      return fmt::format("waits at barrier {} for {} threads", stmt.id, stmt.threads);
    }
    case WarpState::at_wgmma: return "waits for a group of wgmmas";
    case WarpState::at_bulk: return "waits for a bulk group of TMA stores";
    case WarpState::at_cluster: return "waits at the cluster barrier";
    case WarpState::at_registers: return "waits for registers";
    case WarpState::at_flag: return "waits for " + flag_text(warp);
    case WarpState::unplaced: return "has no multiprocessor yet";
    default: return {};
  }
}

// "element 3 of flags to be 1"
std::string Cta::flag_text(const Warp& warp) const {
  const Instr& in = program_.code[warp.pc];
  const Operands& ops = operands(in);
  const int lane = std::countr_zero(warp.waiting_lanes);
  return fmt::format("element {} of {} to be {}{}", warp.at<std::int64_t>(ops.address)[lane],
                     program_.kernel->params[in.a].name, warp.at<std::uint32_t>(ops.value)[lane],
                     static_cast<const ir::thread::WaitFlag*>(in.stmt)->at_least ? " or more" : "");
}

Note Cta::waiting_note(const Warp& warp, std::string* help) {
  const Instr& in = program_.code[warp.pc];
  std::string who = fmt::format("warp {}", warp.index);
  if (cluster_.blocks() > 1) who = describe({&block_, nullptr, warp.index, -1});
  const auto note = [&](const std::string& text) { return Note{in.stmt->loc, who + text}; };
  switch (warp.state) {
    case WarpState::done: return {{}, who + " has ended"};
    case WarpState::at_barrier: {
      const auto& stmt = *static_cast<const ir::thread::BarrierSync*>(in.stmt);
      const int here = named_[static_cast<std::size_t>(stmt.id)].arrived;
      *help = "every thread of the group must reach the barrier, the same number of times";
      return note(fmt::format(" waits at barrier {} for {} threads, of which {} have come: {} missing", stmt.id,
                              stmt.threads, here, count_of(static_cast<std::uint64_t>(stmt.threads - here), "thread")));
    }
    case WarpState::at_registers:
      *help =
          "let the warps that need few registers give theirs back first (setmaxnreg.dec), and ask for no more in all "
          "than the block was launched with";
      return note(" waits for registers, " + missing_registers(warp, in));
    case WarpState::at_cluster:
      *help = "every warp of every block of the cluster must reach the cluster barrier, the same number of times";
      return note(" waits at the cluster barrier: " + cluster_.missing_at_barrier(place_));
    case WarpState::at_flag:
      *help =
          "let a thread signal the flag (global_flag.signal) in a block that surely runs: one before this one in the "
          "grid, or any one of a persistent grid";
      return note(fmt::format(" waits for {}, which is {}", flag_text(warp),
                              flag_now(warp, in, std::countr_zero(warp.waiting_lanes))));
    case WarpState::unplaced: return note(" has no multiprocessor: it begins when another block ends");
    case WarpState::at_wgmma: return note(" waits for a group of wgmmas");
    case WarpState::at_bulk: return note(" waits for a bulk group of TMA stores");
    default: break;
  }
  if (warp.state != WarpState::at_mbarrier) return note(" can run");
  const Operands& ops = operands(in);
  const int lane = std::countr_zero(warp.waiting_lanes);
  const std::uint32_t parity = warp.at<std::uint32_t>(ops.value)[lane];
  const Mbarrier& b = barriers_.at(site(warp, in, lane), waiting_barrier(warp), "wait");
  if (warp.waiting_lanes != full_mask) who += fmt::format(" (lane {})", lane);
  return note(fmt::format(" waits on {} for phase parity {}: {}", describe_barrier(*program_.kernel, b.offset), parity,
                          missing(warp, b, parity, help)));
}

// "3 of 8 warps have arrived; warp 1 of block (0, 0, 0) has not"
std::string Cluster::missing_at_barrier(int place) const {
  int all = 0, arrived = 0;
  std::string first;
  for_each_cta(place / size_, [&](const Cta& cta) {
    for (const Warp& warp : cta.warps()) {
      if (warp.state == WarpState::done) continue;
      ++all;
      if (warp.cluster_arrivals > barrier_phases(place)) {
        ++arrived;
      } else if (first.empty()) {
        first = describe({&cta.block(), nullptr, warp.index, -1});
      }
    }
  });
  return fmt::format("{} of {} warps have arrived, {} has not", arrived, all, first);
}

// A warp that waits for registers, for a flag or on an mbarrier says more than those that wait for it at a barrier, so
// it comes first.
void Cluster::deadlock() {
  constexpr std::size_t most_notes = 24;  // of a whole grid
  std::string help, other_help;
  std::vector<Note> notes;
  Cta* first_cta = nullptr;
  const Warp* first = nullptr;
  for (const WarpState state : {WarpState::at_registers, WarpState::at_flag, WarpState::at_mbarrier,
                                WarpState::at_barrier, WarpState::at_cluster}) {
    for (auto& cta : ctas_) {
      for (const Warp& warp : cta->warps()) {
        if (warp.state != state || first != nullptr) continue;
        first = &warp;
        first_cta = cta.get();
      }
    }
  }
  if (first == nullptr) {
    fail_internal({&ctas_.front()->block(), nullptr, -1, -1}, "no warp runs, and none waits for anything");
  }
  const Note main = first_cta->waiting_note(*first, &help);
  for (auto& cta : ctas_) {
    for (const Warp& warp : cta->warps()) {
      const bool told = clusters_ == 1 || (warp.state != WarpState::done && notes.size() < most_notes);
      if (&warp != first && told) notes.push_back(cta->waiting_note(warp, &other_help));
    }
  }
  const std::string where = clusters_ > 1 ? "the grid with " : size() > 1 ? "the cluster of " : "";
  Finding finding;
  finding.hazard = Hazard::deadlock;
  finding.diagnostic = {main.loc,
                        fmt::format("deadlock in {}{}: no warp can run and no copy is in flight; {}", where,
                                    describe({&first_cta->block(), nullptr, -1, -1}), main.message),
                        help, std::move(notes)};
  finding.kernel = program_.kernel->name;
  finding.block = first_cta->block().index;
  finding.warp = first->index;
  throw HazardError(std::move(finding));
}

}  // namespace tessera::sim
