// Views and tiles: creation, loads and stores.
#include "tessera/lang/tile.hpp"

#include <fmt/format.h>

#include "lang/tracer.hpp"
#include "tessera/lang/peer_tensor.hpp"

namespace tessera {

using lang::Tracer;
namespace tile = ir::tile;

namespace {

constexpr std::size_t most_dimensions = 5;  // of a tile: what the TMA engine can address

}  // namespace

bool lang::check_shape(Tracer& t, const char* call, const tile::Shape& shape, SourceLoc loc) {
  constexpr std::int64_t most_elements = std::int64_t{1} << 24;  // of a tile: far beyond any register file
  if (shape.empty() || shape.size() > most_dimensions) {
    t.error(loc, fmt::format("{} of a tile with {} dimensions", call, shape.size()),
            fmt::format("a tile has 1 to {} dimensions", most_dimensions));
    return false;
  }
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 1) {
      t.error(loc,
              fmt::format("{} of the shape {}: dimension {} has extent {}", call, lang::shape_text(shape), d, shape[d]),
              "every extent of a tile is at least 1");
      return false;
    }
    if (shape[d] > most_elements || elements * shape[d] > most_elements) {
      t.error(loc, fmt::format("{} of the shape {} is too large for a tile", call, lang::shape_text(shape)),
              fmt::format("a tile has at most {} elements; take a smaller block and loop", most_elements));
      return false;
    }
    elements *= shape[d];
  }
  return true;
}

std::vector<const ir::Expr*> lang::use_offsets(Tracer& t, const char* call, const tile::GlobalView& view,
                                               const detail::IndexList& offsets, SourceLoc loc) {
  if (offsets.items.size() != view.shape.size()) {
    t.error(loc,
            fmt::format("{} has {} offsets for {}, which has {} dimensions", call, offsets.items.size(),
                        lang::quoted(view.name, "a view"), view.shape.size()),
            "give one offset a dimension of the view", {{view.loc, "the view"}});
    return {};
  }
  std::vector<const ir::Expr*> result;
  for (const detail::ScalarRef& o : offsets.items) {
    const ir::Expr* e = t.use(o, loc);
    if (e == nullptr) return {};
    result.push_back(e);
  }
  return result;
}

namespace {

// An integer of a view's shape or strides as i64; null with the mistake recorded.
const ir::Expr* use_extent(Tracer& t, const detail::ScalarRef& ref, const char* what, std::size_t dimension,
                           SourceLoc loc) {
  const ir::Expr* e = t.use(ref, loc);
  if (e == nullptr) return nullptr;
  if (!ir::is_host_computable(e)) {
    t.error(loc, fmt::format("{} {} of a view is not known at launch: {}", what, dimension, ir::to_string(e)),
            "compute shapes and strides of views from kernel parameters and constants; move within a view by offsets");
    return nullptr;
  }
  if (e->high < 0) {
    t.error(loc, fmt::format("{} {} of a view is negative: {}", what, dimension, ir::to_string(e)),
            "extents and strides of views are 0 or more");
    return nullptr;
  }
  return t.expr().cast(DType::i64, e);
}

}  // namespace

