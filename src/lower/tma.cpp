// mbarriers and TMA copies.
#include <fmt/format.h>

#include <algorithm>

#include "lower/lowering.hpp"
#include "passes/shared_layouts.hpp"
#include "passes/walk.hpp"

namespace tessera::lower {

using namespace ir;  // NOLINT(google-build-using-namespace)

void lower_arrive(Lowering& l, const tile::ArriveBarrier& s) {
  l.emit<thread::MbarrierArrive>(s.loc, l.barrier_address(s.barrier), static_cast<std::uint32_t>(s.count));
}

void lower_arrive_expect_tx(Lowering& l, const tile::ArriveExpectTx& s) {
  l.emit<thread::MbarrierArriveExpectTx>(s.loc, l.barrier_address(s.barrier), s.bytes);
}

void lower_wait(Lowering& l, const tile::WaitBarrier& s) {
  l.emit<thread::MbarrierWait>(s.loc, l.barrier_address(s.barrier), s.phase);
}

namespace {

[[noreturn]] void bad_view(const tile::TmaLoad& s, const std::string& problem, std::string help) {
  throw Error(ErrorKind::user, s.loc,
              fmt::format("tma.global_to_shared: the view {} {}", passes::describe(*s.src), problem), std::move(help),
              {{s.src->loc, fmt::format("{} is declared here", passes::describe(*s.src))}});
}

// The rules of cuTensorMapEncodeTiled that the program alone decides; the launch checks the rest with the values at
// hand.
void check_view(const tile::TmaLoad& s) {
  const tile::GlobalView& view = *s.src;
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

std::uint32_t tensor_map(Lowering& l, const tile::TmaLoad& s, const passes::BoxPlan& plan) {
  const tile::GlobalView& view = *s.src;
  ExprPool& x = l.x;
  thread::TensorMap map;
  map.param = view.param;
  map.type = view.type;
  map.base_offset = view.base_offset;
  map.swizzle = static_cast<thread::Swizzle>(s.dst->layout->swizzle());
  map.loc = s.loc;
  for (std::size_t d = view.shape.size(); d-- > 0;) {
    map.dims.push_back(view.shape[d]);
    if (d + 1 < view.shape.size()) map.strides_bytes.push_back(x.mul(view.strides[d], size_of(view.type)));
    map.box.push_back(static_cast<std::uint32_t>(plan.box[d]));
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

}  // namespace

void lower_tma_load(Lowering& l, const tile::TmaLoad& s) {
  ExprPool& x = l.x;
  check_view(s);
  const passes::BoxPlan plan = passes::plan_boxes(*s.dst, s.loc);
  const std::uint32_t map = tensor_map(l, s, plan);
  const Expr* one = l.group.count == 1 ? nullptr : x.leaf(ExprKind::elect_one, DType::boolean);
  l.when(s.loc, one, [&] {
    for (const auto& box : plan.boxes) {
      std::vector<const Expr*> coords;
      for (std::size_t d = box.origin.size(); d-- > 0;)
        coords.push_back(x.add(x.cast(DType::i32, s.offsets[d]), box.origin[d]));
      l.emit<thread::TmaLoadBox>(s.loc, map, l.shared(s.dst->offset + box.byte_offset), std::move(coords),
                                 l.barrier_address(s.barrier));
    }
  });
}

}  // namespace tessera::lower
