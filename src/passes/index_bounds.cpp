#include "passes/index_bounds.hpp"

#include <fmt/format.h>

#include "passes/walk.hpp"

namespace tessera::passes {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

std::string begin_again(std::int64_t count) {
  return fmt::format("let the index begin again at 0 after {}: i % {}", count - 1, count);
}

void add_view(const tile::SharedView& view, std::vector<IndexUse>& out) {
  for (std::size_t d = 0; d < view.origin.size(); ++d) {
    const std::int64_t places = view.tensor->shape[d] - view.extents[d] + 1;
    const Expr* origin = view.origin[d];
    if (origin->low >= 0 && origin->high < places) continue;
    const bool part = view.extents[d] > 1;
    out.push_back({origin, places, part ? "a part from element" : "element",
                   fmt::format("in dimension {} of {}", d, describe(*view.tensor)),
                   part ? "keep the part within the tile" : begin_again(places), view.tensor->loc});
  }
}

const tile::BarrierRef* barrier_of(const Stmt* stmt) {
  if (const auto* s = as<tile::ArriveBarrier>(stmt)) return &s->barrier;
  if (const auto* s = as<tile::ArriveExpectTx>(stmt)) return &s->barrier;
  if (const auto* s = as<tile::WaitBarrier>(stmt)) return &s->barrier;
  if (const auto* s = as<tile::TmaLoad>(stmt)) return &s->barrier;
  return nullptr;
}

}  // namespace

std::vector<IndexUse> uncertain_indices(const Stmt* stmt) {
  std::vector<IndexUse> result;
  for (const SharedUse& use : generic_shared_uses(stmt)) add_view(*use.view, result);
  for (const SharedUse& use : async_shared_uses(stmt)) add_view(*use.view, result);
  if (const tile::BarrierRef* barrier = barrier_of(stmt)) {
    const auto count = static_cast<std::int64_t>(barrier->array->counts.size());
    if (barrier->index->low < 0 || barrier->index->high >= count) {
      result.push_back({barrier->index, count, "mbarrier", "of " + describe(*barrier->array), begin_again(count),
                        barrier->array->loc});
    }
  }
  return result;
}

}  // namespace tessera::passes
