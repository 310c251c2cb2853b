// Copies of the TMA engine: loads, stores, reductions and prefetches of boxes.
#include <fmt/format.h>

#include <functional>

#include "lower/lowering.hpp"
#include "passes/shared_layouts.hpp"
#include "passes/shared_views.hpp"
#include "passes/walk.hpp"

namespace tessera::lower {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

// What the instructions have in common: a box of a view, and the call as the user wrote it.
struct Copy {
  const char* call;
  SourceLoc loc;
  const tile::GlobalView& view;
  const std::vector<const Expr*>& offsets;
};

[[noreturn]] void bad_view(const Copy& s, const std::string& problem, std::string help) {
  throw Error(ErrorKind::user, s.loc, fmt::format("{}: the view {} {}", s.call, passes::describe(s.view), problem),
              std::move(help), {{s.view.loc, fmt::format("{} is declared here", passes::describe(s.view))}});
}

// The rules of cuTensorMapEncodeTiled that the program alone decides; the launch checks the rest with the values at
// hand.
void check_view(const Copy& s) {
  const tile::GlobalView& view = s.view;
  const std::size_t rank = view.shape.size();
  const std::int64_t bytes = size_of(view.type);
  if (!view.strides[rank - 1]->is_constant(1)) {
    bad_view(s, fmt::format("has stride {} in its last dimension; TMA needs 1", to_string(view.strides[rank - 1])),
             "order the dimensions so that the contiguous one is the last");
  }
  const auto host = [&](const Expr* e) {
    if (!is_host_computable(e)) {
      bad_view(
          s,
          fmt::format("has an extent, stride or offset ({}) that is not affine in the kernel's parameters",
                      to_string(e)),
          "a TMA descriptor is made before the launch: use only kernel parameters and constants in global_view, and "
          "put what varies into the copy's offsets");
    }
  };
  host(view.base_offset);
  for (std::size_t d = 0; d < rank; ++d) {
    host(view.shape[d]);
    host(view.strides[d]);
    const Expr* stride = view.strides[d];
    if (d + 1 < rank && stride->is_constant() && stride->integer * bytes % 16 != 0) {
      bad_view(s,
               fmt::format("has a stride of {} bytes in dimension {}; TMA needs a multiple of 16",
                           stride->integer * bytes, d),
               fmt::format("pad the rows to a multiple of {} elements, or copy with load_global and store_shared",
                           16 / bytes));
    }
  }
}

std::uint32_t tensor_map(Lowering& l, const Copy& s, const std::vector<std::int64_t>& box,
                         layout::SwizzleMode swizzle) {
  const tile::GlobalView& view = s.view;
  ExprPool& x = l.x;
  thread::TensorMap map;
  map.param = view.param;
  map.type = view.type;
  map.base_offset = view.base_offset;
  map.swizzle = static_cast<thread::Swizzle>(swizzle);
  map.loc = s.loc;
  map.view_loc = view.loc;
  for (std::size_t d = view.shape.size(); d-- > 0;) {
    map.dims.push_back(view.shape[d]);
    if (d + 1 < view.shape.size()) map.strides_bytes.push_back(x.mul(view.strides[d], size_of(view.type)));
    map.box.push_back(static_cast<std::uint32_t>(box[d]));
  }
  for (std::size_t i = 0; i < l.out.tensor_maps.size(); ++i) {
    const thread::TensorMap& other = l.out.tensor_maps[i];
    if (other.param == map.param && other.type == map.type && other.base_offset == map.base_offset &&
        other.dims == map.dims && other.strides_bytes == map.strides_bytes && other.box == map.box &&
        other.swizzle == map.swizzle)
      return static_cast<std::uint32_t>(i);
  }
  map.name = (view.name.empty() ? "view" + std::to_string(view.id) : view.name) + "_map";
  l.out.tensor_maps.push_back(std::move(map));
  return static_cast<std::uint32_t>(l.out.tensor_maps.size() - 1);
}

std::vector<const Expr*> coordinates(Lowering& l, const Copy& s, const std::vector<std::int64_t>& origin) {
  std::vector<const Expr*> coords;
  for (std::size_t d = origin.size(); d-- > 0;) {
    coords.push_back(l.x.add(l.x.cast(DType::i32, s.offsets[d]), origin[d]));
  }
  return coords;
}

// What `body` emits is done by one thread of the group, elected where it has several.
void one_thread(Lowering& l, SourceLoc loc, const std::function<void()>& body) {
  l.when(loc, l.group.count == 1 ? nullptr : l.x.leaf(ExprKind::elect_one, DType::boolean), body);
}

// issue(map, shared address, coordinates) for each box, in one thread of the group.
void for_each_box(Lowering& l, const Copy& s, const tile::SharedView& shared,
                  const std::function<void(std::uint32_t, const Expr*, std::vector<const Expr*>)>& issue) {
  check_view(s);
  const passes::BoxPlan plan = passes::plan_boxes(shared, s.loc, s.call);
  const std::uint32_t map = tensor_map(l, s, plan.box, shared.tensor->layout->swizzle());
  const Expr* offset = passes::engine_offset(l.x, shared, s.loc, s.call);
  const Expr* first = l.x.add(l.shared(shared.tensor->offset), l.x.cast(DType::u32, offset));
  one_thread(l, s.loc, [&] {
    if (plan.boxes.size() > 1) first = l.let(s.loc, "tile", first);
    for (const auto& box : plan.boxes) issue(map, l.x.add(first, box.byte_offset), coordinates(l, s, box.origin));
  });
}

}  // namespace

void lower_tma_load(Lowering& l, const tile::TmaLoad& s) {
  const Copy copy{"tma.global_to_shared", s.loc, *s.src, s.offsets};
  for_each_box(l, copy, *s.dst, [&](std::uint32_t map, const Expr* address, std::vector<const Expr*> coords) {
    auto* box = l.emit<thread::TmaLoadBox>(s.loc, map, address, std::move(coords), l.barrier_address(s.barrier));
    box->multicast = s.multicast;
    box->hint = s.hint;
  });
}

void lower_tma_store(Lowering& l, const tile::TmaStore& s) {
  const Copy copy{s.add ? "tma.reduce_add" : "tma.shared_to_global", s.loc, *s.dst, s.offsets};
  for_each_box(l, copy, *s.src, [&](std::uint32_t map, const Expr* address, std::vector<const Expr*> coords) {
    auto* box = l.emit<thread::TmaStoreBox>(s.loc, map, address, std::move(coords), s.add);
    box->hint = s.hint;
  });
  l.out.written_params.push_back(s.dst->param);
}

void lower_tma_prefetch(Lowering& l, const tile::TmaPrefetch& s) {
  const Copy copy{"tma.prefetch", s.loc, *s.src, s.offsets};
  check_view(copy);
  tile::Shape box;
  for (const std::int64_t extent : s.extents) box.push_back(passes::box_extent(extent));
  const std::uint32_t map = tensor_map(l, copy, box, layout::SwizzleMode::none);
  one_thread(l, s.loc, [&] {
    for (const tile::Shape& origin : passes::box_origins(s.extents, box)) {
      l.emit<thread::TmaPrefetchBox>(s.loc, map, coordinates(l, copy, origin));
    }
  });
}

}  // namespace tessera::lower
