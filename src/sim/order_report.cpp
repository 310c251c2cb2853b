// Findings of Order, in the user's words.
#include <fmt/format.h>

#include "sim/order.hpp"

namespace tessera::sim {

namespace {

const char* noun(const AccessInfo& a) {
  switch (a.role) {
    case Role::load: return "load";
    case Role::store: return "store";
    case Role::signal: return "signal";
    case Role::flag_wait: return "wait";
    case Role::copy: return "TMA copy";
    case Role::bulk_store: return a.addition ? "TMA reduction" : "TMA store";
    case Role::wgmma: return "wgmma";
  }
  return "?";
}
const char* verb(const AccessInfo& a) {
  if (a.role == Role::signal) return a.addition ? "adds to" : "sets";
  if (a.role == Role::flag_wait) return "waits for";
  return a.write ? "writes" : "reads";
}

std::string join_index(const std::vector<std::int64_t>& index, std::size_t begin, std::size_t end) {
  std::string text;
  for (std::size_t i = begin; i < end; ++i) text += fmt::format("{}{}", i == begin ? "" : ", ", index[i]);
  return text;
}

const ir::thread::SharedRegion* tile_of(const ir::thread::Kernel& kernel, std::uint32_t offset) {
  for (const auto& region : kernel.regions) {
    if (!region.is_barrier && offset >= region.offset && offset - region.offset < region.bytes) return &region;
  }
  return nullptr;
}

// A key that is the same for the same mistake, wherever in the grid and however often it happens, and whichever side of
// a race came first.
std::string key_of(Hazard hazard, const SourceLoc& loc, const SourceLoc& other) {
  std::string a = fmt::format("{}:{}", loc.file, loc.line), b = fmt::format("{}:{}", other.file, other.line);
  if (hazard == Hazard::race && b < a) std::swap(a, b);
  return fmt::format("{} {} {}", name_of(hazard), a, b);
}

}  // namespace

// "element [17, 8] of sb[2]"; the object is "sb[2]". All dimensions but the last two of a tile count its parts.
std::string Order::tile_at(int cta, std::uint32_t offset, std::string* object) const {
  const auto* region = tile_of(*program_.kernel, offset);
  if (region == nullptr) {
    *object = "shared memory";
    return fmt::format("shared offset {}", offset);
  }
  *object = region->name;
  const std::uint32_t byte = offset - region->offset;
  const std::vector<std::int64_t> index = region->index_of ? region->index_of(byte) : std::vector<std::int64_t>{};
  std::string element = fmt::format("byte {}", byte);
  if (!index.empty()) {
    const std::size_t parts = index.size() > 2 ? index.size() - 2 : 0;
    if (parts != 0) *object += fmt::format("[{}]", join_index(index, 0, parts));
    element = fmt::format("element [{}]", join_index(index, parts, index.size()));
  }
  if (ctas_ > 1)
    element += fmt::format(" (in {})", describe({blocks_[static_cast<std::size_t>(cta)], nullptr, -1, -1}));
  return element;
}

std::string Order::where(const AccessInfo& a) const {
  const auto& b = a.block_index;
  std::string text = fmt::format("block ({}, {}, {}), warp {}", b[0], b[1], b[2], a.warp);
  if (a.lane >= 0) text += fmt::format(", lane {}", a.lane);
  if (a.loop != nullptr) text += fmt::format(", iteration {} of the loop of {}", a.iteration, line_of(a.loop));
  return text;
}

std::string Order::barrier_name(const BarrierOrder& barrier) const {
  const std::string name = describe_barrier(*program_.kernel, barrier.offset);
  const std::string prefix = "mbarrier ";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

void Order::report(Hazard hazard, const Site& site, const ir::Stmt* other, std::string message, std::string help,
                   std::vector<Note> notes, std::string object) {
  if (recorder_ != nullptr) recorder_->found(site, fmt::format("{}: {}", name_of(hazard), message));
  const std::string key = key_of(hazard, loc_of(site.stmt), loc_of(other));
  const auto [at, fresh] = seen_.try_emplace(key, findings_.size());
  if (!fresh) {
    ++findings_[at->second].count;
    return;
  }
  Finding finding;
  finding.hazard = hazard;
  finding.diagnostic = {loc_of(site.stmt), std::move(message), std::move(help), std::move(notes)};
  finding.object = std::move(object);
  finding.kernel = program_.kernel->name;
  finding.schedule = schedule_;
  finding.block = site.block->index;
  finding.warp = site.warp;
  findings_.push_back(std::move(finding));
}

// What would have ordered the two, from what the earlier one still lacks.
std::string Order::missing_step(const AccessInfo& earlier, const AccessInfo& later, Verdict verdict,
                                bool global) const {
  const std::string second = fmt::format("the {} of {}", noun(later), line_of(later.stmt));
  if (verdict == Verdict::unfenced && global) {
    return "a proxy fence orders shared memory only: let the other block read with load_global what store_global "
           "wrote, "
           "or write with the TMA engine, and wait for the writes, what it reads with the TMA engine";
  }
  if (verdict == Verdict::unfenced) {
    if (earlier.block != later.block) {
      return "an arrival from another block releases at the scope of its own block, so ordinary accesses of that block "
             "are not ordered by it: synchronise the cluster, and execute fence.proxy_async before";
    }
    return fmt::format(
        "barriers order ordinary accesses with each other, not with {}: execute fence.proxy_async in the "
        "threads that accessed the tile, after the access and before the barrier that hands it over",
        later.role == Role::wgmma ? "wgmma, which reads through the async proxy" : "the copy engine");
  }
  switch (earlier.role) {
    case Role::copy:
      return fmt::format(
          "wait on {}, for the phase that the copy completes, in a thread that every path to {} is "
          "ordered after",
          barrier_name(barriers_[earlier.barrier]), second);
    case Role::wgmma: {
      const WarpOrder& w = of(earlier.block->place, earlier.warp);
      if (w.shared.known.knows(earlier.component, earlier.time)) {
        return fmt::format(
            "warp {} has waited for the wgmma, but {} does not come after that: let the warp arrive, "
            "after wgmma.wait_group, on the barrier that releases the tile, and wait for it before",
            earlier.warp, second);
      }
      return fmt::format(
          "wait for the wgmma's group (wgmma.wait_group) in every warp of its warpgroup, and then "
          "release the tile, before {}",
          second);
    }
    case Role::bulk_store:
      return fmt::format(
          "wait for the store's bulk group (tma.wait_group) in the thread that issued it, and synchronise "
          "with that thread, before {}",
          second);
    default: break;
  }
  if (is_flag(earlier.role) && is_flag(later.role)) return missing_flag(earlier, later);
  if (earlier.cluster == later.cluster && !together(earlier, later)) {
    return fmt::format(
        "hand the element over by a flag: after {} sync() and global_flag.signal() by one thread of its block, before "
        "the other access global_flag.wait() in its block, and sync() where one thread waits for others",
        line_of(earlier.stmt));
  }
  if (earlier.cluster != later.cluster) {
    return "blocks of a grid are not ordered with each other: let each element be written by one block, hand it over "
           "by a "
           "flag (global_flag), or add with a TMA reduction";
  }
  if (earlier.block != later.block && !global) {
    return fmt::format(
        "ordinary accesses of two blocks are ordered by a barrier of the cluster alone: cluster.sync() "
        "between {} and {}",
        line_of(earlier.stmt), line_of(later.stmt));
  }
  if (earlier.block == later.block && earlier.warp == later.warp) {
    return fmt::format(
        "lanes of a warp are ordered by the program only each for itself: synchronise them (sync()) "
        "between {} and {}",
        line_of(earlier.stmt), line_of(later.stmt));
  }
  return fmt::format(
      "synchronise the threads between {} and {}: sync(), or an arrival after the one and a wait before "
      "the other",
      line_of(earlier.stmt), line_of(later.stmt));
}

std::string Order::missing_flag(const AccessInfo& earlier, const AccessInfo& later) const {
  if (earlier.role == Role::flag_wait) {
    return fmt::format(
        "the wait may look only after the flag has changed again, and would then wait for ever: let {} come after it "
        "(a "
        "sync(), or a flag that answers), or wait_at_least for a flag that only grows",
        line_of(later.stmt));
  }
  return "which of the two values stays is left to chance: order them, or add";
}

void Order::report_race(const AccessInfo& earlier, const AccessInfo& later, Verdict verdict, std::uint32_t param,
                        std::uint64_t offset, int cta) {
  const Hazard hazard = verdict == Verdict::unfenced ? Hazard::proxy_fence : Hazard::race;
  if (const auto seen = seen_.find(key_of(hazard, loc_of(later.stmt), loc_of(earlier.stmt))); seen != seen_.end()) {
    ++findings_[seen->second].count;
    return;
  }
  std::string object, element;
  if (param != no_param) {
    const ir::Param& p = program_.kernel->params[param];
    object = p.name;
    element = fmt::format("element {}", static_cast<std::int64_t>(offset) / size_of(p.type));
  } else {
    element = tile_at(cta, static_cast<std::uint32_t>(offset), &object);
  }
  const std::string what =
      fmt::format("the {} of {} {} {} of {}, which the {} of {} {}", noun(later), line_of(later.stmt), verb(later),
                  element, object, noun(earlier), line_of(earlier.stmt), verb(earlier));
  const std::string why =
      verdict == Verdict::unfenced ? "ordered, but without a proxy fence in between" : "and nothing orders the two";
  report(hazard, {later.block, later.stmt, later.warp, later.lane}, earlier.stmt,
         fmt::format("{}, {} ({})", what, why, where(later)), missing_step(earlier, later, verdict, param != no_param),
         {{loc_of(earlier.stmt), fmt::format("the {} {} it here ({})", noun(earlier), verb(earlier), where(earlier))}},
         object);
}

void Order::unwritten(const Site& site, int cta, std::uint32_t offset) {
  std::string object;
  const std::string element = tile_at(cta, offset, &object);
  report(Hazard::uninitialised, site, nullptr,
         fmt::format("read of uninitialised shared memory: {} of {} ({})", element, object, describe(site)),
         "write the tile first; if a TMA copy fills it, wait on its mbarrier and synchronise before reading", {},
         object);
}

void Order::report_swizzle(const AccessInfo& earlier, const AccessInfo& later, std::uint32_t offset, int cta) {
  static constexpr const char* names[] = {"no swizzle", "the 32-byte swizzle", "the 64-byte swizzle",
                                          "the 128-byte swizzle"};
  std::string object;
  const std::string element = tile_at(cta, offset, &object);
  report(Hazard::swizzle, {later.block, later.stmt, later.warp, later.lane}, earlier.stmt,
         fmt::format("the {} of {} reads {} of {} with {}, but the {} of {} wrote it with {} ({})", noun(later),
                     line_of(later.stmt), element, object, names[later.swizzle], noun(earlier), line_of(earlier.stmt),
                     names[earlier.swizzle], where(later)),
         "use one layout for the tile: the swizzle of the tensor map and of the matrix descriptor must agree",
         {{loc_of(earlier.stmt), "it is written here"}}, object);
}

void Order::report_bytes(const BarrierOrder& b, const ir::Stmt* by, std::uint64_t phase, std::uint64_t declared) {
  const AccessInfo& copy = accesses_[b.last_copy];
  const std::string name = barrier_name(b);
  report(
      Hazard::barrier_bytes, {copy.block, copy.stmt, copy.warp, copy.lane}, by,
      fmt::format("phase {} of {} may complete before the copy of {} has landed: {} bytes were declared, copies of {} "
                  "bytes were issued",
                  phase, name, line_of(copy.stmt), declared, b.issued),
      "declare the bytes of every copy that completes on the barrier in arrive_and_expect_tx, in the same phase",
      {{loc_of(by), "the phase is completed here"}}, name);
}

void Order::report_late_wait(const BarrierOrder& b, const Wait& wait, const ir::Stmt* by, std::uint64_t phase) {
  const std::string name = barrier_name(b);
  const std::string waited = phase == 0 ? "the phase before the first" : fmt::format("phase {}", phase - 1);
  report(Hazard::barrier_phase, wait.site, by,
         fmt::format("warp {} waits on {} for {}, and nothing keeps phase {} from completing before it looks: it would "
                     "then wait for a phase that may never come",
                     wait.site.warp, name, waited, phase),
         "let a thread that has passed the wait take part in the next phase: arrive on the barrier, or on one that the "
         "arriving threads wait for, after the wait",
         {{loc_of(by), "the next phase is completed here"}}, name);
}

void Order::report_early_wait(const BarrierOrder& b, const Site& site, std::uint64_t phase) {
  const std::string name = barrier_name(b);
  const std::string same = phase == 1 ? "none" : fmt::format("phase {}", phase - 2);
  report(Hazard::barrier_phase, site, nullptr,
         fmt::format("{} waits on {} for phase {}, and nothing orders that after the completion of phase {}: it would "
                     "pass at once while {} is the last to be complete, since parities repeat",
                     describe(site), name, phase, phase - 1, same),
         "wait for each phase of the barrier in turn, or for something that comes after the phase before", {}, name);
}

// The use of a barrier must come after its initialisation, and the copy engine and other blocks must be able to see it.
void Order::use_barrier(BarrierOrder& b, const Site& site, const char* what) {
  const int home = b.init.block->place;
  const Component init = warp_component(home, b.init.warp);
  const bool known =
      knows(view(site), false, init, b.init.lane, b.init_time) || knows(view(site), false, b.published, b.init.lane, 1);
  const bool engine = site.block->place != home || std::string_view(what).find("copy") != std::string_view::npos;
  if (known && (b.visible || !engine)) return;
  const std::string name = barrier_name(b);
  const std::string who = fmt::format("{} {} {}", describe(site), what, name);
  if (known) {
    return report(Hazard::barrier_init, site, b.init.stmt,
                  fmt::format("{}, whose initialisation is not visible to {}: no fence stands after it", who,
                              site.block->place != home ? "other blocks" : "the copy engine"),
                  "execute fence.mbarrier_init in the thread that initialised the barrier, then synchronise",
                  {{loc_of(b.init.stmt), "initialised here"}}, name);
  }
  report(
      Hazard::barrier_init, site, b.init.stmt,
      fmt::format("{}, and nothing orders that after its initialisation at {}", who, line_of(b.init.stmt)),
      home == site.block->place
          ? "synchronise the block between the initialisation and the first use"
          : "synchronise the cluster between the initialisation and the first use from another block: that block may "
            "not have started",
      {{loc_of(b.init.stmt), "initialised here"}}, name);
}

void Order::report_not_started(const Site& site, int target) {
  report(Hazard::cluster, site, nullptr,
         fmt::format("{} accesses shared memory of {}, which may not have started", describe(site),
                     describe({blocks_[static_cast<std::size_t>(target)], nullptr, -1, -1})),
         "synchronise the cluster (cluster.sync()) before the first access to another block's tile", {}, "cluster");
}

// What is on its way into a block's shared memory must be over before the last of its warps ends.
void Order::end() {
  const auto known_in = [&](int cta, Component c, int lane, Time t) {
    for (int warp = 0; warp < warps_; ++warp) {
      for (int by = 0; by < race::lanes_of_warp; ++by) {
        if (knows({&of(cta, warp), warp_component(cta, warp), by}, false, c, lane, t)) return true;
      }
    }
    return false;
  };
  for (const BarrierOrder& b : barriers_) {
    if (!b.has_copy) continue;
    const AccessInfo& copy = accesses_[b.last_copy];
    const int cta = b.init.block->place;
    if (copy.time != race::never && known_in(cta, b.component, race::several_lanes, copy.time)) continue;
    report(
        copy.block->place == cta ? Hazard::race : Hazard::cluster, {copy.block, copy.stmt, copy.warp, copy.lane},
        nullptr,
        fmt::format("{} may end before the copy of {} has landed in its shared memory: none of its threads waits for "
                    "the phase of {} that counts it ({})",
                    describe({b.init.block, nullptr, -1, -1}), line_of(copy.stmt), barrier_name(b), where(copy)),
        "wait for every copy before the block ends", {}, barrier_name(b));
  }
  for (const auto& [key, r] : remote_) {
    if (known_in(key.target, key.warp, key.lane, r.time)) continue;
    report(Hazard::cluster, r.site, nullptr,
           fmt::format("{} {} {}, which may have ended: nothing there waits for that", describe(r.site), r.what,
                       describe({blocks_[static_cast<std::size_t>(key.target)], nullptr, -1, -1})),
           "let no block of the cluster end before its peers are done with its shared memory: wait for the last phases "
           "of its barriers, or synchronise the cluster at the end of the kernel",
           {}, "cluster");
  }
}

}  // namespace tessera::sim
