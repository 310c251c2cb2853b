#include "passes/shared_layouts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "layout/atoms.hpp"
#include "passes/shared_views.hpp"
#include "passes/walk.hpp"
#include "tessera/core/error.hpp"

namespace tessera::passes {

using namespace ir;  // NOLINT(google-build-using-namespace)
using layout::SharedLayout;

namespace {

struct Uses {
  bool async = false;     // TMA, wgmma
  bool matrices = false;  // ldmatrix, stmatrix
};

// Panels of a swizzled tile must begin on the 128 bytes that a TMA copy needs.
bool panels_aligned(const SharedLayout& l) {
  const auto groups = l.grouped_modes();
  for (const std::int64_t mode : groups.back()) {
    const std::int64_t stride = l.mode_strides()[static_cast<std::size_t>(mode)] * l.element_bytes();
    if (l.mode_shape()[static_cast<std::size_t>(mode)] > 1 && stride >= 16 && stride % 128 != 0) return false;
  }
  return true;
}

SharedLayout widest(const tile::SharedTensor& t) {
  SharedLayout l = layout::shared_widest_swizzle(t.shape, size_of(t.type));
  return panels_aligned(l) ? l : layout::shared_row_major(t.shape, size_of(t.type));
}

}  // namespace

std::optional<LdMatrixPlan> plan_ldmatrix(const tile::RegisterTensor& out, const SharedLayout& shared) {
  if (size_of(out.type) != 2 || shared.shape().size() != 2) return std::nullopt;
  if (out.group.count % 32 != 0 || out.group.begin % 32 != 0) return std::nullopt;
  // Every row of eight elements must be 16 contiguous, aligned bytes.
  const auto rows_contiguous = [&](std::size_t dim) {
    const auto groups = shared.grouped_modes();
    if (groups[dim].empty()) return false;
    const auto inner = static_cast<std::size_t>(groups[dim].back());
    if (shared.mode_strides()[inner] != 1 || shared.mode_shape()[inner] % 8 != 0) return false;
    for (std::size_t m = 0; m < shared.mode_shape().size(); ++m) {
      if (m != inner && shared.mode_shape()[m] > 1 && shared.mode_strides()[m] % 8 != 0) return false;
    }
    return true;
  };
  LdMatrixPlan plan;
  layout::RegisterLayout registers = *out.layout;
  if (!rows_contiguous(1)) {
    if (!rows_contiguous(0)) return std::nullopt;
    plan.swapped = true;
    registers = layout::permute(registers, {1, 0});
  }
  auto blocks = layout::divide(registers, layout::ldmatrix_atom(2));
  if (!blocks) {
    blocks = layout::divide(registers, layout::ldmatrix_trans_atom());
    plan.transposed = true;
  }
  if (!blocks) return std::nullopt;
  plan.blocks = *blocks;
  return plan;
}

void choose_shared_layouts(tile::Kernel& kernel) {
  std::vector<Uses> uses(kernel.shared.size());
  const Walk walk(kernel);
  for (const Site& site : walk.sites) {
    for (const SharedUse& use : async_shared_uses(site.stmt)) uses[use.view->tensor->id].async = true;
    const tile::SharedView* view = nullptr;
    const tile::RegisterTensor* registers = nullptr;
    if (const auto* load = as<tile::LoadShared>(site.stmt)) view = load->src, registers = load->out;
    if (const auto* store = as<tile::StoreShared>(site.stmt)) view = store->dst, registers = store->src;
    if (view == nullptr || view->cta != nullptr) continue;
    const tile::SharedTensor& t = *view->tensor;
    const auto probe = layout_in(*view, t.layout ? *t.layout : layout::shared_row_major(t.shape, size_of(t.type)));
    if (probe && plan_ldmatrix(*registers, *probe)) uses[t.id].matrices = true;
  }
  for (tile::SharedTensor* t : kernel.shared) {
    if (t->layout) continue;
    const Uses& u = uses[t->id];
    const bool rows_of_16 = !t->shape.empty() && t->shape.back() * size_of(t->type) % 16 == 0;
    t->layout =
        (u.async || u.matrices) && rows_of_16 ? widest(*t) : layout::shared_row_major(t->shape, size_of(t->type));
  }
}

namespace {

[[noreturn]] void no_boxes(const tile::SharedView& view, SourceLoc loc, const std::string& call, const std::string& why,
                           std::string help) {
  const tile::SharedTensor& t = *view.tensor;
  throw Error(ErrorKind::user, loc,
              fmt::format("{}: {} of shape [{}] in layout {} is not a set of TMA boxes: {}", call, describe(t),
                          fmt::join(view.shape(), ", "), t.layout->to_string(), why),
              std::move(help), {{t.loc, fmt::format("{} is declared here", describe(t))}});
}

}  // namespace

std::int64_t box_extent(std::int64_t extent) {
  std::int64_t part = std::min(extent, max_box_extent);
  while (extent % part != 0) --part;
  return part;
}

std::vector<tile::Shape> box_origins(const tile::Shape& shape, const tile::Shape& box) {
  std::vector<tile::Shape> origins(1);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::vector<tile::Shape> longer;
    for (const tile::Shape& outer : origins) {
      for (std::int64_t at = 0; at < shape[d]; at += box[d]) {
        longer.push_back(outer);
        longer.back().push_back(at);
      }
    }
    origins = std::move(longer);
  }
  return origins;
}

