// Clusters, registers of warpgroups, barriers between groups, dependent launches.
#include "tessera/lang/cluster.hpp"

#include <fmt/format.h>

#include "lang/tracer.hpp"

namespace tessera {

using lang::Tracer;
namespace tile = ir::tile;

void registers(const detail::HostInt& count, SourceLoc loc) {
  Tracer& t = Tracer::current("registers()", loc);
  const tile::Group group = t.group(loc);
  if (group.begin % 128 != 0 || group.count % 128 != 0 || group.each_warp) {
    t.error(loc, fmt::format("registers({}) is executed by {}", count.value, lang::group_text(group)),
            "whole warpgroups change their registers together, 128 threads each from a multiple of 128: put it under "
            "`if (auto _ = warp_group(4, 4))` or the like");
    return;
  }
  if (count.value < 24 || count.value > 256 || count.value % 8 != 0) {
    t.error(loc, fmt::format("registers({})", count.value), "a thread has a multiple of 8 registers, from 24 to 256");
    return;
  }
  t.register_requests.push_back({group, static_cast<int>(count.value), loc});
  t.emit<tile::SetRegisters>(loc, static_cast<int>(count.value));
}

namespace detail {

Int32 Cluster::rank(SourceLoc loc) const {
  Tracer& t = Tracer::current("cluster.rank()", loc);
  const int size = t.use_cluster(loc);
  if (size == 1) return Int32(make_integer(DType::i32, 0, loc));
  return Int32(ScalarRef{t.expr().bounded_leaf(ir::ExprKind::cluster_rank, DType::i32, 0, 0, size - 1), t.origin(loc)});
}

int Cluster::size(SourceLoc loc) const { return Tracer::current("cluster.size()", loc).use_cluster(loc); }

UInt32 Cluster::all(SourceLoc loc) const {
  const int size = Tracer::current("cluster.all()", loc).use_cluster(loc);
  return UInt32(make_integer(DType::u32, (std::int64_t{1} << size) - 1, loc));
}

void Cluster::sync(SourceLoc loc) const {
  Tracer& t = Tracer::current("cluster.sync()", loc);
  t.use_cluster(loc);
  const tile::Group group = t.group(loc);
  if (!(group == t.scopes.front().group)) {
    t.error(loc, fmt::format("cluster.sync() is executed by {}", lang::group_text(group)),
            "all threads of all blocks of the cluster take part: put it outside thread groups");
    return;
  }
  t.emit<tile::ClusterSync>(loc);
}

namespace {

bool of_whole_warps(const tile::Group& group) {
  return group.begin % 32 == 0 && group.count % 32 == 0 && !group.each_warp;
}

template <class Half>
void half_sync(const char* call, SourceLoc loc) {
  Tracer& t = Tracer::current(call, loc);
  t.use_cluster(loc);
  const tile::Group group = t.group(loc);
  if (!of_whole_warps(group)) {
    t.error(loc, fmt::format("{} is executed by {}", call, lang::group_text(group)),
            "whole warps take part: put it in a group of whole warps, or outside groups");
    return;
  }
  t.emit<Half>(loc);
}

}  // namespace

void Cluster::arrive(SourceLoc loc) const { half_sync<tile::ClusterArrive>("cluster.arrive()", loc); }
void Cluster::wait(SourceLoc loc) const { half_sync<tile::ClusterWait>("cluster.wait()", loc); }

NamedBarrier NamedBarriers::alloc(const HostInt& threads, SourceLoc loc) const {
  constexpr const char* call = "named_barrier.alloc()";
  constexpr std::size_t most_barriers = 15;  // of 16; barrier 0 is the block's own
  Tracer& t = Tracer::current(call, loc);
  t.first_use(loc);
  if (!t.outside_control(call, "name barriers outside loops and branches: they exist for the whole kernel", loc))
    return NamedBarrier(NamedBarrierRef{});
  if (threads.value < 32 || threads.value > 1024 || threads.value % 32 != 0) {
    t.error(loc, fmt::format("{} for {} threads", call, threads.value),
            "whole warps meet at a barrier: a multiple of 32 threads, 32 to 1024");
    return NamedBarrier(NamedBarrierRef{});
  }
  if (t.kernel->named_barriers.size() >= most_barriers) {
    t.error(loc, fmt::format("{} makes barrier {} of the kernel", call, most_barriers + 1),
            fmt::format("a block has {} named barriers", most_barriers));
    return NamedBarrier(NamedBarrierRef{});
  }
  auto* barrier = t.kernel->new_named_barrier(static_cast<int>(threads.value), t.fresh_name(loc, "alloc"), loc);
  return NamedBarrier(NamedBarrierRef{barrier, t.origin(loc)});
}

namespace {

// The barrier, for the current group; null with the mistake recorded.
tile::NamedBarrier* use_named(Tracer& t, const char* call, const NamedBarrier& barrier, SourceLoc loc) {
  const tile::Group group = t.group(loc);
  const NamedBarrierRef& ref = barrier.ref();
  if (ref.node == nullptr || !t.usable(ref.origin, "the named barrier", loc)) return nullptr;
  if (!of_whole_warps(group)) {
    t.error(loc, fmt::format("{} is executed by {}", call, lang::group_text(group)),
            "whole warps meet at a named barrier: use it in a group of whole warps");
    return nullptr;
  }
  if (group.count > ref.node->threads) {
    t.error(loc,
            fmt::format("{} of {} for {} threads is executed by {}", call, lang::quoted(ref.node->name, "a barrier"),
                        ref.node->threads, lang::group_text(group)),
            "a barrier is for all threads that arrive at it, those of every group together",
            {{ref.node->loc, "allocated here"}});
    return nullptr;
  }
  return ref.node;
}

}  // namespace

void NamedBarriers::sync(const NamedBarrier& barrier, SourceLoc loc) const {
  Tracer& t = Tracer::current("named_barrier.sync()", loc);
  if (auto* b = use_named(t, "named_barrier.sync()", barrier, loc)) t.emit<tile::NamedBarrierSync>(loc, b);
}
void NamedBarriers::arrive(const NamedBarrier& barrier, SourceLoc loc) const {
  Tracer& t = Tracer::current("named_barrier.arrive()", loc);
  if (auto* b = use_named(t, "named_barrier.arrive()", barrier, loc)) t.emit<tile::NamedBarrierArrive>(loc, b);
}

namespace {

void depend(const char* call, bool launch, SourceLoc loc) {
  Tracer& t = Tracer::current(call, loc);
  t.group(loc);
  if (!t.kernel->dependent_launch) {
    t.error(loc, fmt::format("{} in a kernel that is launched on its own", call),
            "set attrs.dependent_launch = true at the top of operator()");
    return;
  }
  t.emit<tile::GridDependency>(loc, launch);
}

}  // namespace

void GridDependency::wait(SourceLoc loc) const { depend("grid_dependency.wait()", false, loc); }
void GridDependency::launch(SourceLoc loc) const { depend("grid_dependency.launch()", true, loc); }

}  // namespace detail
}  // namespace tessera