namespace detail {

ViewRef make_view(DType type, int param, const ScalarRef* base_offset, const Origin& origin, const IndexList& shape,
                  const IndexList& strides, SourceLoc loc) {
  Tracer& t = Tracer::current("global_view()", loc);
  if (!t.usable(origin, "the pointer", loc)) return {};
  if (shape.items.empty() || shape.items.size() > most_dimensions) {
    t.error(loc, fmt::format("global_view() with {} dimensions", shape.items.size()),
            fmt::format("a view has 1 to {} dimensions", most_dimensions));
    return {};
  }
  if (!strides.items.empty() && strides.items.size() != shape.items.size()) {
    t.error(loc, fmt::format("global_view() with {} extents and {} strides", shape.items.size(), strides.items.size()),
            "give one stride (in elements) a dimension, or none for row-major");
    return {};
  }
  tile::GlobalView view{};
  view.type = type;
  view.param = static_cast<std::uint32_t>(param);
  view.loc = loc;
  view.base_offset = t.expr().i64(0);
  if (base_offset != nullptr) view.base_offset = t.use(*base_offset, loc);
  if (view.base_offset == nullptr) return {};
  for (std::size_t d = 0; d < shape.items.size(); ++d) {
    view.shape.push_back(use_extent(t, shape.items[d], "extent", d, loc));
    if (view.shape.back() == nullptr) return {};
  }
  view.strides.assign(shape.items.size(), t.expr().i64(1));
  for (std::size_t d = shape.items.size(); d-- > 0;) {
    if (!strides.items.empty()) {
      view.strides[d] = use_extent(t, strides.items[d], "stride", d, loc);
      if (view.strides[d] == nullptr) return {};
    } else if (d + 1 < shape.items.size()) {
      view.strides[d] = t.expr().mul(view.strides[d + 1], view.shape[d + 1]);
    }
  }
  view.name = t.fresh_name(loc, "global_view");
  return {t.kernel->new_view(std::move(view)), t.origin(loc)};
}

SharedRef make_shared_tensor(DType type, const TileShape& shape, SourceLoc loc) {
  Tracer& t = Tracer::current("shared_tensor()", loc);
  t.first_use(loc);
  if (!lang::check_shape(t, "shared_tensor()", shape.extents, loc)) return {};
  auto* tensor = t.kernel->new_shared(type, shape.extents, t.fresh_name(loc, "shared_tensor"), loc);
  t.emit<tile::AllocShared>(loc, tensor);
  return {t.kernel->whole(tensor), t.origin(loc)};
}

TileRef make_register_tensor(DType type, const TileShape& shape, SourceLoc loc) {
  Tracer& t = Tracer::current("register_tensor()", loc);
  const tile::Group group = t.group(loc);
  if (!lang::check_shape(t, "register_tensor()", shape.extents, loc)) return {};
  auto* tensor = t.kernel->new_register(type, shape.extents, t.fresh_name(loc, "register_tensor"), loc, group);
  tensor->named = true;
  t.emit<tile::AllocRegister>(loc, tensor);
  return {tensor, t.origin(loc)};
}

void fill_tile(const TileRef& out, const ScalarRef& value, SourceLoc loc) {
  Tracer& t = Tracer::current("register_tensor()", loc);
  tile::RegisterTensor* tensor = t.use(out, loc);
  const ir::Expr* e = t.use(value, loc);
  if (tensor == nullptr || e == nullptr) return;
  t.emit<tile::Compute>(loc, tensor, std::vector<tile::RegisterTensor*>{}, e);
}

void fill_by_index(const TileRef& out, int rank, const std::function<ScalarRef(const std::vector<ScalarRef>&)>& body,
                   SourceLoc loc) {
  Tracer& t = Tracer::current("register_tensor()", loc);
  if (out.node == nullptr) return;
  ir::Block nothing;
  const std::uint32_t outer = t.stack.back();
  t.open(lang::ScopeKind::index_function, &nothing, nullptr, loc);
  std::vector<ScalarRef> index;
  for (int d = 0; d < rank; ++d) {
    const std::int64_t extent = out.node->shape[static_cast<std::size_t>(d)];
    index.push_back({t.expr().bounded_leaf(ir::ExprKind::index, DType::i32, d, 0, extent - 1), t.origin(loc)});
  }
  const ir::Expr* e = t.use(body(index), loc);
  t.close_to(outer);
  if (!nothing.empty()) {
    t.error(nothing.front()->loc, "a function of the index contains a statement of the kernel",
            "it computes one element from immutable values; do everything else outside it",
            {{loc, "the register_tensor"}});
  } else if (e != nullptr) {
    t.emit<tile::Compute>(loc, out.node, std::vector<tile::RegisterTensor*>{}, e);
  }
}

void wrong_index_function(const TileRef& out, SourceLoc loc) {
  Tracer& t = Tracer::current("register_tensor()", loc);
  if (out.node == nullptr) return;
  t.error(loc,
          fmt::format("the function of the index does not take {} indices, as the shape {} needs",
                      out.node->shape.size(), lang::shape_text(out.node->shape)),
          "give it one Int32 parameter a dimension");
}

DType dtype_of_tile(const TileRef& r) { return r.node != nullptr ? r.node->type : DType::f32; }
std::vector<std::int64_t> shape_of_tile(const TileRef& r) { return r.node != nullptr ? r.node->shape : tile::Shape{}; }
DType dtype_of_view(const ViewRef& r) { return r.node != nullptr ? r.node->type : DType::f32; }
int rank_of_view(const ViewRef& r) { return r.node != nullptr ? static_cast<int>(r.node->shape.size()) : 0; }
std::int64_t size_of_barriers(const BarrierRef& r) {
  return r.node != nullptr ? static_cast<std::int64_t>(r.node->counts.size()) : 0;
}

}  // namespace detail

void free_shared(const SharedTensor& tensor, SourceLoc loc) {
  Tracer& t = Tracer::current("free_shared()", loc);
  const tile::SharedView* view = t.use(tensor.ref(), loc);
  if (view == nullptr || !lang::check_whole(t, "free_shared()", *view, loc)) return;
  tile::SharedTensor* node = view->tensor;
  if (tensor.ref().origin.scope != t.stack.back()) {
    t.error(loc, fmt::format("free_shared() of {} in an inner scope", lang::quoted(node->name, "the tile")),
            "free a shared tile in the scope that made it", {{node->loc, "made here"}});
    return;
  }
  t.freed[node] = loc;
  t.emit<tile::FreeShared>(loc, node);
}

