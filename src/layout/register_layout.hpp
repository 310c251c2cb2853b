// Register layouts: how the elements of a tile are spread over the threads of a group and the registers of a thread.
//
// Every dimension of extent S is split, row-major, into consecutive modes whose extents multiply to S. Each mode is
// either spatial (its index is part of the thread index) or local (part of the register index). The thread index is the
// row-major serialisation of the spatial modes in list order (first = slowest), the register index that of the local
// modes. A negative entry -s in the spatial list replicates the tile over s threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::layout {

class RegisterLayout {
 public:
  using Ints = std::vector<std::int64_t>;

  RegisterLayout() = default;
  // Throws an internal tessera::Error if the modes do not multiply to the shape, or a mode is missing or used twice.
  // Modes of extent 1 and replication by 1 say nothing and are dropped at once, so mode_shape() may be shorter.
  RegisterLayout(Ints shape, Ints mode_shape, Ints spatial_modes, Ints local_modes);

  const Ints& shape() const { return shape_; }
  const Ints& mode_shape() const { return mode_shape_; }
  const Ints& spatial_modes() const { return spatial_modes_; }
  const Ints& local_modes() const { return local_modes_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  std::int64_t spatial_size() const;  // threads, replicas included
  std::int64_t local_size() const;    // elements a thread holds
  std::int64_t replication() const;   // threads that hold one element
  // The modes of each dimension: result[d] lists indices into mode_shape().
  std::vector<Ints> grouped_modes() const;

  // The element (one index a dimension) that thread `spatial` holds in register `local`.
  Ints global_index(std::int64_t local, std::int64_t spatial) const;
  // The register that holds element `index` in the threads that own it.
  std::int64_t local_index(std::span<const std::int64_t> index) const;
  // All threads that own element `index`, ascending.
  Ints spatial_indices(std::span<const std::int64_t> index) const;

  // Unique form: no size-1 modes, neighbouring modes of one dimension that are also neighbours in one list are merged.
  RegisterLayout canonical() const;
  // Equal as maps from (thread, register) to element.
  bool operator==(const RegisterLayout& other) const;

  // Appends spatial(...) or local(...) as the inner layout: a.local(2, 2) == a * local(2, 2).
  RegisterLayout spatial(Ints extents) const;
  RegisterLayout local(Ints extents) const;
  RegisterLayout column_spatial(Ints extents) const;
  RegisterLayout column_local(Ints extents) const;
  // Appends a replication over `workers` threads as the fastest part of the thread index.
  RegisterLayout replicate(std::int64_t workers) const;

  std::string to_string() const;  // spatial(2, 2).replicate(2).local(1, 2), else the raw modes

 private:
  Ints shape_, mode_shape_, spatial_modes_, local_modes_;
};

// One mode a dimension, all across threads; row-major thread order, or first dimension fastest for column_spatial.
// `ranks` gives an explicit order: ranks[d] is dimension d's place in the spatial list.
RegisterLayout spatial(RegisterLayout::Ints extents, RegisterLayout::Ints ranks = {});
RegisterLayout column_spatial(RegisterLayout::Ints extents);
RegisterLayout local(RegisterLayout::Ints extents, RegisterLayout::Ints ranks = {});
RegisterLayout column_local(RegisterLayout::Ints extents);
RegisterLayout replicated(RegisterLayout::Ints shape, std::int64_t workers);

// a is the outer layout, b the inner: extents multiply, thread = a's thread * b.spatial_size() + b's thread.
RegisterLayout operator*(const RegisterLayout& a, const RegisterLayout& b);
// The x with x * b == l, if there is one.
std::optional<RegisterLayout> divide(const RegisterLayout& l, const RegisterLayout& b);
// The x with a * x == l, if there is one.
std::optional<RegisterLayout> left_divide(const RegisterLayout& l, const RegisterLayout& a);
// Removes the modes of `dims`: local modes vanish, spatial modes become replication. keep: the dimension stays,
// extent 1.
RegisterLayout reduce(const RegisterLayout& l, const RegisterLayout::Ints& dims, bool keep);
// Reduces the dimensions where `shape` is 1, and missing leading dimensions.
RegisterLayout reduce_to(const RegisterLayout& l, const RegisterLayout::Ints& shape);
RegisterLayout permute(const RegisterLayout& l, const RegisterLayout::Ints& dims);
// The layout of a part of `extent` elements of dimension `dim` that begins at a multiple of `extent`, in the threads
// and the register order of the whole; null where the part is not the same registers in every thread.
std::optional<RegisterLayout> narrow(const RegisterLayout& l, std::size_t dim, std::int64_t extent);
std::optional<RegisterLayout> reshape(const RegisterLayout& l, const RegisterLayout::Ints& shape);
RegisterLayout squeeze(const RegisterLayout& l, std::int64_t dim);
RegisterLayout unsqueeze(const RegisterLayout& l, std::int64_t dim);
RegisterLayout concat(const RegisterLayout& a, const RegisterLayout& b);

// A good layout for `shape` over `threads` with up to `vector` consecutive elements of the last dimension a thread:
// works for any extents and any thread count (replicates over left-over threads). Never fails for shapes whose
// extents factor to fit; where threads do not divide the tile, threads are replicated by the largest fitting factor.
RegisterLayout default_layout(const RegisterLayout::Ints& shape, std::int64_t threads, std::int64_t vector = 1);

// Whether every element that thread t holds in `target` is held by t in `source` too (so no data moves between
// threads).
bool same_threads(const RegisterLayout& source, const RegisterLayout& target);

}  // namespace tessera::layout
