// Parts of shared tiles, and tiles of other blocks.
#include <fmt/format.h>

#include "lang/tracer.hpp"
#include "tessera/lang/cluster.hpp"

namespace tessera::lang {

bool check_dimensions(Tracer& t, const char* call, const tile::SharedView& view, SourceLoc loc) {
  if (!view.dims.empty()) return true;
  t.error(loc, fmt::format("{} of a part of {} without dimensions", call, quoted(view.tensor->name, "the shared tile")),
          "a tile has at least one dimension: leave one [] out, or use split()", {{view.tensor->loc, "made here"}});
  return false;
}

bool check_whole(Tracer& t, const char* call, const tile::SharedView& view, SourceLoc loc) {
  bool whole = view.dims.size() == view.extents.size() && view.extents == view.tensor->shape;
  for (std::size_t d = 0; whole && d < view.dims.size(); ++d) whole = view.dims[d] == static_cast<std::int64_t>(d);
  if (whole) return true;
  t.error(loc, fmt::format("{} of a part of {}", call, quoted(view.tensor->name, "the shared tile")),
          "it takes the whole tile, as shared_tensor made it", {{view.tensor->loc, "made here"}});
  return false;
}

}  // namespace tessera::lang

namespace tessera::detail {

using lang::Tracer;
namespace tile = ir::tile;

namespace {

std::string name_of_part(const tile::SharedView& view) {
  const bool whole = view.shape() == view.tensor->shape;
  return fmt::format("{}{}", whole ? "" : "a part of ", lang::quoted(view.tensor->name, "the shared tile"));
}

// The index as an i32, null with the mistake recorded; it is known to lie outside 0 .. count - 1.
const ir::Expr* use_index(Tracer& t, const tile::SharedView& view, const IndexArg& i, std::int64_t count,
                          const char* what) {
  const SourceLoc loc = i.ref.origin.loc;
  const ir::Expr* e = t.use(i.ref, loc);
  if (e == nullptr) return nullptr;
  if (e->high < 0 || e->low >= count) {
    t.error(loc,
            fmt::format("{} {} of {} of shape {}, which has {}", what, ir::to_string(e), name_of_part(view),
                        lang::shape_text(view.shape()), count),
            fmt::format("the index goes from 0 to {}", count - 1), {{view.tensor->loc, "made here"}});
    return nullptr;
  }
  return t.expr().cast(DType::i32, e);
}

// `view` lives as long as the expressions in it: those of the part it was made from, and the index.
SharedRef made(Tracer& t, tile::SharedView view, const Origin& from, const ir::Expr* index, SourceLoc loc) {
  tile::SharedView* node = t.kernel->new_shared_view(std::move(view));
  return {node, index == nullptr || index->is_constant() ? from : t.origin(loc)};
}

}  // namespace

SharedRef index_shared(const SharedRef& ref, const IndexArg& i) {
  const SourceLoc loc = i.ref.origin.loc;
  Tracer& t = Tracer::current("[] of a shared tile", loc);
  const tile::SharedView* from = t.use(ref, loc);
  if (from == nullptr) return {};
  if (from->dims.empty()) {
    t.error(loc, fmt::format("[] of {} without dimensions", name_of_part(*from)),
            "every [] drops one dimension: the tile has fewer than there are [] here",
            {{from->tensor->loc, "made here"}});
    return {};
  }
  const auto dim = static_cast<std::size_t>(from->dims.front());
  const ir::Expr* e = use_index(t, *from, i, from->extents[dim], "element");
  if (e == nullptr) return {};
  tile::SharedView view = *from;
  view.origin[dim] = t.expr().add(view.origin[dim], e);
  view.extents[dim] = 1;
  view.dims.erase(view.dims.begin());
  return made(t, std::move(view), ref.origin, e, loc);
}

SharedRef check_split(const SharedRef& ref, std::int64_t dim, std::int64_t parts, SourceLoc loc) {
  Tracer& t = Tracer::current("split()", loc);
  const tile::SharedView* view = t.use(ref, loc);
  if (view == nullptr) return {};
  const tile::Shape shape = view->shape();
  const std::string call =
      fmt::format("split({}, {}) of {} of shape {}", dim, parts, name_of_part(*view), lang::shape_text(shape));
  const std::vector<Note> notes{{view->tensor->loc, "made here"}};
  if (dim < 0 || dim >= static_cast<std::int64_t>(shape.size())) {
    t.error(loc, fmt::format("{}: there is no dimension {}", call, dim),
            fmt::format("the part has {} dimensions, counted from 0", shape.size()), notes);
    return {};
  }
  const std::int64_t extent = shape[static_cast<std::size_t>(dim)];
  if (parts < 1 || extent % parts != 0) {
    t.error(loc, fmt::format("{}: {} does not divide into {} equal parts", call, extent, parts),
            "the number of parts divides the extent", notes);
    return {};
  }
  return ref;
}

SharedRef part_of_shared(const SharedRef& ref, std::int64_t dim, std::int64_t parts, const IndexArg& i) {
  const SourceLoc loc = i.ref.origin.loc;
  Tracer& t = Tracer::current("split()", loc);
  const tile::SharedView* from = t.use(ref, loc);
  if (from == nullptr) return {};
  const ir::Expr* e = use_index(t, *from, i, parts, "part");
  if (e == nullptr) return {};
  tile::SharedView view = *from;
  const auto d = static_cast<std::size_t>(view.dims[static_cast<std::size_t>(dim)]);
  view.extents[d] /= parts;
  view.origin[d] = t.expr().add(view.origin[d], t.expr().mul(e, view.extents[d]));
  return made(t, std::move(view), ref.origin, e, loc);
}

SharedRef transpose_shared(const SharedRef& ref, SourceLoc loc) {
  Tracer& t = Tracer::current("transpose()", loc);
  const tile::SharedView* from = t.use(ref, loc);
  if (from == nullptr) return {};
  if (from->dims.size() != 2) {
    t.error(loc, fmt::format("transpose() of {} of shape {}", name_of_part(*from), lang::shape_text(from->shape())),
            "a part has two dimensions to be transposed: take one element of the others with []",
            {{from->tensor->loc, "made here"}});
    return {};
  }
  tile::SharedView view = *from;
  std::swap(view.dims[0], view.dims[1]);
  return made(t, std::move(view), ref.origin, nullptr, loc);
}

PeerTensor Cluster::map_shared_rank(const SharedTensor& tensor, const IndexArg& rank, SourceLoc loc) const {
  Tracer& t = Tracer::current("cluster.map_shared_rank()", loc);
  const tile::SharedView* from = t.use(tensor.ref(), loc);
  const auto cta = t.use_rank("cluster.map_shared_rank()", rank.ref, loc);
  if (from == nullptr || !cta) return PeerTensor(SharedRef{});
  tile::SharedView view = *from;
  view.cta = *cta;
  return PeerTensor(made(t, std::move(view), tensor.ref().origin, *cta, loc));
}

DType dtype_of_shared(const SharedRef& r) { return r.node != nullptr ? r.node->tensor->type : DType::f32; }
std::vector<std::int64_t> shape_of_shared(const SharedRef& r) {
  return r.node != nullptr ? r.node->shape() : tile::Shape{};
}
// Whatever the layout: the bytes that a copy of the part delivers.
std::int64_t bytes_of_shared(const SharedRef& r) { return r.node != nullptr ? r.node->bytes() : 0; }

}  // namespace tessera::detail
