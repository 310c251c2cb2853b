// Functions on tiles: creation, elementwise functions, loads and stores.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include "tessera/lang/layout.hpp"
#include "tessera/lang/tensor.hpp"

namespace tessera {

namespace detail {

ViewRef make_view(DType type, int param, const ScalarRef* base_offset, const Origin& origin, const IndexList& shape,
                  const IndexList& strides, SourceLoc loc);
SharedRef make_shared_tensor(DType type, const TileShape& shape, SourceLoc loc);
TileRef make_register_tensor(DType type, const TileShape& shape, SourceLoc loc);
void fill_tile(const TileRef& out, const ScalarRef& value, SourceLoc loc);
// The index values of `out`'s dimensions while `body` makes the value of one element; nothing if the rank is not
// `rank`.
void fill_by_index(const TileRef& out, int rank, const std::function<ScalarRef(const std::vector<ScalarRef>&)>& body,
                   SourceLoc loc);

template <class X>
concept TileLike = std::is_same_v<std::remove_cvref_t<X>, RegisterTensor>;
template <class X>
concept TileOrScalar = TileLike<X> || ScalarLike<X>;

template <class F, std::size_t... I>
constexpr bool takes_indices(std::index_sequence<I...>) {
  return std::is_invocable_v<F, decltype((void)I, std::declval<Int32>())...>;
}
template <class F>
concept IndexFunction = takes_indices<F>(std::make_index_sequence<1>()) ||
    takes_indices<F>(std::make_index_sequence<2>()) || takes_indices<F>(std::make_index_sequence<3>()) ||
    takes_indices<F>(std::make_index_sequence<4>()) || takes_indices<F>(std::make_index_sequence<5>());

template <class T, std::size_t N, class F>
bool fill_with(const TileRef& out, std::size_t rank, const F& f, SourceLoc loc) {
  if constexpr (takes_indices<const F&>(std::make_index_sequence<N>())) {
    if (rank != N) return false;
    fill_by_index(
        out, static_cast<int>(N),
        [&](const std::vector<ScalarRef>& index) {
          return [&]<std::size_t... I>(std::index_sequence<I...>) {
            auto value = f(Int32(index[I])...);
            static_assert(AcceptedAs<decltype(value), T> || TracedScalar<decltype(value)>,
                          "the function of the index must return a traced scalar or a C++ number");
            if constexpr (AcceptedAs<decltype(value), T>)
              return to_ref<T>(value, loc);
            else
              return make_cast(dtype_of<T>, to_ref<traced_element_t<decltype(value)>>(value, loc), loc);
          }
          (std::make_index_sequence<N>());
        },
        loc);
    return true;
  } else {
    return false;
  }
}
void wrong_index_function(const TileRef& out, SourceLoc loc);

}  // namespace detail

// A view of a pointer parameter: a tensor of T with this shape (integers that the launch knows), row-major unless
// strides (in elements, one a dimension) are given. Elements outside the view read as 0 and are never written.
template <ElementType T>
GlobalView global_view(const Ptr<T>& ptr, const detail::IndexList& shape, const detail::IndexList& strides = {},
                       SourceLoc loc = SourceLoc::here()) {
  return GlobalView(detail::make_view(dtype_of<T>, ptr.param(), ptr.has_offset() ? &ptr.offset() : nullptr,
                                      ptr.origin(), shape, strides, loc));
}

// A tile of T in shared memory, uninitialised.
template <ElementType T>
SharedTensor shared_tensor(const detail::TileShape& shape, SourceLoc loc = SourceLoc::here()) {
  return SharedTensor(detail::make_shared_tensor(dtype_of<T>, shape, loc));
}

// A tile of T in the registers of the current thread group: uninitialised, filled with a value, or with a function of
// the index: register_tensor<float>({64, 64}, [](Int32 i, Int32 j) { return select(i >= j, 1.0f, 0.0f); }).
template <ElementType T>
RegisterTensor register_tensor(const detail::TileShape& shape, SourceLoc loc = SourceLoc::here()) {
  return RegisterTensor(detail::make_register_tensor(dtype_of<T>, shape, loc));
}
template <ElementType T, class V>
requires detail::AcceptedAs<V, T> RegisterTensor register_tensor(const detail::TileShape& shape, const V& value,
                                                                 SourceLoc loc = SourceLoc::here()) {
  const auto out = detail::make_register_tensor(dtype_of<T>, shape, loc);
  detail::fill_tile(out, detail::to_ref<T>(value, loc), loc);
  return RegisterTensor(out);
}
template <ElementType T, class F>
requires detail::IndexFunction<const F&> RegisterTensor register_tensor(const detail::TileShape& shape, const F& f,
                                                                        SourceLoc loc = SourceLoc::here()) {
  const auto out = detail::make_register_tensor(dtype_of<T>, shape, loc);
  const std::size_t rank = shape.extents.size();
  const bool done = detail::fill_with<T, 1>(out, rank, f, loc) || detail::fill_with<T, 2>(out, rank, f, loc) ||
                    detail::fill_with<T, 3>(out, rank, f, loc) || detail::fill_with<T, 4>(out, rank, f, loc) ||
                    detail::fill_with<T, 5>(out, rank, f, loc);
  if (!done) detail::wrong_index_function(out, loc);
  return RegisterTensor(out);
}

// Says that the tile will not be used again, in the scope that made it. A hint: memory is planned from real liveness.
void free_shared(const SharedTensor& tensor, SourceLoc loc = SourceLoc::here());
// Pins a layout. The register layout must use every thread of the tile's group.
void annotate_layout(const RegisterTensor& tensor, const RegisterLayout& layout, SourceLoc loc = SourceLoc::here());
void annotate_layout(const SharedTensor& tensor, const SharedLayout& layout, SourceLoc loc = SourceLoc::here());

// The tile of `shape` at `offsets` of the view, executed by any group; elements outside the view are 0.
RegisterTensor load_global(const GlobalView& view, const detail::IndexList& offsets, const detail::TileShape& shape,
                           SourceLoc loc = SourceLoc::here());
// Writes the tile at `offsets` of the view, executed by the tile's group; elements outside the view are dropped.
void store_global(const GlobalView& view, const RegisterTensor& tile, const detail::IndexList& offsets,
                  SourceLoc loc = SourceLoc::here());
// The whole shared tile in registers, and back. Any group; ordering between threads is the caller's (sync).
RegisterTensor load_shared(const SharedTensor& tensor, SourceLoc loc = SourceLoc::here());
void store_shared(const SharedTensor& tensor, const RegisterTensor& tile, SourceLoc loc = SourceLoc::here());

// Elementwise conversion to T; floats to integers truncate and saturate, floats to floats round to nearest even.
template <class T>
RegisterTensor cast(const RegisterTensor& tile, SourceLoc loc = SourceLoc::here()) {
  using Target = typename detail::element_named<T>::type;
  static_assert(ElementType<Target>, "cast<T>: T must be an element type such as float16");
  return RegisterTensor(detail::tile_cast(dtype_of<Target>, tile.ref(), loc));
}
// condition ? a : b for each element; both are evaluated.
template <class C, class A, class B>
requires(detail::TileOrScalar<C>&& detail::TileOrScalar<A>&& detail::TileOrScalar<B> &&
         (detail::TileLike<C> || detail::TileLike<A> || detail::TileLike<B>)) RegisterTensor
    select(const C& condition, const A& a, const B& b, SourceLoc loc = SourceLoc::here()) {
  return RegisterTensor(detail::tile_select({condition, loc}, {a, loc}, {b, loc}, loc));
}
template <class A, class B>
requires(detail::TileOrScalar<A>&& detail::TileOrScalar<B> &&
         (detail::TileLike<A> || detail::TileLike<B>)) RegisterTensor
    min(const A& a, const B& b, SourceLoc loc = SourceLoc::here()) {
  return RegisterTensor(detail::tile_binary(detail::Op::min, {a, loc}, {b, loc}, loc));
}
template <class A, class B>
requires(detail::TileOrScalar<A>&& detail::TileOrScalar<B> &&
         (detail::TileLike<A> || detail::TileLike<B>)) RegisterTensor
    max(const A& a, const B& b, SourceLoc loc = SourceLoc::here()) {
  return RegisterTensor(detail::tile_binary(detail::Op::max, {a, loc}, {b, loc}, loc));
}

}  // namespace tessera