BoxPlan plan_boxes(const tile::SharedView& view, SourceLoc loc, const std::string& call) {
  const SharedLayout l = layout_of(view, loc, call);
  const tile::Shape shape = view.shape();
  const std::size_t rank = shape.size();
  const auto groups = l.grouped_modes();
  if (rank == 0 || rank > 5)
    no_boxes(view, loc, call, fmt::format("rank {} is not 1..5", rank), "use 1 to 5 dimensions");
  // The innermost mode of the last dimension is a row of the box; other modes of that dimension select panels.
  std::int64_t row = 1;
  for (const std::int64_t m : groups[rank - 1]) {
    const auto mode = static_cast<std::size_t>(m);
    if (l.mode_strides()[mode] == 1) row = l.mode_shape()[mode];
  }
  BoxPlan plan;
  plan.box.assign(shape.begin(), shape.end());
  plan.box[rank - 1] = row;
  const std::int64_t row_bytes = row * l.element_bytes();
  const std::int64_t span = layout::swizzle_span(l.swizzle());
  if (row_bytes % 16 != 0) {
    no_boxes(view, loc, call, fmt::format("its rows are {} bytes, and a box row must be a multiple of 16", row_bytes),
             fmt::format("make the last extent a multiple of {}", 16 / l.element_bytes()));
  }
  if (span != 0 && row_bytes > span) {
    no_boxes(view, loc, call, fmt::format("a box row of {} bytes is wider than the {}-byte swizzle", row_bytes, span),
             "use a wider swizzle, or panels of one swizzle span");
  }
  if (row > max_box_extent) {
    no_boxes(view, loc, call, fmt::format("a box row of {} elements is over the limit of 256", row),
             "make the last extent at most 256 elements, or use a swizzled layout, which is split into panels");
  }
  // Inside a box memory order is row-major and dense.
  std::int64_t dense = row;
  for (std::size_t d = rank - 1; d-- > 0;) {
    if (shape[d] == 1) continue;
    if (groups[d].size() != 1 || l.mode_strides()[static_cast<std::size_t>(groups[d][0])] != dense) {
      no_boxes(view, loc, call, fmt::format("dimension {} does not follow its rows densely", d),
               "use the default layout, shared_row_major or a swizzled layout");
    }
    dense *= shape[d];
  }
  // Only the outermost extent can be cut without holes in memory.
  std::size_t outer = 0;
  while (outer + 1 < rank - 1 && shape[outer] == 1) ++outer;
  for (std::size_t d = 0; d + 1 < rank; ++d) {
    if (shape[d] <= max_box_extent) continue;
    const std::int64_t rows = box_extent(shape[d]);
    if (d != outer || (rows * row_bytes) % 128 != 0) {
      no_boxes(view, loc, call, fmt::format("extent {} of dimension {} is over the box limit of 256", shape[d], d),
               "make every extent at most 256");
    }
    plan.box[d] = rows;
  }
  for (const tile::Shape& origin : box_origins(shape, plan.box)) {
    plan.boxes.push_back({origin, l.linear_offset(origin) * l.element_bytes()});
  }
  return plan;
}

}  // namespace tessera::passes
