// wgmma: one tile product becomes instructions of 64 rows, 32 bytes of k and up to 256 columns.
#include <fmt/format.h>

#include <algorithm>

#include "layout/wgmma_layouts.hpp"
#include "lower/lowering.hpp"
#include "passes/shared_views.hpp"
#include "passes/walk.hpp"

namespace tessera::lower {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

// A shared operand as [rows, k] (B: transposed), with the part of its descriptor that all instructions share.
class Operand {
 public:
  Operand(Lowering& l, const tile::SharedView& view, bool is_b, std::int64_t rows, const tile::Wgmma& s)
      : l_(l), layout_(passes::layout_of(view, s.loc, "wgmma.mma")) {
    if (is_b) layout_ = layout_.permute({1, 0});
    std::string why;
    const auto operand = layout::wgmma_operand(layout_, rows, &why);
    if (!operand) {
      throw Error(ErrorKind::user, s.loc,
                  fmt::format("wgmma.mma cannot read {} = {} in layout {}: {}", is_b ? "b" : "a",
                              passes::describe(*view.tensor), view.tensor->layout->to_string(), why),
                  "leave the tile's layout to inference; its contiguous dimension must be a multiple of 32 bytes, and "
                  "parts of it whole panels",
                  {{view.tensor->loc, "declared here"}});
    }
    operand_ = *operand;
    const bool inside_row = !operand_.mn_major;
    const Expr* offset = passes::engine_offset(l.x, view, s.loc, "wgmma.mma", inside_row);
    const Expr* address = l.x.add(l.shared(view.tensor->offset), l.x.cast(DType::u32, offset));
    // The address has 18 bits, so that what is added to it cannot reach the offset above it.
    const Expr* low = l.x.add(l.x.div(address, 16), operand_.low_bits());
    low_ = l.let(s.loc, is_b ? "b_matrix" : "a_matrix", low);
  }

  // The descriptor of the instruction whose first element is [row, k].
  thread::MatrixDescriptor at(std::int64_t row, std::int64_t k) const {
    const std::int64_t index[] = {row, k};
    return {l_.x.add(low_, layout_.linear_offset(index) * layout_.element_bytes() / 16), operand_.high_bits()};
  }
  bool mn_major() const { return operand_.mn_major; }
  std::int64_t block() const { return operand_.block; }

 private:
  Lowering& l_;
  layout::SharedLayout layout_;
  layout::WgmmaOperand operand_;
  const Expr* low_ = nullptr;
};

}  // namespace

void lower_wgmma(Lowering& l, const tile::Wgmma& s) {
  const DType a_type = s.a != nullptr ? s.a->tensor->type : s.a_registers->type;
  const DType b_type = s.b->tensor->type;
  const std::int64_t m = s.acc->shape[0], n = s.acc->shape[1], k = s.b->shape()[0];
  const std::int64_t k_step = layout::wgmma_k_bytes / size_of(b_type);
  const RegArray* acc = l.registers(s.acc, s.loc);
  const RegArray* a_registers = s.a_registers != nullptr ? l.registers(s.a_registers, s.loc) : nullptr;
  std::optional<Operand> a;
  if (s.a != nullptr) a.emplace(l, *s.a, false, layout::wgmma_m, s);
  const Operand b(l, *s.b, true, std::min<std::int64_t>(n, 256), s);
  const auto columns = layout::wgmma_columns(n, is_integer(b_type), b.block());
  for (std::int64_t step = 0; step < k / k_step; ++step) {
    for (std::int64_t row = 0; row < m / layout::wgmma_m; ++row) {
      std::int64_t column = 0;
      for (const std::int64_t width : columns) {
        auto* mma = l.emit<thread::Wgmma>(s.loc, a_type, b_type, s.acc->type, static_cast<int>(width),
                                          thread::RegRef{acc, l.x.i32((row * n + column) / 2)});
        if (a) {
          mma->a = a->at(row * layout::wgmma_m, step * k_step);
          mma->a_mn_major = a->mn_major();
        } else {
          const std::int64_t elements = 16 / size_of(a_type);
          mma->a_registers = {a_registers, l.x.i32((row * (k / k_step) + step) * elements)};
        }
        mma->b = b.at(column, step * k_step);
        mma->b_mn_major = b.mn_major();
        if (step == 0 && !s.accumulate->is_constant(1)) mma->accumulate = s.accumulate;
        mma->negate_a = s.negate_a;
        mma->negate_b = s.negate_b;
        column += width;
      }
    }
  }
}

void lower_wgmma_wait(Lowering& l, const tile::WgmmaWait& s) {
  std::vector<const RegArray*> results;
  for (std::size_t i = 0; i < l.wgmmas.size(); ++i) {
    if (!(l.wgmma_groups[i] == l.group)) continue;
    const RegArray* array = l.registers(l.wgmmas[i]->acc, s.loc);
    if (std::find(results.begin(), results.end(), array) == results.end()) results.push_back(array);
  }
  l.emit<thread::WgmmaWait>(s.loc, s.pending, std::move(results));
}

}  // namespace tessera::lower
