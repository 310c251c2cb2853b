#include "sim/recorder.hpp"

#include <fmt/ranges.h>

#include <algorithm>
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

void Recorder::runs(const Site& warp, const std::uint64_t& statements) {
  const std::uint32_t on = track(TrackKind::warp, warp.block->index, warp_name(warp.warp));
  resumed(on);
  counter_ = &statements;
  counted_ = statements;
  if (run_.track == on && run_.begin < run_.end && run_.end == now_) return;
  if (run_.begin < run_.end) add(run_);
  run_ = {TimelineEvent::Kind::run, on, now_, now_, line_number(warp.stmt), "runs"};
}

void Recorder::ran() {
  now_ = run_.end = now();
  counter_ = nullptr;
}

void Recorder::blocked(const Site& warp, std::string why) {
  const std::uint32_t on = track(TrackKind::warp, warp.block->index, warp_name(warp.warp));
  waits_.try_emplace(
      on, TimelineEvent{TimelineEvent::Kind::wait, on, now(), now(), line_number(warp.stmt), std::move(why)});
}

// A wait that nothing else ran in is none.
void Recorder::resumed(std::uint32_t on) {
  const auto wait = waits_.find(on);
  if (wait == waits_.end()) return;
  wait->second.end = now();
  if (wait->second.begin < wait->second.end) add(wait->second);
  waits_.erase(wait);
}

void Recorder::join(const BarKey& key, TimelineEvent event, const std::string& tile) {
  const auto [at, fresh] = bars_.try_emplace(key);
  Bar& bar = at->second;
  if (fresh) bar.event = std::move(event);
  if (std::find(bar.tiles.begin(), bar.tiles.end(), tile) == bar.tiles.end()) bar.tiles.push_back(tile);
  ++bar.operations;
  bar.performed.reset();
}

void Recorder::leave(const BarKey& key) {
  const auto at = bars_.find(key);
  Bar& bar = at->second;
  if (--bar.operations != 0) return;
  bar.event.end = bar.performed.value_or(now());  // an engine is often ready before anybody waits for it
  if (bar.event.kind != TimelineEvent::Kind::held) {
    bar.event.label = fmt::format("{}: {}", fmt::join(bar.tiles, ", "), bar.event.label);
  }
  add(std::move(bar.event));
  bars_.erase(at);
}

void Recorder::issued(std::uint32_t operation, TimelineEvent::Kind kind, const Site& by,
                      const std::array<std::int64_t, 3>& block, const std::string& tile, std::uint32_t component,
                      std::uint32_t time) {
  const bool product = kind == TimelineEvent::Kind::wgmma;
  const char* name = product ? "wgmma" : kind == TimelineEvent::Kind::copy ? "TMA copy" : "TMA store";
  const std::string label = fmt::format("{} of {}, issued by {}", name, line_of(by.stmt), describe(by));
  const std::uint32_t engine =
      track(TrackKind::engine, block, product ? fmt::format("wgmma of {}", warp_name(by.warp)) : "TMA");
  Open open;
  open.component = component;
  open.time = time;
  open.engine = product ? BarKey{engine, kind, component, time} : BarKey{engine, kind, operation, 0};
  open.tile = {track(TrackKind::tile, block, tile), kind, 0, 0};
  const std::uint32_t line = line_number(by.stmt);
  join(open.engine, {kind, engine, now(), now(), line, label}, tile);
  join(open.tile, {TimelineEvent::Kind::held, open.tile.track, now(), now(), line, label}, tile);
  open_.insert_or_assign(operation, open);
}

void Recorder::performed(std::uint32_t operation) {
  const auto at = open_.find(operation);
  if (at != open_.end()) bars_.at(at->second.engine).performed = now();
}

void Recorder::done(std::uint32_t operation) {
  const auto at = open_.find(operation);
  if (at == open_.end()) return;
  leave(at->second.engine);
  leave(at->second.tile);
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
  add({TimelineEvent::Kind::arrival, on, now(), now(), line_number(by.stmt),
       fmt::format("arrival of {} at {}", describe(by), line_of(by.stmt))});
}

void Recorder::completed(const BlockInfo& home, const std::string& barrier, std::uint64_t phase, const ir::Stmt* by) {
  const std::uint32_t on = track(TrackKind::barrier, home.index, barrier);
  std::uint64_t& begin = phase_begins_[on];
  add({TimelineEvent::Kind::phase, on, begin, now(), line_number(by),
       fmt::format("phase {}, completed at {}", phase, line_of(by))});
  begin = now();
}

void Recorder::failed(const Finding& finding) {
  const std::uint32_t on = track(TrackKind::warp, finding.block, warp_name(std::max(0, finding.warp)));
  const SourceLoc& loc = finding.diagnostic.loc;
  add({TimelineEvent::Kind::finding, on, now(), now(), loc.known() ? static_cast<std::uint32_t>(loc.line) : 0U,
       fmt::format("{}: {}", name_of(finding.hazard), finding.diagnostic.message)});
}

void Recorder::found(const Site& site, const std::string& what) {
  const std::uint32_t on = track(TrackKind::warp, site.block->index, warp_name(site.warp < 0 ? 0 : site.warp));
  add({TimelineEvent::Kind::finding, on, now(), now(), line_number(site.stmt), what});
}

// Also in the middle of a warp's run, where an error ends it.
void Recorder::finish() {
  if (counter_ != nullptr) ran();
  if (run_.begin < run_.end) add(run_);
  run_ = {};
  for (auto& [on, wait] : waits_) {
    wait.end = now_;
    add(wait);
  }
  waits_.clear();
  while (!open_.empty()) done(open_.begin()->first);
  timeline_.end = now_;
}

}  // namespace tessera::sim
