#include "sim/recorder.hpp"

#include <fmt/format.h>

#include <utility>

namespace tessera::sim {

namespace {

std::uint32_t line_number(const ir::Stmt* stmt) {
  return stmt != nullptr && stmt->loc.known() ? static_cast<std::uint32_t>(stmt->loc.line) : 0U;
}
std::string warp_name(int warp) { return fmt::format("warp {}", warp); }

}  // namespace

std::uint32_t Recorder::track(TrackKind kind, const std::array<std::int64_t, 3>& block, const std::string& name) {
  const std::string key = fmt::format("{} {} {} {} {}", static_cast<int>(kind), block[0], block[1], block[2], name);
  const auto [at, fresh] = tracks_.try_emplace(key, static_cast<std::uint32_t>(timeline_.tracks.size()));
  if (fresh) timeline_.tracks.push_back({kind, block, name});
  return at->second;
}

void Recorder::add(TimelineEvent event) {
  if (timeline_.events.size() >= most_events) {
    timeline_.truncated = true;
    return;
  }
  timeline_.events.push_back(std::move(event));
}

void Recorder::ran(const Site& warp, std::uint64_t statements) {
  const std::uint32_t on = track(TrackKind::warp, warp.block->index, warp_name(warp.warp));
  if (statements != 0) {
    add({TimelineEvent::Kind::run, on, now_, now_ + statements, line_number(warp.stmt), "runs"});
  }
  now_ += statements;
}

void Recorder::blocked(const Site& warp, std::string why) {
  const std::uint32_t on = track(TrackKind::warp, warp.block->index, warp_name(warp.warp));
  waits_.try_emplace(on,
                     TimelineEvent{TimelineEvent::Kind::wait, on, now_, now_, line_number(warp.stmt), std::move(why)});
}

void Recorder::resumed(const Site& warp) {
  const auto wait = waits_.find(track(TrackKind::warp, warp.block->index, warp_name(warp.warp)));
  if (wait == waits_.end()) return;
  wait->second.end = now_;
  add(wait->second);
  waits_.erase(wait);
}

void Recorder::issued(std::uint32_t operation, TimelineEvent::Kind kind, const Site& by,
                      const std::array<std::int64_t, 3>& block, const std::string& tile, std::uint32_t component,
                      std::uint32_t time) {
  const bool product = kind == TimelineEvent::Kind::wgmma;
  const std::uint32_t engine =
      track(TrackKind::engine, block, product ? fmt::format("wgmma of {}", warp_name(by.warp)) : "TMA");
  const char* name = product ? "wgmma" : kind == TimelineEvent::Kind::copy ? "TMA copy" : "TMA store";
  Open open;
  open.tile = track(TrackKind::tile, block, tile);
  open.component = component;
  open.time = time;
  open.event = {kind,
                engine,
                now_,
                now_,
                line_number(by.stmt),
                fmt::format("{} of {} on {}, issued by {}", name, line_of(by.stmt), tile, describe(by))};
  open_.insert_or_assign(operation, std::move(open));
}

// The engine's own interval, and that in which the tile may not be touched by others.
void Recorder::done(std::uint32_t operation) {
  const auto at = open_.find(operation);
  if (at == open_.end()) return;
  TimelineEvent event = std::move(at->second.event);
  event.end = now_;
  add(event);
  event.kind = TimelineEvent::Kind::held;
  event.track = at->second.tile;
  add(std::move(event));
  open_.erase(at);
}

void Recorder::covered(std::uint32_t component, std::uint32_t time) {
  for (auto at = open_.begin(); at != open_.end();) {
    const std::uint32_t operation = at->first;
    const bool ends = at->second.component == component && at->second.time <= time;
    ++at;
    if (ends) done(operation);
  }
}

void Recorder::arrived(const BlockInfo& home, const std::string& barrier, const Site& by) {
  const std::uint32_t on = track(TrackKind::barrier, home.index, barrier);
  add({TimelineEvent::Kind::arrival, on, now_, now_, line_number(by.stmt),
       fmt::format("arrival of {} at {}", describe(by), line_of(by.stmt))});
}

void Recorder::completed(const BlockInfo& home, const std::string& barrier, std::uint64_t phase, const ir::Stmt* by) {
  const std::uint32_t on = track(TrackKind::barrier, home.index, barrier);
  std::uint64_t& begin = phase_begins_[on];
  add({TimelineEvent::Kind::phase, on, begin, now_, line_number(by),
       fmt::format("phase {} of {}, completed at {}", phase, barrier, line_of(by))});
  begin = now_;
}

void Recorder::found(const Site& site, const std::string& what) {
  const std::uint32_t on = track(TrackKind::warp, site.block->index, warp_name(site.warp < 0 ? 0 : site.warp));
  add({TimelineEvent::Kind::finding, on, now_, now_, line_number(site.stmt), what});
}

void Recorder::finish() {
  for (auto& [on, wait] : waits_) {
    wait.end = now_;
    add(wait);
  }
  waits_.clear();
  while (!open_.empty()) done(open_.begin()->first);
  timeline_.end = now_;
}

}  // namespace tessera::sim