RegisterTensor load_global(const GlobalView& view, const detail::IndexList& offsets, const detail::TileShape& shape,
                           SourceLoc loc) {
  Tracer& t = Tracer::current("load_global()", loc);
  tile::GlobalView* v = t.use(view.ref(), loc);
  if (v == nullptr || !lang::check_shape(t, "load_global()", shape.extents, loc))
    return RegisterTensor(detail::TileRef{});
  if (shape.extents.size() != v->shape.size()) {
    t.error(loc,
            fmt::format("load_global() of a tile of shape {} from {}, which has {} dimensions",
                        lang::shape_text(shape.extents), lang::quoted(v->name, "a view"), v->shape.size()),
            "give one extent a dimension of the view", {{v->loc, "the view"}});
    return RegisterTensor(detail::TileRef{});
  }
  auto off = lang::use_offsets(t, "load_global()", *v, offsets, loc);
  if (off.empty()) return RegisterTensor(detail::TileRef{});
  const tile::Group group = t.group(loc);
  auto* out = t.kernel->new_register(v->type, shape.extents, t.fresh_name(loc, "load_global"), loc, group);
  t.emit<tile::LoadGlobal>(loc, out, v, std::move(off));
  return RegisterTensor(detail::TileRef{out, t.origin(loc)});
}

void store_global(const GlobalView& view, const RegisterTensor& source, const detail::IndexList& offsets,
                  SourceLoc loc) {
  Tracer& t = Tracer::current("store_global()", loc);
  tile::GlobalView* v = t.use(view.ref(), loc);
  tile::RegisterTensor* src = t.use(source.ref(), loc);
  if (v == nullptr || src == nullptr) return;
  if (src->type != v->type) {
    t.error(loc,
            fmt::format("store_global() of a {} tile to {}, which holds {}", name_of(src->type),
                        lang::quoted(v->name, "a view"), name_of(v->type)),
            fmt::format("convert the tile: cast<{}>(tile)", name_of(v->type)), {{v->loc, "the view"}});
  }
  if (src->shape.size() != v->shape.size()) {
    t.error(loc,
            fmt::format("store_global() of a tile of shape {} to {}, which has {} dimensions",
                        lang::shape_text(src->shape), lang::quoted(v->name, "a view"), v->shape.size()),
            "the tile and the view have the same number of dimensions", {{v->loc, "the view"}});
    return;
  }
  auto off = lang::use_offsets(t, "store_global()", *v, offsets, loc);
  if (!off.empty()) t.emit<tile::StoreGlobal>(loc, v, src, std::move(off));
}

namespace {

RegisterTensor load_from(const detail::SharedRef& tensor, SourceLoc loc) {
  Tracer& t = Tracer::current("load_shared()", loc);
  tile::SharedView* src = t.use(tensor, loc);
  if (src == nullptr || !lang::check_dimensions(t, "load_shared()", *src, loc))
    return RegisterTensor(detail::TileRef{});
  const tile::Group group = t.group(loc);
  auto* out = t.kernel->new_register(src->tensor->type, src->shape(), t.fresh_name(loc, "load_shared"), loc, group);
  t.emit<tile::LoadShared>(loc, out, src);
  return RegisterTensor(detail::TileRef{out, t.origin(loc)});
}

void store_to(const detail::SharedRef& tensor, const RegisterTensor& source, SourceLoc loc) {
  Tracer& t = Tracer::current("store_shared()", loc);
  tile::SharedView* dst = t.use(tensor, loc);
  tile::RegisterTensor* src = t.use(source.ref(), loc);
  if (dst == nullptr || src == nullptr || !lang::check_dimensions(t, "store_shared()", *dst, loc)) return;
  const tile::SharedTensor& to = *dst->tensor;
  if (src->type != to.type) {
    t.error(loc,
            fmt::format("store_shared() of a {} tile to {}, which holds {}", name_of(src->type),
                        lang::quoted(to.name, "a shared tile"), name_of(to.type)),
            fmt::format("convert the tile: cast<{}>(tile)", name_of(to.type)), {{to.loc, "made here"}});
  } else if (src->shape != dst->shape()) {
    t.error(loc,
            fmt::format("store_shared() of a tile of shape {} to {} of shape {}", lang::shape_text(src->shape),
                        lang::quoted(to.name, "a shared tile"), lang::shape_text(dst->shape())),
            "the two tiles have the same shape", {{to.loc, "made here"}});
  } else {
    t.emit<tile::StoreShared>(loc, dst, src);
  }
}

}  // namespace

RegisterTensor load_shared(const SharedTensor& tensor, SourceLoc loc) { return load_from(tensor.ref(), loc); }
RegisterTensor load_shared(const PeerTensor& tensor, SourceLoc loc) { return load_from(tensor.ref(), loc); }
void store_shared(const SharedTensor& tensor, const RegisterTensor& source, SourceLoc loc) {
  store_to(tensor.ref(), source, loc);
}
void store_shared(const PeerTensor& tensor, const RegisterTensor& source, SourceLoc loc) {
  store_to(tensor.ref(), source, loc);
}

}  // namespace tessera
