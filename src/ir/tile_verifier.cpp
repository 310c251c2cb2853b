// The rules stand at verify() in tile.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/lazy_text.hpp"
#include "ir/match.hpp"
#include "ir/tile_printer.hpp"
#include "ir/wgmma_shape.hpp"
#include "tessera/core/error.hpp"

namespace tessera::ir::tile {
namespace {

constexpr std::int64_t most_counts = (std::int64_t{1} << 20) - 1;

bool whole_warps(const Group& g) { return g.begin % 32 == 0 && g.count % 32 == 0 && g.count > 0; }

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel) {}

  std::vector<Diagnostic> run() {
    loc_ = kernel_.loc;
    check(kernel_.warps >= 1 && kernel_.warps <= 32, [&] { return fmt::format("{} warps", kernel_.warps); });
    for (const Expr* e : kernel_.grid) {
      check(e != nullptr && e->type == DType::i64 && is_host_computable(e), "a grid extent is not host-computable i64");
    }
    const int blocks = kernel_.cluster_size();
    check(blocks >= 1 && blocks <= 8 && kernel_.cluster[0] >= 1 && kernel_.cluster[1] >= 1 && kernel_.cluster[2] >= 1,
          [&] { return fmt::format("a cluster of {} blocks", blocks); });
    check(kernel_.named_barriers.size() <= 15, "more than 15 named barriers");
    for (const NamedBarrier* b : kernel_.named_barriers)
      check(b->threads >= 32 && b->threads <= 1024 && b->threads % 32 == 0,
            "a named barrier of other than whole warps");
    for (const GlobalView* v : kernel_.views) view(*v);
    groups_.push_back(kernel_.root_group());
    block(kernel_.body);
    return std::move(found_);
  }

 private:
  void fail(const std::string& message) {
    if (found_.size() >= 20) return;
    std::string text = statement_ != nullptr ? fmt::format("{} in `{}`", message, statement_text(statement_)) : message;
    found_.push_back({loc_, "tile verifier: " + std::move(text), {}, {}});
  }
  template <class Message>
  void check(bool ok, const Message& message) {
    if (!ok) fail(text_of(message));
  }
  const Group& group() const { return groups_.back(); }

  void view(const GlobalView& v) {
    loc_ = v.loc;
    check(v.param < kernel_.params.size() && kernel_.params[v.param].is_pointer, "a view of no pointer parameter");
    check(!v.shape.empty() && v.shape.size() == v.strides.size(), "a view without shape, or with other strides");
    for (const auto* list : {&v.shape, &v.strides}) {
      for (const Expr* e : *list) {
        check(e != nullptr && e->type == DType::i64 && is_host_computable(e),
              "an extent or stride is not host-computable i64");
      }
    }
    check(v.base_offset != nullptr && v.base_offset->type == DType::i64, "a view's base offset is not i64");
  }

  // --- definitions and uses
  void define(const void* object, const char* what) {
    check(defined_ever_.insert(object).second, [&] { return fmt::format("{} is defined twice", what); });
    defined_.push_back(object);
  }
  bool known(const void* object) const { return std::find(defined_.begin(), defined_.end(), object) != defined_.end(); }

