// The base class of kernels.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "tessera/lang/instruction.hpp"

namespace tessera {

namespace detail {

void set_blocks(const std::vector<ScalarRef>& blocks, SourceLoc loc);
void set_warps(const HostInt& warps);
void set_cluster(const std::vector<HostInt>& extents, SourceLoc loc);
void set_persistent_grid(SourceLoc loc);
void set_dependent_launch(bool value, SourceLoc loc);

struct PersistentGrid {
  SourceLoc loc;
};

// A format string with {} for each value; it records the line, which a pack of arguments leaves no room for.
struct Format {
  const char* text;
  SourceLoc loc;
  Format(const char* t, SourceLoc l = SourceLoc::here()) : text(t), loc(l) {}  // NOLINT
};
void print_scalars(const Format& format, const std::vector<ScalarRef>& values);

template <class X>
ScalarRef printable(const X& x, SourceLoc loc) {
  if constexpr (is_float8_element<traced_element_t<X>>)
    return make_cast(DType::f32, to_ref<traced_element_t<X>>(x, loc), loc);
  else if constexpr (TracedScalar<X>)
    return to_ref<traced_element_t<X>>(x, loc);
  else if constexpr (std::is_same_v<X, bool>)
    return make_integer(DType::boolean, x ? 1 : 0, loc);
  else if constexpr (std::is_integral_v<X>)
    return make_integer(DType::i64, static_cast<std::int64_t>(x), loc);
  else if constexpr (is_number<X>)
    return make_real(DType::f32, static_cast<double>(static_cast<float>(x)), loc);
  else
    static_assert(always_false<X>, "printf prints traced scalars and C++ numbers; print_tensor prints tiles");
}

class Blocks {
 public:
  Blocks() = default;
  Blocks(const Blocks&) = default;
  Blocks& operator=(const Blocks&) = delete;
  ~Blocks() = default;
  void operator=(std::initializer_list<IndexArg> blocks) const {
    std::vector<ScalarRef> refs;
    for (const IndexArg& b : blocks) refs.push_back(b.ref);
    set_blocks(refs, refs.empty() ? SourceLoc{} : refs.front().origin.loc);
  }
  void operator=(const IndexArg& blocks) const { set_blocks({blocks.ref}, blocks.ref.origin.loc); }
  void operator=(const PersistentGrid& grid) const { set_persistent_grid(grid.loc); }
};
class Warps {
 public:
  Warps() = default;
  Warps(const Warps&) = default;
  Warps& operator=(const Warps&) = delete;
  ~Warps() = default;
  void operator=(const HostInt& warps) const { set_warps(warps); }
};

class ClusterShape {
 public:
  ClusterShape() = default;
  ClusterShape(const ClusterShape&) = default;
  ClusterShape& operator=(const ClusterShape&) = delete;
  ~ClusterShape() = default;
  void operator=(std::initializer_list<HostInt> extents) const {
    set_cluster(extents, extents.size() == 0 ? SourceLoc{} : extents.begin()->loc);
  }
  void operator=(const HostInt& extent) const { set_cluster({extent}, extent.loc); }
};
struct HostBool {
  bool value;
  SourceLoc loc;
  template <class X>
  requires std::same_as<X, bool> HostBool(X v, SourceLoc l = SourceLoc::here()) : value(v), loc(l) {}  // NOLINT
};
class DependentLaunch {
 public:
  DependentLaunch() = default;
  DependentLaunch(const DependentLaunch&) = default;
  DependentLaunch& operator=(const DependentLaunch&) = delete;
  ~DependentLaunch() = default;
  void operator=(const HostBool& on) const { set_dependent_launch(on.value, on.loc); }
};

// Each is set once, before the first tensor; the cluster before the grid of a persistent kernel.
struct Attributes {
  Blocks blocks;                     // the grid: one to three integers that the launch knows, or persistent_grid()
  Warps warps;                       // warps of a block, 1 to 32
  ClusterShape cluster;              // blocks that run together: one to three extents, at most 8 blocks; else one
  DependentLaunch dependent_launch;  // may start before the kernel before it in the stream is complete
};

}  // namespace detail

// attrs.blocks = persistent_grid(): one block an SM, in whole clusters along x; the kernel loops over its tiles.
inline detail::PersistentGrid persistent_grid(SourceLoc loc = SourceLoc::here()) { return {loc}; }

// The two statements whose names the C library has taken (::sync, ::printf), as members, so that they win. A helper
// class with its own tiles and variables may derive from it too; free code writes tessera::sync().
class KernelCode {
 protected:
  // Barrier among the threads of the current group; all of them must reach it.
  void sync(SourceLoc loc = SourceLoc::here()) const { tessera::sync(loc); }
  // Prints from the first thread of the current group: printf("k={} x={}\n", k, x).
  template <class... A>
  void printf(const detail::Format& format, const A&... values) const {
    detail::print_scalars(format, {detail::printable(values, format.loc)...});
  }
};

// A kernel is a class derived from Script whose operator() is the program of one thread block. Its parameters are
// run-time values (Int32, Float32, ..., Ptr<T>) or compile-time constants (int, bool, an enumeration).
class Script : public KernelCode {
 public:
  detail::Attributes attrs;
};

}  // namespace tessera
