#include "sim/tma.hpp"

#include <algorithm>
#include <cstring>

namespace tessera::sim {

void TmaEngine::issue(const Site& site, std::uint32_t map, std::uint32_t destination,
                      std::span<const std::int32_t> coords, std::uint32_t barrier) {
  TmaCopy copy;
  copy.site = site;
  copy.box = make_box(site, program_, memory_, map, destination, coords, false);
  copy.barrier = barrier;
  const Mbarrier& completes_on = barriers_.at(site, barrier, "a TMA copy completing");
  if (order_ != nullptr) order(copy, completes_on);
  copy.flight = memory_.begin_flight(site, Engine::tma_load, copy.access);
  for (std::uint32_t at = 0; at < copy.box.bytes(); at += 16) {
    memory_.add_target(copy.flight, copy.box.shared_offset(at));
  }
  queue_.push_back(copy);
}

void TmaEngine::order(TmaCopy& copy, const Mbarrier& barrier) {
  const MapInfo& map = *copy.box.map;
  copy.access = order_->issue_copy(copy.site, barrier.order, copy.box.bytes(), static_cast<int>(map.map->swizzle));
  if (!order_->follows(map.map->param)) return;
  const AccessId global = order_->issue_global(copy.access, false, false, order_->epoch_of(copy.access));
  for (std::uint32_t row = 0; row < copy.rows(); ++row) {
    const RowSpan span = row_span(program_, copy.box, row);
    if (span.empty()) continue;
    order_->touch_global(global, map.map->param, static_cast<std::uint64_t>(span.start),
                         static_cast<std::uint64_t>(span.high - span.low) * map.element_bytes);
  }
}

void TmaEngine::copy_row(const TmaCopy& copy, std::uint32_t row) {
  const TensorBox& box = copy.box;
  std::byte line[256 * 8] = {};  // elements out of range are 0
  const RowSpan span = row_span(program_, box, row);
  if (!span.empty()) {
    const Site site{copy.site.block, copy.site.stmt, copy.site.warp, -1};
    const auto bytes = static_cast<std::uint32_t>(span.high - span.low) * box.map->element_bytes;
    std::memcpy(line + span.low * box.map->element_bytes,
                memory_.access_global_async(site, *box.map, span.start, bytes, false), bytes);
  }
  for (std::uint32_t at = 0; at < box.row_bytes(); at += 16) {
    std::memcpy(memory_.write_async(copy.flight, box.shared_offset(row * box.row_bytes() + at)), line + at, 16);
  }
}

void TmaEngine::land(std::size_t index, std::uint32_t rows) {
  TmaCopy& copy = queue_[index];
  const std::uint32_t end = copy.landed + std::min(rows, copy.rows() - copy.landed);
  for (; copy.landed < end; ++copy.landed) copy_row(copy, copy.landed);
  if (copy.landed < copy.rows()) return;
  const TmaCopy done = copy;
  queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(index));
  memory_.end_flight(done.flight);
  bytes_landed_ += done.box.bytes();
  const Site by{done.site.block, done.site.stmt, done.site.warp, -1};
  if (order_ != nullptr) order_->landed(done.access, barriers_.at(by, done.barrier, "complete_tx").phase);
  barriers_.complete(by, done.barrier, done.box.bytes());
}

}  // namespace tessera::sim