  void expr(const Expr* e, const Compute* compute = nullptr) {
    if (e == nullptr) return fail("a missing expression");
    switch (e->kind) {
      case ExprKind::value:
        return check(known(e->value),
                     [&] { return fmt::format("the value '{}' is used outside its scope", to_string(e)); });
      case ExprKind::var:
        return check(known(e->var),
                     [&] { return fmt::format("the variable '{}' is used outside its scope", to_string(e)); });
      case ExprKind::param: {
        const auto i = static_cast<std::size_t>(e->integer);
        return check(e->integer >= 0 && i < kernel_.params.size() && !kernel_.params[i].is_pointer &&
                         kernel_.params[i].type == e->type,
                     "a parameter leaf of no such scalar parameter");
      }
      case ExprKind::operand:
        return check(compute != nullptr && e->integer >= 0 &&
                         static_cast<std::size_t>(e->integer) < compute->ins.size() &&
                         compute->ins[static_cast<std::size_t>(e->integer)]->type == e->type,
                     "an operand leaf of no such input");
      case ExprKind::index:
        return check(
            compute != nullptr && e->integer >= 0 && static_cast<std::size_t>(e->integer) < compute->out->shape.size(),
            "an index leaf of no such dimension");
      default: break;
    }
    check(!is_leaf(e->kind) || e->kind == ExprKind::constant || e->kind == ExprKind::block_idx ||
              e->kind == ExprKind::grid_dim || e->kind == ExprKind::cluster_rank,
          [&] { return fmt::format("the leaf {} in the tile IR", name_of(e->kind)); });
    for (const Expr* a : e->args) expr(a, compute);
  }
  void typed(const Expr* e, DType type, const char* what) {
    expr(e);
    if (e != nullptr)
      check(e->type == type, [&] {
        return fmt::format("{} is {} instead of {}", what, tessera::name_of(e->type), tessera::name_of(type));
      });
  }
  void offsets(const std::vector<const Expr*>& list, std::size_t rank, bool narrow) {
    check(list.size() == rank, [&] { return fmt::format("{} offsets for {} dimensions", list.size(), rank); });
    for (const Expr* e : list) {
      expr(e);
      if (e != nullptr) check(e->type == DType::i32 || (!narrow && e->type == DType::i64), "an offset of another type");
    }
  }

