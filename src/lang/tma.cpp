// Copies by the TMA engine.
#include "tessera/lang/tma.hpp"

#include <fmt/format.h>

#include "lang/tracer.hpp"

namespace tessera::detail {

using lang::BulkEvent;
using lang::Tracer;
namespace tile = ir::tile;

namespace {

// One thread or one warp; the engine takes one instruction from either.
void check_issuer(Tracer& t, const char* call, SourceLoc loc) {
  const tile::Group group = t.group(loc);
  if (group.count == 1 || (group.count == 32 && group.begin % 32 == 0)) return;
  t.error(loc, fmt::format("{} is executed by {}", call, lang::group_text(group)),
          "one thread or exactly one warp issues a copy: put it under `if (auto _ = single_thread())`");
}

// Bulk groups belong to the thread that issued them.
bool check_thread(Tracer& t, const char* call, SourceLoc loc) {
  const tile::Group group = t.group(loc);
  if (group.count == 1) return true;
  t.error(
      loc, fmt::format("{} is executed by {}", call, lang::group_text(group)),
      "bulk groups belong to the one thread that issues the stores, which also commits them and waits for them: put "
      "all three under `if (auto _ = single_thread(0))`, and a sync() after the wait");
  return false;
}

// The 32-bit coordinates of a copy, one a dimension; empty with the mistake recorded.
std::vector<const ir::Expr*> use_coordinates(Tracer& t, const char* call, const IndexList& offsets, SourceLoc loc) {
  std::vector<const ir::Expr*> result;
  for (const ScalarRef& o : offsets.items) {
    const ir::Expr* e = t.use(o, loc);
    if (e == nullptr) return {};
    if (e->type != DType::i32) {
      t.error(loc, fmt::format("{} with the 64-bit offset {}", call, ir::to_string(e)),
              "the engine's coordinates are 32-bit: pass an Int32, or cast<Int32>(offset) if it fits");
      return {};
    }
    result.push_back(e);
  }
  return result;
}

// Whether view, tile and offsets agree; the mistakes are recorded.
bool check_copy(Tracer& t, const char* call, const tile::GlobalView& view, const tile::SharedView& part,
                const IndexList& offsets, bool to_shared, SourceLoc loc) {
  const std::vector<Note> notes{{view.loc, "the view"}, {part.tensor->loc, "the shared tile"}};
  const DType type = part.tensor->type;
  if (view.type != type) {
    t.error(loc,
            to_shared
                ? fmt::format("{} from a view of {} to a shared tile of {}", call, name_of(view.type), name_of(type))
                : fmt::format("{} from a shared tile of {} to a view of {}", call, name_of(type), name_of(view.type)),
            "the engine copies bytes: source and destination have one type", notes);
  }
  const tile::Shape shape = part.shape();
  if (view.shape.size() == shape.size() && offsets.items.size() == shape.size()) return true;
  t.error(
      loc,
      fmt::format("{} {} a view with {} dimensions {} a tile of shape {} with {} offsets", call,
                  to_shared ? "of" : "to", view.shape.size(), to_shared ? "to" : "of", lang::shape_text(shape),
                  offsets.items.size()),
      "view, tile and offsets have the same number of dimensions (give the tile an extent of 1 where it has none, or "
      "drop one of its own with [])",
      notes);
  return false;
}

// The mask of a multicast, null where the block copies for itself alone. False with the mistake recorded.
bool use_mask(Tracer& t, const char* call, const MaskArg& mask, SourceLoc loc, const ir::Expr** result) {
  *result = nullptr;
  if (!mask.given) return true;
  const ir::Expr* e = t.use(mask.ref, loc);
  if (e == nullptr) return false;
  const int size = t.kernel->cluster_size();
  if (size == 1 && e->is_constant(1)) return true;
  if (size == 1) {
    t.error(loc, fmt::format("{} with .multicast in a kernel without clusters", call),
            "bind blocks together at the top of operator(), attrs.cluster = {2}, or leave the mask out");
    return false;
  }
  const std::int64_t all = (std::int64_t{1} << size) - 1;
  if (e->high < 1 || e->low > all || (e->is_constant() && (e->integer & ~all) != 0)) {
    t.error(loc, fmt::format("{} with .multicast = {} in a cluster of {} blocks", call, ir::to_string(e), size),
            fmt::format("the mask has one bit a block of the cluster: 1 to {}; cluster.all() is all of them", all));
    return false;
  }
  *result = e;
  return true;
}

ir::CacheHint hint_of(CacheHint hint) { return static_cast<ir::CacheHint>(hint); }
static_assert(static_cast<int>(CacheHint::evict_last) == static_cast<int>(ir::CacheHint::evict_last));

void store(const char* call, const SharedToGlobal& copy, bool add, SourceLoc loc) {
  Tracer& t = Tracer::current(call, loc);
  const bool one = check_thread(t, call, loc);
  tile::SharedView* src = t.use(copy.src.ref(), loc);
  tile::GlobalView* dst = t.use(copy.dst.ref(), loc);
  if (!one || src == nullptr || dst == nullptr) return;
  if (!check_copy(t, call, *dst, *src, copy.offsets, false, loc)) return;
  const DType type = src->tensor->type;
  const bool addable =
      type == DType::f16 || type == DType::bf16 || type == DType::f32 || type == DType::i32 || type == DType::u32;
  if (add && !addable) {
    t.error(loc, fmt::format("{} of {}", call, name_of(type)),
            "the engine adds float16, bfloat16, float32, int32 and uint32", {{src->tensor->loc, "the shared tile"}});
  }
  auto offsets = use_coordinates(t, call, copy.offsets, loc);
  if (offsets.empty()) return;
  t.record_bulk(BulkEvent::Kind::store, loc);
  auto* s = t.emit<tile::TmaStore>(loc, src, dst, std::move(offsets));
  s->add = add;
  s->hint = hint_of(copy.hint);
}

}  // namespace

void Tma::global_to_shared(const GlobalToShared& copy, SourceLoc loc) const {
  constexpr const char* call = "tma.global_to_shared()";
  Tracer& t = Tracer::current(call, loc);
  check_issuer(t, call, loc);
  tile::GlobalView* src = t.use(copy.src.ref(), loc);
  tile::SharedView* dst = t.use(copy.dst.ref(), loc);
  const tile::BarrierRef b = t.use(copy.mbarrier, loc);
  if (src == nullptr || dst == nullptr || b.array == nullptr) return;
  if (!check_copy(t, call, *src, *dst, copy.offsets, true, loc)) return;
  auto offsets = use_coordinates(t, call, copy.offsets, loc);
  const ir::Expr* mask = nullptr;
  if (offsets.empty() || !use_mask(t, call, copy.multicast, loc, &mask)) return;
  auto* s = t.emit<tile::TmaLoad>(loc, src, dst, std::move(offsets), b);
  s->multicast = mask;
  s->hint = hint_of(copy.hint);
}

void Tma::shared_to_global(const SharedToGlobal& copy, SourceLoc loc) const {
  store("tma.shared_to_global()", copy, false, loc);
}
void Tma::reduce_add(const SharedToGlobal& copy, SourceLoc loc) const { store("tma.reduce_add()", copy, true, loc); }

void Tma::commit_group(SourceLoc loc) const {
  Tracer& t = Tracer::current("tma.commit_group()", loc);
  if (!check_thread(t, "tma.commit_group()", loc)) return;
  t.record_bulk(BulkEvent::Kind::commit, loc);
  t.emit<tile::TmaCommit>(loc);
}

void Tma::wait_group(const HostInt& pending, TmaWaitOptions options, SourceLoc loc) const {
  Tracer& t = Tracer::current("tma.wait_group()", loc);
  if (!check_thread(t, "tma.wait_group()", loc)) return;
  constexpr std::int64_t most_pending = 63;  // far more bulk groups than a kernel has buffers
  if (pending.value < 0 || pending.value > most_pending) {
    t.error(loc, fmt::format("tma.wait_group({})", pending.value),
            fmt::format("0 to {} groups may stay under way", most_pending));
    return;
  }
  t.record_bulk(BulkEvent::Kind::wait, loc);
  t.emit<tile::TmaWait>(loc, static_cast<int>(pending.value), options.read);
}

void Tma::prefetch(const PrefetchTile& tile_, SourceLoc loc) const {
  constexpr const char* call = "tma.prefetch()";
  Tracer& t = Tracer::current(call, loc);
  check_issuer(t, call, loc);
  tile::GlobalView* src = t.use(tile_.src.ref(), loc);
  if (src == nullptr || !lang::check_shape(t, call, tile_.shape.extents, loc)) return;
  const tile::Shape& shape = tile_.shape.extents;
  if (shape.size() != src->shape.size() || tile_.offsets.items.size() != shape.size()) {
    t.error(loc,
            fmt::format("{} of a tile of shape {} with {} offsets from a view with {} dimensions", call,
                        lang::shape_text(shape), tile_.offsets.items.size(), src->shape.size()),
            "view, shape and offsets have the same number of dimensions", {{src->loc, "the view"}});
    return;
  }
  auto offsets = use_coordinates(t, call, tile_.offsets, loc);
  if (!offsets.empty()) t.emit<tile::TmaPrefetch>(loc, src, shape, std::move(offsets));
}

}  // namespace tessera::detail
