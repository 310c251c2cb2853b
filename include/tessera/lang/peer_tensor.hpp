// Shared memory of other blocks of a cluster.
#pragma once

#include "tessera/lang/tensor.hpp"

namespace tessera {

// A shared tile of another block of the cluster: cluster.map_shared_rank. load_shared and store_shared take it; engines
// and tensor cores reach their own block's memory only.
class PeerTensor {
 public:
  explicit PeerTensor(const detail::SharedRef& ref) : ref_(ref) {}
  PeerTensor(const PeerTensor&) = default;
  PeerTensor& operator=(const PeerTensor&) = delete;
  ~PeerTensor() = default;
  DType dtype() const { return detail::dtype_of_shared(ref_); }
  std::vector<std::int64_t> shape() const { return detail::shape_of_shared(ref_); }
  const detail::SharedRef& ref() const { return ref_; }

 private:
  detail::SharedRef ref_;
};

// The whole tile in registers, and back, as with a tile of this block. Any group; cluster.sync() orders the two blocks.
RegisterTensor load_shared(const PeerTensor& tensor, SourceLoc loc = SourceLoc::here());
void store_shared(const PeerTensor& tensor, const RegisterTensor& tile, SourceLoc loc = SourceLoc::here());

}  // namespace tessera