  // --- tensors
  void make(const RegisterTensor* t) {
    define(t, "a register tensor");
    check(t->group == group(), "a register tensor is made by another group than its own");
    check(!t->shape.empty() && std::all_of(t->shape.begin(), t->shape.end(), [](std::int64_t e) { return e > 0; }),
          "a register tensor without positive extents");
    if (!t->layout) return;
    check(t->layout->shape() == t->shape, "a register layout of another shape");
    check(t->layout->spatial_size() == t->group.count, [&] {
      return fmt::format("a register layout over {} threads for a group of {}", t->layout->spatial_size(),
                         t->group.count);
    });
  }
  void use(const RegisterTensor* t) {
    check(known(t), "a register tensor is used outside its scope");
    check(t->group == group(), "a register tensor is used by another group than its own");
  }
  void use(const SharedTensor* t) { check(known(t), "a shared tile is used outside its scope"); }
  // A view that may be of another block's tile.
  void use_of_any_block(const SharedView* v) {
    if (v != nullptr && v->cta != nullptr) {
      typed(v->cta, DType::i32, "a block of the cluster");
      check(kernel_.cluster_size() > 1, "a tile of another block without a cluster");
    }
    use_box(v);
  }
  void use(const SharedView* v) {
    check(v == nullptr || v->cta == nullptr, "an engine at a tile of another block");
    use_box(v);
  }
  void use_box(const SharedView* v) {
    if (v == nullptr || v->tensor == nullptr) return fail("a missing shared view");
    use(v->tensor);
    const std::size_t rank = v->tensor->shape.size();
    if (v->origin.size() != rank || v->extents.size() != rank) return fail("a shared view of another rank");
    std::vector<bool> kept(rank);
    for (const std::int64_t d : v->dims) {
      const bool fresh = d >= 0 && d < static_cast<std::int64_t>(rank) && !kept[static_cast<std::size_t>(d)];
      if (!fresh) return fail("a shared view that keeps a dimension twice, or one that is not there");
      kept[static_cast<std::size_t>(d)] = true;
    }
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t extent = v->extents[d], last = v->tensor->shape[d] - extent;
      check(extent >= 1 && last >= 0 && (kept[d] || extent == 1), "a shared view with an extent out of range");
      typed(v->origin[d], DType::i32, "an origin");
      if (v->origin[d] != nullptr)
        check(v->origin[d]->low <= last && v->origin[d]->high >= 0, "a shared view that begins out of range");
    }
  }
  void use(const BarrierRef& b) {
    check(b.array != nullptr && known(b.array), "an mbarrier is used outside its scope");
    typed(b.index, DType::i32, "a barrier index");
    if (b.array == nullptr || b.index == nullptr || !b.index->is_constant()) return;
    check(b.index->integer >= 0 && b.index->integer < static_cast<std::int64_t>(b.array->counts.size()),
          "a barrier index out of range");
  }
  void copy(const RegisterTensor& a, DType type, const Shape& shape) {
    check(a.type == type,
          [&] { return fmt::format("element types {} and {}", tessera::name_of(a.type), tessera::name_of(type)); });
    check(a.shape == shape, "two different shapes");
  }
  void global(const GlobalView& v, const RegisterTensor& t, const std::vector<const Expr*>& list) {
    check(t.type == v.type, "a tile and a view of different types");
    check(t.shape.size() == v.shape.size(), "a tile and a view of different ranks");
    offsets(list, v.shape.size(), false);
  }

  void flag(const GlobalView& v, const std::vector<const Expr*>& list, const Expr* value) {
    check(v.type == DType::u32, "a flag of a type other than u32");
    offsets(list, v.shape.size(), false);
    typed(value, DType::u32, "a flag's value");
  }

  void block(const Block& body) {
    const std::size_t outer = defined_.size();
    for (const Stmt* s : body) {
      statement_ = s;
      loc_ = s->loc;
      statement(s);
    }
    defined_.resize(outer);
    statement_ = nullptr;
  }
  void loop(const Block& body, const Value* induction) {
    const std::size_t outer = defined_.size();
    if (induction != nullptr) define(induction, "a loop's value");
    loops_.push_back(group());
    block(body);
    loops_.pop_back();
    defined_.resize(outer);
  }
  void leave() {
    check(!loops_.empty(), "outside a loop");
    if (!loops_.empty()) check(loops_.back() == group(), "in another thread group than the loop");
  }

  void compute(const Compute& s) {
    for (const RegisterTensor* in : s.ins) {
      use(in);
      bool fits = in->shape.size() <= s.out->shape.size();
      for (std::size_t i = 1; fits && i <= in->shape.size(); ++i) {
        const std::int64_t extent = in->shape[in->shape.size() - i];
        fits = extent == 1 || extent == s.out->shape[s.out->shape.size() - i];
      }
      check(fits, "an input does not broadcast to the output");
    }
    if (known(s.out)) {
      check(s.out->named, "the result of an instruction is written again");
      use(s.out);
    } else {
      make(s.out);
    }
    expr(s.value, &s);
    if (s.value != nullptr) check(s.value->type == s.out->type, "a value of another type than the output");
  }
  void dot(const Dot& s) {
    for (const RegisterTensor* t : {s.a, s.b, s.acc}) use(t);
    check(whole_warps(group()), "a group that is not whole warps");
    const DType in = s.a->type, acc = s.acc->type;
    check(in == s.b->type && ((in == DType::f16 && (acc == DType::f32 || acc == DType::f16)) ||
                              (in == DType::bf16 && acc == DType::f32)),
          "element types that the tensor cores do not take");
    const Shape &a = s.a->shape, &b = s.b->shape, &c = s.acc->shape;
    const bool fits = a.size() == 2 && b.size() == 2 && c.size() == 2 && a[1] == b[0] && a[0] == c[0] && b[1] == c[1];
    check(fits, "shapes that do not fit");
    if (fits) check(a[0] % 16 == 0 && a[1] % 16 == 0 && b[1] % 8 == 0, "extents that are no multiples of 16, 8, 16");
  }
  void issuer() {
    check(group().count == 1 || (group().count == 32 && group().begin % 32 == 0),
          "a group other than a thread or a warp");
  }
  void one_thread() { check(group().count == 1, "a group other than one thread"); }
  void copy(const GlobalView& view, const SharedView* part, const std::vector<const Expr*>& list) {
    use(part);
    if (part == nullptr || part->tensor == nullptr) return;
    check(view.type == part->tensor->type, "a view and a shared tile of different types");
    check(view.shape.size() == part->dims.size(), "a view and a shared tile of different ranks");
    offsets(list, view.shape.size(), true);
  }
  void tma(const TmaLoad& s) {
    use(s.barrier);
    copy(*s.src, s.dst, s.offsets);
    issuer();
    if (s.multicast == nullptr) return;
    check(kernel_.cluster_size() > 1, "a multicast without a cluster");
    typed(s.multicast, DType::u32, "a multicast mask");
  }
  void tma(const TmaStore& s) {
    copy(*s.dst, s.src, s.offsets);
    one_thread();
    const DType t = s.dst->type;
    check(!s.add || t == DType::f16 || t == DType::bf16 || t == DType::f32 || t == DType::i32 || t == DType::u32,
          "a bulk reduction of a type that the engine does not add");
  }
  void prefetch(const TmaPrefetch& s) {
    issuer();
    check(s.extents.size() == s.src->shape.size(), "a prefetch of another rank");
    check(std::all_of(s.extents.begin(), s.extents.end(), [](std::int64_t e) { return e > 0; }), "an empty prefetch");
    offsets(s.offsets, s.src->shape.size(), true);
  }
  void warpgroup() {
    check(group().count == 128 && group().begin % 128 == 0 && !group().each_warp, "a group other than one warpgroup");
  }
  void wgmma(const Wgmma& s) {
    warpgroup();
    if ((s.a != nullptr) == (s.a_registers != nullptr)) return fail("not exactly one first operand");
    if (s.a != nullptr) use(s.a);
    if (s.a_registers != nullptr) use(s.a_registers);
    use(s.b);
    use(s.acc);
    check(s.acc->named && s.acc != s.a_registers, "an accumulator that is the result of an instruction, or an operand");
    typed(s.accumulate, DType::boolean, "accumulate");
    const DType type = s.a != nullptr ? s.a->tensor->type : s.a_registers->type;
    const bool integers = type == DType::i8 || type == DType::u8;
    constexpr int any_n = 16;  // that every type has
    check(wgmma_shape_error(type, s.b->tensor->type, s.acc->type, any_n).empty(),
          "element types that wgmma does not take");
    check(!integers || (!s.negate_a && !s.negate_b), "integers are negated");
    const Shape a = s.a != nullptr ? s.a->shape() : s.a_registers->shape, b = s.b->shape(), c = s.acc->shape;
    const bool fits = a.size() == 2 && b.size() == 2 && c.size() == 2 && a[1] == b[0] && a[0] == c[0] && b[1] == c[1];
    if (!fits) return fail("shapes that do not fit");
    const bool n_fits = integers ? b[1] == 8 || b[1] == 24 || b[1] % 16 == 0 : b[1] % 8 == 0;
    check(a[0] % 64 == 0 && a[1] * size_of(type) % 32 == 0 && n_fits, "extents that wgmma does not take");
  }
  void half_barrier() {
    check(whole_warps(group()) && !group().each_warp, "a group other than whole warps at a cluster's barrier");
  }
  void named_barrier(const NamedBarrier* b) {
    const auto& all = kernel_.named_barriers;
    check(std::find(all.begin(), all.end(), b) != all.end(), "a named barrier of another kernel");
    check(whole_warps(group()) && !group().each_warp && group().count <= b->threads, "a group that does not fit");
  }
  void thread_group(const ThreadGroup& s) {
    const Group &g = s.group, &parent = group();
    const bool inside = g.count > 0 && g.begin >= parent.begin && g.begin + g.count <= parent.begin + parent.count;
    check(inside, "a thread group outside the group around it");
    check(!g.elect || g.count == 1, "an elected group of several threads");
    check(!g.each_warp || (whole_warps(g) && !g.elect), "one thread of each warp of other than whole warps");
    groups_.push_back(g);
    block(s.body);
    groups_.pop_back();
  }
  void alloc_shared(const AllocShared& s) {
    define(s.out, "a shared tile");
    if (s.out->layout) check(s.out->layout->shape() == s.out->shape, "a shared layout of another shape");
  }
  void alloc_barriers(const AllocBarriers& s) {
    define(s.out, "an mbarrier array");
    for (const std::int64_t c : s.out->counts) check(c >= 1 && c <= most_counts, "an arrival count out of range");
  }
  void expect(const ArriveExpectTx& s) {
    use(s.barrier);
    typed(s.bytes, DType::u32, "a byte count");
    if (s.bytes->is_constant())
      check(s.bytes->integer >= 1 && s.bytes->integer <= most_counts, "a byte count out of range");
  }

  void statement(const Stmt* stmt);

  const Kernel& kernel_;
  std::vector<Diagnostic> found_;
  std::vector<const void*> defined_;  // in the open blocks, innermost last
  std::set<const void*> defined_ever_;
  std::vector<Group> groups_;
  std::vector<Group> loops_;  // the group of each open loop
  const Stmt* statement_ = nullptr;
  SourceLoc loc_;
};

