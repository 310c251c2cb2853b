// annotate_layout: from the public description to the compiler's layouts.
#include <fmt/format.h>

#include <algorithm>

#include "lang/tracer.hpp"
#include "tessera/lang/tile.hpp"

namespace tessera {

using lang::Tracer;
namespace tile = ir::tile;

namespace {

// The extents that the factors multiply to; empty if they do not all have one rank and positive extents.
tile::Shape shape_of(const RegisterLayout& layout) {
  tile::Shape shape;
  for (const RegisterLayout::Factor& f : layout.factors()) {
    if (f.extents.empty() || (!shape.empty() && f.extents.size() != shape.size())) return {};
    if (std::any_of(f.extents.begin(), f.extents.end(), [](std::int64_t e) { return e < 1 || e > (1 << 24); }))
      return {};
    shape.resize(f.extents.size(), 1);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      shape[d] *= f.extents[d];
      if (shape[d] > (1 << 24)) return {};
    }
  }
  return shape;
}

layout::RegisterLayout build(const RegisterLayout& description) {
  std::optional<layout::RegisterLayout> result;
  for (const RegisterLayout::Factor& f : description.factors()) {
    const layout::RegisterLayout one = f.kind == RegisterLayout::Kind::spatial ? layout::spatial(f.extents)
                                       : f.kind == RegisterLayout::Kind::local ? layout::local(f.extents)
                                       : f.kind == RegisterLayout::Kind::column_spatial
                                           ? layout::column_spatial(f.extents)
                                           : layout::column_local(f.extents);
    result = result ? *result * one : one;
  }
  return *result;
}

std::optional<layout::SharedLayout> build(const SharedLayout& description, const tile::SharedTensor& tensor) {
  const std::int64_t bytes = size_of(tensor.type);
  switch (description.kind()) {
    case SharedLayout::Kind::row_major: return layout::shared_row_major(tensor.shape, bytes);
    case SharedLayout::Kind::column_major: return layout::shared_column_major(tensor.shape, bytes);
    case SharedLayout::Kind::swizzled: break;
  }
  return layout::shared_swizzled(tensor.shape, bytes, static_cast<layout::SwizzleMode>(description.swizzle()));
}

}  // namespace

void annotate_layout(const RegisterTensor& tensor, const RegisterLayout& description, SourceLoc loc) {
  Tracer& t = Tracer::current("annotate_layout()", loc);
  tile::RegisterTensor* node = t.use(tensor.ref(), loc);
  if (node == nullptr) return;
  const std::string name = lang::quoted(node->name, "the tile");
  const tile::Shape shape = shape_of(description);
  if (shape != node->shape) {
    t.error(loc,
            shape.empty()
                ? fmt::format("annotate_layout() of {} with factors of different ranks or extents below 1", name)
                : fmt::format("annotate_layout() of {} of shape {} with a layout of shape {}", name,
                              lang::shape_text(node->shape), lang::shape_text(shape)),
            "the factors' extents multiply to the tile's shape, dimension by dimension", {{node->loc, "the tile"}});
    return;
  }
  layout::RegisterLayout layout = build(description);
  if (layout.spatial_size() != node->group.count) {
    t.error(loc,
            fmt::format("annotate_layout() of {} with a layout over {} threads, for a group of {}", name,
                        layout.spatial_size(), node->group.count),
            "the spatial factors multiply to the threads of the group that made the tile", {{node->loc, "the tile"}});
    return;
  }
  if (node->layout_pinned && !(*node->layout == layout)) {
    t.error(loc, fmt::format("annotate_layout() of {} twice, with different layouts", name), "pin one layout",
            {{t.pinned_registers[node], "pinned here"}});
    return;
  }
  t.pinned_registers[node] = loc;
  node->layout = std::move(layout);
  node->layout_pinned = true;
}

void annotate_layout(const SharedTensor& tensor, const SharedLayout& description, SourceLoc loc) {
  Tracer& t = Tracer::current("annotate_layout()", loc);
  const tile::SharedView* view = t.use(tensor.ref(), loc);
  if (view == nullptr || !lang::check_whole(t, "annotate_layout()", *view, loc)) return;
  tile::SharedTensor* node = view->tensor;
  const std::string name = lang::quoted(node->name, "the shared tile");
  std::optional<layout::SharedLayout> layout = build(description, *node);
  if (!layout) {
    t.error(loc,
            fmt::format("annotate_layout() of {} of shape {} ({}) with a swizzle of {} bytes", name,
                        lang::shape_text(node->shape), name_of(node->type),
                        layout::swizzle_span(static_cast<layout::SwizzleMode>(description.swizzle()))),
            "the last dimension's bytes must be a multiple of the swizzle's span; take a narrower one or row_major()",
            {{node->loc, "the tile"}});
    return;
  }
  if (node->layout_pinned && !(*node->layout == *layout)) {
    t.error(loc, fmt::format("annotate_layout() of {} twice, with different layouts", name), "pin one layout",
            {{t.pinned_shared[node], "pinned here"}});
    return;
  }
  t.pinned_shared[node] = loc;
  node->layout = std::move(layout);
  node->layout_pinned = true;
}

}  // namespace tessera
