#include "sim/bulk_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>

namespace tessera::sim {

namespace {

template <class T, class F>
void add_elements(std::byte* to, const std::byte* from, std::size_t bytes, F&& sum) {
  for (std::size_t at = 0; at < bytes; at += sizeof(T)) {
    T a, b;
    std::memcpy(&a, to + at, sizeof(T));
    std::memcpy(&b, from + at, sizeof(T));
    const T s = sum(a, b);
    std::memcpy(to + at, &s, sizeof(T));
  }
}

template <class T>
T add_halves(T a, T b) {
  return T(static_cast<float>(a) + static_cast<float>(b));
}

// The types that cp.reduce.async.bulk.tensor can add.
bool can_add(DType type) {
  switch (type) {
    case DType::f16:
    case DType::bf16:
    case DType::f32:
    case DType::i32:
    case DType::u32:
    case DType::i64:
    case DType::u64: return true;
    default: return false;
  }
}

void add_bytes(DType type, std::byte* to, const std::byte* from, std::size_t bytes) {
  // One row at a time from all the blocks that run: an addition is atomic.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  switch (type) {
    case DType::f16: return add_elements<float16>(to, from, bytes, add_halves<float16>);
    case DType::bf16: return add_elements<bfloat16>(to, from, bytes, add_halves<bfloat16>);
    case DType::f32: return add_elements<float>(to, from, bytes, [](float a, float b) { return a + b; });
    case DType::i32:
    case DType::u32:
      return add_elements<std::uint32_t>(to, from, bytes, [](std::uint32_t a, std::uint32_t b) { return a + b; });
    default:
      return add_elements<std::uint64_t>(to, from, bytes, [](std::uint64_t a, std::uint64_t b) { return a + b; });
  }
}

}  // namespace

BulkStores::BulkStores(const Program& program, MemorySystem& memory, Order* order)
    : program_(program),
      memory_(memory),
      order_(order),
      groups_(static_cast<std::size_t>(program.kernel->warps * warp_lanes)) {}

void BulkStores::begin() {
  stores_.clear();
  std::fill(groups_.begin(), groups_.end(), 0U);
}

void BulkStores::issue(const Site& site, std::uint32_t map, std::uint32_t source, std::span<const std::int32_t> coords,
                       bool add) {
  BulkStore store;
  store.site = site;
  store.box = make_box(site, program_, memory_, map, source, coords, true);
  const DType type = store.box.map->map->type;
  if (add && !can_add(type)) {
    fail(Hazard::misuse, site, fmt::format("a TMA reduction adds {} elements", tessera::name_of(type)),
         "the engine adds float16, bfloat16, float32, and integers of 32 and 64 bits");
  }
  store.add = add;
  store.thread = site.warp * warp_lanes + site.lane;
  store.group = groups_[static_cast<std::size_t>(store.thread)];
  store.data.resize(store.box.bytes());
  store.flight = memory_.begin_flight(site, Engine::tma_store, order_ != nullptr ? order(store) : 0);
  for (std::uint32_t at = 0; at < store.box.bytes(); at += 16) {
    memory_.add_source(store.flight, store.box.shared_offset(at));
  }
  stores_.push_back(std::move(store));
}

AccessId BulkStores::order(const BulkStore& store) {
  const MapInfo& map = *store.box.map;
  const int cta = store.site.block->place;
  const AccessId access =
      order_->issue(store.site, Role::bulk_store, false, order_->store_epoch(cta, store.thread, store.group, true),
                    static_cast<int>(map.map->swizzle));
  const AccessId global =
      order_->issue_global(access, true, store.add, order_->store_epoch(cta, store.thread, store.group, false));
  for (std::uint32_t row = 0; row < store.box.rows(); ++row) {
    const RowSpan span = row_span(program_, store.box, row);
    if (span.empty()) continue;
    order_->touch_global(global, map.map->param, static_cast<std::uint64_t>(span.start),
                         static_cast<std::uint64_t>(span.high - span.low) * map.element_bytes);
  }
  return access;
}

