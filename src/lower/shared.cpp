// Loads and stores of shared tiles: ldmatrix where layout and tile allow it, else vectors.
#include <fmt/format.h>

#include <numeric>

#include "lower/fragments.hpp"
#include "lower/index_math.hpp"
#include "lower/lowering.hpp"
#include "passes/walk.hpp"

namespace tessera::lower {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

// The tile as ldmatrix sees it: rows of 16 contiguous bytes.
layout::SharedLayout row_view(const tile::SharedTensor& t, bool swapped) {
  return swapped ? t.layout->permute({1, 0}) : *t.layout;
}

}  // namespace

void emit_ldmatrix(Lowering& l, const tile::LoadShared& load, const passes::LdMatrixPlan& plan, const Expr* first,
                   int matrices, thread::RegRef dst) {
  ExprPool& x = l.x;
  // Lanes 8i..8i+7 give the rows of matrix i; lanes beyond the last matrix repeat valid addresses.
  const Expr* which = x.mod(x.div(l.lane(), 8), matrices);
  auto index = element_index(x, plan.blocks, x.add(first, which), l.warp_in_group());
  index[0] = x.add(x.mul(index[0], 8), x.mod(l.lane(), 8));
  index[1] = x.mul(index[1], 8);
  const Expr* offset = shared_offset(x, row_view(*load.src, plan.swapped), index);
  l.emit<thread::LdMatrix>(load.loc, dst, matrices, plan.transposed, x.add(l.shared(load.src->offset), offset));
}

int ldmatrix_conflicts(const tile::LoadShared& load, const passes::LdMatrixPlan& plan) {
  const layout::SharedLayout rows = row_view(*load.src, plan.swapped);
  int total = 0;
  for (std::int64_t warp = 0; warp < plan.blocks.spatial_size(); ++warp) {
    for (std::int64_t matrix = 0; matrix < plan.blocks.local_size(); ++matrix) {
      const auto block = plan.blocks.global_index(matrix, warp);
      std::int64_t addresses[8];
      for (std::int64_t row = 0; row < 8; ++row) {
        const std::int64_t index[] = {block[0] * 8 + row, block[1] * 8};
        addresses[row] = load.src->offset + rows.byte_offset(index);
      }
      total += layout::bank_conflicts(addresses, 16);
    }
  }
  return total;
}

void describe_ldmatrix(Lowering& l, const tile::LoadShared& load, const passes::LdMatrixPlan& plan,
                       const std::string& how) {
  const int conflicts = ldmatrix_conflicts(load, plan);
  l.comment(load.loc,
            fmt::format("{} of {}: ldmatrix{}, {}", how, passes::describe(*load.src), plan.transposed ? ".trans" : "",
                        conflicts == 0 ? "conflict-free" : fmt::format("{} bank conflicts", conflicts)));
  if (conflicts == 0) return;
  l.remarks.push_back({load.loc,
                       fmt::format("ldmatrix of {} has {} shared-memory bank conflicts over all warps",
                                   passes::describe(*load.src), conflicts),
                       "make its rows a multiple of 128 bytes, so that the widest swizzle applies",
                       {{load.src->loc, "declared here"}}});
}

void lower_load_shared(Lowering& l, const tile::LoadShared& s) {
  if (s.streamed) {
    l.streamed[s.out->id] = &s;
    return;
  }
  const RegArray* array = l.registers(s.out, s.loc);
  if (const auto plan = passes::plan_ldmatrix(*s.out, *s.src, *s.src->layout)) {
    describe_ldmatrix(l, s, *plan, "all");
    const std::int64_t blocks = plan->blocks.local_size();
    const int together = blocks % 4 == 0 ? 4 : (blocks % 2 == 0 ? 2 : 1);
    l.for_each_register(s.loc, blocks, together, [&](const Expr* first) {
      emit_ldmatrix(l, s, *plan, first, together, {array, l.x.mul(first, 2)});
    });
    return;
  }
  const std::size_t inner = s.src->shape.size() - 1;
  const std::int64_t vector = std::gcd(contiguous_bytes(*s.src->layout, inner) / size_of(s.src->type),
                                       consecutive_registers(*s.out->layout, inner));
  const Expr* thread = l.thread_in_group();
  l.for_each_register(s.loc, array->size, vector, [&](const Expr* r) {
    const auto index = element_index(l.x, *s.out->layout, r, thread);
    const Expr* address = l.x.add(l.shared(s.src->offset), shared_offset(l.x, *s.src->layout, index));
    l.emit<thread::LoadSharedVector>(s.loc, thread::RegRef{array, r}, static_cast<int>(vector), address);
  });
}

void lower_store_shared(Lowering& l, const tile::StoreShared& s) {
  const RegArray* array = l.registers(s.src, s.loc);
  const std::size_t inner = s.dst->shape.size() - 1;
  const std::int64_t vector = std::gcd(contiguous_bytes(*s.dst->layout, inner) / size_of(s.dst->type),
                                       consecutive_registers(*s.src->layout, inner));
  const Expr* thread = l.thread_in_group();
  const Expr* first = is_first_replica(l.x, *s.src->layout, thread);
  l.for_each_register(s.loc, array->size, vector, [&](const Expr* r) {
    const auto index = element_index(l.x, *s.src->layout, r, thread);
    const Expr* address = l.x.add(l.shared(s.dst->offset), shared_offset(l.x, *s.dst->layout, index));
    l.emit<thread::StoreSharedVector>(s.loc, thread::RegRef{array, r}, static_cast<int>(vector), address, first);
  });
}

}  // namespace tessera::lower
