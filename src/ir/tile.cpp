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

}  // namespace tessera::ir::tile
