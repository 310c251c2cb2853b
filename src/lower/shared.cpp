// Loads and stores of shared tiles: ldmatrix where layout and tile allow it, else vectors.
#include <fmt/format.h>

#include <numeric>
#include <optional>
#include <utility>

#include "lower/fragments.hpp"
#include "lower/index_math.hpp"
#include "lower/lowering.hpp"
#include "passes/shared_views.hpp"
#include "passes/walk.hpp"

namespace tessera::lower {

using namespace ir;  // NOLINT(google-build-using-namespace)

const Expr* matrix_row_address(Lowering& l, const tile::SharedView& view, const passes::LdMatrixPlan& plan,
                               const Expr* first, int matrices) {
  ExprPool& x = l.x;
  // Lanes 8i..8i+7 give the rows of matrix i; lanes beyond the last matrix repeat valid addresses.
  const Expr* which = x.mod(x.div(l.lane(), 8), matrices);
  auto index = element_index(x, plan.blocks, x.add(first, which), l.warp_in_group());
  index[0] = x.add(x.mul(index[0], 8), x.mod(l.lane(), 8));
  index[1] = x.mul(index[1], 8);
  if (plan.swapped) std::swap(index[0], index[1]);
  return l.element_address(view, index);
}

void emit_ldmatrix(Lowering& l, const tile::LoadShared& load, const passes::LdMatrixPlan& plan, const Expr* first,
                   int matrices, thread::RegRef dst) {
  l.emit<thread::LdMatrix>(load.loc, dst, matrices, plan.transposed,
                           matrix_row_address(l, *load.src, plan, first, matrices));
}

namespace {

// Extra shared-memory cycles of one warp's ldmatrix or stmatrix of all matrices, over all warps; 0 is conflict-free.
int matrix_conflicts(const layout::SharedLayout& view, std::int64_t offset, const passes::LdMatrixPlan& plan) {
  const layout::SharedLayout rows = plan.swapped ? view.permute({1, 0}) : view;
  int total = 0;
  for (std::int64_t warp = 0; warp < plan.blocks.spatial_size(); ++warp) {
    for (std::int64_t matrix = 0; matrix < plan.blocks.local_size(); ++matrix) {
      const auto block = plan.blocks.global_index(matrix, warp);
      std::int64_t addresses[8];
      for (std::int64_t row = 0; row < 8; ++row) {
        const std::int64_t index[] = {block[0] * 8 + row, block[1] * 8};
        addresses[row] = offset + rows.byte_offset(index);
      }
      total += layout::bank_conflicts(addresses, 16);
    }
  }
  return total;
}

}  // namespace

void describe_matrices(Lowering& l, const tile::SharedView& view, SourceLoc loc, const passes::LdMatrixPlan& plan,
                       const std::string& how, const char* instruction) {
  const tile::SharedTensor& t = *view.tensor;
  const int conflicts = matrix_conflicts(passes::layout_of(view, loc, instruction), t.offset, plan);
  l.comment(loc,
            fmt::format("{} of {}: {}{}, {}", how, passes::describe(t), instruction, plan.transposed ? ".trans" : "",
                        conflicts == 0 ? "conflict-free" : fmt::format("{} bank conflicts", conflicts)));
  if (conflicts == 0) return;
  l.remarks.push_back({loc,
                       fmt::format("{} of {} has {} shared-memory bank conflicts over all warps", instruction,
                                   passes::describe(t), conflicts),
                       "make its rows a multiple of 128 bytes, so that the widest swizzle applies",
                       {{t.loc, "declared here"}}});
}

namespace {

// The rank of the view's block in the cluster, null where it is this block.
const Expr* rank_of(Lowering& l, const tile::SharedView& view) {
  return view.cta == nullptr ? nullptr : l.x.cast(DType::u32, view.cta);
}

// ldmatrix and stmatrix reach this block's memory only.
std::optional<passes::LdMatrixPlan> plan_of(const tile::SharedView& view, const tile::RegisterTensor& registers,
                                            const layout::SharedLayout& layout) {
  if (view.cta != nullptr) return std::nullopt;
  return passes::plan_ldmatrix(registers, layout);
}

int matrices_together(std::int64_t blocks) { return blocks % 4 == 0 ? 4 : (blocks % 2 == 0 ? 2 : 1); }

// Elements that move at once between consecutive registers and memory along the view's last dimension.
std::int64_t vector_of(const layout::SharedLayout& view, const layout::RegisterLayout& registers, DType type) {
  const std::size_t inner = view.shape().size() - 1;
  return std::gcd(contiguous_bytes(view, inner) / size_of(type), consecutive_registers(registers, inner));
}

}  // namespace

void lower_load_shared(Lowering& l, const tile::LoadShared& s) {
  if (s.streamed) {
    l.streamed[s.out->id] = &s;
    return;
  }
  const RegArray* array = l.registers(s.out, s.loc);
  const layout::SharedLayout view = passes::layout_of(*s.src, s.loc, "load_shared()");
  if (const auto plan = plan_of(*s.src, *s.out, view)) {
    describe_matrices(l, *s.src, s.loc, *plan, "all", "ldmatrix");
    const std::int64_t blocks = plan->blocks.local_size();
    const int together = matrices_together(blocks);
    l.for_each_register(s.loc, blocks, together, [&](const Expr* first) {
      emit_ldmatrix(l, s, *plan, first, together, {array, l.x.mul(first, 2)});
    });
    return;
  }
  const std::int64_t vector = vector_of(view, *s.out->layout, s.out->type);
  const Expr* thread = l.thread_in_group();
  const Expr* cta = rank_of(l, *s.src);
  l.for_each_register(s.loc, array->size, vector, [&](const Expr* r) {
    const Expr* address = l.element_address(*s.src, element_index(l.x, *s.out->layout, r, thread));
    l.emit<thread::LoadSharedVector>(s.loc, thread::RegRef{array, r}, static_cast<int>(vector), address, cta);
  });
}

void lower_store_shared(Lowering& l, const tile::StoreShared& s) {
  const RegArray* array = l.registers(s.src, s.loc);
  const layout::SharedLayout view = passes::layout_of(*s.dst, s.loc, "store_shared()");
  if (const auto plan = plan_of(*s.dst, *s.src, view); plan && s.src->layout->replication() == 1) {
    describe_matrices(l, *s.dst, s.loc, *plan, "all", "stmatrix");
    const std::int64_t blocks = plan->blocks.local_size();
    const int together = matrices_together(blocks);
    l.for_each_register(s.loc, blocks, together, [&](const Expr* r) {
      l.emit<thread::StMatrix>(s.loc, thread::RegRef{array, l.x.mul(r, 2)}, together, plan->transposed,
                               matrix_row_address(l, *s.dst, *plan, r, together));
    });
    return;
  }
  const Expr* thread = l.thread_in_group();
  const Expr* first = is_first_replica(l.x, *s.src->layout, thread);
  const Expr* cta = rank_of(l, *s.dst);
  const std::int64_t vector = vector_of(view, *s.src->layout, s.src->type);
  l.for_each_register(s.loc, array->size, vector, [&](const Expr* r) {
    const Expr* address = l.element_address(*s.dst, element_index(l.x, *s.src->layout, r, thread));
    l.emit<thread::StoreSharedVector>(s.loc, thread::RegRef{array, r}, static_cast<int>(vector), address, first, cta);
  });
}

}  // namespace tessera::lower
