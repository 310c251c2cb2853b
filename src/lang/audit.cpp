#include "lang/audit.hpp"

#include <map>
#include <vector>

#include "ir/match.hpp"
#include "ir/tile_printer.hpp"

namespace tessera::lang {
namespace {

namespace tile = ir::tile;

// Walks two programs side by side. Objects defined in the compared part correspond by the place of their definition;
// others must be the same object.
class Comparer {
 public:
  Comparer(int skip_depth, bool same_kernel) : skip_depth_(skip_depth), same_kernel_(same_kernel) {}

  std::optional<Difference> blocks(const ir::Block& a, const ir::Block& b, int depth) {
    for (std::size_t i = 0; i < a.size() || i < b.size(); ++i) {
      if (i >= a.size()) return difference(nullptr, b[i]);
      if (i >= b.size()) return difference(a[i], nullptr);
      if (!statement(a[i], b[i])) return difference(a[i], b[i]);
      if (auto inner = children(a[i], b[i], depth + 1)) return inner;
    }
    return std::nullopt;
  }

 private:
  Difference difference(const ir::Stmt* a, const ir::Stmt* b) const {
    const auto text = [](const ir::Stmt* s) { return s != nullptr ? tile::statement_text(s) : std::string("nothing"); };
    return {(b != nullptr ? b : a)->loc, text(a), text(b), skipped_};
  }

  std::optional<Difference> children(const ir::Stmt* a, const ir::Stmt* b, int depth) {
    std::vector<const ir::Block*> first, second;
    ir::for_each_child_block(a, [&](const ir::Block& block) { first.push_back(&block); });
    ir::for_each_child_block(b, [&](const ir::Block& block) { second.push_back(&block); });
    if (!first.empty() && depth == skip_depth_) {
      skipped_ = a->loc;
      return std::nullopt;
    }
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (auto inner = blocks(*first[i], *second[i], depth)) return inner;
    }
    return std::nullopt;
  }

  template <class T>
  bool same(const T* a, const T* b) const {
    const auto it = twins_.find(a);
    if (it != twins_.end()) return it->second == b;
    return same_kernel_ && a == b;
  }
  template <class T>
  bool define(const T* a, const T* b) {
    twins_[a] = b;
    return a->type == b->type;
  }
  bool define(const tile::BarrierArray* a, const tile::BarrierArray* b) {
    twins_[a] = b;
    return a->counts == b->counts;
  }
  template <class T>
  bool define_tensor(const T* a, const T* b) {
    return define(a, b) && a->shape == b->shape && a->layout_pinned == b->layout_pinned &&
           (!a->layout_pinned || *a->layout == *b->layout);
  }

