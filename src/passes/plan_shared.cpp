#include "passes/plan_shared.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "passes/walk.hpp"
#include "tessera/core/error.hpp"

namespace tessera::passes {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

struct Tile {
  tile::SharedTensor* tensor = nullptr;
  bool used = false;
  Span live;
  bool remote = false;  // other blocks of the cluster use it, too: in `peers`
  Span peers;
};

void extend(Span& span, const Span& by) {
  span.first = std::min(span.first, by.first);
  span.last = std::max(span.last, by.last);
}

class Planner {
 public:
  Planner(tile::Kernel& kernel, bool barriers_in_tiles)
      : kernel_(kernel), barriers_in_tiles_(barriers_in_tiles), walk_(kernel) {}

  SharedPlan run() {
    collect();
    place();
    return summary();
  }

 private:
  void collect() {
    tiles_.resize(kernel_.shared.size());
    std::vector<std::vector<int>> alloc_loops(tiles_.size());
    for (std::size_t i = 0; i < tiles_.size(); ++i) tiles_[i].tensor = kernel_.shared[i];
    for (const Site& site : walk_.sites) {
      if (const auto* alloc = as<tile::AllocShared>(site.stmt)) alloc_loops[alloc->out->id] = site.loops;
      for (const SharedUse& u : generic_shared_uses(site.stmt)) {
        use(tiles_[u.view->tensor->id], site, alloc_loops[u.view->tensor->id], u.view->cta != nullptr);
      }
      for (const SharedUse& u : async_shared_uses(site.stmt)) {
        Tile& t = tiles_[u.view->tensor->id];
        use(t, site, alloc_loops[u.view->tensor->id]);
        extend_to_wait(t, site);
      }
    }
  }

  // A use inside loops that do not enclose the allocation keeps the tile alive over the outermost such loop.
  void use(Tile& t, const Site& site, const std::vector<int>& alloc_loops, bool remote = false) {
    Span span{site.position, site.position};
    if (site.loops.size() > alloc_loops.size()) {
      span = walk_.loops[static_cast<std::size_t>(site.loops[alloc_loops.size()])];
    }
    if (!t.used) t.live = span;
    t.used = true;
    extend(t.live, span);
    if (!remote) return;
    if (!t.remote) t.peers = span;
    t.remote = true;
    extend(t.peers, span);
  }

  // Whether `stmt` can be what the completion of `issue` is waited for with.
  static bool completes(const Stmt* issue, const Stmt* stmt) {
    if (const auto* copy = as<tile::TmaLoad>(issue)) {
      const auto* wait = as<tile::WaitBarrier>(stmt);
      return wait != nullptr && wait->barrier.array == copy->barrier.array;
    }
    if (issue->kind == StmtKind::tile_TmaStore) return stmt->kind == StmtKind::tile_TmaWait;
    return stmt->kind == StmtKind::tile_WgmmaWait;
  }

  // What an engine may still touch is live until the last wait that can cover it, to the end where there is none.
  void extend_to_wait(Tile& t, const Site& issue) {
    int last = -1;
    for (const Site& site : walk_.sites) {
      if (!completes(issue.stmt, site.stmt)) continue;
      int end = site.position;
      for (const int loop : site.loops) end = std::max(end, walk_.loops[static_cast<std::size_t>(loop)].last);
      if (end > issue.position) last = std::max(last, end);
    }
    t.live.last = std::max(t.live.last, last < 0 ? static_cast<int>(walk_.sites.size()) : last);
  }

  // A barrier of the whole CTA, or of the whole cluster, that every path from `a` to `b` passes.
  bool separated(const Span& a, const Span& b, bool whole_cluster) const {
    for (const Site& site : walk_.sites) {
      const bool of_cta = site.stmt->kind == StmtKind::tile_Sync && site.group == kernel_.root_group();
      if (site.stmt->kind != StmtKind::tile_ClusterSync && (whole_cluster || !of_cta)) continue;
      if (site.position <= a.last || site.position >= b.first) continue;
      const Span& block = walk_.blocks[static_cast<std::size_t>(site.blocks.back())];
      // Both tiles must lie within the block of the barrier, and that block must not repeat: a loop around all three
      // would bring `b` before the next round's `a` without a barrier.
      if (block.contains(a.first) && block.contains(b.last) && site.loops.empty()) return true;
    }
    return false;
  }
  // Other blocks use their peers' tiles when they get there: between that and a use of the same memory for another tile
  // stands a barrier of the cluster.
  bool follows(const Tile& a, const Tile& b) const {
    return a.live.last < b.live.first && separated(a.live, b.live, false) &&
           (!a.remote || separated(a.peers, b.live, true)) && (!b.remote || separated(a.live, b.peers, true));
  }
  bool conflict(const Tile& a, const Tile& b) const { return !follows(a, b) && !follows(b, a); }

