// Clusters of blocks, registers of warpgroups, barriers between groups, dependent launches.
#pragma once

#include "tessera/lang/peer_tensor.hpp"

namespace tessera {

// A hardware barrier between groups of threads that run different code: named_barrier.alloc.
class NamedBarrier {
 public:
  explicit NamedBarrier(const detail::NamedBarrierRef& ref) : ref_(ref) {}
  NamedBarrier(const NamedBarrier&) = default;
  NamedBarrier& operator=(const NamedBarrier&) = delete;
  ~NamedBarrier() = default;
  const detail::NamedBarrierRef& ref() const { return ref_; }

 private:
  detail::NamedBarrierRef ref_;
};

// From here on each thread of the group has `count` registers (PTX setmaxnreg): a multiple of 8 from 24 to 256. Group:
// whole warpgroups, 128 threads each from a multiple of 128. What the warpgroups of a block ask for together is at most
// what it starts with, 65536 / threads rounded down to a multiple of 8 each.
void registers(const detail::HostInt& count, SourceLoc loc = SourceLoc::here());

namespace detail {

// The blocks that attrs.cluster binds together; one block where it is not set.
struct Cluster {
  // This block's number within its cluster: x runs fastest, then y, then z.
  Int32 rank(SourceLoc loc = SourceLoc::here()) const;
  int size(SourceLoc loc = SourceLoc::here()) const;
  // The mask of all blocks of the cluster, for a multicast.
  UInt32 all(SourceLoc loc = SourceLoc::here()) const;
  // The tile, or the part of one, at the same place in the shared memory of block `rank` (PTX mapa), which may be this
  // one. Block `rank` must have started, and may not end before: sync() stands before the first such access and after
  // the last one, and between accesses of different blocks of which one is a store.
  PeerTensor map_shared_rank(const SharedTensor& tensor, const IndexArg& rank, SourceLoc loc = SourceLoc::here()) const;
  // Barrier among all threads of all blocks of the cluster; outside thread groups, and where all blocks get to.
  void sync(SourceLoc loc = SourceLoc::here()) const;
  // The same in two halves, with work in between that need not wait for the others: every warp of every block of the
  // cluster arrives, once, and then waits, once, before it arrives again. What comes before the one is done when the
  // other returns (PTX barrier.cluster.arrive.release and wait.acquire). In any group of whole warps, where all blocks
  // get to.
  void arrive(SourceLoc loc = SourceLoc::here()) const;
  void wait(SourceLoc loc = SourceLoc::here()) const;
};

// Barriers between groups that run different code (PTX barrier.cta): groups of whole warps.
struct NamedBarriers {
  // Completes when `threads` threads (a multiple of 32) have arrived, and begins anew. A block has 15 of them, and each
  // sync() of a part of the block takes one.
  NamedBarrier alloc(const HostInt& threads, SourceLoc loc = SourceLoc::here()) const;
  // The group arrives and waits for the others.
  void sync(const NamedBarrier& barrier, SourceLoc loc = SourceLoc::here()) const;
  // The group arrives and goes on.
  void arrive(const NamedBarrier& barrier, SourceLoc loc = SourceLoc::here()) const;
};

// Programmatic dependent launch (PTX griddepcontrol): needs attrs.dependent_launch = true.
struct GridDependency {
  // Waits until the kernels before this one in its stream are complete and their writes visible.
  void wait(SourceLoc loc = SourceLoc::here()) const;
  // Lets the next kernel of the stream start, when all blocks have said so or left.
  void launch(SourceLoc loc = SourceLoc::here()) const;
};

}  // namespace detail

inline constexpr detail::Cluster cluster;
inline constexpr detail::NamedBarriers named_barrier;
inline constexpr detail::GridDependency grid_dependency;

}  // namespace tessera