void Verifier::statement(const Stmt* stmt) {
  if (group().each_warp) {
    const StmtKind k = stmt->kind;
    check(k < StmtKind::tile_ThreadGroup || k == StmtKind::tile_ArriveBarrier || k == StmtKind::tile_Print,
          "an instruction for one thread of each warp");
  }
  match(stmt, overloaded{
                  [&](const control::Let& s) {
                    typed(s.init, s.value->type, "a let");
                    define(s.value, "a value");
                  },
                  [&](const control::DeclareVar& s) {
                    typed(s.init, s.var->type, "a variable's first value");
                    define(s.var, "a variable");
                  },
                  [&](const control::AssignVar& s) {
                    check(known(s.var), "a variable is assigned outside its scope");
                    typed(s.value, s.var->type, "an assigned value");
                  },
                  [&](const control::For& s) {
                    for (const Expr* e : {s.begin, s.end, s.step}) typed(e, s.induction->type, "a loop bound");
                    if (s.step != nullptr) check(s.step->low >= 1, "a step that is not positive");
                    loop(s.body, s.induction);
                  },
                  [&](const control::Loop& s) { loop(s.body, nullptr); },
                  [&](const control::If& s) {
                    typed(s.condition, DType::boolean, "a condition");
                    block(s.then_body);
                    block(s.else_body);
                  },
                  [&](const control::Break&) { leave(); },
                  [&](const control::Continue&) { leave(); },
                  [&](const ThreadGroup& s) { thread_group(s); },
                  [&](const AllocRegister& s) { make(s.out); },
                  [&](const Compute& s) { compute(s); },
                  [&](const Transpose& s) {
                    use(s.in);
                    make(s.out);
                    check(s.in->shape.size() == 2, "a transposed tile without two dimensions");
                    if (s.in->shape.size() == 2) copy(*s.out, s.in->type, {s.in->shape[1], s.in->shape[0]});
                  },
                  [&](const Slice& s) {
                    use(s.in);
                    make(s.out);
                    Shape part = s.in->shape;
                    const auto d = static_cast<std::size_t>(s.dim);
                    const bool inside = d < part.size() && d < s.out->shape.size() && s.begin >= 0 &&
                                        s.begin + s.out->shape[d] <= part[d] && s.begin % s.out->shape[d] == 0;
                    check(inside, "a slice outside its tile");
                    if (inside) part[d] = s.out->shape[d];
                    copy(*s.out, s.in->type, part);
                  },
                  [&](const ConvertLayout& s) {
                    use(s.in);
                    make(s.out);
                    copy(*s.out, s.in->type, s.in->shape);
                  },
                  [&](const LoadGlobal& s) {
                    make(s.out);
                    global(*s.view, *s.out, s.offsets);
                  },
                  [&](const StoreGlobal& s) {
                    use(s.src);
                    global(*s.view, *s.src, s.offsets);
                  },
                  [&](const AllocShared& s) { alloc_shared(s); },
                  [&](const FreeShared& s) { use(s.tensor); },
                  [&](const LoadShared& s) {
                    use_of_any_block(s.src);
                    make(s.out);
                    copy(*s.out, s.src->tensor->type, s.src->shape());
                  },
                  [&](const StoreShared& s) {
                    use_of_any_block(s.dst);
                    use(s.src);
                    copy(*s.src, s.dst->tensor->type, s.dst->shape());
                  },
                  [&](const Dot& s) { dot(s); },
                  [&](const AllocBarriers& s) { alloc_barriers(s); },
                  [&](const ArriveBarrier& s) {
                    use(s.barrier);
                    check(s.count >= 1 && s.count <= most_counts, "an arrival count out of range");
                    if (s.cta != nullptr) typed(s.cta, DType::i32, "a block of the cluster");
                  },
                  [&](const ArriveExpectTx& s) { expect(s); },
                  [&](const WaitBarrier& s) {
                    use(s.barrier);
                    typed(s.phase, DType::u32, "a phase");
                  },
                  [&](const TmaLoad& s) { tma(s); },
                  [&](const TmaStore& s) { tma(s); },
                  [&](const TmaCommit&) { one_thread(); },
                  [&](const TmaWait& s) {
                    one_thread();
                    check(s.pending >= 0, "a negative number of groups");
                  },
                  [&](const TmaPrefetch& s) { prefetch(s); },
                  [&](const WgmmaFence&) { warpgroup(); },
                  [&](const Wgmma& s) { wgmma(s); },
                  [&](const WgmmaCommit&) { warpgroup(); },
                  [&](const WgmmaWait& s) {
                    warpgroup();
                    check(s.pending >= 0 && s.pending <= 7, "a number of pending groups out of range");
                  },
                  [&](const SetRegisters& s) {
                    check(group().begin % 128 == 0 && group().count % 128 == 0, "a group other than whole warpgroups");
                    check(s.count >= 24 && s.count <= 256 && s.count % 8 == 0, "a number of registers out of range");
                  },
                  [&](const NamedBarrierSync& s) { named_barrier(s.barrier); },
                  [&](const NamedBarrierArrive& s) { named_barrier(s.barrier); },
                  [&](const ClusterSync&) {
                    check(group() == kernel_.root_group(), "a part of the block at a cluster's barrier");
                  },
                  [&](const ClusterArrive&) { half_barrier(); },
                  [&](const ClusterWait&) { half_barrier(); },
                  [&](const GridDependency&) {
                    check(kernel_.dependent_launch, "a grid dependency without a dependent launch");
                  },
                  [&](const SignalFlag& s) { one_thread(), flag(*s.flags, s.offsets, s.value); },
                  [&](const WaitFlag& s) { flag(*s.flags, s.offsets, s.value); },
                  [&](const Print& s) {
                    check(s.pieces.size() == s.args.size() + 1, "a format with other places than values");
                    for (const Expr* e : s.args) expr(e);
                  },
                  [&](const PrintTensor& s) {
                    check((s.tensor != nullptr) != (s.shared != nullptr), "not exactly one tensor to print");
                    if (s.tensor != nullptr) use(s.tensor);
                    if (s.shared != nullptr) use(s.shared);
                  },
                  [&](const Sync&) {},
                  [&](const FenceProxyAsync&) {},
                  [&](const Stmt& s) { fail(fmt::format("the statement {} in the tile IR", ir::name_of(s.kind))); },
              });
}

}  // namespace

void verify(const Kernel& kernel) {
  std::vector<Diagnostic> found = Verifier(kernel).run();
  if (!found.empty()) throw Error(ErrorKind::internal, std::move(found));
}

}  // namespace tessera::ir::tile