  // First fit, larger tiles first.
  void place() {
    std::vector<Tile*> order;
    for (Tile& t : tiles_) {
      if (t.used) order.push_back(&t);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const Tile* a, const Tile* b) { return a->tensor->bytes() > b->tensor->bytes(); });
    std::vector<const Tile*> placed;
    for (Tile* t : order) {
      const std::int64_t alignment = t->tensor->layout->alignment();
      std::int64_t offset = 0;
      bool moved = true;
      while (moved) {
        moved = false;
        for (const Tile* other : placed) {
          const std::int64_t begin = other->tensor->offset;
          const std::int64_t end = begin + other->tensor->bytes();
          if (offset < end && begin < offset + t->tensor->bytes() && conflict(*t, *other)) {
            offset = (end + alignment - 1) / alignment * alignment;
            moved = true;
          }
        }
      }
      t->tensor->offset = offset;
      placed.push_back(t);
      tile_bytes_ = std::max(tile_bytes_, offset + t->tensor->bytes());
    }
  }

  SharedPlan summary() {
    SharedPlan plan;
    for (const Tile& t : tiles_) {
      if (!t.used) continue;
      plan.regions.push_back({t.tensor->name.empty() ? fmt::format("shared{}", t.tensor->id) : t.tensor->name,
                              static_cast<std::uint32_t>(t.tensor->offset),
                              static_cast<std::uint32_t>(t.tensor->bytes()), false, t.tensor->loc,
                              [layout = *t.tensor->layout](std::uint32_t byte) {
                                return layout.index_at(byte).value_or(std::vector<std::int64_t>{});
                              }});
    }
    std::int64_t offset = barriers_in_tiles_ ? 0 : (tile_bytes_ + 7) / 8 * 8;
    for (tile::BarrierArray* b : kernel_.barriers) {
      b->offset = offset;
      const auto bytes = static_cast<std::int64_t>(8 * b->counts.size());
      plan.regions.push_back({b->name.empty() ? fmt::format("barrier{}", b->id) : b->name,
                              static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(bytes), true, b->loc});
      offset += bytes;
    }
    plan.total_bytes = std::max(offset, tile_bytes_);
    if (plan.total_bytes > max_shared_bytes) too_large(plan);
    return plan;
  }

  [[noreturn]] void too_large(const SharedPlan& plan) const {
    std::vector<Note> notes;
    SourceLoc loc = kernel_.loc;
    std::int64_t largest = -1;
    for (const Tile& t : tiles_) {
      if (!t.used) continue;
      notes.push_back({t.tensor->loc, fmt::format("{}: {} [{}], {} bytes", describe(*t.tensor), name_of(t.tensor->type),
                                                  fmt::join(t.tensor->shape, ", "), t.tensor->bytes())});
      if (t.tensor->bytes() > largest) {
        largest = t.tensor->bytes();
        loc = t.tensor->loc;
      }
    }
    throw Error(ErrorKind::user, loc,
                fmt::format("shared memory: the kernel needs {} bytes, the limit of a CTA on sm_90 is {}",
                            plan.total_bytes, max_shared_bytes),
                "use smaller tiles or fewer stages", std::move(notes));
  }

  tile::Kernel& kernel_;
  const bool barriers_in_tiles_;
  Walk walk_;
  std::vector<Tile> tiles_;
  std::int64_t tile_bytes_ = 0;
};

}  // namespace

SharedPlan plan_shared(tile::Kernel& kernel, bool barriers_in_tiles) {
  return Planner(kernel, barriers_in_tiles).run();
}

std::string to_string(const SharedPlan& plan) {
  std::string out = fmt::format("shared memory: {} bytes of {}\n", plan.total_bytes, max_shared_bytes);
  for (const auto& r : plan.regions) {
    fmt::format_to(std::back_inserter(out), "  [{:6}, {:6})  {:7} bytes  {}{}\n", r.offset, r.offset + r.bytes, r.bytes,
                   r.name, r.is_barrier ? "  (mbarriers)" : "");
  }
  return out;
}

}  // namespace tessera::passes
