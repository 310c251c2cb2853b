// Flags in global memory, by which blocks of a grid hand work to each other.
#pragma once

#include "tessera/lang/tensor.hpp"

namespace tessera {
namespace detail {

// Flags are elements of a view of std::uint32_t. A thread that signals passes on all that it has done before, and all
// that it knows of: what other threads did before a sync() that it took part in, what it has waited for. Whoever has
// waited for the flag sees all of that. (PTX: st.release.gpu, red.release.gpu, ld.acquire.gpu.)
//
// A block may wait for one that runs surely: one that comes before it in the grid, or any block of a persistent grid.
struct GlobalFlag {
  // The flag becomes `value`. Group: one thread.
  void signal(const GlobalView& flags, const IndexList& offsets, const IndexArg& value,
              SourceLoc loc = SourceLoc::here()) const;
  // The flag grows by `value`, atomically. Group: one thread.
  void add(const GlobalView& flags, const IndexList& offsets, const IndexArg& value,
           SourceLoc loc = SourceLoc::here()) const;
  // Every thread of the group waits until the flag is `value`.
  void wait(const GlobalView& flags, const IndexList& offsets, const IndexArg& value,
            SourceLoc loc = SourceLoc::here()) const;
  // The same until the flag is `value` or more.
  void wait_at_least(const GlobalView& flags, const IndexList& offsets, const IndexArg& value,
                     SourceLoc loc = SourceLoc::here()) const;
};

}  // namespace detail

inline constexpr detail::GlobalFlag global_flag;

}  // namespace tessera
