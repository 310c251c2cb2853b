#include "ir/tile.hpp"

namespace tessera::ir::tile {

std::int64_t SharedTensor::bytes() const {
  if (layout) return layout->bytes();
  std::int64_t n = size_of(type);
  for (const std::int64_t extent : shape) n *= extent;
  return n;
}

RegisterTensor* Kernel::new_register(DType type, Shape shape, std::string name, SourceLoc loc, Group group) {
  RegisterTensor tensor{};
  tensor.id = static_cast<std::uint32_t>(registers.size());
  tensor.type = type;
  tensor.shape = std::move(shape);
  tensor.name = std::move(name);
  tensor.loc = loc;
  tensor.group = group;
  registers.push_back(context->arena.make<RegisterTensor>(std::move(tensor)));
  return registers.back();
}

SharedTensor* Kernel::new_shared(DType type, Shape shape, std::string name, SourceLoc loc) {
  SharedTensor tensor{};
  tensor.id = static_cast<std::uint32_t>(shared.size());
  tensor.type = type;
  tensor.shape = std::move(shape);
  tensor.name = std::move(name);
  tensor.loc = loc;
  shared.push_back(context->arena.make<SharedTensor>(std::move(tensor)));
  return shared.back();
}

Shape SharedView::shape() const {
  Shape result;
  for (const std::int64_t d : dims) {
    const auto dim = static_cast<std::size_t>(d);
    result.push_back(dim < extents.size() ? extents[dim] : 0);  // one that is not there is the verifier's to report
  }
  return result;
}

std::int64_t SharedView::bytes() const {
  std::int64_t n = size_of(tensor->type);
  for (const std::int64_t extent : extents) n *= extent;
  return n;
}

SharedView* Kernel::new_shared_view(SharedView view) { return context->arena.make<SharedView>(std::move(view)); }

SharedView* Kernel::whole(SharedTensor* tensor) {
  SharedView view;
  view.tensor = tensor;
  view.extents = tensor->shape;
  for (std::size_t d = 0; d < tensor->shape.size(); ++d) {
    view.origin.push_back(context->expr.i32(0));
    view.dims.push_back(static_cast<std::int64_t>(d));
  }
  return new_shared_view(std::move(view));
}

GlobalView* Kernel::new_view(GlobalView view) {
  view.id = static_cast<std::uint32_t>(views.size());
  views.push_back(context->arena.make<GlobalView>(std::move(view)));
  return views.back();
}

BarrierArray* Kernel::new_barriers(std::vector<std::int64_t> counts, std::string name, SourceLoc loc) {
  BarrierArray array{};
  array.id = static_cast<std::uint32_t>(barriers.size());
  array.counts = std::move(counts);
  array.name = std::move(name);
  array.loc = loc;
  barriers.push_back(context->arena.make<BarrierArray>(std::move(array)));
  return barriers.back();
}

NamedBarrier* Kernel::new_named_barrier(int threads, std::string name, SourceLoc loc) {
  NamedBarrier barrier{};
  barrier.id = static_cast<std::uint32_t>(named_barriers.size());
  barrier.threads = threads;
  barrier.name = std::move(name);
  barrier.loc = loc;
  named_barriers.push_back(context->arena.make<NamedBarrier>(std::move(barrier)));
  return named_barriers.back();
}

}  // namespace tessera::ir::tile
