// Masked, vectorised access to global memory.
#include <numeric>

#include "lower/index_math.hpp"
#include "lower/lowering.hpp"
#include "passes/access.hpp"

namespace tessera::lower {

using namespace ir;  // NOLINT(google-build-using-namespace)

namespace {

// What does not change from register to register of one access: the address of the thread's first element, and how far
// the view reaches from there in each dimension. What remains is known when the loop over registers is unrolled, so
// that one address register and immediate offsets serve all accesses.
struct Frame {
  const Expr* base = nullptr;  // i64 elements
  struct Limit {
    const Expr* above = nullptr;  // index < above
    const Expr* below = nullptr;  // index >= below; null: no need
  };
  std::vector<Limit> limits;
};

// The i32 expression that `e` (i64) widens, or a constant that fits; null otherwise.
const Expr* narrow(ExprPool& x, const Expr* e) {
  if (e->kind == ExprKind::cast && e->args[0]->type == DType::i32) return e->args[0];
  if (e->is_constant() && e->integer >= 0 && e->integer <= INT32_MAX) return x.i32(e->integer);
  return nullptr;
}

// Each element's index is the sum of a part that depends on the thread and one that depends on the register.
Frame make_frame(Lowering& l, const tile::GlobalView& view, const std::vector<const Expr*>& offsets,
                 const layout::RegisterLayout& registers, const Expr* thread, SourceLoc loc) {
  ExprPool& x = l.x;
  Frame frame;
  const auto of_thread = element_index(x, registers, x.i32(0), thread);
  const Expr* base = view.base_offset;
  for (std::size_t d = 0; d < offsets.size(); ++d) {
    const Expr* offset = offsets[d];
    const Expr* wide = x.cast(DType::i64, offset);
    const Expr* wide_index = x.cast(DType::i64, of_thread[d]);
    base = x.add(base, x.mul(x.add(wide, wide_index), view.strides[d]));
    Frame::Limit limit;
    const Expr* extent = narrow(x, view.shape[d]);
    if (extent != nullptr && offset->type == DType::i32 && offset->low >= 0) {
      limit.above = x.sub(x.sub(extent, offset), of_thread[d]);
    } else {
      limit.above = x.sub(x.sub(view.shape[d], wide), wide_index);
      if (offset->low < 0) limit.below = l.let(loc, "before", x.sub(x.unary(ExprKind::neg, wide), wide_index));
    }
    limit.above = l.let(loc, "left", limit.above);
    frame.limits.push_back(limit);
  }
  frame.base = l.let(loc, "first", base);
  return frame;
}

struct Access {
  const Expr* offset;
  const Expr* mask;  // null: always inside
};

Access access(ExprPool& x, const Frame& frame, const tile::GlobalView& view, const std::vector<const Expr*>& index) {
  const Expr* small = x.i32(0);
  const Expr* wide = frame.base;
  const Expr* mask = nullptr;
  const auto require = [&](const Expr* condition) {
    if (condition->is_constant(1)) return;
    mask = mask == nullptr ? condition : x.both(mask, condition);
  };
  for (std::size_t d = 0; d < index.size(); ++d) {
    const Expr* stride = view.strides[d];
    if (stride->is_constant() && stride->integer >= 0 && stride->integer <= (INT32_MAX / 8) / (index[d]->high + 1)) {
      small = x.add(small, x.mul(index[d], stride->integer));
    } else {
      wide = x.add(wide, x.mul(x.cast(DType::i64, index[d]), stride));
    }
    const Frame::Limit& limit = frame.limits[d];
    require(x.binary(ExprKind::lt, x.cast(limit.above->type, index[d]), limit.above));
    if (limit.below != nullptr) require(x.binary(ExprKind::ge, x.cast(DType::i64, index[d]), limit.below));
  }
  return {x.add(wide, x.cast(DType::i64, small)), mask};
}

// Elements a thread moves at once: limited by what is contiguous in its registers and in memory.
std::int64_t vector_of(const Lowering& l, const tile::RegisterTensor& t, const tile::GlobalView& view,
                       const std::vector<const Expr*>& offsets) {
  const int inner = passes::contiguous_dim(view);
  if (inner < 0) return 1;
  return std::gcd(passes::vector_width(l.kernel, view, offsets),
                  consecutive_registers(*t.layout, static_cast<std::size_t>(inner)));
}

// One access after the other, in vectors: issue(first register, elements, where).
template <class F>
void for_each_vector(Lowering& l, const tile::RegisterTensor& t, const tile::GlobalView& view,
                     const std::vector<const Expr*>& offsets, SourceLoc loc, F issue) {
  const Expr* thread = l.thread_in_group();
  const Frame frame = make_frame(l, view, offsets, *t.layout, thread, loc);
  const std::int64_t vector = vector_of(l, t, view, offsets);
  l.for_each_register(loc, t.layout->local_size(), vector, [&](const Expr* r) {
    issue(r, static_cast<int>(vector), access(l.x, frame, view, element_index(l.x, *t.layout, r, l.x.i32(0))));
  });
}

}  // namespace

void lower_load_global(Lowering& l, const tile::LoadGlobal& s) {
  const RegArray* array = l.registers(s.out, s.loc);
  for_each_vector(l, *s.out, *s.view, s.offsets, s.loc, [&](const Expr* r, int vector, const Access& a) {
    l.emit<thread::LoadGlobalVector>(s.loc, thread::RegRef{array, r}, vector, s.view->param, a.offset, a.mask);
  });
}

void lower_store_global(Lowering& l, const tile::StoreGlobal& s) {
  const RegArray* array = l.registers(s.src, s.loc);
  const Expr* first = is_first_replica(l.x, *s.src->layout, l.thread_in_group());
  for_each_vector(l, *s.src, *s.view, s.offsets, s.loc, [&](const Expr* r, int vector, const Access& a) {
    const Expr* mask =
        first == nullptr || a.mask == nullptr ? (first == nullptr ? a.mask : first) : l.x.both(first, a.mask);
    l.emit<thread::StoreGlobalVector>(s.loc, thread::RegRef{array, r}, vector, s.view->param, a.offset, mask);
  });
  l.out.written_params.push_back(s.view->param);
}

namespace {

// The number of the element at these offsets, as i64, from the pointer on.
const Expr* element(ExprPool& x, const tile::GlobalView& view, const std::vector<const Expr*>& offsets) {
  const Expr* e = view.base_offset;
  for (std::size_t d = 0; d < offsets.size(); ++d) e = x.add(e, x.mul(x.cast(DType::i64, offsets[d]), view.strides[d]));
  return e;
}

}  // namespace

void lower_signal_flag(Lowering& l, const tile::SignalFlag& s) {
  l.emit<thread::SignalFlag>(s.loc, s.flags->param, element(l.x, *s.flags, s.offsets), s.value, s.add);
  l.out.written_params.push_back(s.flags->param);
}

void lower_wait_flag(Lowering& l, const tile::WaitFlag& s) {
  l.emit<thread::WaitFlag>(s.loc, s.flags->param, element(l.x, *s.flags, s.offsets), s.value, s.at_least);
}

}  // namespace tessera::lower
