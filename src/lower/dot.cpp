// dot on the tensor cores: mma.sync.m16n8k16 over a warp's tile, operands from registers or fetched as they are needed.
#include "lower/fragments.hpp"
#include "lower/lowering.hpp"
#include "passes/shared_views.hpp"

namespace tessera::lower {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

// An operand whose fragments are numbered `row * columns + column` in register order.
struct Operand {
  const RegArray* registers = nullptr;
  const tile::LoadShared* load = nullptr;  // not null: fetch fragments from here, to `registers`
  passes::LdMatrixPlan plan;
  int matrices = 0;  // 8x8 matrices a fragment: 4 of A, 2 of B
};

Operand make_operand(Lowering& l, const tile::RegisterTensor* t, int matrices, std::int64_t fragments, SourceLoc loc) {
  Operand o;
  o.matrices = matrices;
  o.load = l.streamed[t->id];
  if (o.load == nullptr) {
    o.registers = l.registers(t, loc);
    return o;
  }
  o.plan = *passes::plan_ldmatrix(*o.load->out, passes::layout_of(*o.load->src, o.load->loc, "load_shared()"));
  describe_matrices(l, *o.load->src, o.load->loc, o.plan, "fragments", "ldmatrix");
  o.registers = l.context.new_regs(t->type, static_cast<std::uint32_t>(fragments * matrices * 2),
                                   (o.load->out->name.empty() ? "operand" : o.load->out->name) + "_fragment", loc);
  l.emit<thread::DeclareRegs>(loc, o.registers);
  return o;
}

// Loads `count` fragments to the operand's first registers; the i-th of them is number `number(i)` of the tile.
// `adjacent`: these numbers follow each other, so that two fragments of B come with one ldmatrix.x4.
template <class F>
void fetch(Lowering& l, const Operand& o, std::int64_t count, bool adjacent, F number) {
  if (o.load == nullptr) return;
  const std::int64_t pair = adjacent && o.matrices == 2 && count > 1 ? 2 : 1;
  const auto load = [&](const Expr* i, std::int64_t fragments) {
    const int matrices = static_cast<int>(fragments * o.matrices);
    emit_ldmatrix(l, *o.load, o.plan, l.x.mul(number(i), o.matrices), matrices,
                  {o.registers, l.x.mul(i, std::int64_t{2} * o.matrices)});
  };
  l.for_each_register(o.load->loc, count / pair * pair, pair, [&](const Expr* i) { load(i, pair); });
  if (count % pair != 0) load(l.x.i32(count - 1), 1);
}

// One warp's tile of a dot: rows x columns fragments of the accumulator, `steps` of k. In register order A's fragments
// are numbered row * steps + k, B's k * columns + column, the accumulator's row * columns + column.
class WarpTile {
 public:
  WarpTile(Lowering& l, const tile::Dot& s)
      : l_(l),
        s_(s),
        steps_(s.a->shape[1] / 16),
        rows_(s.a->layout->local_size() / 8 / steps_),
        columns_(s.b->layout->local_size() / 4 / steps_),
        // The operand with fewer registers is held for a whole k step and the other passes by in groups of one
        // ldmatrix.x4, so that few registers are taken beside the accumulator.
        hold_b_(columns_ * 2 <= rows_ * 4),
        group_(hold_b_ ? 1 : (columns_ % 2 == 0 ? 2 : 1)),
        a_(make_operand(l, s.a, 4, hold_b_ ? group_ : rows_, s.loc)),
        b_(make_operand(l, s.b, 2, hold_b_ ? columns_ : group_, s.loc)),
        acc_(l.registers(s.acc, s.loc)) {}

  void emit() {
    l_.for_each_register(s_.loc, steps_, 1, [&](const Expr* k) { hold_b_ ? rows_of(k) : columns_of(k); });
  }

 private:
  const Expr* a_number(const Expr* row, const Expr* k) { return l_.x.add(l_.x.mul(row, steps_), k); }
  const Expr* b_number(const Expr* k, const Expr* column) { return l_.x.add(l_.x.mul(k, columns_), column); }

  void rows_of(const Expr* k) {
    fetch(l_, b_, columns_, true, [&](const Expr* j) { return b_number(k, j); });
    l_.for_each_register(s_.loc, rows_, 1, [&](const Expr* i) {
      fetch(l_, a_, 1, false, [&](const Expr*) { return a_number(i, k); });
      l_.for_each_register(s_.loc, columns_, 1, [&](const Expr* j) { mma(k, i, j, l_.x.i32(0), j); });
    });
  }
  void columns_of(const Expr* k) {
    fetch(l_, a_, rows_, steps_ == 1, [&](const Expr* i) { return a_number(i, k); });
    l_.for_each_register(s_.loc, columns_, group_, [&](const Expr* first) {
      fetch(l_, b_, group_, true, [&](const Expr* j) { return b_number(k, l_.x.add(first, j)); });
      l_.for_each_register(s_.loc, rows_, 1, [&](const Expr* i) {
        l_.for_each_register(s_.loc, group_, 1, [&](const Expr* j) { mma(k, i, l_.x.add(first, j), i, j); });
      });
    });
  }

  // `a_at`, `b_at`: where fetched fragments are; an operand that is whole in registers is found by its number.
  void mma(const Expr* k, const Expr* row, const Expr* column, const Expr* a_at, const Expr* b_at) {
    ExprPool& x = l_.x;
    const Expr* a = a_.load != nullptr ? a_at : a_number(row, k);
    const Expr* b = b_.load != nullptr ? b_at : b_number(k, column);
    l_.emit<thread::MmaSync>(s_.loc, s_.a->type, s_.acc->type,
                             thread::RegRef{acc_, x.mul(x.add(x.mul(row, columns_), column), 4)},
                             thread::RegRef{a_.registers, x.mul(a, 8)}, thread::RegRef{b_.registers, x.mul(b, 4)});
  }

  Lowering& l_;
  const tile::Dot& s_;
  std::int64_t steps_, rows_, columns_;
  bool hold_b_;
  std::int64_t group_;  // fragments of the other operand that come at once
  Operand a_, b_;
  const RegArray* acc_;
};

}  // namespace

void lower_dot(Lowering& l, const tile::Dot& s) { WarpTile(l, s).emit(); }

}  // namespace tessera::lower
