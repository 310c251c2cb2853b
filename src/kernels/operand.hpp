// An operand of a matmul in global memory, and its ring of tiles in shared memory, both as they are stored.
#pragma once

#include "tessera/lang/lang.hpp"

namespace tessera::kernels {

template <class In>
struct Operand {
  bool by_k;  // stored [size, k], else [k, size]
  GlobalView view;
  SharedTensor tiles;

  Operand(const Ptr<In>& ptr, const Int32& size, int k_size, const Int64& pitch, bool by_k_, int stages, int block,
          int block_k)
      : by_k(by_k_),
        view(by_k ? global_view(ptr, {size, k_size}, {pitch, 1}) : global_view(ptr, {k_size, size}, {pitch, 1})),
        tiles(shared_tensor<In>({stages, by_k ? block : block_k, by_k ? block_k : block})) {}

  // The tile in a slot as [rows, k], or part `part` of `parts` equal ones of its rows. Slot: of either kind of ring.
  template <class Slot>
  SharedTensor at(const Slot& slot, int part = 0, int parts = 1) const {
    const SharedTensor tile = by_k ? tiles[slot] : tiles[slot].transpose();
    return parts == 1 ? tile : tile.split(0, parts)[part];
  }
  // Fetches the tile that begins at [row, k].
  template <class Slot>
  void fetch(const Slot& slot, const Int32& row, const Int32& k) const {
    tma.global_to_shared(
        {.src = view, .dst = tiles[slot], .offsets = {by_k ? row : k, by_k ? k : row}, .mbarrier = slot.full});
  }
  // The same for all CTAs of the cluster, which take turns at it.
  template <class Slot>
  void fetch_for_cluster(const Slot& slot, const Int32& row, const Int32& k) const {
    if (cluster.size() == 1) {
      fetch(slot, row, k);
    } else if (auto _ = when(cluster.rank() == slot.index % cluster.size())) {
      tma.global_to_shared({.src = view,
                            .dst = tiles[slot],
                            .offsets = {by_k ? row : k, by_k ? k : row},
                            .mbarrier = slot.full,
                            .multicast = cluster.all()});
    }
  }
};

}  // namespace tessera::kernels
