#include "passes/access.hpp"

namespace tessera::passes {

int contiguous_dim(const ir::tile::GlobalView& view) {
  for (int d = static_cast<int>(view.strides.size()) - 1; d >= 0; --d) {
    if (view.strides[static_cast<std::size_t>(d)]->is_constant(1)) return d;
  }
  return -1;
}

std::int64_t vector_width(const ir::tile::Kernel& kernel, const ir::tile::GlobalView& view,
                          const std::vector<const ir::Expr*>& offsets) {
  const int inner = contiguous_dim(view);
  if (inner < 0) return 1;
  const std::int64_t bytes = size_of(view.type);
  const auto divides = [](std::int64_t v, const ir::Expr* e) { return e->divisor % v == 0; };
  std::int64_t v = 16 / bytes;
  for (; v > 1; v /= 2) {
    if (kernel.params[view.param].alignment < v * bytes || !divides(v, view.base_offset)) continue;
    const auto d = static_cast<std::size_t>(inner);
    bool ok = divides(v, view.shape[d]) && divides(v, offsets[d]);
    for (std::size_t other = 0; ok && other < view.strides.size(); ++other) {
      if (other != d) ok = divides(v, view.strides[other]);
    }
    if (ok) break;
  }
  return v;
}

}  // namespace tessera::passes