  bool same(const ir::Expr* a, const ir::Expr* b) {
    if (a == b) return same_kernel_ ? leaves_fixed(a) : a == nullptr;
    if (a == nullptr || b == nullptr || a->kind != b->kind || a->type != b->type || a->integer != b->integer ||
        !(a->real == b->real || (a->real != a->real && b->real != b->real)) || a->args.size() != b->args.size()) {
      return false;
    }
    if (a->kind == ir::ExprKind::value) return same(a->value, b->value);
    if (a->kind == ir::ExprKind::var) return same(a->var, b->var);
    const auto [it, fresh] = compared_.try_emplace({a, b}, true);
    if (!fresh) return it->second;
    bool equal = true;
    for (std::size_t i = 0; equal && i < a->args.size(); ++i) equal = same(a->args[i], b->args[i]);
    return compared_[{a, b}] = equal;
  }
  // An expression shared by both passes must not read a value that only the first pass defines.
  bool leaves_fixed(const ir::Expr* e) {
    if (e == nullptr) return true;
    if (e->kind == ir::ExprKind::value) return same(e->value, e->value);
    if (e->kind == ir::ExprKind::var) return same(e->var, e->var);
    const auto [it, fresh] = compared_.try_emplace({e, e}, true);
    if (!fresh) return it->second;
    bool fixed = true;
    for (std::size_t i = 0; fixed && i < e->args.size(); ++i) fixed = leaves_fixed(e->args[i]);
    return compared_[{e, e}] = fixed;
  }
  bool same(const std::vector<const ir::Expr*>& a, const std::vector<const ir::Expr*>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!same(a[i], b[i])) return false;
    }
    return true;
  }
  bool same(const tile::BarrierRef& a, const tile::BarrierRef& b) {
    return same(a.array, b.array) && same(a.index, b.index);
  }
  bool same(const std::vector<tile::RegisterTensor*>& a, const std::vector<tile::RegisterTensor*>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!same(a[i], b[i])) return false;
    }
    return true;
  }
  // Views have no statement: the first use of a pair compares what they are.
  bool view(const tile::GlobalView* a, const tile::GlobalView* b) {
    if (same(a, b)) return true;
    if (twins_.count(a) != 0) return false;
    twins_[a] = b;
    return a->type == b->type && a->param == b->param && same(a->base_offset, b->base_offset) &&
           same(a->shape, b->shape) && same(a->strides, b->strides);
  }
  bool same(const tile::SharedView* a, const tile::SharedView* b) {
    if (a == nullptr || b == nullptr) return a == b;
    return same(a->tensor, b->tensor) && same(a->origin, b->origin) && a->extents == b->extents && a->dims == b->dims &&
           same_or_none(a->cta, b->cta);
  }
  // Named barriers have no statement either.
  bool named(const tile::NamedBarrier* a, const tile::NamedBarrier* b) {
    if (same(a, b)) return true;
    if (twins_.count(a) != 0) return false;
    twins_[a] = b;
    return a->threads == b->threads;
  }
  template <class T>
  bool same_or_none(const T* a, const T* b) {
    return a == nullptr || b == nullptr ? a == b : same(a, b);
  }
  // The output of a Compute: an assignment to a known tile, or a new one.
  bool output(const tile::RegisterTensor* a, const tile::RegisterTensor* b) {
    return a->named ? same(a, b) : !b->named && define_tensor(a, b);
  }

  bool statement(const ir::Stmt* first, const ir::Stmt* second) {
    if (first->kind != second->kind) return false;
    return ir::match(first, [&](const auto& a) { return equal(a, static_cast<decltype(a)>(*second)); });
  }

  using Let = ir::control::Let;
  bool equal(const Let& a, const Let& b) { return same(a.init, b.init) && define(a.value, b.value); }
  bool equal(const ir::control::DeclareVar& a, const ir::control::DeclareVar& b) {
    return same(a.init, b.init) && define(a.var, b.var);
  }
  bool equal(const ir::control::AssignVar& a, const ir::control::AssignVar& b) {
    return same(a.var, b.var) && same(a.value, b.value);
  }
  bool equal(const ir::control::For& a, const ir::control::For& b) {
    return same(a.begin, b.begin) && same(a.end, b.end) && same(a.step, b.step) && a.unroll == b.unroll &&
           define(a.induction, b.induction);
  }
  bool equal(const ir::control::If& a, const ir::control::If& b) { return same(a.condition, b.condition); }
  bool equal(const tile::ThreadGroup& a, const tile::ThreadGroup& b) { return a.group == b.group; }
  bool equal(const tile::AllocRegister& a, const tile::AllocRegister& b) { return define_tensor(a.out, b.out); }
  bool equal(const tile::Compute& a, const tile::Compute& b) {
    return same(a.ins, b.ins) && same(a.value, b.value) && output(a.out, b.out);
  }
  bool equal(const tile::Transpose& a, const tile::Transpose& b) {
    return same(a.in, b.in) && define_tensor(a.out, b.out);
  }
  bool equal(const tile::Slice& a, const tile::Slice& b) {
    return same(a.in, b.in) && a.dim == b.dim && a.begin == b.begin && define_tensor(a.out, b.out);
  }
  bool equal(const tile::LoadGlobal& a, const tile::LoadGlobal& b) {
    return view(a.view, b.view) && same(a.offsets, b.offsets) && define_tensor(a.out, b.out);
  }
  bool equal(const tile::StoreGlobal& a, const tile::StoreGlobal& b) {
    return view(a.view, b.view) && same(a.src, b.src) && same(a.offsets, b.offsets);
  }
  bool equal(const tile::AllocShared& a, const tile::AllocShared& b) { return define_tensor(a.out, b.out); }
  bool equal(const tile::FreeShared& a, const tile::FreeShared& b) { return same(a.tensor, b.tensor); }
  bool equal(const tile::LoadShared& a, const tile::LoadShared& b) {
    return same(a.src, b.src) && define_tensor(a.out, b.out);
  }
  bool equal(const tile::StoreShared& a, const tile::StoreShared& b) {
    return same(a.dst, b.dst) && same(a.src, b.src);
  }
  bool equal(const tile::Dot& a, const tile::Dot& b) { return same(a.a, b.a) && same(a.b, b.b) && same(a.acc, b.acc); }
  bool equal(const tile::AllocBarriers& a, const tile::AllocBarriers& b) { return define(a.out, b.out); }
  bool equal(const tile::ArriveBarrier& a, const tile::ArriveBarrier& b) {
    return same(a.barrier, b.barrier) && a.count == b.count && same_or_none(a.cta, b.cta);
  }
  bool equal(const tile::ArriveExpectTx& a, const tile::ArriveExpectTx& b) {
    return same(a.barrier, b.barrier) && same(a.bytes, b.bytes);
  }
  bool equal(const tile::WaitBarrier& a, const tile::WaitBarrier& b) {
    return same(a.barrier, b.barrier) && same(a.phase, b.phase);
  }
  bool equal(const tile::TmaLoad& a, const tile::TmaLoad& b) {
    return view(a.src, b.src) && same(a.dst, b.dst) && same(a.offsets, b.offsets) && same(a.barrier, b.barrier) &&
           same_or_none(a.multicast, b.multicast) && a.hint == b.hint;
  }
  bool equal(const tile::TmaStore& a, const tile::TmaStore& b) {
    return same(a.src, b.src) && view(a.dst, b.dst) && same(a.offsets, b.offsets) && a.add == b.add && a.hint == b.hint;
  }
  bool equal(const tile::TmaWait& a, const tile::TmaWait& b) { return a.pending == b.pending && a.read == b.read; }
  bool equal(const tile::TmaPrefetch& a, const tile::TmaPrefetch& b) {
    return view(a.src, b.src) && a.extents == b.extents && same(a.offsets, b.offsets);
  }
  bool equal(const tile::Wgmma& a, const tile::Wgmma& b) {
    return same(a.a, b.a) && same_or_none(a.a_registers, b.a_registers) && same(a.b, b.b) && same(a.acc, b.acc) &&
           same(a.accumulate, b.accumulate) && a.negate_a == b.negate_a && a.negate_b == b.negate_b;
  }
  bool equal(const tile::WgmmaWait& a, const tile::WgmmaWait& b) { return a.pending == b.pending; }
  bool equal(const tile::SetRegisters& a, const tile::SetRegisters& b) { return a.count == b.count; }
  bool equal(const tile::NamedBarrierSync& a, const tile::NamedBarrierSync& b) { return named(a.barrier, b.barrier); }
  bool equal(const tile::NamedBarrierArrive& a, const tile::NamedBarrierArrive& b) {
    return named(a.barrier, b.barrier);
  }
  bool equal(const tile::GridDependency& a, const tile::GridDependency& b) { return a.launch == b.launch; }
  bool equal(const tile::SignalFlag& a, const tile::SignalFlag& b) {
    return view(a.flags, b.flags) && same(a.offsets, b.offsets) && same(a.value, b.value) && a.add == b.add;
  }
  bool equal(const tile::WaitFlag& a, const tile::WaitFlag& b) {
    return view(a.flags, b.flags) && same(a.offsets, b.offsets) && same(a.value, b.value) && a.at_least == b.at_least;
  }
  bool equal(const tile::Print& a, const tile::Print& b) { return a.pieces == b.pieces && same(a.args, b.args); }
  bool equal(const tile::PrintTensor& a, const tile::PrintTensor& b) {
    return a.message == b.message && (a.tensor == nullptr) == (b.tensor == nullptr) &&
           (a.tensor != nullptr ? same(a.tensor, b.tensor) : same(a.shared, b.shared));
  }
  // Sync, Break, Continue, Loop, fences, commits: the kind is all there is.
  bool equal(const ir::Stmt&, const ir::Stmt&) { return true; }

  int skip_depth_;
  bool same_kernel_;
  SourceLoc skipped_;
  std::map<const void*, const void*> twins_;
  std::map<std::pair<const ir::Expr*, const ir::Expr*>, bool> compared_;
};

}  // namespace

std::optional<Difference> compare_kernels(const tile::Kernel& a, const tile::Kernel& b, int skip_depth) {
  return Comparer(skip_depth, false).blocks(a.body, b.body, 0);
}
std::optional<Difference> compare_passes(const ir::Block& first, const ir::Block& second) {
  return Comparer(-1, true).blocks(first, second, 0);
}

}  // namespace tessera::lang
