// Argument types of the instructions: they accept traced and C++ integers as the instruction allows and record the
// line.
#pragma once

#include <initializer_list>
#include <vector>

#include "tessera/lang/scalar_functions.hpp"

namespace tessera::detail {

template <class X>
concept IndexLike = (std::integral<X> && !std::is_same_v<X, bool>) ||
                    (TracedScalar<X> && is_int_element<traced_element_t<X>> &&
                     widens<traced_element_t<X>, std::int64_t>());

// An object that stands for an index, as a slot of a Pipeline does.
template <class X>
concept IndexHolder = requires(const X& x) {
  requires IndexLike<std::remove_cvref_t<decltype(x.index)>>;
};

// A traced or C++ integer: an offset, an extent of a view, a bound, a number of bytes. It is an Int32 or an Int64
// inside.
struct IndexArg {
  ScalarRef ref;
  template <class X>
  requires IndexLike<X> IndexArg(const X& x, SourceLoc loc = SourceLoc::here()) : ref(make(x, loc)) {
    ref.origin.loc = loc;
  }  // NOLINT
  template <class X>
  requires IndexHolder<X> IndexArg(const X& x, SourceLoc loc = SourceLoc::here()) : IndexArg(x.index, loc) {}  // NOLINT

 private:
  template <class X>
  static ScalarRef make(const X& x, SourceLoc loc) {
    if constexpr (!TracedScalar<X>) {
      if (std::in_range<std::int32_t>(+x)) return literal_ref<std::int32_t>(x, loc);
      return literal_ref<std::int64_t>(x, loc);
    } else if constexpr (widens<traced_element_t<X>, std::int32_t>()) {
      return to_ref<std::int32_t>(x, loc);
    } else {
      return to_ref<std::int64_t>(x, loc);
    }
  }
};

// {offset_m, offset_k}
struct IndexList {
  std::vector<ScalarRef> items;
  IndexList(std::initializer_list<IndexArg> list) {
    for (const IndexArg& i : list) items.push_back(i.ref);
  }
  IndexList(const std::vector<IndexArg>& list) {  // NOLINT
    for (const IndexArg& i : list) items.push_back(i.ref);
  }
};

// A C++ integer that is known while the kernel is traced.
struct HostInt {
  std::int64_t value = 0;
  SourceLoc loc;
  template <class X>
  requires(std::integral<X> && !std::is_same_v<X, bool>) HostInt(X x, SourceLoc l = SourceLoc::here())
      : value(static_cast<std::int64_t>(x)), loc(l) {}  // NOLINT
  template <class X>
  requires TracedScalar<X> HostInt(const X&, SourceLoc = SourceLoc::here()) {  // NOLINT
    static_assert(
        always_false<X>,
        "this must be a C++ integer: extents of tiles, warps, thread groups and barrier counts are compile-time "
        "constants of a kernel, so take the parameter as `int` (a new value compiles anew) instead of Int32");
  }
};

// A C++ bool or a traced Bool.
struct BoolArg {
  ScalarRef ref;  // if it is traced
  bool traced = false;
  bool value = false;
  template <class X>
  requires BoolLike<X> BoolArg(const X& x, SourceLoc loc = SourceLoc::here()) : traced(TracedScalar<X>) {  // NOLINT
    if constexpr (TracedScalar<X>)
      ref = to_ref<bool>(x, loc);
    else
      value = x;
  }
};

// A UInt32 or a C++ integer, or nothing.
struct MaskArg {
  ScalarRef ref;
  bool given = false;
  MaskArg() = default;
  template <class X>
  requires AcceptedAs<X, std::uint32_t> MaskArg(const X& x, SourceLoc loc = SourceLoc::here())  // NOLINT
      : ref(to_ref<std::uint32_t>(x, loc)), given(true) {}
};

// {block_m, block_n}: the extents of a tile.
struct TileShape {
  std::vector<std::int64_t> extents;
  TileShape(std::initializer_list<HostInt> list) {
    for (const HostInt& i : list) extents.push_back(i.value);
  }
  TileShape(std::vector<std::int64_t> list) : extents(std::move(list)) {}  // NOLINT
};

}  // namespace tessera::detail
