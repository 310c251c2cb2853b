// The TMA engine: asynchronous copies of tiles between global and shared memory.
#pragma once

#include "tessera/lang/tensor.hpp"

namespace tessera {

// The L2 eviction priority of the lines that a copy touches.
enum class CacheHint : std::uint8_t { none, evict_first, evict_normal, evict_last };

namespace detail {

struct GlobalToShared {
  GlobalView src;
  SharedTensor dst;
  IndexList offsets;              // one a dimension of src, in elements
  Barrier mbarrier;               // counts the bytes as they arrive
  MaskArg multicast = MaskArg();  // bit r: CTA r of the cluster receives the tile too, in its own dst, and counts it on
                                  // its own mbarrier
  CacheHint hint = CacheHint::none;
};
struct SharedToGlobal {
  SharedTensor src;
  GlobalView dst;
  IndexList offsets;  // one a dimension of dst, in elements
  CacheHint hint = CacheHint::none;
};
struct PrefetchTile {
  GlobalView src;
  TileShape shape;
  IndexList offsets;  // one a dimension of src, in elements
};
struct TmaWaitOptions {
  bool read = false;  // wait only until the sources have been read, so that they may be written again
};

struct Tma {
  // Copies the tile at `offsets` of `src` to `dst` by the TMA engine; elements outside the view arrive as 0 and count.
  // Group: one thread, or exactly one warp. src and dst have one type and one rank.
  void global_to_shared(const GlobalToShared& copy, SourceLoc loc = SourceLoc::here()) const;
  // Copies `src` to `offsets` of `dst`; elements outside the view are dropped. The writes of src by ordinary
  // instructions come before a fence.proxy_async() and a sync(). Group: one thread, which also commits and waits.
  void shared_to_global(const SharedToGlobal& copy, SourceLoc loc = SourceLoc::here()) const;
  // The same, added to what `dst` holds, element by element. Types: float16, bfloat16, float32, int32, uint32.
  void reduce_add(const SharedToGlobal& copy, SourceLoc loc = SourceLoc::here()) const;
  // Makes one bulk group of the thread's stores since its last commit.
  void commit_group(SourceLoc loc = SourceLoc::here()) const;
  // Waits until at most `pending` of this thread's newest bulk groups are under way.
  void wait_group(const HostInt& pending, TmaWaitOptions options = {}, SourceLoc loc = SourceLoc::here()) const;
  // Brings the tile of `shape` at `offsets` of `src` into L2. Group: one thread, or exactly one warp.
  void prefetch(const PrefetchTile& tile, SourceLoc loc = SourceLoc::here()) const;
};

}  // namespace detail

inline constexpr detail::Tma tma;

}  // namespace tessera
