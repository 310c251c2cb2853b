#include "passes/shared_views.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "passes/walk.hpp"
#include "tessera/core/error.hpp"

namespace tessera::passes {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

[[noreturn]] void bad_box(const tile::SharedView& view, SourceLoc loc, const std::string& call, const std::string& why,
                          std::string help) {
  throw Error(ErrorKind::user, loc, fmt::format("{}: the part of {} {}", call, describe(*view.tensor), why),
              std::move(help), {{view.tensor->loc, fmt::format("{} is declared here", describe(*view.tensor))}});
}

bool is_multiple(const Expr* e, std::int64_t of) { return e->divisor % of == 0; }

// Elements from the tensor's first to the box's first along one dimension.
const Expr* along(ExprPool& x, const tile::SharedView& view, std::size_t d) {
  const layout::SharedLayout& l = *view.tensor->layout;
  const Expr* sum = x.i32(0);
  std::int64_t below = 1;
  const auto groups = l.grouped_modes();
  for (auto it = groups[d].rbegin(); it != groups[d].rend(); ++it) {
    const auto mode = static_cast<std::size_t>(*it);
    const bool outermost = it + 1 == groups[d].rend();
    const Expr* part = x.div(view.origin[d], below);
    if (!outermost) part = x.mod(part, l.mode_shape()[mode]);
    sum = x.add(sum, x.mul(part, l.mode_strides()[mode]));
    below *= l.mode_shape()[mode];
  }
  return sum;
}

}  // namespace

std::optional<layout::SharedLayout> layout_in(const tile::SharedView& view, const layout::SharedLayout& tensor) {
  const auto box = tensor.box(view.extents);
  if (!box) return std::nullopt;
  // Dimensions that the view drops have extent 1 and no mode left: they go to the front, and off.
  std::vector<std::int64_t> order, kept;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(view.extents.size()); ++d) {
    if (std::find(view.dims.begin(), view.dims.end(), d) == view.dims.end()) order.push_back(d);
  }
  for (const std::int64_t d : view.dims) {
    kept.push_back(static_cast<std::int64_t>(order.size()));
    order.push_back(d);
  }
  return box->permute(order).slice(kept);
}

layout::SharedLayout layout_of(const tile::SharedView& view, SourceLoc loc, const std::string& call) {
  const layout::SharedLayout& l = *view.tensor->layout;
  const auto result = layout_in(view, l);
  if (!result) {
    bad_box(view, loc, call,
            fmt::format("of extents [{}] is not made of whole panels of its layout {}", fmt::join(view.extents, ", "),
                        l.to_string()),
            "take parts that are multiples, or divisors, of the swizzle's row");
  }
  for (std::size_t d = 0; d < view.extents.size(); ++d) {
    const std::int64_t step = l.box_step(d, view.extents[d]);
    if (is_multiple(view.origin[d], step)) continue;
    bad_box(view, loc, call,
            fmt::format("begins at {} in dimension {}, which is not known to be a multiple of {}",
                        to_string(view.origin[d]), d, step),
            "take part i of equal parts, with split(dimension, parts)[i]");
  }
  return *result;
}

const Expr* offset_of(ExprPool& x, const tile::SharedView& view) {
  const Expr* sum = x.i32(0);
  for (std::size_t d = 0; d < view.origin.size(); ++d) sum = x.add(sum, along(x, view, d));
  return x.mul(sum, size_of(view.tensor->type));
}

const Expr* engine_offset(ExprPool& x, const tile::SharedView& view, SourceLoc loc, const std::string& call,
                          bool inside_row) {
  const layout::SharedLayout& l = *view.tensor->layout;
  const bool plain = l.swizzle() == layout::SwizzleMode::none;
  const std::int64_t period = plain ? 128 : layout::swizzle_period(l.swizzle());
  for (std::size_t d = 0; d < view.origin.size(); ++d) {
    const Expr* bytes = x.mul(along(x, view, d), l.element_bytes());
    if (is_multiple(bytes, period)) continue;
    const std::int64_t row = layout::swizzle_span(l.swizzle());
    if (inside_row && !plain && bytes->low >= 0 && bytes->high < row && is_multiple(bytes, 32)) continue;
    bad_box(view, loc, call,
            fmt::format("begins {} bytes into the tile in dimension {}, not at a multiple of {}", to_string(bytes), d,
                        period),
            fmt::format("the engine needs the part to begin where the pattern of {} bytes does: cut at multiples of "
                        "8 rows of whole panels",
                        period));
  }
  return offset_of(x, view);
}

std::vector<const Expr*> tensor_index(ExprPool& x, const tile::SharedView& view,
                                      const std::vector<const Expr*>& index) {
  std::vector<const Expr*> result = view.origin;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const auto d = static_cast<std::size_t>(view.dims[i]);
    result[d] = x.add(result[d], index[i]);
  }
  return result;
}

}  // namespace tessera::passes