// Uninitialised bytes matter only where they reach the tensor.
void BulkStores::read_row(BulkStore& store) {
  const TensorBox& box = store.box;
  const RowSpan span = row_span(program_, box, store.read);
  const auto low = static_cast<std::uint32_t>(span.empty() ? 0 : span.low) * box.map->element_bytes;
  const auto high = static_cast<std::uint32_t>(span.empty() ? 0 : span.high) * box.map->element_bytes;
  for (std::uint32_t at = 0; at < box.row_bytes(); at += 16) {
    std::uint32_t needed = 0;
    for (std::uint32_t i = 0; i < 16; ++i) needed |= (at + i >= low && at + i < high ? 1U : 0U) << i;
    const std::uint32_t byte = store.read * box.row_bytes() + at;
    std::memcpy(store.data.data() + byte, memory_.read_async(store.flight, box.shared_offset(byte), needed), 16);
  }
  ++store.read;
  if (store.was_read()) memory_.performed(store.flight);
}

void BulkStores::write(BulkStore& store) {
  const TensorBox& box = store.box;
  for (std::uint32_t row = 0; row < box.rows(); ++row) {
    const RowSpan span = row_span(program_, box, row);
    if (span.empty()) continue;
    const auto bytes = static_cast<std::uint32_t>(span.high - span.low) * box.map->element_bytes;
    const std::byte* from = store.data.data() + row * box.row_bytes() + span.low * box.map->element_bytes;
    std::byte* to = memory_.access_global_async(store.site, *box.map, span.start, bytes, true);
    if (store.add) {
      add_bytes(box.map->map->type, to, from, bytes);
    } else {
      std::memcpy(to, from, bytes);
    }
  }
  store.written = true;
}

bool BulkStores::covered(const BulkStore& store, int thread, int pending) const {
  return store.thread == thread &&
         store.group + static_cast<std::uint64_t>(pending) < groups_[static_cast<std::size_t>(thread)];
}

BulkStore* BulkStores::blocking(int thread, int pending, bool read) {
  for (BulkStore& store : stores_) {
    if (covered(store, thread, pending) && !(read ? store.was_read() : store.written)) return &store;
  }
  return nullptr;
}

bool BulkStores::wait(int thread, int pending, bool read) {
  if (blocking(thread, pending, read) != nullptr) return false;
  for (BulkStore& store : stores_) {
    if (store.released || !covered(store, thread, pending)) continue;
    store.released = true;
    memory_.end_flight(store.flight);
  }
  forget();
  const std::uint64_t groups = groups_[static_cast<std::size_t>(thread)];
  if (order_ != nullptr && groups > static_cast<std::uint64_t>(pending)) {
    order_->store_waited(memory_.block().place, thread, groups - static_cast<std::uint64_t>(pending), read);
  }
  return true;
}

void BulkStores::forget() {
  std::erase_if(stores_, [](const BulkStore& s) { return s.written && s.released; });
}

std::size_t BulkStores::unfinished() const {
  return static_cast<std::size_t>(
      std::count_if(stores_.begin(), stores_.end(), [](const BulkStore& s) { return !s.written; }));
}

void BulkStores::advance(std::size_t index, std::uint32_t rows) {
  for (BulkStore& store : stores_) {
    if (store.written || index-- != 0) continue;
    if (store.was_read()) {
      write(store);
      break;
    }
    for (; rows != 0 && !store.was_read(); --rows) read_row(store);
    return;
  }
  forget();
}

void BulkStores::read_all(BulkStore& store) {
  while (!store.was_read()) read_row(store);
}

void BulkStores::finish(BulkStore& store) {
  read_all(store);
  if (!store.written) write(store);
}

void BulkStores::finish_all() {
  for (BulkStore& store : stores_) finish(store);
  forget();
}

void BulkStores::check_end(const Site& site) const {
  for (const BulkStore& store : stores_) {
    if (store.released || store.site.warp != site.warp) continue;
    const bool committed = store.group < groups_[static_cast<std::size_t>(store.thread)];
    fail(Hazard::bulk_group, store.site,
         fmt::format("the thread that issued this TMA store ends {}, so the engine may read shared memory that the "
                     "block has given up: {}",
                     committed ? "without waiting for its bulk group" : "without committing it to a bulk group",
                     describe_shared(*program_.kernel, store.box.shared_offset(0))),
         committed ? "wait in the same thread before the end of the kernel: tma.wait_group(0), or with read"
                   : "commit the store (tma.commit_group) and wait for the group in the same thread");
  }
}

}  // namespace tessera::sim
